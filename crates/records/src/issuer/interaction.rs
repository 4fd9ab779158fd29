//! Requests of clients that wait for their user.

use jiff::Timestamp;
use serde_json::Value as Json;

use crate::database::{Query, Row};
use crate::{Records, Result, UserId, text};

/// A request that waits for its user to sign in or to agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interaction {
    /// Made by the caller, hard to guess.
    pub id: String,
    /// Who has to answer, once somebody has signed in.
    pub user: Option<UserId>,
    /// The request, in the caller's words.
    pub request: Json,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it is worth nothing.
    pub expires_at: Timestamp,
}

impl Interaction {
    fn read(row: &Row) -> Result<Self> {
        Ok(Self {
            id: row.text("id")?,
            user: row.optional_text("user_id")?.map(UserId::new),
            request: row.json("request")?,
            created_at: row.time("created_at")?,
            expires_at: row.time("expires_at")?,
        })
    }
}

impl Records {
    /// Keeps a request.
    pub async fn create_interaction(&self, interaction: &Interaction) -> Result<()> {
        text::line("id", &interaction.id, 128)?;
        let query = Query::new(
            "INSERT INTO issuer_interactions (id, user_id, request, created_at, expires_at) \
             VALUES ($1, $2, $3, $4, $5)",
        );
        let query = query
            .bind(&interaction.id)
            .bind(interaction.user.as_ref().map(UserId::as_str))
            .bind(text::json("request", &interaction.request, 16_384)?)
            .bind(interaction.created_at)
            .bind(interaction.expires_at);
        self.database.write(query).await.map(|_| ())
    }

    /// A request that still waits.
    pub async fn interaction(&self, id: &str, now: Timestamp) -> Result<Option<Interaction>> {
        let query = Query::new(
            "SELECT id, user_id, request, created_at, expires_at FROM issuer_interactions \
             WHERE id = $1 AND done_at IS NULL AND expires_at > $2",
        );
        self.database.row(query.bind(id).bind(now)).await?.as_ref().map(Interaction::read).transpose()
    }

    /// Ends a request, for the first who does; whether that was the caller.
    pub async fn end_interaction(&self, id: &str, now: Timestamp) -> Result<bool> {
        let query = Query::new(
            "UPDATE issuer_interactions SET done_at = $2 WHERE id = $1 AND done_at IS NULL AND expires_at > $2",
        );
        Ok(self.database.write(query.bind(id).bind(now)).await? > 0)
    }
}
