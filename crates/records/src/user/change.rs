//! What changes about a user.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{User, columns, guard, search_text};
use crate::database::{Lock, Query, Transaction};
use crate::{Error, PasswordHash, Records, Result, SessionId, UserId, session, text};

/// The longest limits of a user, in bytes of JSON.
const MOST_LIMITS: usize = 16 * 1024;

/// What is to be different; the rest stays.
#[derive(Debug, Clone, Default)]
pub struct UserChange {
    /// What they are called.
    pub display_name: Option<String>,
    /// Where they are reached, or nowhere.
    pub email: Option<Option<String>>,
}

/// What somebody may; what is not said stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// Whether they administer the platform.
    pub admin: Option<bool>,
    /// Whether they are let in no more.
    pub disabled: Option<bool>,
    /// From when on they are not let in, or never.
    pub expires: Option<Option<Timestamp>>,
}

impl Records {
    /// Changes what a user may, all of it or nothing. Who is disabled by it has no sessions any more.
    pub async fn set_standing(&self, id: &UserId, wanted: &Standing, now: Timestamp) -> Result<User> {
        let mut transaction = self.database.begin(Lock::Administrators).await?;
        let before = guard::Administrators::count(&mut transaction, now).await?;
        let user = locked(&mut transaction, id).await?;
        let disabled_at = match wanted.disabled {
            Some(true) => user.disabled_at.or(Some(now)),
            Some(false) => None,
            None => user.disabled_at,
        };
        let ends = wanted.disabled == Some(true);
        let query = Query::new(concat!(
            "UPDATE users SET admin = $2, disabled_at = $3, expires_at = $4, generation = $5, updated_at = $6 \
             WHERE id = $1 RETURNING ",
            columns!()
        ));
        let query = query.bind(id).bind(wanted.admin.unwrap_or(user.admin)).bind(disabled_at);
        let query = query.bind(wanted.expires.unwrap_or(user.expires_at));
        let query = query.bind(user.generation + i64::from(ends)).bind(now);
        let row = transaction.row(query).await?.ok_or(Error::NotFound { what: "user" })?;
        before.allow(guard::Administrators::count(&mut transaction, now).await?)?;
        if ends {
            session::end_all(&mut transaction, id, None, now).await?;
        }
        transaction.commit().await?;
        User::read(&row)
    }

    /// Changes how a user is called and reached.
    pub async fn update_user(&self, id: &UserId, change: &UserChange, now: Timestamp) -> Result<User> {
        let mut transaction = self.database.begin(Lock::None).await?;
        let user = locked(&mut transaction, id).await?;
        let display_name = change.display_name.clone().unwrap_or(user.display_name);
        let email = change.email.clone().unwrap_or(user.email);
        check(&display_name, email.as_deref())?;
        let query = Query::new(concat!(
            "UPDATE users SET display_name = $2, email = $3, search_text = $4, updated_at = $5 \
             WHERE id = $1 RETURNING ",
            columns!()
        ));
        let search = search_text(&user.name, &display_name, email.as_deref());
        let query = query.bind(id).bind(display_name).bind(&email).bind(search).bind(now);
        changed(transaction, query).await
    }

    /// Sets a password and ends all sessions but the one that is kept.
    pub async fn set_password(
        &self,
        id: &UserId,
        hash: &PasswordHash,
        must_change: bool,
        keep: Option<&SessionId>,
        now: Timestamp,
    ) -> Result<User> {
        let mut transaction = self.database.begin(Lock::None).await?;
        let user = write_password(&mut transaction, id, (hash, must_change), now).await?;
        session::end_all(&mut transaction, id, keep, now).await?;
        transaction.commit().await?;
        Ok(user)
    }

    /// Lets a user in no more, and ends their sessions. Their keys do not work while they are disabled.
    pub async fn disable(&self, id: &UserId, now: Timestamp) -> Result<User> {
        let query = Query::new(concat!(
            "UPDATE users SET disabled_at = COALESCE(disabled_at, $2), generation = generation + 1, \
             updated_at = $2 WHERE id = $1 RETURNING ",
            columns!()
        ));
        self.guarded(query.bind(id).bind(now), id, now, true).await
    }

    /// Lets a user in again.
    pub async fn enable(&self, id: &UserId, now: Timestamp) -> Result<User> {
        let query = Query::new(concat!(
            "UPDATE users SET disabled_at = NULL, updated_at = $2 WHERE id = $1 RETURNING ",
            columns!()
        ));
        self.guarded(query.bind(id).bind(now), id, now, false).await
    }

