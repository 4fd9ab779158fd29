//! Bytes to frames, however the bytes were cut.
//!
//! A data frame is handed on in pieces as they arrive (the last carries its FIN), so that a peer's 16 MB frame
//! never waits in memory. Control frames are small and come whole. Unknown control frames are skipped.

use bytes::{Buf, Bytes, BytesMut};
use flate2::{Decompress, FlushDecompress, Status};

use super::dictionary::DICTIONARY;
use super::frame::{
    CONTROL_BIT, FLAG_FIN, FLAG_UNIDIRECTIONAL, Frame, GO_AWAY, HEADERS, Headers, MASK_31, PING, RST_STREAM,
    ResetStatus, SETTINGS, SYN_REPLY, SYN_STREAM, Setting, VERSION, WINDOW_UPDATE,
};

/// Every frame starts with this many bytes.
const PREFIX: usize = 8;
/// The largest control frame taken; real ones are some hundred bytes.
const LARGEST_CONTROL: usize = 256 * 1024;
/// The largest header block after decompression.
const LARGEST_BLOCK: usize = 1024 * 1024;

/// Bytes that are not SPDY/3.1. The connection cannot go on: its header compression is out of step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DecodeError {
    #[error("a control frame of version {0}, not 3")]
    Version(u16),
    #[error("a control frame of {0} bytes")]
    TooLarge(usize),
    #[error("a frame of type {0} with a wrong length")]
    Length(u16),
    #[error("headers that do not decompress")]
    Compression,
    #[error("a malformed header block")]
    Headers,
    #[error("a data frame for stream 0")]
    ZeroStream,
}

#[derive(Debug)]
pub(crate) struct Decoder {
    headers: Decompress,
    data: Option<DataRest>,
}

/// The part of a data frame that has not arrived yet.
#[derive(Debug)]
struct DataRest {
    id: u32,
    fin: bool,
    left: usize,
}

impl Decoder {
    pub(crate) fn new() -> Self {
        Self { headers: Decompress::new(true), data: None }
    }

    /// Takes the next frame off the front of `input`, or `None` if more bytes are needed.
    pub(crate) fn decode(&mut self, input: &mut BytesMut) -> Result<Option<Frame>, DecodeError> {
        loop {
            if self.data.is_some() {
                return Ok(self.data_piece(input));
            }
            if input.len() < PREFIX {
                return Ok(None);
            }
            let mut prefix = &input[..PREFIX];
            let (first, second, flags) = (prefix.get_u16(), prefix.get_u16(), prefix.get_u8());
            let length =
                [prefix[0], prefix[1], prefix[2]].iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
            if first & CONTROL_BIT == 0 {
                let id = u32::from(first) << 16 | u32::from(second);
                if id == 0 {
                    return Err(DecodeError::ZeroStream);
                }
                input.advance(PREFIX);
                self.data = Some(DataRest { id, fin: flags & FLAG_FIN != 0, left: length });
                continue;
            }
            check_control(first, length)?;
            if input.len() < PREFIX + length {
                return Ok(None);
            }
            input.advance(PREFIX);
            let payload = input.split_to(length).freeze();
            if let Some(frame) = self.control(second, flags, payload)? {
                return Ok(Some(frame));
            }
        }
    }

    fn data_piece(&mut self, input: &mut BytesMut) -> Option<Frame> {
        let rest = self.data.as_mut()?;
        let length = rest.left.min(input.len());
        if length == 0 && rest.left > 0 {
            return None;
        }
        rest.left -= length;
        let last = rest.left == 0;
        let frame = Frame::Data { id: rest.id, fin: rest.fin && last, data: input.split_to(length).freeze() };
        if last {
            self.data = None;
        }
        Some(frame)
    }

