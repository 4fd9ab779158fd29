//! Words and keys for jobs, from entropy that is injected.

use std::{fmt, fmt::Write as _, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use parking_lot::Mutex;
use ring::{
    rand::{SecureRandom as _, SystemRandom},
    signature::{Ed25519KeyPair, KeyPair as _},
};

/// Bytes that nobody can guess.
#[derive(Clone)]
pub struct Entropy(Arc<Fill>);

/// Fills bytes; false if it cannot.
type Fill = dyn Fn(&mut [u8]) -> bool + Send + Sync;

impl fmt::Debug for Entropy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Entropy")
    }
}

impl Entropy {
    /// From the operating system.
    pub fn system() -> Self {
        let source = SystemRandom::new();
        Self(Arc::new(move |bytes| source.fill(bytes).is_ok()))
    }

    /// Predictable, for tests and simulations.
    pub fn counting() -> Self {
        let next = Mutex::new(0_u8);
        Self(Arc::new(move |bytes| {
            let mut next = next.lock();
            for byte in bytes {
                *next = next.wrapping_add(1);
                *byte = *next;
            }
            true
        }))
    }

    fn bytes<const N: usize>(&self) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        (self.0)(&mut bytes).then_some(bytes)
    }

    /// A word of 32 letters.
    pub(crate) fn token(&self) -> Option<String> {
        let bytes: [u8; 16] = self.bytes()?;
        let mut word = String::new();
        for byte in bytes {
            // Writing to a String cannot fail.
            let _ = write!(word, "{byte:02x}");
        }
        Some(word)
    }

    /// A new key pair for ssh.
    pub(crate) fn keys(&self) -> Option<SshKeys> {
        let seed: [u8; 32] = self.bytes()?;
        let check: [u8; 4] = self.bytes()?;
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).ok()?;
        let public: [u8; 32] = pair.public_key().as_ref().try_into().ok()?;
        Some(SshKeys { private: private_text(&seed, &public, check), public: public_text(&public) })
    }
}

/// A key pair as ssh reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SshKeys {
    pub(crate) private: String,
    pub(crate) public: String,
}

const ALGORITHM: &[u8] = b"ssh-ed25519";
const COMMENT: &[u8] = b"maar";
/// Unencrypted keys are padded to multiples of this.
const BLOCK: usize = 8;

fn public_text(public: &[u8; 32]) -> String {
    format!("ssh-ed25519 {} maar\n", STANDARD.encode(public_bytes(public)))
}

fn public_bytes(public: &[u8; 32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put(&mut bytes, ALGORITHM);
    put(&mut bytes, public);
    bytes
}

/// The format `openssh-key-v1`, as PROTOCOL.key of OpenSSH describes it, without encryption.
fn private_text(seed: &[u8; 32], public: &[u8; 32], check: [u8; 4]) -> String {
    let mut secret = Vec::new();
    secret.extend_from_slice(&check);
    secret.extend_from_slice(&check);
    put(&mut secret, ALGORITHM);
    put(&mut secret, public);
    put(&mut secret, &[seed.as_slice(), public.as_slice()].concat());
    put(&mut secret, COMMENT);
    let missing = (BLOCK - secret.len() % BLOCK) % BLOCK;
    secret.extend((1_u8..).take(missing));

    let mut all = b"openssh-key-v1\0".to_vec();
    put(&mut all, b"none");
    put(&mut all, b"none");
    put(&mut all, b"");
    all.extend_from_slice(&1_u32.to_be_bytes());
    put(&mut all, &public_bytes(public));
    put(&mut all, &secret);
    let mut text = "-----BEGIN OPENSSH PRIVATE KEY-----\n".to_owned();
    for line in STANDARD.encode(all).as_bytes().chunks(70) {
        text.push_str(&String::from_utf8_lossy(line));
        text.push('\n');
    }
    text + "-----END OPENSSH PRIVATE KEY-----\n"
}

/// A string of the wire format: its length, then its bytes.
fn put(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend_from_slice(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_be_bytes());
    bytes.extend_from_slice(part);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_format_of_openssh_and_differ() {
        let entropy = Entropy::counting();
        let keys = entropy.keys().unwrap();
        assert_ne!(Some(&keys), entropy.keys().as_ref());
        let body: String = keys.private.lines().filter(|line| !line.starts_with('-')).collect();
        let bytes = STANDARD.decode(body).unwrap();
        assert!(bytes.starts_with(b"openssh-key-v1\0\0\0\0\x04none\0\0\0\x04none\0\0\0\0\0\0\0\x01"));
        let public = keys.public.split(' ').nth(1).unwrap();
        let public = STANDARD.decode(public).unwrap();
        assert_eq!(public.len(), 4 + 11 + 4 + 32);
        assert!(bytes.windows(public.len()).any(|part| part == public), "the public part is inside");
        assert_eq!((bytes.len() - 15 - 8 - 8 - 4 - 4 - 4 - public.len() - 4) % BLOCK, 0);
    }

    #[test]
    fn words_are_long_and_differ() {
        let entropy = Entropy::system();
        let words = [entropy.token().unwrap(), entropy.token().unwrap()];
        assert_eq!(words[0].len(), 32);
        assert_ne!(words[0], words[1]);
    }
}
