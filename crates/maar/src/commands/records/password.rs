//! `maar records password`: a way in for those who have lost theirs, and nobody is left to give them another.

use anyhow::Context as _;
use jiff::Timestamp;
use maar_controller::clock::{Clock as _, SystemClock};
use maar_portal::{Entropy, PasswordCost, forgive_tries, one_time_password};
use maar_records::{Actor, AuditId, Entry, Records, User};

use super::DatabaseArgs;
use crate::commands::{output::print, wait::tell};

/// What `maar records password` can be told.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Who
    user: String,
}

pub(super) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let records = Records::open_current(&arguments.database.records).await.context("opening the records")?;
    let (user, now) = (arguments.user.as_str(), SystemClock.now());
    let (made, password) = replace(&records, user, PasswordCost::default(), now).await?;
    print(&format!("{user} signs in with the password {password} (shown this once, to be changed)\n"));
    if !made.is_active(now) {
        tell(&format!(
            "{user} is disabled or expired, and is not let in before an administrator changes that"
        ));
    }
    Ok(())
}

/// The user as he is now, and his password, of which only the hash is kept.
async fn replace(
    records: &Records,
    user: &str,
    cost: PasswordCost,
    now: Timestamp,
) -> anyhow::Result<(User, String)> {
    let failed = || format!("giving {user} a new password");
    let (password, hash) = one_time_password(cost, &Entropy::system()).await?;
    let id = AuditId::new(format!("password-{}", now.as_microsecond()));
    // Named as what an administrator does in the portal, so that one filter finds both.
    let entry = Entry::new(id, now, Actor::system("maar records password"), "resetPassword", ("user", user));
    let made = records.replace_password(user, &hash, &entry).await.with_context(failed)?;
    forgive_tries(records, user).await.with_context(failed)?;
    Ok((made, password))
}

#[cfg(test)]
mod tests {
    use maar_records::{AuditFilter, NewUser, Page, PasswordHash, UserId};

    use super::*;

    #[tokio::test]
    async fn the_password_is_new_each_time_and_nothing_of_it_is_written_down() {
        let records = Records::open("sqlite::memory:").await.unwrap();
        let user = NewUser {
            password_hash: Some(PasswordHash::new("lost")),
            ..NewUser::named(UserId::new("u-1"), "admin")
        };
        records.create_user(&user, Timestamp::UNIX_EPOCH).await.unwrap();
        let mut passwords = Vec::new();
        for second in 1..3 {
            let now = Timestamp::from_second(second).unwrap();
            let (made, password) = replace(&records, "admin", PasswordCost::CHEAP, now).await.unwrap();
            assert!(made.must_change_password && made.password_hash != user.password_hash, "{made:?}");
            passwords.push(password);
        }
        assert_ne!(passwords[0], passwords[1]);
        let log = records.audit(&AuditFilter::default(), &Page::first(9).unwrap()).await.unwrap().items;
        assert_eq!(log.len(), 2, "{log:?}");
        let text = serde_json::to_string(&log).unwrap();
        assert!(text.contains("resetPassword") && text.contains("maar records password"), "{text}");
        assert!(passwords.iter().all(|password| !text.contains(password.as_str())), "{text}");
    }
}
