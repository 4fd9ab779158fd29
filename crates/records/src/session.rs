//! Sessions of browsers: kept here so that they can be seen and ended.

use jiff::{SignedDuration, Timestamp};

use crate::database::{Lock, Query, Row, Transaction};
use crate::page::{Cursor, Listing, Page};
use crate::user::{User, joined_columns};
use crate::{Error, Records, Result, SessionId, TokenHash, UserId, text};

/// How exact "last seen" is: a session is written at most this often, however much it is used.
const RESOLUTION: SignedDuration = SignedDuration::from_mins(1);

macro_rules! columns {
    () => {
        "s.id, s.user_id, s.provider, s.address, s.agent, s.created_at, s.last_seen_at, s.expires_at, s.revoked_at"
    };
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// What it is listed and ended by.
    pub id: SessionId,
    /// Whose it is.
    pub user: UserId,
    /// How they logged in.
    pub provider: String,
    /// From where.
    pub address: Option<String>,
    /// With which program, as it says itself.
    pub agent: Option<String>,
    /// When they logged in.
    pub created_at: Timestamp,
    /// When it was last used, to the minute.
    pub last_seen_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
    /// When it was ended.
    pub revoked_at: Option<Timestamp>,
}

/// A session to be.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// Made by the caller, never used before.
    pub id: SessionId,
    /// The hash of what the browser holds.
    pub token: TokenHash,
    /// Whose it is.
    pub user: UserId,
    /// The [`User::generation`] read when they proved who they are: a password changed since then makes the session
    /// dead from the start.
    pub generation: i64,
    /// How they logged in.
    pub provider: String,
    /// From where.
    pub address: Option<String>,
    /// With which program; shortened to 256 characters.
    pub agent: Option<String>,
    /// When it ends.
    pub expires_at: Timestamp,
}

impl Session {
    /// Whether [`Records::touch_session`] would write; asking first saves the way to the database.
    pub fn wants_touch(&self, now: Timestamp) -> bool {
        now.duration_since(self.last_seen_at) >= RESOLUTION
    }

    fn read(row: &Row) -> Result<Self> {
        Ok(Self {
            id: SessionId::new(row.text("id")?),
            user: UserId::new(row.text("user_id")?),
            provider: row.text("provider")?,
            address: row.optional_text("address")?,
            agent: row.optional_text("agent")?,
            created_at: row.time("created_at")?,
            last_seen_at: row.time("last_seen_at")?,
            expires_at: row.time("expires_at")?,
            revoked_at: row.optional_time("revoked_at")?,
        })
    }
}

impl Records {
    /// Begins a session.
    pub async fn create_session(&self, session: &NewSession, now: Timestamp) -> Result<()> {
        text::line("id", session.id.as_str(), 128)?;
        text::line("token", session.token.as_str(), 256)?;
        text::line("provider", &session.provider, 64)?;
        let query = Query::new(
            "INSERT INTO sessions (id, token_hash, user_id, generation, provider, address, agent, created_at, \
             last_seen_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9)",
        );
        let query = query
            .bind(&session.id)
            .bind(&session.token)
            .bind(&session.user)
            .bind(session.generation)
            .bind(&session.provider)
            .bind(&session.address)
            .bind(&session.agent.as_deref().map(|agent| text::shortened(agent, 256)))
            .bind(now)
            .bind(session.expires_at);
        self.database.write(query).await.map(|_| ())
    }

    /// The session of a token and its user, if it is to be let in now: neither ended, nor expired, nor of a user who is
    /// disabled or expired, nor from before all sessions of the user were ended. What another process changes is seen within
    /// a second.
    pub async fn authenticate_session(
        &self,
        token: &TokenHash,
        now: Timestamp,
    ) -> Result<Option<(Session, User)>> {
        let writes = self.database.writes();
        if let Some((session, user)) = self.known_sessions.get(token, writes, now)
            && session.expires_at > now
            && user.is_active(now)
        {
            return Ok(Some((session, user)));
        }
        let query = Query::new(concat!(
            "SELECT ",
            columns!(),
            ", ",
            joined_columns!(),
            " FROM sessions s JOIN users u ON u.id = s.user_id AND u.generation = s.generation \
             WHERE s.token_hash = $1 AND s.revoked_at IS NULL AND s.expires_at > $2 \
             AND u.disabled_at IS NULL AND (u.expires_at IS NULL OR u.expires_at > $2)"
        ));
        let Some(row) = self.database.row(query.bind(token).bind(now)).await? else { return Ok(None) };
        let found = (Session::read(&row)?, User::read(&row.under("u_"))?);
        self.known_sessions.put(token, writes, now, found.clone());
        Ok(Some(found))
    }

