//! Frames of the helper that listens in a Pod. Pure.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

/// What may be on the way of one connection in one direction, as the helper has it.
pub(super) const CREDIT: usize = 256 * 1024;
/// The longest frame that is sent.
pub(super) const PART: usize = 32 * 1024;
/// Kind, connection, length.
const HEAD: usize = 9;

/// What is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Frame {
    /// The port is open.
    Listening(u16),
    /// A connection from there.
    Open(u32, String),
    Data(u32, Bytes),
    /// No more data in this direction.
    End(u32),
    /// The connection is gone.
    Close(u32),
    /// So many bytes more may be sent.
    Grant(u32, u32),
    /// A Unix socket is there, at this path.
    Socket(String),
}

impl Frame {
    pub(super) fn bytes(&self) -> Bytes {
        let number;
        let (kind, line, body): (u8, u32, &[u8]) = match self {
            Self::Listening(port) => {
                number = u32::from(*port).to_be_bytes();
                (0, 0, &number[2..])
            }
            Self::Open(line, from) => (1, *line, from.as_bytes()),
            Self::Data(line, bytes) => (2, *line, bytes),
            Self::End(line) => (3, *line, &[]),
            Self::Close(line) => (4, *line, &[]),
            Self::Grant(line, count) => {
                number = count.to_be_bytes();
                (5, *line, &number)
            }
            Self::Socket(path) => (6, 0, path.as_bytes()),
        };
        let mut frame = BytesMut::with_capacity(HEAD + body.len());
        frame.put_u8(kind);
        frame.put_u32(line);
        frame.put_u32(u32::try_from(body.len()).unwrap_or_default());
        frame.put_slice(body);
        frame.freeze()
    }
}

/// The helper says something that it never says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Nonsense;

/// Frames out of parts that come as they come.
#[derive(Debug, Default)]
pub(super) struct Frames(BytesMut);

impl Frames {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// The next whole frame.
    pub(super) fn next(&mut self) -> Result<Option<Frame>, Nonsense> {
        if self.0.len() < HEAD {
            return Ok(None);
        }
        let length = u32::from_be_bytes([self.0[5], self.0[6], self.0[7], self.0[8]]) as usize;
        if length > CREDIT {
            return Err(Nonsense);
        }
        if self.0.len() < HEAD + length {
            return Ok(None);
        }
        let mut frame = self.0.split_to(HEAD + length).freeze();
        let (kind, line) = (frame.get_u8(), frame.get_u32());
        frame.advance(4);
        Ok(Some(match (kind, length) {
            (0, 2) => Frame::Listening(frame.get_u16()),
            (1, _) => Frame::Open(line, String::from_utf8_lossy(&frame).into_owned()),
            (2, _) => Frame::Data(line, frame),
            (3, 0) => Frame::End(line),
            (4, 0) => Frame::Close(line),
            (5, 4) => Frame::Grant(line, frame.get_u32()),
            (6, _) => Frame::Socket(String::from_utf8_lossy(&frame).into_owned()),
            _ => return Err(Nonsense),
        }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_frame() -> impl Strategy<Value = Frame> {
        prop_oneof![
            any::<u16>().prop_map(Frame::Listening),
            (any::<u32>(), "[0-9.:]{0,20}").prop_map(|(line, from)| Frame::Open(line, from)),
            (any::<u32>(), prop::collection::vec(any::<u8>(), 0..50))
                .prop_map(|(line, bytes)| Frame::Data(line, bytes.into())),
            any::<u32>().prop_map(Frame::End),
            any::<u32>().prop_map(Frame::Close),
            any::<(u32, u32)>().prop_map(|(line, count)| Frame::Grant(line, count)),
            "[a-z./]{0,20}".prop_map(Frame::Socket),
        ]
    }

    proptest! {
        #[test]
        fn frames_survive_however_they_are_cut(
            frames in prop::collection::vec(any_frame(), 0..10),
            cut in 1_usize..20,
        ) {
            let all: Vec<u8> = frames.iter().flat_map(Frame::bytes).collect();
            let (mut reader, mut read) = (Frames::default(), Vec::new());
            for part in all.chunks(cut) {
                reader.add(part);
                while let Some(frame) = reader.next().unwrap() {
                    read.push(frame);
                }
            }
            prop_assert_eq!(read, frames);
        }

        #[test]
        fn nonsense_is_told_and_never_held(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let mut reader = Frames::default();
            reader.add(&bytes);
            while let Ok(Some(_)) = reader.next() {}
        }
    }
}
