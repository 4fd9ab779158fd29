//! Keys: ours, that are kept, and those of people, that are read.

use russh::keys::{
    Algorithm, HashAlg, PrivateKey, PublicKey,
    ssh_key::{LineEnding, private::Ed25519Keypair, public::KeyData},
};

/// The least bits of an RSA key.
const LEAST_BITS: usize = 2048;
/// The longest line with a key.
const LONGEST: usize = 16 * 1024;

/// Why a key is not taken.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// It cannot be read.
    #[error("this is no public key of OpenSSH, such as `ssh-ed25519 AAAA… name`")]
    Unreadable,
    /// It is a private key.
    #[error("this is a private key: keep it secret, and give the file that ends in .pub")]
    Private,
    /// It can be broken, or is of a kind that we do not know.
    #[error("keys of this kind are not taken: {0}; make one with ssh-keygen -t ed25519")]
    Weak(String),
    /// A key of ours is damaged.
    #[error("the secret key is damaged")]
    Damaged,
}

/// A secret key of ours: that of the host, or of the authority for certificates.
#[derive(Clone)]
pub struct SecretKey(pub(super) PrivateKey);

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "SecretKey({})", self.fingerprint())
    }
}

impl SecretKey {
    /// An Ed25519 key of 32 random bytes.
    pub fn of_seed(seed: &[u8; 32]) -> Self {
        Self(PrivateKey::from(Ed25519Keypair::from_seed(seed)))
    }

    /// From what [`Self::text`] or `ssh-keygen` wrote.
    pub fn read(text: &str) -> Result<Self, KeyError> {
        let key = PrivateKey::from_openssh(text).map_err(|_| KeyError::Damaged)?;
        if key.is_encrypted() { Err(KeyError::Damaged) } else { Ok(Self(key)) }
    }

    /// In OpenSSH's format, which is a secret.
    pub fn text(&self) -> Result<String, KeyError> {
        Ok(self.0.to_openssh(LineEnding::LF).map_err(|_| KeyError::Damaged)?.to_string())
    }

    /// Its public half, as in `known_hosts`.
    pub fn public(&self) -> String {
        let key = PublicKey::new(self.0.public_key().key_data().clone(), "");
        key.to_openssh().unwrap_or_default().trim_end().to_owned()
    }

    /// `SHA256:…`.
    pub fn fingerprint(&self) -> String {
        self.0.fingerprint(HashAlg::Sha256).to_string()
    }
}

/// The public key of somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserKey(pub(super) PublicKey);

impl UserKey {
    /// From a line of OpenSSH.
    pub fn read(line: &str) -> Result<Self, KeyError> {
        let line = line.trim();
        if line.contains("PRIVATE KEY") {
            return Err(KeyError::Private);
        }
        if line.len() > LONGEST || line.contains(['\n', '\r', '\0']) {
            return Err(KeyError::Unreadable);
        }
        let key = PublicKey::from_openssh(line).map_err(|_| KeyError::Unreadable)?;
        strong(&key)?;
        Ok(Self(key))
    }

    /// Its kind, such as `ssh-ed25519`.
    pub fn kind(&self) -> String {
        self.0.algorithm().to_string()
    }

    /// `SHA256:…`.
    pub fn fingerprint(&self) -> String {
        self.0.fingerprint(HashAlg::Sha256).to_string()
    }

    /// What its owner calls it.
    pub fn comment(&self) -> String {
        self.0.comment().as_str_lossy().to_string()
    }

    /// The line without the comment.
    pub fn line(&self) -> String {
        PublicKey::new(self.0.key_data().clone(), "").to_openssh().unwrap_or_default().trim_end().to_owned()
    }
}

/// Whether a key is one that nobody can break.
pub(super) fn strong(key: &PublicKey) -> Result<(), KeyError> {
    match key.key_data() {
        KeyData::Ed25519(_) | KeyData::Ecdsa(_) | KeyData::SkEd25519(_) | KeyData::SkEcdsaSha2NistP256(_) => {
            Ok(())
        }
        KeyData::Rsa(rsa) => {
            let bits = rsa.n().as_positive_bytes().map_or(0, <[u8]>::len) * 8;
            if bits >= LEAST_BITS { Ok(()) } else { Err(KeyError::Weak(format!("RSA of {bits} bits"))) }
        }
        _ => Err(KeyError::Weak(key.algorithm().to_string())),
    }
}

/// Whether a signature of this kind is good: not with SHA-1, and not DSA.
pub(super) fn good_signature(algorithm: &Algorithm) -> bool {
    !matches!(algorithm, Algorithm::Dsa | Algorithm::Rsa { hash: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_ours_are_kept_as_text() {
        let key = SecretKey::of_seed(&[7; 32]);
        let read = SecretKey::read(&key.text().unwrap()).unwrap();
        assert_eq!(read.public(), key.public());
        assert!(key.public().starts_with("ssh-ed25519 AAAA") && !key.public().ends_with(' '));
        assert!(!format!("{key:?}").contains("PRIVATE"));
        assert!(SecretKey::read("nonsense").is_err());
    }

    #[test]
    fn keys_of_people_are_read_and_weak_ones_are_not_taken() {
        let line = format!("{} ada@desk", SecretKey::of_seed(&[1; 32]).public());
        let key = UserKey::read(&line).unwrap();
        assert_eq!((key.kind().as_str(), key.comment().as_str()), ("ssh-ed25519", "ada@desk"));
        assert!(key.fingerprint().starts_with("SHA256:"));
        assert!(line.starts_with(&key.line()));
        let private = SecretKey::of_seed(&[1; 32]).text().unwrap();
        assert!(matches!(UserKey::read(&private), Err(KeyError::Private)));
        let many = format!("{line}\n{line}");
        for wrong in ["", "ssh-ed25519", "ssh-ed25519 AAAA", &many, "command=\"x\" ssh-ed25519 AAAA"] {
            assert!(matches!(UserKey::read(wrong), Err(KeyError::Unreadable)), "{wrong}");
        }
        // 1024 bits, made for this test and thrown away.
        let mut blob = Vec::new();
        for part in [&b"ssh-rsa"[..], &[1, 0, 1], &[&[0][..], &[0x81; 128][..]].concat()] {
            blob.extend(u32::try_from(part.len()).unwrap().to_be_bytes());
            blob.extend_from_slice(part);
        }
        let text = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, blob);
        assert!(matches!(UserKey::read(&format!("ssh-rsa {text}")), Err(KeyError::Weak(_))));
    }
}