    fn control(&mut self, kind: u16, flags: u8, mut payload: Bytes) -> Result<Option<Frame>, DecodeError> {
        let fin = flags & FLAG_FIN != 0;
        let fixed = match kind {
            SYN_STREAM => payload.len() >= 10,
            SYN_REPLY | HEADERS | SETTINGS => payload.len() >= 4,
            RST_STREAM | GO_AWAY | WINDOW_UPDATE => payload.len() == 8,
            PING => payload.len() == 4,
            _ => return Ok(None),
        };
        if !fixed {
            return Err(DecodeError::Length(kind));
        }
        let first = payload.get_u32();
        let id = first & MASK_31;
        Ok(Some(match kind {
            SYN_STREAM => {
                let associated = payload.get_u32() & MASK_31;
                let priority = payload.get_u8() >> 5;
                payload.advance(1);
                let unidirectional = flags & FLAG_UNIDIRECTIONAL != 0;
                Frame::SynStream {
                    id,
                    associated,
                    priority,
                    fin,
                    unidirectional,
                    headers: self.block(&payload)?,
                }
            }
            SYN_REPLY => Frame::SynReply { id, fin, headers: self.block(&payload)? },
            HEADERS => Frame::Headers { id, fin, headers: self.block(&payload)? },
            RST_STREAM => Frame::RstStream { id, status: ResetStatus(payload.get_u32()) },
            GO_AWAY => Frame::GoAway { last_stream: id, status: payload.get_u32() },
            WINDOW_UPDATE => Frame::WindowUpdate { id, delta: payload.get_u32() & MASK_31 },
            PING => Frame::Ping(first),
            SETTINGS => settings(first, payload)?,
            _ => return Ok(None),
        }))
    }

    fn block(&mut self, compressed: &[u8]) -> Result<Headers, DecodeError> {
        let mut block = Vec::with_capacity(compressed.len().max(64) * 4);
        let mut rest = compressed;
        loop {
            let before = self.headers.total_in();
            let result = self.headers.decompress_vec(rest, &mut block, FlushDecompress::Sync);
            rest = &rest[used_of(&self.headers, before)..];
            match result {
                // zlib asks for the dictionary after it has read the header of the first block.
                Err(error) if error.needs_dictionary().is_some() => {
                    self.headers.set_dictionary(&DICTIONARY).map_err(|_| DecodeError::Compression)?;
                }
                Ok(Status::Ok | Status::BufError) if block.len() == block.capacity() => {
                    if block.len() >= LARGEST_BLOCK {
                        return Err(DecodeError::TooLarge(block.len()));
                    }
                    block.reserve(block.len().max(64));
                }
                Ok(Status::Ok | Status::BufError) if rest.is_empty() => break,
                _ => return Err(DecodeError::Compression),
            }
        }
        parse_block(&block).ok_or(DecodeError::Headers)
    }
}

/// How much input a step of decompression took.
fn used_of(headers: &Decompress, before: u64) -> usize {
    usize::try_from(headers.total_in() - before).expect("no more than what was passed")
}

fn check_control(first: u16, length: usize) -> Result<(), DecodeError> {
    let version = first & !CONTROL_BIT;
    if version != VERSION {
        return Err(DecodeError::Version(version));
    }
    if length > LARGEST_CONTROL { Err(DecodeError::TooLarge(length)) } else { Ok(()) }
}

fn settings(count: u32, mut payload: Bytes) -> Result<Frame, DecodeError> {
    if usize::try_from(count).ok().and_then(|count| count.checked_mul(8)) != Some(payload.len()) {
        return Err(DecodeError::Length(SETTINGS));
    }
    let mut settings = Vec::new();
    while payload.has_remaining() {
        let word = payload.get_u32();
        let [flags, ..] = word.to_be_bytes();
        settings.push(Setting { flags, id: word & 0x00ff_ffff, value: payload.get_u32() });
    }
    Ok(Frame::Settings(settings))
}

/// Reads the names and values of a decompressed block; `None` if it is cut short or not text.
fn parse_block(mut block: &[u8]) -> Option<Headers> {
    let count = block.try_get_u32().ok()?;
    let mut headers = Headers::new();
    for _ in 0..count {
        headers.push((text(&mut block)?.to_ascii_lowercase(), text(&mut block)?));
    }
    block.is_empty().then_some(headers)
}

