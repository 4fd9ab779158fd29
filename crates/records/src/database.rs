//! The thin layer over SQLite and PostgreSQL: a statement is a [`Query`], an answer is [`Row`]s, and only here is it
//! known which of the two runs it.
//!
//! SQLite has one writer at a time, whoever it is: writing goes over one connection that its writers queue for, reading
//! over others that never wait for it. There are no timers in this, so that a paused clock in a test cannot fire them.

pub(crate) mod migrate;
mod open;
mod query;
mod row;
mod sqlite;
mod transaction;
mod writes;

use std::fmt;

use sqlx::PgPool;

use crate::Result;

pub(crate) use query::{Query, Value};
pub(crate) use row::{Row, instant};
pub(crate) use sqlite::Sqlite;
pub(crate) use transaction::{Lock, Transaction};
use writes::Writes;

/// A database that is open and has the schema known here.
#[derive(Clone)]
pub(crate) struct Database {
    pub(crate) engine: Engine,
    writes: Writes,
}

/// Which of the two it is.
#[derive(Clone)]
pub(crate) enum Engine {
    Sqlite(Sqlite),
    Postgres(PgPool),
}

impl From<Engine> for Database {
    fn from(engine: Engine) -> Self {
        Self { engine, writes: Writes::default() }
    }
}

impl Database {
    /// How often something was written over this handle and its clones: what was read before and is kept may be old when it
    /// has changed.
    pub(crate) fn writes(&self) -> u64 {
        self.writes.count()
    }

    /// The first row of an answer.
    pub(crate) async fn row(&self, query: Query) -> Result<Option<Row>> {
        Ok(self.rows(query).await?.into_iter().next())
    }

    /// All rows of an answer; the query carries its limit.
    pub(crate) async fn rows(&self, query: Query) -> Result<Vec<Row>> {
        match &self.engine {
            Engine::Sqlite(sqlite) => {
                let mut reader = sqlite.reader().await?;
                let rows = query.bound()?.fetch_all(reader.connection()).await?;
                Ok(rows.into_iter().map(Row::from).collect())
            }
            Engine::Postgres(pool) => {
                let rows = query.bound()?.fetch_all(pool).await?;
                Ok(rows.into_iter().map(Row::from).collect())
            }
        }
    }

    /// Changes rows and tells how many.
    pub(crate) async fn write(&self, query: Query) -> Result<u64> {
        let _counted = self.writes.one();
        match &self.engine {
            Engine::Sqlite(sqlite) => {
                let mut writer = sqlite.writer().await?;
                Ok(query.bound()?.execute(writer.connection()).await?.rows_affected())
            }
            Engine::Postgres(pool) => Ok(query.bound()?.execute(pool).await?.rows_affected()),
        }
    }

    /// Begins a transaction that waits for, and keeps out, others with the same lock.
    pub(crate) async fn begin(&self, lock: Lock) -> Result<Transaction> {
        Transaction::begin(self, lock).await
    }

    /// What it is called.
    pub(crate) const fn name(&self) -> &'static str {
        match self.engine {
            Engine::Sqlite(_) => "SQLite",
            Engine::Postgres(_) => "PostgreSQL",
        }
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address may hold a password.
        formatter.write_str(self.name())
    }
}
