//! Connections to a SQLite file: one that writes, some that read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sqlx::SqliteConnection;
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::Result;

/// The connections.
#[derive(Clone)]
pub(crate) struct Sqlite {
    writer: Arc<Mutex<Connection>>,
    /// None for a database in memory: there everything goes over the one connection.
    readers: Arc<[Arc<Mutex<Connection>>]>,
    next: Arc<AtomicUsize>,
}

/// A connection, and whether a transaction may be open on it that nobody goes on with.
pub(super) struct Connection {
    inner: SqliteConnection,
    abandoned: bool,
}

impl Sqlite {
    pub(super) fn new(writer: SqliteConnection, readers: Vec<SqliteConnection>) -> Self {
        let shared = |inner| Arc::new(Mutex::new(Connection { inner, abandoned: false }));
        Self {
            writer: shared(writer),
            readers: readers.into_iter().map(shared).collect(),
            next: Arc::new(AtomicUsize::new(0)),
        }
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
