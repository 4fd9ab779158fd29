//! People: who they are, how they prove it, whether they may come in.
//!
//! Users are never deleted, since the audit log and namespaces speak of them; they are disabled.

mod change;
mod guard;
mod lost;

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::database::{Lock, Query, Row, Transaction};
use crate::page::{Cursor, Listing, Page};
use crate::{Error, Identity, PasswordHash, Records, Result, UserId, text};

pub use change::{Standing, UserChange};

/// The columns of a user, in a macro since SQL is put together at compile time.
macro_rules! columns {
    () => {
        "id, name, display_name, email, password_hash, password_changed_at, must_change_password, admin, \
         generation, created_at, updated_at, last_login_at, disabled_at, expires_at, limits"
    };
}
pub(crate) use columns;

/// The same for answers about a user `u` and something of theirs.
macro_rules! joined_columns {
    () => {
        "u.id AS u_id, u.name AS u_name, u.display_name AS u_display_name, u.email AS u_email, \
         u.password_hash AS u_password_hash, u.password_changed_at AS u_password_changed_at, \
         u.must_change_password AS u_must_change_password, u.admin AS u_admin, u.generation AS u_generation, \
         u.created_at AS u_created_at, u.updated_at AS u_updated_at, u.last_login_at AS u_last_login_at, \
         u.disabled_at AS u_disabled_at, u.expires_at AS u_expires_at, u.limits AS u_limits"
    };
}
pub(crate) use joined_columns;

/// A user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Who it is, for good.
    pub id: UserId,
    /// What they log in with; never changes.
    pub name: String,
    /// What they are called.
    pub display_name: String,
    /// Where they are reached.
    pub email: Option<String>,
    /// For those with a password of ours.
    pub password_hash: Option<PasswordHash>,
    /// When the password was last set.
    pub password_changed_at: Option<Timestamp>,
    /// Whether they may do nothing before they have chosen a password.
    pub must_change_password: bool,
    /// Whether they administer the platform.
    pub admin: bool,
    /// Sessions of an older generation are dead; see [`crate::NewSession`].
    pub generation: i64,
    /// When they were made known.
    pub created_at: Timestamp,
    /// When something of this last changed.
    pub updated_at: Timestamp,
    /// When they last logged in.
    pub last_login_at: Option<Timestamp>,
    /// Since when they may not come in.
    pub disabled_at: Option<Timestamp>,
    /// From when on they may not come in.
    pub expires_at: Option<Timestamp>,
    /// The most they may have where an administrator said so, by the word for it.
    pub limits: BTreeMap<String, String>,
}

impl User {
    /// Whether they may come in.
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.disabled_at.is_none() && self.expires_at.is_none_or(|end| end > now)
    }

    pub(crate) fn read(row: &Row) -> Result<Self> {
        Ok(Self {
            id: UserId::new(row.text("id")?),
            name: row.text("name")?,
            display_name: row.text("display_name")?,
            email: row.optional_text("email")?,
            password_hash: row.optional_text("password_hash")?.map(PasswordHash::new),
            password_changed_at: row.optional_time("password_changed_at")?,
            must_change_password: row.flag("must_change_password")?,
            admin: row.flag("admin")?,
            generation: row.number("generation")?,
            created_at: row.time("created_at")?,
            updated_at: row.time("updated_at")?,
            last_login_at: row.optional_time("last_login_at")?,
            disabled_at: row.optional_time("disabled_at")?,
            expires_at: row.optional_time("expires_at")?,
            limits: row.optional_json("limits")?.unwrap_or_default(),
        })
    }
}

/// A user to be.
#[derive(Debug, Clone)]
pub struct NewUser {
    /// Made by the caller, never used before.
    pub id: UserId,
    /// Lower case, unlike all others.
    pub name: String,
    /// What they are called.
    pub display_name: String,
    /// Where they are reached.
    pub email: Option<String>,
    /// For those with a password of ours.
    pub password_hash: Option<PasswordHash>,
    /// Whether they must choose a password first.
    pub must_change_password: bool,
    /// Whether they administer the platform.
    pub admin: bool,
    /// From when on they may not come in.
    pub expires_at: Option<Timestamp>,
    /// Who they are to a provider, linked in the same step.
    pub identity: Option<Identity>,
}

impl NewUser {
    /// Somebody with a name and nothing else.
    pub fn named(id: UserId, name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            id,
            display_name: name.clone(),
            name,
            email: None,
            password_hash: None,
            must_change_password: false,
            admin: false,
            expires_at: None,
            identity: None,
        }
    }

    fn check(&self) -> Result<()> {
        text::line("id", self.id.as_str(), 128)?;
        text::user_name(&self.name)?;
        change::check(&self.display_name, self.email.as_deref())
    }
}