    /// Sets from when on a user is not let in.
    pub async fn set_expiry(&self, id: &UserId, end: Option<Timestamp>, now: Timestamp) -> Result<User> {
        let query = Query::new(concat!(
            "UPDATE users SET expires_at = $2, updated_at = $3 WHERE id = $1 RETURNING ",
            columns!()
        ));
        self.guarded(query.bind(id).bind(end).bind(now), id, now, false).await
    }

    /// Sets whether a user administers the platform.
    pub async fn set_admin(&self, id: &UserId, admin: bool, now: Timestamp) -> Result<User> {
        let query = Query::new(concat!(
            "UPDATE users SET admin = $2, updated_at = $3 WHERE id = $1 RETURNING ",
            columns!()
        ));
        self.guarded(query.bind(id).bind(admin).bind(now), id, now, false).await
    }

    /// Sets the most a user may have, by the word for it, instead of what was set before.
    pub async fn set_limits(
        &self,
        id: &UserId,
        limits: &BTreeMap<String, String>,
        now: Timestamp,
    ) -> Result<User> {
        let kept = text::json("limits", &serde_json::json!(limits), MOST_LIMITS)?;
        let query = Query::new(concat!(
            "UPDATE users SET limits = $2, updated_at = $3 WHERE id = $1 RETURNING ",
            columns!()
        ));
        let kept = (!limits.is_empty()).then_some(kept);
        changed(self.database.begin(Lock::None).await?, query.bind(id).bind(&kept).bind(now)).await
    }

    /// Notes that a user logged in.
    pub async fn note_login(&self, id: &UserId, now: Timestamp) -> Result<()> {
        let query = Query::new("UPDATE users SET last_login_at = $2 WHERE id = $1").bind(id).bind(now);
        found(self.database.write(query).await?)
    }

    /// A change that must leave somebody who administers.
    async fn guarded(&self, change: Query, id: &UserId, now: Timestamp, end: bool) -> Result<User> {
        let mut transaction = self.database.begin(Lock::Administrators).await?;
        let before = guard::Administrators::count(&mut transaction, now).await?;
        let row = transaction.row(change).await?.ok_or(Error::NotFound { what: "user" })?;
        let after = guard::Administrators::count(&mut transaction, now).await?;
        before.allow(after)?;
        if end {
            session::end_all(&mut transaction, id, None, now).await?;
        }
        transaction.commit().await?;
        User::read(&row)
    }
}

/// Sets a password; sessions of before are dead by it, and yet to be ended.
pub(super) async fn write_password(
    transaction: &mut Transaction,
    id: &UserId,
    (hash, must_change): (&PasswordHash, bool),
    now: Timestamp,
) -> Result<User> {
    let query = Query::new(concat!(
        "UPDATE users SET password_hash = $2, password_changed_at = $3, must_change_password = $4, \
         generation = generation + 1, updated_at = $3 WHERE id = $1 RETURNING ",
        columns!()
    ));
    let row = transaction.row(query.bind(id).bind(hash).bind(now).bind(must_change)).await?;
    User::read(&row.ok_or(Error::NotFound { what: "user" })?)
}

/// A user whom nobody else changes until the transaction ends.
async fn locked(transaction: &mut Transaction, id: &UserId) -> Result<User> {
    // An update locks a row in both databases; SELECT … FOR UPDATE is known to one of them.
    let query = Query::new(concat!("UPDATE users SET name = name WHERE id = $1 RETURNING ", columns!()));
    let row = transaction.row(query.bind(id)).await?;
    User::read(&row.ok_or(Error::NotFound { what: "user" })?)
}

async fn changed(mut transaction: Transaction, query: Query) -> Result<User> {
    let row = transaction.row(query).await?.ok_or(Error::NotFound { what: "user" })?;
    transaction.commit().await?;
    User::read(&row)
}

fn found(count: u64) -> Result<()> {
    if count == 0 { Err(Error::NotFound { what: "user" }) } else { Ok(()) }
}

/// What a user may be called.
pub(super) fn check(display_name: &str, email: Option<&str>) -> Result<()> {
    text::line("display_name", display_name, 256)?;
    if let Some(email) = email {
        text::line("email", email, 320)?;
        if !email.contains('@') {
            return Err(Error::invalid("email", "it holds no @"));
        }
    }
    Ok(())
}
