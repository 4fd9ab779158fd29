//! What somebody allowed a client.

use jiff::Timestamp;

use crate::database::{Lock, Query, Row};
use crate::user::{User, joined_columns};
use crate::{Error, Records, Result, UserId, text};

macro_rules! columns {
    () => {
        "g.id, g.user_id, g.client, g.scopes, g.signed_in_at, g.created_at, g.expires_at, g.revoked_at"
    };
}

/// What somebody allowed a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// What it is called.
    pub id: String,
    /// Who allowed it.
    pub user: UserId,
    /// Whom.
    pub client: String,
    /// What, in the caller's words.
    pub scopes: Vec<String>,
    /// When the user had shown who he is.
    pub signed_in_at: Option<Timestamp>,
    /// When it was allowed.
    pub created_at: Timestamp,
    /// When it ends, whatever is done with it.
    pub expires_at: Timestamp,
    /// When it was ended.
    pub revoked_at: Option<Timestamp>,
}

/// A grant to be.
#[derive(Debug, Clone)]
pub struct NewGrant {
    /// Made by the caller, never used before.
    pub id: String,
    /// Who allows it.
    pub user: UserId,
    /// The [`User::generation`] when he did: ending all his sessions ends it, too.
    pub generation: i64,
    /// Whom.
    pub client: String,
    /// What.
    pub scopes: Vec<String>,
    /// When he had shown who he is.
    pub signed_in_at: Option<Timestamp>,
    /// When it ends.
    pub expires_at: Timestamp,
}

impl NewGrant {
    fn check(&self) -> Result<()> {
        text::line("id", &self.id, 128)?;
        text::line("client", &self.client, 128)?;
        if self.scopes.iter().any(|scope| scope.is_empty() || scope.contains(' ')) {
            return Err(Error::invalid("scopes", "a scope is a word"));
        }
        text::optional_line("scopes", &self.scopes.join(" "), 1024)
    }
}

pub(super) fn words(text: &str) -> Vec<String> {
    text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

impl Grant {
    fn read(row: &Row) -> Result<Self> {
        Ok(Self {
            id: row.text("id")?,
            user: UserId::new(row.text("user_id")?),
            client: row.text("client")?,
            scopes: words(&row.text("scopes")?),
            signed_in_at: row.optional_time("signed_in_at")?,
            created_at: row.time("created_at")?,
            expires_at: row.time("expires_at")?,
            revoked_at: row.optional_time("revoked_at")?,
        })
    }
}

impl Records {
    /// Keeps a grant.
    pub async fn create_grant(&self, grant: &NewGrant, now: Timestamp) -> Result<()> {
        grant.check()?;
        let query = Query::new(
            "INSERT INTO issuer_grants (id, user_id, generation, client, scopes, signed_in_at, created_at, expires_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        );
        let query = query
            .bind(&grant.id)
            .bind(&grant.user)
            .bind(grant.generation)
            .bind(&grant.client)
            .bind(grant.scopes.join(" "))
            .bind(grant.signed_in_at)
            .bind(now)
            .bind(grant.expires_at);
        self.database.write(query).await.map(|_| ())
    }

    /// A grant that holds now, and its user: not revoked, not ended, of a user who may come in and whose sessions were
    /// not all ended since.
    pub async fn live_grant(&self, id: &str, now: Timestamp) -> Result<Option<(Grant, User)>> {
        let query = Query::new(concat!(
            "SELECT ",
            columns!(),
            ", ",
            joined_columns!(),
            " FROM issuer_grants g JOIN users u ON u.id = g.user_id AND u.generation = g.generation \
             WHERE g.id = $1 AND g.revoked_at IS NULL AND g.expires_at > $2 \
             AND u.disabled_at IS NULL AND (u.expires_at IS NULL OR u.expires_at > $2)"
        ));
        let row = self.database.row(query.bind(id).bind(now)).await?;
        row.map(|row| Ok((Grant::read(&row)?, User::read(&row.under("u_"))?))).transpose()
    }

    /// Ends a grant with all that belongs to it, also API keys that it gave. Ending it again changes nothing.
    pub async fn revoke_grant(&self, id: &str, now: Timestamp) -> Result<()> {
        let mut transaction = self.database.begin(Lock::None).await?;
        let query =
            Query::new("UPDATE issuer_grants SET revoked_at = COALESCE(revoked_at, $2) WHERE id = $1");
        transaction.write(query.bind(id).bind(now)).await?;
        let query = Query::new(
            "UPDATE api_keys SET revoked_at = $2 WHERE revoked_at IS NULL \
             AND token_hash IN (SELECT token_hash FROM issuer_tokens WHERE grant_id = $1)",
        );
        transaction.write(query.bind(id).bind(now)).await?;
        transaction.commit().await
    }

    /// Ends the grants of a user that have this scope; how many there were.
    pub async fn revoke_grants_with(&self, user: &UserId, scope: &str, now: Timestamp) -> Result<u64> {
        let query = Query::new(
            "UPDATE issuer_grants SET revoked_at = $3 WHERE user_id = $1 AND revoked_at IS NULL \
             AND ' ' || scopes || ' ' LIKE $2",
        );
        // Scopes that this is asked for are made here; a pattern in one would end more grants of the same user.
        text::line("scope", scope, 128)?;
        if scope.contains(['%', '_', ' ', '\\']) {
            return Err(Error::invalid("scope", "it holds what is a pattern"));
        }
        let query = query.bind(user).bind(format!("% {scope} %")).bind(now);
        self.database.write(query).await
    }
}
