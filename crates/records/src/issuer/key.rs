//! Keys that sign tokens.

use jiff::Timestamp;
use serde_json::Value as Json;

use crate::database::{Query, Row};
use crate::{Records, Result, text};

/// A key that signs tokens, with a private part that only its maker can open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningKey {
    /// What tokens call it.
    pub id: String,
    /// The private part, sealed by the caller.
    pub sealed: String,
    /// The public part, as a JSON Web Key.
    pub public: Json,
    /// When it was made.
    pub created_at: Timestamp,
}

impl SigningKey {
    fn read(row: &Row) -> Result<Self> {
        Ok(Self {
            id: row.text("id")?,
            sealed: row.text("sealed")?,
            public: row.json("public_json")?,
            created_at: row.time("created_at")?,
        })
    }
}

impl Records {
    /// All keys, the oldest first.
    pub async fn signing_keys(&self) -> Result<Vec<SigningKey>> {
        let query =
            Query::new("SELECT id, sealed, public_json, created_at FROM issuer_keys ORDER BY created_at, id");
        self.database.rows(query).await?.iter().map(SigningKey::read).collect()
    }

    /// Adds a key, unless somebody else has added one since `newest`, which is the newest that the caller knows.
    pub async fn add_signing_key(&self, key: &SigningKey, newest: Option<Timestamp>) -> Result<bool> {
        text::line("id", &key.id, 128)?;
        let query = Query::new(
            "INSERT INTO issuer_keys (id, sealed, public_json, created_at) SELECT $1, $2, $3, $4 \
             WHERE NOT EXISTS (SELECT 1 FROM issuer_keys WHERE created_at > $5)",
        );
        let query = query
            .bind(&key.id)
            .bind(&key.sealed)
            .bind(text::json("public", &key.public, 8192)?)
            .bind(key.created_at)
            .bind(newest.unwrap_or(Timestamp::MIN));
        Ok(self.database.write(query).await? > 0)
    }

    /// Forgets a key. Forgetting it again changes nothing.
    pub async fn remove_signing_key(&self, id: &str) -> Result<()> {
        let query = Query::new("DELETE FROM issuer_keys WHERE id = $1").bind(id);
        self.database.write(query).await.map(|_| ())
    }
}
