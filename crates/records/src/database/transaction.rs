//! Several statements that happen together or not at all.

use sqlx::{AssertSqlSafe, Postgres};
use tokio::runtime::Handle;

use super::sqlite::Held;
use super::writes::Write;
use super::{Database, Engine, Query, Row};
use crate::Result;

/// What a transaction keeps others out of.
///
/// SQLite has one writer anyway. PostgreSQL takes an advisory lock of this number until the transaction ends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lock {
    /// Nothing: rows are enough.
    None,
    /// Changing the schema.
    Schema = 0x6d61_6101,
    /// Changing who administers.
    Administrators = 0x6d61_6102,
    /// Appending to the audit log: positions become visible in their order, so that reading on misses none.
    Audit = 0x6d61_6103,
}

/// An open transaction; dropped without [`Transaction::commit`] it never was.
pub(crate) struct Transaction {
    open: Option<Open>,
    #[expect(dead_code, reason = "it counts when it is dropped, after the commit")]
    counted: Write,
}

enum Open {
    Sqlite(Held),
    Postgres(sqlx::Transaction<'static, Postgres>),
}

impl Transaction {
    pub(super) async fn begin(database: &Database, lock: Lock) -> Result<Self> {
        let counted = database.writes.one();
        match &database.engine {
            Engine::Sqlite(sqlite) => {
                let mut transaction = Self { open: Some(Open::Sqlite(sqlite.writer().await?)), counted };
                if let Some(Open::Sqlite(held)) = &mut transaction.open {
                    held.begin().await?;
                }
                Ok(transaction)
            }
            Engine::Postgres(pool) => {
                let mut open = pool.begin().await?;
                if !matches!(lock, Lock::None) {
                    let statement = sqlx::query("SELECT pg_advisory_xact_lock($1)");
                    statement.bind(lock as i64).execute(&mut *open).await?;
                }
                Ok(Self { open: Some(Open::Postgres(open)), counted })
            }
        }
    }

    fn open(&mut self) -> &mut Open {
        self.open.as_mut().expect("it is taken only by commit and drop, which end the value")
    }

    /// All rows of an answer.
    pub(crate) async fn rows(&mut self, query: Query) -> Result<Vec<Row>> {
        Ok(match self.open() {
            Open::Sqlite(held) => {
                let rows = query.bound()?.fetch_all(held.connection()).await?;
                rows.into_iter().map(Row::from).collect()
            }
            Open::Postgres(open) => {
                let rows = query.bound()?.fetch_all(&mut **open).await?;
                rows.into_iter().map(Row::from).collect()
            }
        })
    }

    /// The first row of an answer.
    pub(crate) async fn row(&mut self, query: Query) -> Result<Option<Row>> {
        Ok(self.rows(query).await?.into_iter().next())
    }

    /// Changes rows and tells how many.
    pub(crate) async fn write(&mut self, query: Query) -> Result<u64> {
        Ok(match self.open() {
            Open::Sqlite(held) => query.bound()?.execute(held.connection()).await?.rows_affected(),
            Open::Postgres(open) => query.bound()?.execute(&mut **open).await?.rows_affected(),
        })
    }

    /// Runs a text of several statements without values.
    pub(crate) async fn run(&mut self, text: &str) -> Result<()> {
        let statements = sqlx::raw_sql(AssertSqlSafe(text.to_owned()));
        match self.open() {
            Open::Sqlite(held) => statements.execute(held.connection()).await.map(|_| ())?,
            Open::Postgres(open) => statements.execute(&mut **open).await.map(|_| ())?,
        }
        Ok(())
    }

    /// Makes it so.
    pub(crate) async fn commit(mut self) -> Result<()> {
        match self.open() {
            Open::Sqlite(held) => {
                held.commit().await?;
                self.open = None;
            }
            Open::Postgres(_) => {
                if let Some(Open::Postgres(open)) = self.open.take() {
                    open.commit().await?;
                }
            }
        }
        Ok(())
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        // PostgreSQL's does this itself. SQLite's file stays locked for other processes until it is done, so it is not
        // left to the next writer, who does it where there is no runtime any more.
        if let (Some(Open::Sqlite(mut held)), Ok(runtime)) = (self.open.take(), Handle::try_current()) {
            runtime.spawn(async move { held.roll_back().await });
        }
    }
}
