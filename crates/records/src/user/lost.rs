//! A password that was lost.

use super::{User, change, columns};
use crate::database::{Lock, Query, Transaction};
use crate::{Entry, Error, PasswordHash, Records, Result, UserId, audit, session};

impl Records {
    /// Sets a password in the place of one that was lost, which has to be changed at the next login, ends all sessions, and
    /// writes `entry`, at whose time it happens: all of it or nothing. Who has no password here gets none: a second way in
    /// is more than a lost one replaced.
    pub async fn replace_password(&self, name: &str, hash: &PasswordHash, entry: &Entry) -> Result<User> {
        entry.check()?;
        let mut transaction = self.database.begin(Lock::Audit).await?;
        // An update, so that nobody else changes the user meanwhile.
        let query =
            Query::new(concat!("UPDATE users SET name = name WHERE name = $1 RETURNING ", columns!()));
        let row = transaction.row(query.bind(name)).await?;
        let user = User::read(&row.ok_or(Error::NotFound { what: "user" })?)?;
        if user.password_hash.is_none() {
            let providers = providers(&mut transaction, &user.id).await?;
            return Err(Error::NoPassword { name: user.name, providers });
        }
        let user = change::write_password(&mut transaction, &user.id, (hash, true), entry.at).await?;
        session::end_all(&mut transaction, &user.id, None, entry.at).await?;
        audit::append(&mut transaction, entry).await?;
        transaction.commit().await?;
        Ok(user)
    }
}

async fn providers(transaction: &mut Transaction, user: &UserId) -> Result<String> {
    let query = Query::new("SELECT DISTINCT provider FROM identities WHERE user_id = $1 ORDER BY provider");
    let rows = transaction.rows(query.bind(user)).await?;
    let names: Vec<String> = rows.iter().map(|row| row.text("provider")).collect::<Result<_>>()?;
    Ok(if names.is_empty() { "other means".to_owned() } else { names.join(", ") })
}
