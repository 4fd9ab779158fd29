//! Secrets that clients hold, and what is kept of them.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use maar_records::TokenHash;
use sha2::{Digest as _, Sha256};

use crate::{Host, Refusal};

/// Letters of codes that people type: no vowels, so that they spell nothing, and none that look alike (RFC 8628, 6.1).
const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";

fn bytes<const N: usize>(host: &dyn Host) -> Result<[u8; N], Refusal> {
    let mut bytes = [0; N];
    if host.fill(&mut bytes) {
        Ok(bytes)
    } else {
        Err(Refusal::new("temporarily_unavailable", "there is no randomness"))
    }
}

/// A new secret of 256 bits, with a word before it that says what it is.
pub(crate) fn secret(host: &dyn Host, prefix: &str) -> Result<String, Refusal> {
    Ok(format!("{prefix}{}", BASE64_URL_SAFE_NO_PAD.encode(bytes::<32>(host)?)))
}

/// What is kept of one. There is nothing to guess, and so nothing to slow down.
pub(crate) fn hash(secret: &str) -> TokenHash {
    TokenHash::new(format!("{:x}", Sha256::digest(secret)))
}

/// A new code that people type, such as `BCDF-GHJK`.
pub(crate) fn user_code(host: &dyn Host) -> Result<String, Refusal> {
    let mut code = String::new();
    while code.len() < 9 {
        for byte in bytes::<16>(host)? {
            // Above the last whole twenty, some letters would come more often.
            if byte >= 240 || code.len() == 9 {
                continue;
            }
            if code.len() == 4 {
                code.push('-');
            }
            code.push(char::from(LETTERS[usize::from(byte % 20)]));
        }
    }
    Ok(code)
}

/// What people type, as it is kept: they leave out the dash and use small letters.
pub(crate) fn typed_code(text: &str) -> Option<String> {
    let letters: String = text
        .chars()
        .filter(|one| !matches!(one, '-' | ' '))
        .map(|one| one.to_ascii_uppercase())
        .take(9)
        .collect();
    let known = letters.len() == 8 && letters.bytes().all(|one| LETTERS.contains(&one));
    known.then(|| format!("{}-{}", &letters[..4], &letters[4..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_type_codes_in_their_own_way() {
        for typed in ["BCDF-GHJK", "bcdfghjk", "bcdf ghjk", " b-c-d-fGHJK"] {
            assert_eq!(typed_code(typed).as_deref(), Some("BCDF-GHJK"), "{typed}");
        }
        for wrong in ["", "BCDF-GHJ", "BCDF-GHJKL", "ABCD-EFGH", "BCDF-GHJ%", "ÄÖÜF-GHJK"] {
            assert_eq!(typed_code(wrong), None, "{wrong}");
        }
    }
}