    /// The session of a token, ended or not.
    pub async fn session(&self, token: &TokenHash) -> Result<Option<Session>> {
        let query = Query::new(concat!("SELECT ", columns!(), " FROM sessions s WHERE s.token_hash = $1"));
        self.database.row(query.bind(token)).await?.as_ref().map(Session::read).transpose()
    }

    /// The session of an id, ended or not.
    pub async fn session_by_id(&self, id: &SessionId) -> Result<Session> {
        let query = Query::new(concat!("SELECT ", columns!(), " FROM sessions s WHERE s.id = $1")).bind(id);
        Session::read(&self.database.row(query).await?.ok_or(Error::NotFound { what: "session" })?)
    }

    /// Notes that a session is used, at most once a minute, and may move its end.
    pub async fn touch_session(
        &self,
        id: &SessionId,
        expires_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<()> {
        let query = Query::new(
            "UPDATE sessions SET last_seen_at = $2, expires_at = COALESCE($3, expires_at) \
             WHERE id = $1 AND last_seen_at <= $4 AND revoked_at IS NULL",
        );
        let before = now.saturating_sub(RESOLUTION).unwrap_or(Timestamp::MIN);
        let query = query.bind(id).bind(now).bind(expires_at).bind(before);
        self.database.write(query).await.map(|_| ())
    }

    /// Ends a session. Ending it again changes nothing.
    pub async fn revoke_session(&self, id: &SessionId, now: Timestamp) -> Result<()> {
        let query = Query::new("UPDATE sessions SET revoked_at = COALESCE(revoked_at, $2) WHERE id = $1");
        let count = self.database.write(query.bind(id).bind(now)).await?;
        if count == 0 { Err(Error::NotFound { what: "session" }) } else { Ok(()) }
    }

    /// Ends the sessions of a user, but the one that is kept, also those that are just about to begin.
    pub async fn revoke_sessions_of(
        &self,
        user: &UserId,
        keep: Option<&SessionId>,
        now: Timestamp,
    ) -> Result<()> {
        let mut transaction = self.database.begin(Lock::None).await?;
        let query = Query::new("UPDATE users SET generation = generation + 1 WHERE id = $1").bind(user);
        if transaction.write(query).await? == 0 {
            return Err(Error::NotFound { what: "user" });
        }
        end_all(&mut transaction, user, keep, now).await?;
        transaction.commit().await
    }

    /// The sessions of a user, newest first, ended ones too.
    pub async fn sessions_of(&self, user: &UserId, page: &Page) -> Result<Listing<Session>> {
        let query = Query::new(concat!("SELECT ", columns!(), " FROM sessions s WHERE s.user_id = $1"));
        self.listed_sessions(query.bind(user), page).await
    }

    /// All sessions, newest first, ended ones too.
    pub async fn sessions(&self, page: &Page) -> Result<Listing<Session>> {
        self.listed_sessions(Query::new(concat!("SELECT ", columns!(), " FROM sessions s WHERE 1 = 1")), page)
            .await
    }

    /// How many sessions have neither ended nor expired.
    pub async fn count_sessions(&self, now: Timestamp) -> Result<i64> {
        let query = Query::new(
            "SELECT COUNT(*) AS count FROM sessions s JOIN users u ON u.id = s.user_id AND u.generation = s.generation \
             WHERE s.revoked_at IS NULL AND s.expires_at > $1 AND u.disabled_at IS NULL",
        );
        self.database.row(query.bind(now)).await?.map_or(Ok(0), |row| row.number("count"))
    }

    async fn listed_sessions(&self, query: Query, page: &Page) -> Result<Listing<Session>> {
        let query = page.newest_first(query, "s.created_at", "s.id")?;
        let rows = self.database.rows(query).await?;
        Listing::read(page, rows, Session::read, |one| Cursor::of_time(one.created_at, one.id.as_str()))
    }
}

/// Ends the sessions of a user whose generation was counted up; one may be taken along.
pub(crate) async fn end_all(
    transaction: &mut Transaction,
    user: &UserId,
    keep: Option<&SessionId>,
    now: Timestamp,
) -> Result<()> {
    let query = Query::new("UPDATE sessions SET revoked_at = $2 WHERE user_id = $1 AND revoked_at IS NULL");
    let query = query.bind(user).bind(now).and("id <> ", keep);
    transaction.write(query).await?;
    let Some(keep) = keep else { return Ok(()) };
    // Only this one, not all that are not ended: a session that begins at this moment stays behind, and is dead.
    let query = Query::new(
        "UPDATE sessions SET generation = (SELECT generation FROM users WHERE id = $1) WHERE user_id = $1 AND id = $2",
    );
    transaction.write(query.bind(user).bind(keep)).await.map(|_| ())
}
