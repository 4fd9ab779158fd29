//! Public SSH keys of users.

use jiff::{SignedDuration, Timestamp};

use crate::database::{Query, Row};
use crate::page::{Cursor, Listing, Page};
use crate::user::{User, joined_columns};
use crate::{Error, Records, Result, SshKeyId, UserId, text};

/// How exact "last used" is.
const RESOLUTION: SignedDuration = SignedDuration::from_mins(1);

macro_rules! columns {
    () => {
        "k.id, k.user_id, k.title, k.kind, k.fingerprint, k.line, k.created_at, k.expires_at, k.last_used_at"
    };
}

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshKey {
    /// What it is listed and revoked by.
    pub id: SshKeyId,
    /// Whose it is.
    pub user: UserId,
    /// What its owner calls it.
    pub title: String,
    /// Such as `ssh-ed25519`.
    pub kind: String,
    /// `SHA256:…`.
    pub fingerprint: String,
    /// The key, as OpenSSH writes it.
    pub line: String,
    /// When it was added.
    pub created_at: Timestamp,
    /// From when on it does not work.
    pub expires_at: Option<Timestamp>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
}

/// A key to be.
#[derive(Debug, Clone)]
pub struct NewSshKey {
    /// Made by the caller, never used before.
    pub id: SshKeyId,
    /// Whose it is.
    pub user: UserId,
    /// What its owner calls it.
    pub title: String,
    /// Such as `ssh-ed25519`.
    pub kind: String,
    /// Unlike those of all keys that are not revoked, whoever has them.
    pub fingerprint: String,
    /// The key, as OpenSSH writes it.
    pub line: String,
    /// From when on it does not work.
    pub expires_at: Option<Timestamp>,
}

impl NewSshKey {
    fn check(&self, now: Timestamp) -> Result<()> {
        text::line("id", self.id.as_str(), 128)?;
        text::line("title", &self.title, 128)?;
        text::line("kind", &self.kind, 64)?;
        text::line("fingerprint", &self.fingerprint, 128)?;
        text::line("key", &self.line, 16 * 1024)?;
        match self.expires_at {
            Some(end) if end <= now => Err(Error::invalid("expires", "it is in the past")),
            _ => Ok(()),
        }
    }
}

impl SshKey {
    /// Whether [`Records::touch_ssh_key`] would write.
    pub fn wants_touch(&self, now: Timestamp) -> bool {
        self.last_used_at.is_none_or(|last| now.duration_since(last) >= RESOLUTION)
    }

    fn read(row: &Row) -> Result<Self> {
        Ok(Self {
            id: SshKeyId::new(row.text("id")?),
            user: UserId::new(row.text("user_id")?),
            title: row.text("title")?,
            kind: row.text("kind")?,
            fingerprint: row.text("fingerprint")?,
            line: row.text("line")?,
            created_at: row.time("created_at")?,
            expires_at: row.optional_time("expires_at")?,
            last_used_at: row.optional_time("last_used_at")?,
        })
    }
}

impl Records {
    /// Adds a key.
    pub async fn create_ssh_key(&self, key: &NewSshKey, now: Timestamp) -> Result<()> {
        key.check(now)?;
        let query = Query::new(
            "INSERT INTO ssh_keys (id, user_id, title, kind, fingerprint, line, created_at, expires_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        );
        let query = query
            .bind(&key.id)
            .bind(&key.user)
            .bind(&key.title)
            .bind(&key.kind)
            .bind(&key.fingerprint)
            .bind(&key.line)
            .bind(now)
            .bind(key.expires_at);
        self.database.write(query).await.map(|_| ())
    }

    /// The key of a fingerprint and its owner, if it works now: neither revoked, nor expired, nor of a user who is
    /// disabled or expired.
    pub async fn authenticate_ssh_key(
        &self,
        fingerprint: &str,
        now: Timestamp,
    ) -> Result<Option<(SshKey, User)>> {
        let query = Query::new(concat!(
            "SELECT ",
            columns!(),
            ", ",
            joined_columns!(),
            " FROM ssh_keys k JOIN users u ON u.id = k.user_id WHERE k.fingerprint = $1 \
             AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $2) \
             AND u.disabled_at IS NULL AND (u.expires_at IS NULL OR u.expires_at > $2)"
        ));
        let row = self.database.row(query.bind(fingerprint).bind(now)).await?;
        row.map(|row| Ok((SshKey::read(&row)?, User::read(&row.under("u_"))?))).transpose()
    }

    /// The key of an id, unless it is revoked.
    pub async fn ssh_key(&self, id: &SshKeyId) -> Result<SshKey> {
        let query = Query::new(concat!(
            "SELECT ",
            columns!(),
            " FROM ssh_keys k WHERE k.id = $1 AND k.revoked_at IS NULL"
        ));
        let row = self.database.row(query.bind(id)).await?;
        SshKey::read(&row.ok_or(Error::NotFound { what: "key" })?)
    }

    /// Notes that a key is used: at most once a minute.
    pub async fn touch_ssh_key(&self, id: &SshKeyId, now: Timestamp) -> Result<()> {
        let query = Query::new(
            "UPDATE ssh_keys SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at <= $3)",
        );
        let before = now.saturating_sub(RESOLUTION).unwrap_or(Timestamp::MIN);
        self.database.write(query.bind(id).bind(now).bind(before)).await.map(|_| ())
    }

    /// Makes a key work no more. Doing it again changes nothing.
    pub async fn revoke_ssh_key(&self, id: &SshKeyId, now: Timestamp) -> Result<()> {
        let query = Query::new("UPDATE ssh_keys SET revoked_at = COALESCE(revoked_at, $2) WHERE id = $1");
        let count = self.database.write(query.bind(id).bind(now)).await?;
        if count == 0 { Err(Error::NotFound { what: "key" }) } else { Ok(()) }
    }

    /// The keys of a user that are not revoked, newest first.
    pub async fn ssh_keys_of(&self, user: &UserId, page: &Page) -> Result<Listing<SshKey>> {
        let query = Query::new(concat!(
            "SELECT ",
            columns!(),
            " FROM ssh_keys k WHERE k.user_id = $1 AND k.revoked_at IS NULL"
        ));
        let query = page.newest_first(query.bind(user), "k.created_at", "k.id")?;
        let rows = self.database.rows(query).await?;
        Listing::read(page, rows, SshKey::read, |one| Cursor::of_time(one.created_at, one.id.as_str()))
    }
}
