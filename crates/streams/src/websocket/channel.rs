//! The channel protocols: each WebSocket message starts with a byte that names its channel.
//!
//! The `base64.` variants send text messages: the channel as a character (its number counted from `0`), then
//! the data in base64. Version 5 adds a message that closes one channel, which is how standard input ends without ending the session.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{BufMut, Bytes, BytesMut};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

/// Channel numbers of exec and attach; the first three are the POSIX file descriptors.
pub(crate) const STDIN: u8 = 0;
pub(crate) const STDOUT: u8 = 1;
pub(crate) const STDERR: u8 = 2;
pub(crate) const ERROR: u8 = 3;
pub(crate) const RESIZE: u8 = 4;
/// Version 5's pseudo channel: the byte after it names the channel that is closed.
const CLOSE: u8 = 255;
/// The last channel that is one ASCII character when counted from `0`.
const LAST_BASE64_CHANNEL: u8 = b'~' - b'0';
/// The last channel a binary message can name.
const LAST_CHANNEL: u8 = CLOSE - 1;

/// One of the sub-protocols of a WebSocket that carries channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChannelProtocol {
    /// Data travels as base64 text.
    pub(crate) base64: bool,
    /// The error channel carries a `Status` object (versions 4 and later), not plain text.
    pub(crate) status_objects: bool,
    /// Single channels can be closed (version 5).
    pub(crate) close_signal: bool,
}

const V1: ChannelProtocol = ChannelProtocol { base64: false, status_objects: false, close_signal: false };
const V4: ChannelProtocol = ChannelProtocol { base64: false, status_objects: true, close_signal: false };
const V5: ChannelProtocol = ChannelProtocol { base64: false, status_objects: true, close_signal: true };

/// What exec and attach accept.
pub(crate) const EXEC_PROTOCOLS: [(&str, ChannelProtocol); 5] = [
    ("v5.channel.k8s.io", V5),
    ("v4.channel.k8s.io", V4),
    ("v4.base64.channel.k8s.io", ChannelProtocol { base64: true, ..V4 }),
    ("channel.k8s.io", V1),
    ("base64.channel.k8s.io", ChannelProtocol { base64: true, ..V1 }),
];

/// What port-forward accepts. Version 5 is not among them: clients that offer it for exec offer it
/// here too, but no server ever gave it a meaning for ports.
pub(crate) const PORT_PROTOCOLS: [(&str, ChannelProtocol); 2] =
    [("v4.channel.k8s.io", V4), ("v4.base64.channel.k8s.io", ChannelProtocol { base64: true, ..V4 })];

/// What a client that names no protocol speaks.
pub(crate) const UNNAMED: ChannelProtocol = V1;
/// The same for port-forward, where all binary versions are alike.
pub(crate) const UNNAMED_PORTS: ChannelProtocol = V4;

/// What a message means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChannelMessage {
    /// Bytes on a channel.
    Data(u8, Bytes),
    /// The peer sends nothing more on this channel.
    Close(u8),
}

/// A message that breaks the channel protocol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ChannelError {
    #[error("a close signal names exactly one channel, this one has {0} bytes after it")]
    CloseLength(usize),
    #[error("a base64 message starts with byte {0}, which names no channel")]
    NoChannel(u8),
    #[error("a base64 message does not decode")]
    Base64(#[from] base64::DecodeError),
}

impl ChannelProtocol {
    /// The last channel number that can be used.
    pub(crate) fn last_channel(self) -> u8 {
        if self.base64 { LAST_BASE64_CHANNEL } else { LAST_CHANNEL }
    }

    pub(crate) fn encode(self, channel: u8, data: &[u8]) -> Message {
        if self.base64 {
            let mut text = String::with_capacity(1 + data.len().div_ceil(3) * 4);
            text.push(char::from(b'0' + channel));
            STANDARD.encode_string(data, &mut text);
            return Message::Text(Utf8Bytes::from(text));
        }
        let mut message = BytesMut::with_capacity(data.len() + 1);
        message.put_u8(channel);
        message.put_slice(data);
        Message::Binary(message.freeze())
    }

    /// The message that closes a channel, where the protocol has one.
    pub(crate) fn encode_close(self, channel: u8) -> Option<Message> {
        self.close_signal.then(|| Message::Binary(Bytes::copy_from_slice(&[CLOSE, channel])))
    }

    /// Reads one binary or text message; an empty one means nothing and gives `None`.
    pub(crate) fn decode(self, mut message: Bytes) -> Result<Option<ChannelMessage>, ChannelError> {
        let Some(&channel) = message.first() else { return Ok(None) };
        let data = message.split_off(1);
        if self.close_signal && channel == CLOSE {
            return match *data {
                [closed] => Ok(Some(ChannelMessage::Close(closed))),
                _ => Err(ChannelError::CloseLength(data.len())),
            };
        }
        if !self.base64 {
            return Ok(Some(ChannelMessage::Data(channel, data)));
        }
        let number = channel.checked_sub(b'0').filter(|number| *number <= LAST_BASE64_CHANNEL);
        let channel = number.ok_or(ChannelError::NoChannel(channel))?;
        Ok(Some(ChannelMessage::Data(channel, STANDARD.decode(data)?.into())))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn payload(message: Message) -> Bytes {
        match message {
            Message::Binary(bytes) => bytes,
            Message::Text(text) => text.into(),
            other => panic!("unexpected {other:?}"),
        }
    }

    proptest! {
        #[test]
        fn data_survives_every_protocol(channel in 0u8..=LAST_BASE64_CHANNEL, data: Vec<u8>) {
            for (_, protocol) in EXEC_PROTOCOLS {
                let message = payload(protocol.encode(channel, &data));
                let want = ChannelMessage::Data(channel, data.clone().into());
                prop_assert_eq!(protocol.decode(message).unwrap(), Some(want));
            }
        }

        #[test]
        fn no_message_makes_decoding_panic(bytes: Vec<u8>) {
            for (_, protocol) in EXEC_PROTOCOLS {
                let _ = protocol.decode(bytes.clone().into());
            }
        }
    }

    #[test]
    fn only_version_five_closes_single_channels() {
        let close = payload(V5.encode_close(STDIN).unwrap());
        assert_eq!(close, &[255, 0][..]);
        assert_eq!(V5.decode(close.clone()), Ok(Some(ChannelMessage::Close(STDIN))));
        assert_eq!(V4.encode_close(STDIN), None);
        assert_eq!(V4.decode(close), Ok(Some(ChannelMessage::Data(255, Bytes::from_static(&[0])))));
        assert_eq!(V5.decode(Bytes::from_static(&[255])), Err(ChannelError::CloseLength(0)));
    }

    #[test]
    fn base64_looks_as_documented() {
        let protocol = ChannelProtocol { base64: true, ..V4 };
        assert_eq!(protocol.encode(STDIN, b"foo\n"), Message::Text("0Zm9vCg==".into()));
        assert_eq!(protocol.decode(Bytes::from_static(b" Zg==")), Err(ChannelError::NoChannel(b' ')));
        assert!(matches!(protocol.decode(Bytes::from_static(b"0***")), Err(ChannelError::Base64(_))));
        assert_eq!(protocol.decode(Bytes::new()), Ok(None));
    }
}
