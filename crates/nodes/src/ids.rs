//! Identifiers that look like those of a real node and follow from what they identify, so that nothing need be stored.

use std::fmt::Write;

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A number that depends on every byte of `parts` and on nothing else (FNV-1a).
pub(crate) fn hash(parts: &[&str]) -> u64 {
    let mut state: u64 = 0xcbf2_9ce4_8422_2325;
    for part in parts {
        // The separator keeps ["ab", "c"] and ["a", "bc"] apart.
        for byte in part.bytes().chain([0xff]) {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    state
}

/// Random numbers that depend on `parts` only.
pub(crate) fn random(parts: &[&str]) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(hash(parts))
}

/// 64 hexadecimal digits, as container and image identifiers have.
pub(crate) fn digest(parts: &[&str]) -> String {
    let mut bytes = [0u8; 32];
    random(parts).fill_bytes(&mut bytes);
    let mut text = String::with_capacity(64);
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// `8-4-4-4-12` hexadecimal digits, as cards and machines have.
pub(crate) fn uuid(parts: &[&str]) -> String {
    let digits = digest(parts);
    format!("{}-{}-{}-{}-{}", &digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..32])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_follow_from_what_they_identify() {
        assert_eq!(digest(&["a", "b"]), digest(&["a", "b"]));
        assert_ne!(digest(&["ab", "c"]), digest(&["a", "bc"]));
        assert_eq!(digest(&["a"]).len(), 64);
        assert_eq!(uuid(&["a"]).len(), 36);
    }
}
