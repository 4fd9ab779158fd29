//! Passwords.

use argon2::{
    Algorithm, Argon2, Params, PasswordHasher as _, PasswordVerifier as _, Version,
    password_hash::{PasswordHash as Parsed, SaltString},
};
use maar_records::PasswordHash;

use super::Entropy;
use crate::{
    error::{ApiError, Code},
    rules::Wrong,
};

const SHORTEST: usize = 10;
const LONGEST: usize = 256;

/// How much work a password costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PasswordCost {
    /// Memory in KiB.
    pub memory: u32,
    /// Rounds.
    pub rounds: u32,
}

impl Default for PasswordCost {
    /// What OWASP recommends for argon2id.
    fn default() -> Self {
        Self { memory: 19 * 1024, rounds: 2 }
    }
}

impl PasswordCost {
    /// For tests.
    pub const CHEAP: Self = Self { memory: 8, rounds: 1 };
}

/// Hashes and checks passwords.
#[derive(Debug, Clone)]
pub(crate) struct Passwords {
    cost: PasswordCost,
    entropy: Entropy,
    /// Checked for users that do not exist, so that they take as long as those who do.
    nobody: String,
}

impl Passwords {
    pub(crate) fn new(cost: PasswordCost, entropy: Entropy) -> Result<Self, ApiError> {
        let mut made = Self { cost, entropy, nobody: String::new() };
        made.nobody = made.hash_here("nobody has this password")?;
        Ok(made)
    }

    fn hasher(&self) -> Result<Argon2<'static>, ApiError> {
        let params = Params::new(self.cost.memory, self.cost.rounds, 1, None).map_err(failed)?;
        Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
    }

    fn hash_here(&self, password: &str) -> Result<String, ApiError> {
        let salt: [u8; 16] = self.entropy.bytes().ok_or_else(|| failed("no randomness"))?;
        let salt = SaltString::encode_b64(&salt).map_err(failed)?;
        Ok(self.hasher()?.hash_password(password.as_bytes(), &salt).map_err(failed)?.to_string())
    }

    /// What is kept of a password. Takes a while, so it is done beside the runtime.
    pub(crate) async fn hash(&self, password: &str) -> Result<PasswordHash, ApiError> {
        let (this, password) = (self.clone(), password.to_owned());
        let hash = tokio::task::spawn_blocking(move || this.hash_here(&password)).await.map_err(failed)??;
        Ok(PasswordHash::new(hash))
    }

    /// Whether it is the password; as much work for a user that has none or does not exist.
    pub(crate) async fn verify(&self, kept: Option<&PasswordHash>, password: &str) -> Result<bool, ApiError> {
        let (known, kept) = match kept {
            Some(kept) => (true, kept.as_str().to_owned()),
            None => (false, self.nobody.clone()),
        };
        let (this, password) = (self.clone(), password.to_owned());
        let check = move || -> Result<bool, ApiError> {
            let parsed = Parsed::new(&kept).map_err(failed)?;
            Ok(this.hasher()?.verify_password(password.as_bytes(), &parsed).is_ok())
        };
        let matches = tokio::task::spawn_blocking(check).await.map_err(failed)??;
        Ok(known && matches)
    }

    /// A password for somebody else, who will have to change it: 100 bits in letters that can be read out.
    pub(crate) fn generate(&self) -> Result<String, ApiError> {
        const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
        let bytes: [u8; 20] = self.entropy.bytes().ok_or_else(|| failed("no randomness"))?;
        let letters: Vec<char> =
            bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect();
        let words: Vec<String> = letters.chunks(5).map(|word| word.iter().collect()).collect();
        Ok(words.join("-"))
    }
}

fn failed(error: impl std::fmt::Display) -> ApiError {
    tracing::error!(%error, "a password cannot be worked with");
    ApiError::new(Code::Internal, "a fault of the portal")
}

/// Whether a password may be chosen.
pub(super) fn check_choice(field: &str, password: &str, user: &str) -> Result<(), Wrong> {
    let length = password.chars().count();
    if !(SHORTEST..=LONGEST).contains(&length) {
        return Err(Wrong::new(field, format!("has {SHORTEST} to {LONGEST} characters")));
    }
    let plain = password.to_lowercase();
    let same = plain.chars().all(|one| plain.starts_with(one));
    if same || plain.contains(&user.to_lowercase()) && length < user.chars().count() + SHORTEST {
        return Err(Wrong::new(field, "is too easy to guess"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn passwords_are_checked_and_nobody_has_none() {
        let passwords = Passwords::new(PasswordCost::CHEAP, Entropy::counting()).unwrap();
        let kept = passwords.hash("correct horse battery").await.unwrap();
        assert!(kept.as_str().starts_with("$argon2id$"), "{}", kept.as_str());
        assert!(passwords.verify(Some(&kept), "correct horse battery").await.unwrap());
        assert!(!passwords.verify(Some(&kept), "wrong").await.unwrap());
        assert!(!passwords.verify(None, "nobody has this password").await.unwrap());
        assert_ne!(kept.as_str(), passwords.hash("correct horse battery").await.unwrap().as_str(), "salted");
    }

    #[test]
    fn easy_passwords_are_refused() {
        for password in ["short", "aaaaaaaaaaaa", "ada-lovelace1", ""] {
            assert!(check_choice("new", password, "ada-lovelace").is_err(), "{password}");
        }
        assert_eq!(check_choice("new", "correct horse", "ada"), Ok(()));
        assert_eq!(check_choice("new", "长密码也可以这样写啊", "ada"), Ok(()));
    }

    #[test]
    fn generated_passwords_differ_and_may_be_chosen() {
        let passwords = Passwords::new(PasswordCost::CHEAP, Entropy::system()).unwrap();
        let (one, other) = (passwords.generate().unwrap(), passwords.generate().unwrap());
        assert_ne!(one, other);
        assert_eq!(check_choice("new", &one, "admin"), Ok(()));
    }
}