fn text(block: &mut &[u8]) -> Option<String> {
    let length = usize::try_from(block.try_get_u32().ok()?).ok()?;
    let (text, rest) = block.split_at_checked(length)?;
    *block = rest;
    String::from_utf8(text.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::encoder::Encoder;
    use super::super::frame::LARGEST_PAYLOAD;
    use super::*;

    #[rustfmt::skip]
    const GO_SYN_STREAM: [u8; 50] = [
        0x80, 0x03, 0x00, 0x01, 0x00, 0x00, 0x00, 0x2a, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x78, 0xf9, 0xe3, 0xc6, 0xa7, 0xc2, 0x62, 0x60, 0x60, 0x60, 0x04, 0xa7, 0xb3, 0x92,
        0xa2, 0xd4, 0xc4, 0x5c, 0x68, 0x51, 0xc2, 0x5a, 0x5c, 0x92, 0x92, 0x99, 0x07, 0x00, 0x00, 0x00,
        0xff, 0xff,
    ];

    fn headers() -> impl Strategy<Value = Headers> {
        prop::collection::vec(("[a-z0-9-]{1,20}", ".{0,40}"), 0..6)
    }

    fn setting() -> impl Strategy<Value = Setting> {
        (any::<u8>(), 0u32..1 << 24, any::<u32>()).prop_map(|(flags, id, value)| Setting { flags, id, value })
    }

    fn frame() -> impl Strategy<Value = Frame> {
        let id = 1..=MASK_31;
        prop_oneof![
            (id.clone(), 0..=MASK_31, 0u8..8, any::<bool>(), any::<bool>(), headers()).prop_map(
                |(id, associated, priority, fin, unidirectional, headers)| Frame::SynStream {
                    id,
                    associated,
                    priority,
                    fin,
                    unidirectional,
                    headers
                }
            ),
            (id.clone(), any::<bool>(), headers()).prop_map(|(id, fin, headers)| Frame::SynReply {
                id,
                fin,
                headers
            }),
            (id.clone(), any::<bool>(), headers()).prop_map(|(id, fin, headers)| Frame::Headers {
                id,
                fin,
                headers
            }),
            (id.clone(), any::<u32>())
                .prop_map(|(id, status)| Frame::RstStream { id, status: ResetStatus(status) }),
            prop::collection::vec(setting(), 0..9).prop_map(Frame::Settings),
            any::<u32>().prop_map(Frame::Ping),
            (0..=MASK_31, any::<u32>())
                .prop_map(|(last_stream, status)| Frame::GoAway { last_stream, status }),
            (0..=MASK_31, 0..=MASK_31).prop_map(|(id, delta)| Frame::WindowUpdate { id, delta }),
            (id, any::<bool>(), prop::collection::vec(any::<u8>(), 0..300))
                .prop_map(|(id, fin, data)| Frame::Data { id, fin, data: data.into() }),
        ]
    }

    /// Decodes `bytes` fed in pieces of the given lengths; pieces of data frames are joined again.
    fn decode_in_pieces(bytes: &[u8], lengths: &[usize]) -> Result<Vec<Frame>, DecodeError> {
        let (mut decoder, mut input, mut frames) = (Decoder::new(), BytesMut::new(), Vec::new());
        let (mut rest, mut joining) = (bytes, Vec::new());
        for length in lengths.iter().cycle() {
            let (piece, tail) = rest.split_at((*length).min(rest.len()));
            input.extend_from_slice(piece);
            rest = tail;
            while let Some(frame) = decoder.decode(&mut input)? {
                let Frame::Data { id, fin, data } = frame else {
                    frames.push(frame);
                    continue;
                };
                joining.extend_from_slice(&data);
                if decoder.data.is_none() {
                    frames.push(Frame::Data { id, fin, data: std::mem::take(&mut joining).into() });
                }
            }
            if rest.is_empty() {
                return Ok(frames);
            }
        }
        Ok(frames)
    }

    proptest! {
        #[test]
        fn frames_survive_any_split(
            frames in prop::collection::vec(frame(), 1..12),
            lengths in prop::collection::vec(1usize..64, 1..20),
        ) {
            let (mut encoder, mut bytes) = (Encoder::new(), BytesMut::new());
            for frame in &frames {
                encoder.encode(frame, &mut bytes);
            }
            prop_assert_eq!(decode_in_pieces(&bytes, &lengths).unwrap(), frames);
        }

        #[test]
        fn no_bytes_make_decoding_panic(mut bytes: Vec<u8>, control: bool) {
            if control && bytes.len() > 4 {
                bytes[..3].copy_from_slice(&[0x80, 3, 0]);
                bytes[3] %= 11;
            }
            let _ = decode_in_pieces(&bytes, &[7]);
        }
    }

    #[test]
    fn the_header_stream_starts_as_spdy_says() {
        let mut bytes = BytesMut::new();
        Encoder::new().encode(&Frame::SynReply { id: 1, fin: false, headers: Headers::new() }, &mut bytes);
        assert_eq!(&bytes[12..14], &[0x78, 0xbb], "zlib with a dictionary");
        assert_eq!(&bytes[14..18], &[0xe3, 0xc6, 0xa7, 0xc2], "which is SPDY's");
    }

    #[test]
    fn a_frame_that_go_wrote_is_read() {
        // spdystream's SYN_STREAM for an exec's standard input, captured byte for byte.
        let mut bytes = BytesMut::from(&GO_SYN_STREAM[..]);
        let frame = Decoder::new().decode(&mut bytes).unwrap().unwrap();
        let headers = vec![("streamtype".to_owned(), "stdin".to_owned())];
        let want = Frame::SynStream {
            id: 1,
            associated: 0,
            priority: 0,
            fin: false,
            unidirectional: false,
            headers,
        };
        assert_eq!(frame, want);
    }

    #[test]
    fn large_data_frames_do_not_wait_in_memory() {
        let mut decoder = Decoder::new();
        let mut input = BytesMut::from(&[0, 0, 0, 1, FLAG_FIN, 0xff, 0xff, 0xff][..]);
        assert_eq!(decoder.decode(&mut input), Ok(None));
        input.extend_from_slice(b"start");
        let piece = Frame::Data { id: 1, fin: false, data: Bytes::from_static(b"start") };
        assert_eq!(decoder.decode(&mut input), Ok(Some(piece)));
        assert_eq!(decoder.data.as_ref().map(|rest| rest.left), Some(LARGEST_PAYLOAD - 5));
    }

    #[test]
    fn what_is_not_spdy_is_an_error() {
        let decode = |bytes: &[u8]| Decoder::new().decode(&mut BytesMut::from(bytes));
        assert_eq!(decode(&[0x80, 2, 0, 1, 0, 0, 0, 0]), Err(DecodeError::Version(2)));
        assert_eq!(decode(&[0x80, 3, 0, 6, 0, 0, 0, 1, 0]), Err(DecodeError::Length(PING)));
        assert_eq!(decode(&[0x80, 3, 0, 1, 0, 0xff, 0, 0]), Err(DecodeError::TooLarge(0x00ff_0000)));
        assert_eq!(decode(&[0, 0, 0, 0, 0, 0, 0, 0]), Err(DecodeError::ZeroStream));
        assert_eq!(
            decode(&[0x80, 3, 0, 2, 0, 0, 0, 6, 0, 0, 0, 1, 0xff, 0xff]),
            Err(DecodeError::Compression)
        );
        assert_eq!(decode(&[0x80, 3, 0, 99, 0, 0, 0, 0]), Ok(None), "unknown frames are skipped");
    }

    #[test]
    fn a_header_block_cannot_grow_without_bound() {
        let mut bytes = BytesMut::new();
        let headers = vec![("a".to_owned(), "x".repeat(LARGEST_BLOCK * 2))];
        Encoder::new().encode(&Frame::SynReply { id: 1, fin: false, headers }, &mut bytes);
        assert!(matches!(Decoder::new().decode(&mut bytes), Err(DecodeError::TooLarge(_))));
    }
}
