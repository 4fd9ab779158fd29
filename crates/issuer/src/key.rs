//! Keys that sign: P-256 (ES256) of our own making, and RSA (RS256) that an operator brings for clients that know nothing
//! else.

use std::fmt;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD as BASE64};
use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    hmac,
    rand::SystemRandom,
    rsa::PublicKeyComponents,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair},
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// A key cannot be made, opened or used.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct KeyError(&'static str);

/// Seals private parts, so that who reads the database alone can sign nothing.
#[derive(Clone)]
pub struct Sealer(LessSafeKey);

impl fmt::Debug for Sealer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Sealer")
    }
}

impl Sealer {
    /// With a secret of at least 32 bytes, which has to be random.
    pub fn new(secret: &[u8]) -> Result<Self, KeyError> {
        if secret.len() < 32 {
            return Err(KeyError("the secret that seals keys has less than 32 bytes"));
        }
        // The secret may serve other purposes, too: each has a key of its own.
        let derived =
            hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), b"maar issuer: seal signing keys");
        let key = UnboundKey::new(&AES_256_GCM, derived.as_ref());
        key.map(|key| Self(LessSafeKey::new(key))).map_err(|_| KeyError("the secret that seals keys is none"))
    }

    fn seal(&self, id: &str, nonce: [u8; NONCE_LEN], open: &[u8]) -> Result<String, KeyError> {
        let mut bytes = open.to_vec();
        let with = Nonce::assume_unique_for_key(nonce);
        let sealed = self.0.seal_in_place_append_tag(with, Aad::from(id.as_bytes()), &mut bytes);
        sealed.map_err(|_| KeyError("a key cannot be sealed"))?;
        Ok(BASE64.encode([nonce.as_slice(), &bytes].concat()))
    }

    fn open(&self, id: &str, sealed: &str) -> Option<Vec<u8>> {
        let bytes = BASE64.decode(sealed).ok()?;
        let (nonce, rest) = bytes.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut rest = rest.to_vec();
        let open = self.0.open_in_place(nonce, Aad::from(id.as_bytes()), &mut rest).ok()?;
        Some(open.to_vec())
    }
}

/// A key that can sign.
pub(crate) struct Signer {
    pub(crate) id: String,
    pair: Pair,
}

enum Pair {
    Ecdsa(Box<EcdsaKeyPair>),
    Rsa(std::sync::Arc<RsaKeyPair>),
}

/// A key that was just made.
pub(crate) struct Made {
    pub(crate) id: String,
    pub(crate) sealed: String,
    pub(crate) public: Value,
}

/// Makes a key, sealed. What the system calls random makes it: the library takes nothing else.
pub(crate) fn make(sealer: &Sealer, nonce: [u8; NONCE_LEN]) -> Result<Made, KeyError> {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random)
        .map_err(|_| KeyError("a key cannot be made"))?;
    let public =
        ecdsa(document.as_ref()).map(|pair| ecdsa_public(&pair)).ok_or(KeyError("a new key is damaged"))?;
    let id = public["kid"].as_str().unwrap_or_default().to_owned();
    Ok(Made { sealed: sealer.seal(&id, nonce, document.as_ref())?, id, public })
}

fn ecdsa(document: &[u8]) -> Option<EcdsaKeyPair> {
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document, &SystemRandom::new()).ok()
}

fn ecdsa_public(pair: &EcdsaKeyPair) -> Value {
    // One byte that says that it is not compressed, then both coordinates.
    let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
    let (x, y) = (BASE64.encode(x), BASE64.encode(y));
    let kid = thumbprint(&format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#));
    json!({ "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": kid, "x": x, "y": y })
}

/// The name of a key that follows from it (RFC 7638).
fn thumbprint(members: &str) -> String {
    BASE64.encode(Sha256::digest(members))
}

/// An RSA key that an operator brings.
#[derive(Clone)]
pub struct RsaKey {
    pair: std::sync::Arc<RsaKeyPair>,
    pub(crate) public: Value,
}

impl fmt::Debug for RsaKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "RsaKey({})", self.public["kid"])
    }
}

