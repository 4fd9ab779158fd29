//! The handle on the records.

use crate::Result;
use crate::database::{Database, Query};

/// An open database. Clones share it.
#[derive(Debug, Clone)]
pub struct Records {
    pub(crate) database: Database,
}

impl Records {
    /// Opens `sqlite:///path/to/file.db`, `sqlite::memory:` or `postgres://…` and brings the schema up to date. Several
    /// processes may do so at the same time.
    pub async fn open(url: &str) -> Result<Self> {
        Ok(Self { database: Database::open(url).await? })
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<()> {
        self.database.row(Query::new("SELECT 1")).await.map(|_| ())
    }
}
