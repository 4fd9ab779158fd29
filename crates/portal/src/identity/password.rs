//! Passwords.

use std::{num::NonZero, sync::Arc, time::Duration};

use argon2::{
    Algorithm, Argon2, Params, PasswordHasher as _, PasswordVerifier as _, Version,
    password_hash::{PasswordHash as Parsed, SaltString},
};
use maar_records::PasswordHash;
use tokio::sync::Semaphore;

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

/// Who has waited so long for his turn is told to come again.
const PATIENCE: Duration = Duration::from_secs(15);

/// Hashes and checks passwords, as many at once as there are processors: each takes much memory, and more at once would
/// not be done sooner.
#[derive(Debug, Clone)]
pub(crate) struct Passwords {
    cost: PasswordCost,
    entropy: Entropy,
    turns: Arc<Semaphore>,
    /// Checked for users that do not exist, so that they take as long as those who do.
    nobody: String,
}

impl Passwords {
    pub(crate) fn new(cost: PasswordCost, entropy: Entropy) -> Result<Self, ApiError> {
        let at_once = std::thread::available_parallelism().map_or(1, NonZero::get);
        let turns = Arc::new(Semaphore::new(at_once));
        let mut made = Self { cost, entropy, turns, nobody: String::new() };
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

    /// Does what takes a while beside the runtime, in its turn. The turn lasts as long as the work, also when nobody waits
    /// for it any more.
    async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let turn = tokio::time::timeout(PATIENCE, Arc::clone(&self.turns).acquire_owned()).await;
        let turn = turn.map_err(|_| ApiError::too_many(PATIENCE.as_secs()))?.map_err(failed)?;
        let this = self.clone();
        let done = tokio::task::spawn_blocking(move || {
            let done = work(&this);
            drop(turn);
            done
        });
        done.await.map_err(failed)?
    }

    /// What is kept of a password.
    pub(crate) async fn hash(&self, password: &str) -> Result<PasswordHash, ApiError> {
        let password = password.to_owned();
        Ok(PasswordHash::new(self.in_turn(move |this| this.hash_here(&password)).await?))
    }

    /// Whether it is the password; as much work for a user that has none or does not exist.
    pub(crate) async fn verify(&self, kept: Option<&PasswordHash>, password: &str) -> Result<bool, ApiError> {
        let (known, kept) = match kept {
            Some(kept) => (true, kept.as_str().to_owned()),
            None => (false, self.nobody.clone()),
        };
        let password = password.to_owned();
        let check = move |this: &Self| -> Result<bool, ApiError> {
            let parsed = Parsed::new(&kept).map_err(failed)?;
            Ok(this.hasher()?.verify_password(password.as_bytes(), &parsed).is_ok())
        };
        Ok(self.in_turn(check).await? && known)
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

    #[tokio::test(start_paused = true)]
    async fn no_more_passwords_are_worked_on_at_once_than_there_are_processors() {
        let passwords = Passwords::new(PasswordCost::CHEAP, Entropy::counting()).unwrap();
        let kept = passwords.hash("correct horse battery").await.unwrap();
        let all = u32::try_from(passwords.turns.available_permits()).unwrap();
        assert!(all >= 1);
        let busy = Arc::clone(&passwords.turns).acquire_many_owned(all).await.unwrap();
        // Time is paused, and goes on as soon as everybody waits.
        let refused = passwords.verify(Some(&kept), "correct horse battery").await.unwrap_err();
        assert_eq!(refused.code, Code::TooMany);
        drop(busy);
        assert!(passwords.verify(Some(&kept), "correct horse battery").await.unwrap());
        // Who goes away before his turn is over does not make room for another.
        let (tell, begun) = std::sync::mpsc::channel();
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let waiting = passwords.clone();
        let task = tokio::spawn(async move {
            waiting
                .in_turn(move |_| {
                    let _ = tell.send(());
                    let _ = wait.recv();
                    Ok(())
                })
                .await
        });
        tokio::task::spawn_blocking(move || begun.recv()).await.unwrap().unwrap();
        task.abort();
        let _ = task.await;
        assert_eq!(passwords.turns.available_permits() + 1, usize::try_from(all).unwrap());
        drop(end);
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
