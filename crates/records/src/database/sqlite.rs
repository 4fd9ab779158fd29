//! Connections to a SQLite file: one that writes, some that read.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, SqliteConnection};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::{Error, Result};

/// The connections.
#[derive(Clone)]
pub(crate) struct Sqlite {
    writer: Arc<Mutex<Connection>>,
    /// None for a database in memory: there everything goes over the one connection.
    readers: Arc<[Arc<Mutex<Connection>>]>,
    next: Arc<AtomicUsize>,
    options: Arc<SqliteConnectOptions>,
}

/// A connection, and whether a transaction may be open on it that nobody goes on with.
pub(super) struct Connection {
    inner: SqliteConnection,
    abandoned: bool,
}

impl Sqlite {
    pub(super) fn new(
        options: SqliteConnectOptions,
        writer: SqliteConnection,
        readers: Vec<SqliteConnection>,
    ) -> Self {
        let shared = |inner| Arc::new(Mutex::new(Connection { inner, abandoned: false }));
        Self {
            writer: shared(writer),
            readers: readers.into_iter().map(shared).collect(),
            next: Arc::new(AtomicUsize::new(0)),
            options: Arc::new(options),
        }
    }

    /// Copies all there is at this moment into a file that is empty, and reads the copy.
    pub(crate) async fn copy(&self, path: &Path) -> Result<()> {
        if self.readers.is_empty() {
            // It would be copied to another one in memory, whatever the name.
            return Err(Error::Unsupported {
                what: "a backup",
                database: "SQLite in memory",
                instead: "keep the records in a file",
            });
        }
        let name = path.to_str().ok_or_else(|| Error::invalid("path", "it is not UTF-8"))?;
        let copy = sqlx::query("VACUUM INTO $1").bind(name.to_owned());
        // Over a connection of its own: nobody has to wait for it.
        copy.execute(&mut self.options.connect().await?).await?;
        read_back(path).await
    }

    /// The connection to write over, once those before are done.
    pub(super) async fn writer(&self) -> Result<Held> {
        Held::take(&self.writer).await
    }

    /// A connection to read over: one that is free, or else the next in turn.
    pub(super) async fn reader(&self) -> Result<Held> {
        if self.readers.is_empty() {
            return self.writer().await;
        }
        if let Some(free) = self.readers.iter().find_map(|reader| Arc::clone(reader).try_lock_owned().ok()) {
            return Ok(Held(free));
        }
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.readers.len();
        Held::take(&self.readers[turn]).await
    }
}

/// Reads a copy whole.
async fn read_back(path: &Path) -> Result<()> {
    // Immutable, so that reading leaves no files beside it.
    let options = SqliteConnectOptions::new().filename(path).read_only(true).immutable(true);
    let mut connection = options.connect().await?;
    let said: String = sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&mut connection).await?;
    let tables: i64 =
        sqlx::query_scalar("SELECT COUNT(*) FROM sqlite_master").fetch_one(&mut connection).await?;
    match (said.as_str(), tables) {
        ("ok", 1..) => Ok(()),
        ("ok", _) => Err(Error::Damaged { field: "backup".to_owned(), why: "it holds nothing".to_owned() }),
        _ => Err(Error::Damaged { field: "backup".to_owned(), why: said }),
    }
}

/// A connection that nobody else uses.
pub(super) struct Held(OwnedMutexGuard<Connection>);

impl Held {
    async fn take(connection: &Arc<Mutex<Connection>>) -> Result<Self> {
        let mut held = Self(Arc::clone(connection).lock_owned().await);
        if held.0.abandoned {
            held.roll_back().await;
        }
        Ok(held)
    }

    pub(super) fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.0.inner
    }

    /// Begins a transaction that may write: at once, since a reader that begins to write can be told to start again.
    pub(super) async fn begin(&mut self) -> Result<()> {
        // Before it is sent: who stops waiting for the answer leaves it open.
        self.0.abandoned = true;
        sqlx::query("BEGIN IMMEDIATE").execute(self.connection()).await?;
        Ok(())
    }

    pub(super) async fn commit(&mut self) -> Result<()> {
        sqlx::query("COMMIT").execute(self.connection()).await?;
        self.0.abandoned = false;
        Ok(())
    }

    pub(super) async fn roll_back(&mut self) {
        // It fails where there is nothing to roll back, which is what was wanted.
        if let Err(error) = sqlx::query("ROLLBACK").execute(self.connection()).await {
            tracing::debug!(%error, "no transaction was open");
        }
        self.0.abandoned = false;
    }
}
