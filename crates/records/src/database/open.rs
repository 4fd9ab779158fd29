//! Where a database is, and how it is opened.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::str::FromStr as _;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, SqliteConnection};
use tokio::time::{Instant, sleep};

use super::{Database, Engine, Sqlite};
use crate::{Error, Result};

/// How long another process may keep the file before a writer gives up.
const BUSY: Duration = Duration::from_secs(10);
/// Between two tries to open a file that another keeps.
const AGAIN: Duration = Duration::from_millis(5);
/// How long to wait for a connection to PostgreSQL.
const CONNECT: Duration = Duration::from_secs(10);
/// Connections to PostgreSQL that a process may have.
const CONNECTIONS: u32 = 10;
/// Connections that read a SQLite file.
const READERS: usize = 4;

impl Database {
    /// Opens a database as it is; a file is made only if that is said.
    pub(crate) async fn connect(url: &str, make: bool) -> Result<Self> {
        match url.split_once(':').map(|(scheme, _)| scheme) {
            Some("sqlite") => sqlite(url, make).await.map(|sqlite| Engine::Sqlite(sqlite).into()),
            Some("postgres" | "postgresql") => postgres(url).await,
            _ => Err(Error::invalid("url", "it must begin with sqlite: or postgres:")),
        }
    }
}

async fn sqlite(url: &str, make: bool) -> Result<Sqlite> {
    let options = SqliteConnectOptions::from_str(url).map_err(|error| unclear(&error))?;
    let options = options.foreign_keys(true).busy_timeout(BUSY).disable_statement_logging();
    if url.contains(":memory:") || url.contains("mode=memory") {
        let writer = options.connect().await?;
        return Ok(Sqlite::new(options, writer, Vec::new()));
    }
    if make {
        private(options.get_filename())?;
    }
    // FULL: a commit that was answered is on the disk, also when the power goes.
    let options = options.journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full);
    let writer = patient(&options).await?;
    let mut readers: Vec<SqliteConnection> = Vec::with_capacity(READERS);
    for _ in 0..READERS {
        readers.push(patient(&options.clone().pragma("query_only", "ON")).await?);
    }
    Ok(Sqlite::new(options, writer, readers))
}

/// Connects, also while others do the same to a new file: the one that changes the kind of its journal keeps them all away,
/// and SQLite tells them so at once instead of waiting as it does elsewhere.
async fn patient(options: &SqliteConnectOptions) -> Result<SqliteConnection> {
    let end = Instant::now() + BUSY;
    loop {
        match options.connect().await {
            Err(error) if is_busy(&error) && Instant::now() < end => sleep(AGAIN).await,
            connected => return Ok(connected?),
        }
    }
}

fn is_busy(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<i32>().ok());
    // The rest of the number says what kept it busy.
    code.is_some_and(|code| code & 0xff == 5)
}

/// Makes the file if there is none, readable by nobody else: it holds hashes of passwords. SQLite gives the files beside
/// it the same permissions.
fn private(path: &Path) -> Result<()> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match made {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(Error::File { path: path.to_owned(), source: error })
        }
        _ => Ok(()),
    }
}

async fn postgres(url: &str) -> Result<Database> {
    let options = PgConnectOptions::from_str(url).map_err(|error| unclear(&error))?;
    let options = options.application_name("maar").disable_statement_logging();
    let pool = PgPoolOptions::new().max_connections(CONNECTIONS).acquire_timeout(CONNECT);
    Ok(Engine::Postgres(pool.connect_with(options).await?).into())
}

/// Says what is wrong with an address without repeating it: it may hold a password.
fn unclear(error: &sqlx::Error) -> Error {
    Error::invalid("url", error.to_string())
}
