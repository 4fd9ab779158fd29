//! Percent signs in URLs: what may stand for itself is different in each part.

use std::fmt::Write as _;

/// A part of a URL.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Path,
    Host,
    /// The zone of an IPv6 address, with the sign that it begins with.
    Zone,
    User,
    Query,
    Fragment,
}

impl Part {
    /// Whether a byte stands for itself.
    fn allows(self, byte: u8) -> bool {
        let other: &[u8] = match self {
            Part::Path => b"-._~$&+,/:;=@",
            Part::Host | Part::Zone => b"-._~!$&'()*+,;=:[]<>\"",
            Part::User => b"-._~$&+,;=",
            Part::Query => b"-._~",
            Part::Fragment => b"-._~$&+,/:;=@!()*?",
        };
        byte.is_ascii_alphanumeric() || other.contains(&byte)
    }

    /// What a text stands for.
    pub(super) fn decode(self, text: &str) -> Result<String, String> {
        let bytes = text.as_bytes();
        let mut out = Vec::with_capacity(bytes.len());
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'%' => {
                    let escaped = &bytes[at..bytes.len().min(at + 3)];
                    let problem = || format!("invalid URL escape {:?}", String::from_utf8_lossy(escaped));
                    let value = hex(escaped).filter(|value| self.may_escape(*value)).ok_or_else(problem)?;
                    out.push(value);
                    at += 3;
                    continue;
                }
                b'+' if self == Part::Query => out.push(b' '),
                _ if matches!(self, Part::Host | Part::Zone) && byte.is_ascii() && !self.allows(byte) => {
                    return Err(format!("invalid character {:?} in host name", char::from(byte).to_string()));
                }
                _ => out.push(byte),
            }
            at += 1;
        }
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// Whether a byte may be written with a percent sign: in hosts only what is not ASCII, and the sign itself.
    fn may_escape(self, value: u8) -> bool {
        match self {
            Part::Host => !value.is_ascii() || value == b'%',
            Part::Zone => value == b'%' || value == b' ' || self.allows(value),
            _ => true,
        }
    }

    /// The text as it is, where it is written well; else written anew.
    pub(super) fn encoded(self, text: &str) -> Result<String, String> {
        let decoded = self.decode(text)?;
        if text.bytes().all(|byte| self.allows(byte) || b"!$&'()*+,;=:@[]%".contains(&byte)) {
            return Ok(text.to_owned());
        }
        let mut out = String::with_capacity(text.len());
        for byte in decoded.bytes() {
            if self.allows(byte) {
                out.push(char::from(byte));
            } else {
                // Writing to a text does not fail.
                let _ = write!(out, "%{byte:02X}");
            }
        }
        Ok(out)
    }
}

/// The byte that a percent sign and two digits stand for.
fn hex(escaped: &[u8]) -> Option<u8> {
    let [_, high, low] = escaped else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
}
