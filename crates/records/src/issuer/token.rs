//! Codes and tokens of grants: kept as hashes, and used once where they may be used once.

use jiff::Timestamp;

use super::grant::words;
use crate::database::{Lock, Query, Row};
use crate::{Records, Result, TokenHash};

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// Asking who somebody is.
    Access,
    /// Getting new ones, once.
    Refresh,
}

impl TokenKind {
    const fn word(self) -> &'static str {
        match self {
            Self::Access => "access",
            Self::Refresh => "refresh",
        }
    }
}

/// An authorization code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// The grant it is of.
    pub grant: String,
    /// Where the browser was sent with it.
    pub redirect: String,
    /// What the verifier has to hash to.
    pub challenge: Option<String>,
    /// What the client wants to see in the token.
    pub nonce: Option<String>,
    /// From when on it is worth nothing.
    pub expires_at: Timestamp,
}

/// What came of using something that can be used once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spent<T> {
    /// This was the first use.
    First(T),
    /// It was used before: whoever has it now, or had it then, stole it.
    Again(T),
    /// There is none, or it is too old.
    Unknown,
}

/// A token to be.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// The hash of what the client holds. That of an API key ties the key to the grant: it ends with it.
    pub token: TokenHash,
    /// What it is for.
    pub kind: TokenKind,
    /// The grant it is of.
    pub grant: String,
    /// What it may tell, if that is less than the grant.
    pub scopes: Option<Vec<String>>,
    /// From when on it is worth nothing.
    pub expires_at: Timestamp,
}

impl NewToken {
    fn insert(&self) -> Query {
        let query = Query::new(
            "INSERT INTO issuer_tokens (token_hash, grant_id, kind, scopes, expires_at) VALUES ($1, $2, $3, $4, $5)",
        );
        query
            .bind(&self.token)
            .bind(&self.grant)
            .bind(self.kind.word())
            .bind(&self.scopes.as_ref().map(|scopes| scopes.join(" ")))
            .bind(self.expires_at)
    }
}

impl Code {
    fn read(row: &Row) -> Result<Self> {
        Ok(Self {
            grant: row.text("grant_id")?,
            redirect: row.text("redirect")?,
            challenge: row.optional_text("challenge")?,
            nonce: row.optional_text("nonce")?,
            expires_at: row.time("expires_at")?,
        })
    }
}

impl Records {
    /// Keeps a code.
    pub async fn create_code(&self, token: &TokenHash, code: &Code) -> Result<()> {
        let query = Query::new(
            "INSERT INTO issuer_codes (token_hash, grant_id, redirect, challenge, nonce, expires_at) \
             VALUES ($1, $2, $3, $4, $5, $6)",
        );
        let query = query
            .bind(token)
            .bind(&code.grant)
            .bind(&code.redirect)
            .bind(&code.challenge)
            .bind(&code.nonce)
            .bind(code.expires_at);
        self.database.write(query).await.map(|_| ())
    }

    /// Uses a code up.
    pub async fn spend_code(&self, token: &TokenHash, now: Timestamp) -> Result<Spent<Code>> {
        let query = Query::new(
            "UPDATE issuer_codes SET used_at = $2 WHERE token_hash = $1 AND used_at IS NULL AND expires_at > $2",
        );
        let first = self.database.write(query.bind(token).bind(now)).await? > 0;
        let query = Query::new(
            "SELECT grant_id, redirect, challenge, nonce, expires_at, used_at FROM issuer_codes WHERE token_hash = $1",
        );
        let Some(row) = self.database.row(query.bind(token)).await? else { return Ok(Spent::Unknown) };
        let code = Code::read(&row)?;
        Ok(match (first, row.optional_time("used_at")?) {
            (true, _) => Spent::First(code),
            (false, Some(_)) => Spent::Again(code),
            (false, None) => Spent::Unknown,
        })
    }

    /// Keeps tokens, all or none.
    pub async fn create_tokens(&self, tokens: &[NewToken]) -> Result<()> {
        let mut transaction = self.database.begin(Lock::None).await?;
        for token in tokens {
            transaction.write(token.insert()).await?;
        }
        transaction.commit().await
    }

    /// The grant of an access token that holds now, and what it may tell if that is less. One that is an API key holds no
    /// longer than the key.
    pub async fn access_token(
        &self,
        token: &TokenHash,
        now: Timestamp,
    ) -> Result<Option<(String, Option<Vec<String>>)>> {
        let query = Query::new(
            "SELECT grant_id, scopes FROM issuer_tokens t WHERE token_hash = $1 AND kind = 'access' \
             AND used_at IS NULL AND expires_at > $2 AND NOT EXISTS \
             (SELECT 1 FROM api_keys k WHERE k.token_hash = t.token_hash AND k.revoked_at IS NOT NULL)",
        );
        let Some(row) = self.database.row(query.bind(token).bind(now)).await? else { return Ok(None) };
        Ok(Some((row.text("grant_id")?, row.optional_text("scopes")?.as_deref().map(words))))
    }

    /// Uses a refresh token up and keeps what takes its place, both or neither; the grant it is of.
    pub async fn replace_refresh_token(
        &self,
        token: &TokenHash,
        by: &[NewToken],
        now: Timestamp,
    ) -> Result<Spent<String>> {
        let mut transaction = self.database.begin(Lock::None).await?;
        let query = Query::new(
            "UPDATE issuer_tokens SET used_at = $2 WHERE token_hash = $1 AND kind = 'refresh' \
             AND used_at IS NULL AND expires_at > $2",
        );
        let first = transaction.write(query.bind(token).bind(now)).await? > 0;
        let query = Query::new(
            "SELECT grant_id, used_at FROM issuer_tokens WHERE token_hash = $1 AND kind = 'refresh'",
        );
        let Some(row) = transaction.row(query.bind(token)).await? else { return Ok(Spent::Unknown) };
        let grant = row.text("grant_id")?;
        if !first {
            let used = row.optional_time("used_at")?.is_some();
            return Ok(if used { Spent::Again(grant) } else { Spent::Unknown });
        }
        for token in by {
            transaction.write(token.insert()).await?;
        }
        transaction.commit().await?;
        Ok(Spent::First(grant))
    }

    /// The grant of a token of any kind, used or not, ended or not, with its kind.
    pub async fn grant_of_token(&self, token: &TokenHash) -> Result<Option<(String, TokenKind)>> {
        let query = Query::new("SELECT grant_id, kind FROM issuer_tokens WHERE token_hash = $1").bind(token);
        let Some(row) = self.database.row(query).await? else { return Ok(None) };
        let kind = if row.text("kind")? == "access" { TokenKind::Access } else { TokenKind::Refresh };
        Ok(Some((row.text("grant_id")?, kind)))
    }

    /// Makes an access token worth nothing, also one that is an API key.
    pub async fn end_access_token(&self, token: &TokenHash, now: Timestamp) -> Result<()> {
        let mut transaction = self.database.begin(Lock::None).await?;
        let query = Query::new(
            "UPDATE issuer_tokens SET used_at = COALESCE(used_at, $2) WHERE token_hash = $1 AND kind = 'access'",
        );
        if transaction.write(query.bind(token).bind(now)).await? > 0 {
            let query = Query::new(
                "UPDATE api_keys SET revoked_at = $2 WHERE token_hash = $1 AND revoked_at IS NULL",
            );
            transaction.write(query.bind(token).bind(now)).await?;
        }
        transaction.commit().await
    }
}
