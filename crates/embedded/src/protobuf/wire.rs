//! Protobuf's wire format: numbered items, nothing about their meaning.

/// Why bytes are not protobuf, or not what the field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum WireError {
    #[error("it ends too early")]
    Short,
    #[error("a field has an unknown wire type")]
    Type,
    #[error("a field has a value of the wrong type")]
    Value,
    #[error("it is nested too deeply")]
    Deep,
}

/// The value of one field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Item<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Item<'a> {
    pub(super) fn bytes(self) -> Result<&'a [u8], WireError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Number(_) => Err(WireError::Value),
        }
    }

    pub(super) fn text(self) -> Result<String, WireError> {
        let text = std::str::from_utf8(self.bytes()?).map_err(|_| WireError::Value)?;
        Ok(text.to_owned())
    }

    /// Negative numbers are sent as their two's complement.
    pub(super) fn integer(self) -> Result<i64, WireError> {
        match self {
            Self::Number(number) => Ok(number.cast_signed()),
            Self::Bytes(_) => Err(WireError::Value),
        }
    }

    pub(super) fn double(self) -> Result<f64, WireError> {
        match self {
            Self::Number(bits) => Ok(f64::from_bits(bits)),
            Self::Bytes(_) => Err(WireError::Value),
        }
    }
}

/// Walks over the fields of a message; ends after the first error.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn varint(&mut self) -> Result<u64, WireError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or(WireError::Short)?;
            self.rest = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(WireError::Value)
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], WireError> {
        let length = usize::try_from(length).map_err(|_| WireError::Short)?;
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(WireError::Short)?;
        self.rest = rest;
        Ok(taken)
    }

    fn item(&mut self) -> Result<(u64, Item<'a>), WireError> {
        let tag = self.varint()?;
        let little_endian =
            |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let item = match tag & 7 {
            0 => Item::Number(self.varint()?),
            1 => Item::Number(little_endian(self.take(8)?)),
            2 => {
                let length = self.varint()?;
                Item::Bytes(self.take(length)?)
            }
            5 => Item::Number(little_endian(self.take(4)?)),
            _ => return Err(WireError::Type),
        };
        Ok((tag >> 3, item))
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<(u64, Item<'a>), WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let item = self.item();
        if item.is_err() {
            self.rest = &[];
        }
        Some(item)
    }
}
