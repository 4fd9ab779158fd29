//! Who a user is to a provider of logins: the provider's name for them, which never changes.

use jiff::Timestamp;

use crate::database::{Lock, Query, Row, Transaction};
use crate::page::{Cursor, Listing, Page};
use crate::user::{User, joined_columns};
use crate::{Error, Records, Result, UserId, text};

/// A provider and its stable name for somebody.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// The provider, as it is configured.
    pub provider: String,
    /// Its stable name for the user, such as the `sub` of a token.
    pub subject: String,
}

impl Identity {
    /// An identity.
    pub fn new(provider: impl Into<String>, subject: impl Into<String>) -> Self {
        Self { provider: provider.into(), subject: subject.into() }
    }

    fn check(&self) -> Result<()> {
        text::line("provider", &self.provider, 64)?;
        text::line("subject", &self.subject, 512)
    }

    pub(crate) async fn insert(
        &self,
        transaction: &mut Transaction,
        user: &UserId,
        now: Timestamp,
    ) -> Result<()> {
        self.check()?;
        let query = Query::new(
            "INSERT INTO identities (provider, subject, user_id, created_at) VALUES ($1, $2, $3, $4)",
        );
        let query = query.bind(&self.provider).bind(&self.subject).bind(user).bind(now);
        transaction.write(query).await.map(|_| ())
    }

    fn read(row: &Row) -> Result<Self> {
        Ok(Self { provider: row.text("provider")?, subject: row.text("subject")? })
    }
}

impl Records {
    /// The user whom a provider knows so, if there is one.
    pub async fn user_by_identity(&self, provider: &str, subject: &str) -> Result<Option<User>> {
        let query = Query::new(concat!(
            "SELECT ",
            joined_columns!(),
            " FROM identities i JOIN users u ON u.id = i.user_id WHERE i.provider = $1 AND i.subject = $2"
        ));
        let row = self.database.row(query.bind(provider).bind(subject)).await?;
        row.map(|row| User::read(&row.under("u_"))).transpose()
    }

    /// Lets a user log in as this identity. Doing it again changes nothing; another user's is a conflict.
    pub async fn link_identity(&self, user: &UserId, identity: &Identity, now: Timestamp) -> Result<()> {
        let mut transaction = self.database.begin(Lock::None).await?;
        let linked = identity.insert(&mut transaction, user, now).await;
        if let Err(Error::Conflict { .. }) = linked {
            drop(transaction);
            return match self.user_by_identity(&identity.provider, &identity.subject).await? {
                Some(owner) if owner.id == *user => Ok(()),
                _ => linked,
            };
        }
        linked?;
        transaction.commit().await
    }

    /// Lets a user log in as this identity no more.
    pub async fn unlink_identity(&self, user: &UserId, identity: &Identity) -> Result<()> {
        let query =
            Query::new("DELETE FROM identities WHERE user_id = $1 AND provider = $2 AND subject = $3");
        let query = query.bind(user).bind(&identity.provider).bind(&identity.subject);
        self.database.write(query).await.map(|_| ())
    }

    /// The identities of a user, by provider.
    pub async fn identities_of(&self, user: &UserId, page: &Page) -> Result<Listing<Identity>> {
        let mut query = Query::new("SELECT provider, subject FROM identities WHERE user_id = $1").bind(user);
        if let Some(cursor) = page.cursor() {
            let (provider, subject) = cursor
                .as_str()
                .split_once('\n')
                .ok_or_else(|| Error::invalid("cursor", "it was not given by this list"))?;
            query = query
                .push(" AND (provider, subject) > (")
                .value(provider)
                .push(", ")
                .value(subject)
                .push(")");
        }
        let rows = self.database.rows(page.limited(query, " ORDER BY provider, subject")).await?;
        let cursor =
            |identity: &Identity| Cursor::new(format!("{}\n{}", identity.provider, identity.subject));
        Listing::read(page, rows, Identity::read, cursor)
    }
}
