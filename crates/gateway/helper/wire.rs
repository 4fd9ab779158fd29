//! Numbers and strings as SFTP writes them.

use std::io;

/// What is left of a message that is being read.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

fn short() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the message is too short")
}

impl<'a> Reader<'a> {
    pub(crate) fn take(&mut self, count: usize) -> io::Result<&'a [u8]> {
        if self.0.len() < count {
            return Err(short());
        }
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn byte(&mut self) -> io::Result<u8> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn u32(&mut self) -> io::Result<u32> {
        let bytes = self.take(4)?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    pub(crate) fn u64(&mut self) -> io::Result<u64> {
        Ok(u64::from(self.u32()?) << 32 | u64::from(self.u32()?))
    }

    pub(crate) fn string(&mut self) -> io::Result<&'a [u8]> {
        let length = self.u32()? as usize;
        self.take(length)
    }
}

/// A message that is being written; its length stands before it.
pub(crate) struct Message(Vec<u8>);

impl Message {
    pub(crate) fn new(kind: u8) -> Self {
        Self(vec![0, 0, 0, 0, kind])
    }

    pub(crate) fn u32(mut self, number: u32) -> Self {
        self.0.extend(number.to_be_bytes());
        self
    }

    pub(crate) fn u64(mut self, number: u64) -> Self {
        self.0.extend(number.to_be_bytes());
        self
    }

    pub(crate) fn string(self, text: impl AsRef<[u8]>) -> Self {
        let text = text.as_ref();
        let mut with_length = self.u32(u32::try_from(text.len()).unwrap_or(u32::MAX));
        with_length.0.extend_from_slice(text);
        with_length
    }

    /// A string of at most so many bytes that `fill` writes; what it has not filled is not sent.
    pub(crate) fn filled<E>(
        mut self,
        most: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<(Self, usize), E> {
        let begin = self.0.len() + 4;
        self.0.resize(begin + most, 0);
        let count = fill(&mut self.0[begin..])?;
        self.0.truncate(begin + count);
        self.0[begin - 4..begin].copy_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_be_bytes());
        Ok((self, count))
    }

    /// The message with its length.
    pub(crate) fn done(mut self) -> Vec<u8> {
        let length = u32::try_from(self.0.len() - 4).unwrap_or(u32::MAX);
        self.0[..4].copy_from_slice(&length.to_be_bytes());
        self.0
    }
}
