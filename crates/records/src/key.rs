//! API keys of users: for programs, with scopes, shown once.

use jiff::{SignedDuration, Timestamp};

use crate::database::{Query, Row};
use crate::page::{Cursor, Listing, Page};
use crate::user::{User, joined_columns};
use crate::{Error, KeyId, Records, Result, TokenHash, UserId, text};

/// How exact "last used" is, unless the address changes.
const RESOLUTION: SignedDuration = SignedDuration::from_mins(1);

macro_rules! columns {
    () => {
        "k.id, k.user_id, k.name, k.scopes, k.created_at, k.expires_at, k.last_used_at, k.last_used_address, \
         k.revoked_at"
    };
}

/// An API key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// What it is listed and revoked by.
    pub id: KeyId,
    /// Whose it is.
    pub user: UserId,
    /// What its owner calls it.
    pub name: String,
    /// What it may be used for, in the caller's words.
    pub scopes: Vec<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it does not work.
    pub expires_at: Option<Timestamp>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
    /// From where it was last used.
    pub last_used_address: Option<String>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// A key to be.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// Made by the caller, never used before.
    pub id: KeyId,
    /// The hash of what the client holds.
    pub token: TokenHash,
    /// Whose it is.
    pub user: UserId,
    /// Unlike the names of the owner's other keys that are not revoked.
    pub name: String,
    /// What it may be used for.
    pub scopes: Vec<String>,
    /// From when on it does not work.
    pub expires_at: Option<Timestamp>,
}

impl NewKey {
    fn check(&self, now: Timestamp) -> Result<()> {
        text::line("id", self.id.as_str(), 128)?;
        text::line("token", self.token.as_str(), 256)?;
        text::line("name", &self.name, 128)?;
        if self.scopes.len() > 64 {
            return Err(Error::invalid("scopes", "there are more than 64"));
        }
        self.scopes.iter().try_for_each(|scope| text::line("scopes", scope, 64))?;
        match self.expires_at {
            Some(end) if end <= now => Err(Error::invalid("expires_at", "it is in the past")),
            _ => Ok(()),
        }
    }
}

impl Key {
    /// Whether [`Records::touch_key`] would write; asking first saves the way to the database.
    pub fn wants_touch(&self, address: Option<&str>, now: Timestamp) -> bool {
        self.last_used_at.is_none_or(|last| now.duration_since(last) >= RESOLUTION)
            || self.last_used_address.as_deref() != address
    }

    fn read(row: &Row) -> Result<Self> {
        Ok(Self {
            id: KeyId::new(row.text("id")?),
            user: UserId::new(row.text("user_id")?),
            name: row.text("name")?,
            scopes: row.json("scopes")?,
            created_at: row.time("created_at")?,
            expires_at: row.optional_time("expires_at")?,
            last_used_at: row.optional_time("last_used_at")?,
            last_used_address: row.optional_text("last_used_address")?,
            revoked_at: row.optional_time("revoked_at")?,
        })
    }
}

impl Records {
    /// Makes a key.
    pub async fn create_key(&self, key: &NewKey, now: Timestamp) -> Result<()> {
        key.check(now)?;
        let query = Query::new(
            "INSERT INTO api_keys (id, token_hash, user_id, name, scopes, created_at, expires_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
        );
        let query = query
            .bind(&key.id)
            .bind(&key.token)
            .bind(&key.user)
            .bind(&key.name)
            .bind(serde_json::Value::from(key.scopes.clone()).to_string())
            .bind(now)
            .bind(key.expires_at);
        self.database.write(query).await.map(|_| ())
    }

    /// The key of a token and its owner, if it works now: neither revoked, nor expired, nor of a user who is disabled or
    /// expired. What another process changes is seen within a second.
    pub async fn authenticate_key(&self, token: &TokenHash, now: Timestamp) -> Result<Option<(Key, User)>> {
        let writes = self.database.writes();
        if let Some((key, user)) = self.known_keys.get(token, writes, now)
            && key.expires_at.is_none_or(|end| end > now)
            && user.is_active(now)
        {
            return Ok(Some((key, user)));
        }
        let query = Query::new(concat!(
            "SELECT ",
            columns!(),
            ", ",
            joined_columns!(),
            " FROM api_keys k JOIN users u ON u.id = k.user_id WHERE k.token_hash = $1 \
             AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $2) \
             AND u.disabled_at IS NULL AND (u.expires_at IS NULL OR u.expires_at > $2)"
        ));
        let Some(row) = self.database.row(query.bind(token).bind(now)).await? else { return Ok(None) };
        let found = (Key::read(&row)?, User::read(&row.under("u_"))?);
        self.known_keys.put(token, writes, now, found.clone());
        Ok(Some(found))
    }

    /// The key of a token, whether it works or not.
    pub async fn key(&self, token: &TokenHash) -> Result<Option<Key>> {
        let query = Query::new(concat!("SELECT ", columns!(), " FROM api_keys k WHERE k.token_hash = $1"));
        self.database.row(query.bind(token)).await?.as_ref().map(Key::read).transpose()
    }

    /// The key of an id, whether it works or not.
    pub async fn key_by_id(&self, id: &KeyId) -> Result<Key> {
        let query = Query::new(concat!("SELECT ", columns!(), " FROM api_keys k WHERE k.id = $1")).bind(id);
        Key::read(&self.database.row(query).await?.ok_or(Error::NotFound { what: "key" })?)
    }

    /// Notes that a key is used: at most once a minute from the same address.
    pub async fn touch_key(&self, id: &KeyId, address: Option<&str>, now: Timestamp) -> Result<()> {
        let query = Query::new(
            "UPDATE api_keys SET last_used_at = $2, last_used_address = $3 WHERE id = $1 \
             AND (last_used_at IS NULL OR last_used_at <= $4 OR last_used_address IS DISTINCT FROM $3)",
        );
        let before = now.saturating_sub(RESOLUTION).unwrap_or(Timestamp::MIN);
        self.database.write(query.bind(id).bind(now).bind(address).bind(before)).await.map(|_| ())
    }

    /// Makes a key work no more. Doing it again changes nothing.
    pub async fn revoke_key(&self, id: &KeyId, now: Timestamp) -> Result<()> {
        let query = Query::new("UPDATE api_keys SET revoked_at = COALESCE(revoked_at, $2) WHERE id = $1");
        let count = self.database.write(query.bind(id).bind(now)).await?;
        if count == 0 { Err(Error::NotFound { what: "key" }) } else { Ok(()) }
    }

    /// The keys of a user, newest first, revoked ones too.
    pub async fn keys_of(&self, user: &UserId, page: &Page) -> Result<Listing<Key>> {
        let query = Query::new(concat!("SELECT ", columns!(), " FROM api_keys k WHERE k.user_id = $1"));
        self.listed_keys(query.bind(user), page).await
    }

    /// All keys, newest first, revoked ones too.
    pub async fn keys(&self, page: &Page) -> Result<Listing<Key>> {
        self.listed_keys(Query::new(concat!("SELECT ", columns!(), " FROM api_keys k WHERE 1 = 1")), page)
            .await
    }

    async fn listed_keys(&self, query: Query, page: &Page) -> Result<Listing<Key>> {
        let rows = self.database.rows(page.newest_first(query, "k.created_at", "k.id")?).await?;
        Listing::read(page, rows, Key::read, |one| Cursor::of_time(one.created_at, one.id.as_str()))
    }
}
