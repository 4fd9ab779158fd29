//! Secrets that browsers and programs hold, and what is kept of them.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use maar_records::TokenHash;
use sha2::{Digest as _, Sha256};

use super::Entropy;
use crate::error::{ApiError, Code};

/// How API keys begin, so that people and scanners of secrets know them.
pub(crate) const KEY_PREFIX: &str = "maar_";

/// A new secret of 256 bits.
pub(crate) fn secret(entropy: &Entropy) -> Result<String, ApiError> {
    Ok(BASE64_URL_SAFE_NO_PAD.encode(entropy.bytes::<32>().ok_or_else(exhausted)?))
}

/// A new identifier, which is no secret.
pub(crate) fn identifier(entropy: &Entropy, prefix: &str) -> Result<String, ApiError> {
    let bytes: [u8; 12] = entropy.bytes().ok_or_else(exhausted)?;
    Ok(format!("{prefix}-{}", hex(&bytes)))
}

fn exhausted() -> ApiError {
    ApiError::new(Code::Unavailable, "the system has no randomness")
}

/// What is kept of a secret. It has 256 random bits, so there is nothing to guess and nothing to slow down.
pub(crate) fn hash(secret: &str) -> TokenHash {
    TokenHash::new(hex(&Sha256::digest(secret.as_bytes())))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
