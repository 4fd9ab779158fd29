//! The frames of SPDY/3.1.

use bytes::Bytes;

/// The protocol version in every control frame.
pub(super) const VERSION: u16 = 3;
/// Marks a control frame in its first byte.
pub(super) const CONTROL_BIT: u16 = 0x8000;
/// Stream ids and window sizes have 31 bits.
pub(crate) const MASK_31: u32 = 0x7fff_ffff;
/// The largest payload the 24-bit length can say.
pub(super) const LARGEST_PAYLOAD: usize = (1 << 24) - 1;
/// The sender's last frame on a stream.
pub(super) const FLAG_FIN: u8 = 0x01;
/// The receiver of a new stream will not send on it.
pub(super) const FLAG_UNIDIRECTIONAL: u8 = 0x02;

pub(super) const SYN_STREAM: u16 = 1;
pub(super) const SYN_REPLY: u16 = 2;
pub(super) const RST_STREAM: u16 = 3;
pub(super) const SETTINGS: u16 = 4;
pub(super) const PING: u16 = 6;
pub(super) const GO_AWAY: u16 = 7;
pub(super) const HEADERS: u16 = 8;
pub(super) const WINDOW_UPDATE: u16 = 9;

/// The setting that sizes the window of new streams.
pub(crate) const INITIAL_WINDOW_SIZE: u32 = 7;

/// Names (lower case) and values, in the order they were sent.
pub(crate) type Headers = Vec<(String, String)>;

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Frame {
    SynStream { id: u32, associated: u32, priority: u8, fin: bool, unidirectional: bool, headers: Headers },
    SynReply { id: u32, fin: bool, headers: Headers },
    RstStream { id: u32, status: ResetStatus },
    Settings(Vec<Setting>),
    Ping(u32),
    GoAway { last_stream: u32, status: u32 },
    Headers { id: u32, fin: bool, headers: Headers },
    WindowUpdate { id: u32, delta: u32 },
    Data { id: u32, fin: bool, data: Bytes },
}

/// A line of a SETTINGS frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) flags: u8,
    pub(crate) id: u32,
    pub(crate) value: u32,
}

/// Why a stream is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResetStatus(pub(crate) u32);

impl ResetStatus {
    pub(crate) const PROTOCOL_ERROR: Self = Self(1);
    pub(crate) const INVALID_STREAM: Self = Self(2);
    pub(crate) const REFUSED_STREAM: Self = Self(3);
    pub(crate) const CANCEL: Self = Self(5);
    pub(crate) const FLOW_CONTROL_ERROR: Self = Self(7);
}

/// The value of a header, where the name is there.
pub(crate) fn header<'a>(headers: &'a Headers, name: &str) -> Option<&'a str> {
    headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}