/// Which users.
#[derive(Debug, Clone, Default)]
pub struct UserFilter {
    /// Part of the name, the display name or the address, in any case.
    pub search: Option<String>,
    /// Only administrators, or only others.
    pub admin: Option<bool>,
    /// Only those who are disabled, or only others.
    pub disabled: Option<bool>,
}

impl Records {
    /// Makes a user known, with their identity if they have one.
    pub async fn create_user(&self, user: &NewUser, now: Timestamp) -> Result<User> {
        user.check()?;
        let mut transaction = self.database.begin(Lock::None).await?;
        let made = insert(&mut transaction, user, now).await?;
        transaction.commit().await?;
        Ok(made)
    }

    /// Makes the first administrator, or nobody if there is one: several processes may start at the same time.
    pub async fn create_first_admin(&self, user: &NewUser, now: Timestamp) -> Result<Option<User>> {
        user.check()?;
        let mut transaction = self.database.begin(Lock::Administrators).await?;
        let found = transaction.row(Query::new("SELECT id FROM users WHERE admin LIMIT 1")).await?;
        if found.is_some() {
            return Ok(None);
        }
        let made = insert(&mut transaction, &NewUser { admin: true, ..user.clone() }, now).await?;
        transaction.commit().await?;
        Ok(Some(made))
    }

    /// The user of an id.
    pub async fn user(&self, id: &UserId) -> Result<User> {
        let query = Query::new(concat!("SELECT ", columns!(), " FROM users WHERE id = $1")).bind(id);
        let row = self.database.row(query).await?;
        User::read(&row.ok_or(Error::NotFound { what: "user" })?)
    }

    /// The user of a name, if there is one.
    pub async fn user_by_name(&self, name: &str) -> Result<Option<User>> {
        let query = Query::new(concat!("SELECT ", columns!(), " FROM users WHERE name = $1")).bind(name);
        self.database.row(query).await?.as_ref().map(User::read).transpose()
    }

    /// Users by name.
    pub async fn users(&self, filter: &UserFilter, page: &Page) -> Result<Listing<User>> {
        let mut query = Query::new(concat!("SELECT ", columns!(), " FROM users WHERE 1 = 1"));
        if let Some(search) = &filter.search {
            query = query.push(" AND search_text LIKE ").value(pattern(search)).push(" ESCAPE '!'");
        }
        query = query.and("admin = ", filter.admin);
        query = match filter.disabled {
            Some(true) => query.push(" AND disabled_at IS NOT NULL"),
            Some(false) => query.push(" AND disabled_at IS NULL"),
            None => query,
        };
        query = query.and("name > ", page.cursor().map(Cursor::as_str));
        let rows = self.database.rows(page.limited(query, " ORDER BY name")).await?;
        Listing::read(page, rows, User::read, |user| Cursor::new(user.name.clone()))
    }
}

async fn insert(transaction: &mut Transaction, user: &NewUser, now: Timestamp) -> Result<User> {
    let query = Query::new(concat!(
        "INSERT INTO users (id, name, display_name, email, search_text, password_hash, password_changed_at, \
         must_change_password, admin, generation, created_at, updated_at, expires_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1, $10, $10, $11) RETURNING ",
        columns!()
    ));
    let hash = user.password_hash.as_ref();
    let query = query
        .bind(&user.id)
        .bind(&user.name)
        .bind(&user.display_name)
        .bind(&user.email)
        .bind(search_text(&user.name, &user.display_name, user.email.as_deref()))
        .bind(hash.map(PasswordHash::as_str))
        .bind(hash.map(|_| now))
        .bind(user.must_change_password)
        .bind(user.admin)
        .bind(now)
        .bind(user.expires_at);
    let row = transaction.row(query).await?.ok_or(Error::NotFound { what: "user" })?;
    if let Some(identity) = &user.identity {
        identity.insert(transaction, &user.id, now).await?;
    }
    User::read(&row)
}

/// What a search looks at.
fn search_text(name: &str, display_name: &str, email: Option<&str>) -> String {
    format!("{name}\n{}\n{}", display_name.to_lowercase(), email.unwrap_or_default().to_lowercase())
}

/// A LIKE pattern for texts that hold this one, whatever signs are in it.
fn pattern(search: &str) -> String {
    let mut pattern = String::from("%");
    for letter in search.to_lowercase().chars() {
        if "%_!".contains(letter) {
            pattern.push('!');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_a_pattern_are_only_signs() {
        assert_eq!(pattern("50%_A!"), "%50!%!_a!!%");
    }
}
