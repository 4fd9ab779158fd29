//! The handle on the records.

use crate::database::{Database, Query, migrate};
use crate::known::Known;
use crate::{Key, Result, Session, User};

/// An open database. Clones share it.
#[derive(Debug, Clone)]
pub struct Records {
    pub(crate) database: Database,
    pub(crate) known_sessions: Known<(Session, User)>,
    pub(crate) known_keys: Known<(Key, User)>,
}

/// What the schema of a database is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schema {
    /// Its version.
    pub version: i64,
    /// Steps that had to run for it.
    pub steps: usize,
}

impl Records {
    /// Opens `sqlite:///path/to/file.db`, `sqlite::memory:` or `postgres://…` and brings the schema up to date. A file
    /// that is not there is made. Several processes may do so at the same time.
    pub async fn open(url: &str) -> Result<Self> {
        let records = Self::of(Database::connect(url, true).await?);
        records.migrate().await?;
        Ok(records)
    }

    /// Opens a database that is there, and leaves its schema as it is: for looking into it and for copying it.
    pub async fn open_as_is(url: &str) -> Result<Self> {
        Ok(Self::of(Database::connect(url, false).await?))
    }

    /// Opens a database that is there, with the schema that is known here and no other: for changing something beside a
    /// portal that may be running, which would meet a schema that it does not know.
    pub async fn open_current(url: &str) -> Result<Self> {
        let records = Self::open_as_is(url).await?;
        migrate::check(&records.database, migrate::all(&records.database)).await?;
        Ok(records)
    }

    fn of(database: Database) -> Self {
        Self { database, known_sessions: Known::default(), known_keys: Known::default() }
    }

    /// Brings the schema up to date.
    pub async fn migrate(&self) -> Result<Schema> {
        let steps = migrate::run(&self.database, migrate::all(&self.database)).await?;
        Ok(Schema { version: migrate::newest(&self.database), steps })
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<()> {
        self.database.row(Query::new("SELECT 1")).await.map(|_| ())
    }
}
