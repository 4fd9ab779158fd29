//! Proof of key for the exchange of codes (RFC 7636), with SHA-256 and nothing weaker.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256};

/// What a client keeps to itself and what it shows (RFC 7636).
#[derive(Clone)]
pub struct ProofKey {
    /// Sent with the code.
    pub verifier: String,
    /// Sent with the browser.
    pub challenge: String,
}

impl std::fmt::Debug for ProofKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ProofKey")
    }
}

impl ProofKey {
    /// Of 256 random bits.
    pub fn new(random: [u8; 32]) -> Self {
        let verifier = BASE64_URL_SAFE_NO_PAD.encode(random);
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&verifier));
        Self { verifier, challenge }
    }
}

/// Whether a verifier is one, and is that of a challenge.
pub(crate) fn proves(verifier: &str, challenge: &str) -> bool {
    let letters = |one: u8| one.is_ascii_alphanumeric() || b"-._~".contains(&one);
    (43..=128).contains(&verifier.len())
        && verifier.bytes().all(letters)
        && BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(verifier)) == challenge
}

/// Whether a text can be the challenge of a verifier at all.
pub(crate) fn is_challenge(text: &str) -> bool {
    text.len() == 43 && text.bytes().all(|one| one.is_ascii_alphanumeric() || one == b'-' || one == b'_')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn challenge(verifier: &str) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
    }

    #[test]
    fn the_example_of_the_rfc_holds() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert!(proves(verifier, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"));
        let own = ProofKey::new([9; 32]);
        assert!(proves(&own.verifier, &own.challenge));
        assert!(!proves("short", &challenge("short")), "what can be guessed proves nothing");
        let challenge = challenge(verifier);
        assert!(!proves(&challenge, &challenge), "plain is not taken for S256");
    }

    proptest! {
        #[test]
        fn only_the_verifier_itself_proves(one in "[A-Za-z0-9._~-]{43,128}", other in "[A-Za-z0-9._~-]{43,128}") {
            prop_assert!(is_challenge(&challenge(&one)) && proves(&one, &challenge(&one)));
            prop_assert_eq!(proves(&other, &challenge(&one)), one == other);
        }
    }
}