impl RsaKey {
    /// Of a private key as PEM in PKCS #8, such as `openssl genpkey -algorithm RSA` writes it.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        const WRONG: KeyError =
            KeyError("it is no RSA key of 2048 bits or more as PEM in PKCS #8 (BEGIN PRIVATE KEY)");
        let (begin, end) = ("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----");
        let inner = text.split_once(begin).and_then(|(_, rest)| rest.split_once(end)).ok_or(WRONG)?.0;
        let inner: String = inner.split_whitespace().collect();
        let document = base64::prelude::BASE64_STANDARD.decode(inner).map_err(|_| WRONG)?;
        let pair = RsaKeyPair::from_pkcs8(&document).map_err(|_| WRONG)?;
        let parts = PublicKeyComponents::<Vec<u8>>::from(pair.public_key());
        let (n, e) = (BASE64.encode(&parts.n), BASE64.encode(&parts.e));
        let kid = thumbprint(&format!(r#"{{"e":"{e}","kty":"RSA","n":"{n}"}}"#));
        let public = json!({ "kty": "RSA", "use": "sig", "alg": "RS256", "kid": kid, "n": n, "e": e });
        Ok(Self { pair: std::sync::Arc::new(pair), public })
    }

    pub(crate) fn signer(&self) -> Signer {
        let id = self.public["kid"].as_str().unwrap_or_default().to_owned();
        Signer { id, pair: Pair::Rsa(std::sync::Arc::clone(&self.pair)) }
    }
}

impl Signer {
    /// Opens a key that was sealed; nothing if the secret is another.
    pub(crate) fn open(sealer: &Sealer, id: &str, private: &str) -> Option<Self> {
        let pair = ecdsa(&sealer.open(id, private)?)?;
        Some(Self { id: id.to_owned(), pair: Pair::Ecdsa(Box::new(pair)) })
    }

    /// A JSON Web Token of these claims.
    pub(crate) fn token(&self, claims: &Value) -> Result<String, KeyError> {
        let algorithm = match self.pair {
            Pair::Ecdsa(_) => "ES256",
            Pair::Rsa(_) => "RS256",
        };
        let header = json!({ "alg": algorithm, "kid": self.id, "typ": "JWT" });
        let said = format!("{}.{}", BASE64.encode(header.to_string()), BASE64.encode(claims.to_string()));
        let signature = self.sign(said.as_bytes())?;
        Ok(format!("{said}.{}", BASE64.encode(signature)))
    }

    fn sign(&self, said: &[u8]) -> Result<Vec<u8>, KeyError> {
        let (random, failed) = (SystemRandom::new(), KeyError("a token cannot be signed"));
        match &self.pair {
            Pair::Ecdsa(pair) => {
                pair.sign(&random, said).map(|made| made.as_ref().to_vec()).map_err(|_| failed)
            }
            Pair::Rsa(pair) => {
                let mut made = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, said, &mut made).map_err(|_| failed)?;
                Ok(made)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_opens_with_its_secret_and_its_name_alone() {
        let (ours, theirs) = (Sealer::new(&[1; 32]).unwrap(), Sealer::new(&[2; 32]).unwrap());
        let made = make(&ours, [7; NONCE_LEN]).unwrap();
        assert!(Signer::open(&ours, &made.id, &made.sealed).is_some());
        assert!(Signer::open(&theirs, &made.id, &made.sealed).is_none());
        assert!(Signer::open(&ours, "another", &made.sealed).is_none());
        assert!(Sealer::new(&[1; 31]).is_err());
        assert!(!format!("{ours:?} {:?}", made.public).contains("PRIVATE"));
    }

    #[test]
    fn what_is_no_rsa_key_is_refused() {
        for text in [
            "",
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
            "-----BEGIN RSA PRIVATE KEY-----",
        ] {
            assert!(RsaKey::from_pem(text).is_err());
        }
    }
}
