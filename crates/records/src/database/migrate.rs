//! Brings the schema of a database up to date, once, also when several processes start at the same time: all of it
//! happens in one transaction, and the others wait for it.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::{Database, Engine, Lock, Query, Transaction};
use crate::{Error, Result};

/// A step of the schema. Steps are added at the end and never changed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Migration {
    version: i64,
    name: &'static str,
    text: &'static str,
}

macro_rules! migrations {
    ($folder:literal) => {
        &[
            Migration {
                version: 1,
                name: "people-and-audit",
                text: include_str!(concat!("../../migrations/", $folder, "/0001-people-and-audit.sql")),
            },
            Migration {
                version: 2,
                name: "saved-things",
                text: include_str!(concat!("../../migrations/", $folder, "/0002-saved-things.sql")),
            },
            Migration {
                version: 3,
                name: "ssh-keys",
                text: include_str!(concat!("../../migrations/", $folder, "/0003-ssh-keys.sql")),
            },
            Migration {
                version: 4,
                name: "issuer",
                text: include_str!(concat!("../../migrations/", $folder, "/0004-issuer.sql")),
            },
            Migration {
                version: 6,
                name: "begun",
                text: include_str!(concat!("../../migrations/", $folder, "/0006-begun.sql")),
            },
            Migration {
                version: 7,
                name: "shared-ports",
                text: include_str!(concat!("../../migrations/", $folder, "/0007-shared-ports.sql")),
            },
            Migration {
                version: 8,
                name: "token-scopes",
                text: include_str!(concat!("../../migrations/", $folder, "/0008-token-scopes.sql")),
            },
            Migration {
                version: 9,
                name: "user-limits",
                text: include_str!(concat!("../../migrations/", $folder, "/0009-user-limits.sql")),
            },
        ]
    };
}

const SQLITE: &[Migration] = migrations!("sqlite");
const POSTGRES: &[Migration] = migrations!("postgres");

/// The steps for a database, in order.
pub(crate) const fn all(database: &Database) -> &'static [Migration] {
    match database.engine {
        Engine::Sqlite(_) => SQLITE,
        Engine::Postgres(_) => POSTGRES,
    }
}

/// The newest step known here.
pub(crate) fn newest(database: &Database) -> i64 {
    all(database).last().map_or(0, |migration| migration.version)
}

/// Runs the steps that the database does not have, and tells how many that were.
pub(crate) async fn run(database: &Database, known: &[Migration]) -> Result<usize> {
    let mut transaction = database.begin(Lock::Schema).await?;
    let applied = applied(&mut transaction).await?;
    let missing = missing(known, &applied)?;
    for migration in &missing {
        transaction.run(migration.text).await?;
        let query = Query::new("INSERT INTO schema_versions (version, name, checksum) VALUES ($1, $2, $3)");
        let query = query.bind(migration.version).bind(migration.name).bind(migration.checksum());
        transaction.write(query).await?;
    }
    transaction.commit().await?;
    if let Some(last) = missing.last() {
        tracing::info!(
            schema.version = last.version,
            steps = missing.len(),
            "the database was brought to a new schema"
        );
    }
    Ok(missing.len())
}

/// Refuses a database that does not have exactly these steps, and leaves it as it is.
pub(crate) async fn check(database: &Database, known: &[Migration]) -> Result<()> {
    // Nothing is committed: to look is not to change.
    let mut transaction = database.begin(Lock::Schema).await?;
    let applied = applied(&mut transaction).await?;
    if missing(known, &applied)?.is_empty() {
        return Ok(());
    }
    let newest = known.last().map_or(0, |migration| migration.version);
    Err(Error::Older { found: applied.last_key_value().map_or(0, |(&found, _)| found), known: newest })
}

/// Versions the database has, with their checksums.
async fn applied(transaction: &mut Transaction) -> Result<BTreeMap<i64, String>> {
    let table = "CREATE TABLE IF NOT EXISTS schema_versions (\
                 version BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL)";
    transaction.run(table).await?;
    let rows = transaction.rows(Query::new("SELECT version, checksum FROM schema_versions")).await?;
    rows.iter().map(|row| Ok((row.number("version")?, row.text("checksum")?))).collect()
}

fn missing<'a>(known: &'a [Migration], applied: &BTreeMap<i64, String>) -> Result<Vec<&'a Migration>> {
    let newest = known.last().map_or(0, |migration| migration.version);
    if let Some((&found, _)) = applied.last_key_value()
        && found > newest
    {
        return Err(Error::Newer { found, known: newest });
    }
    let mut missing = Vec::new();
    for migration in known {
        match applied.get(&migration.version) {
            None => missing.push(migration),
            Some(checksum) if *checksum == migration.checksum() => {}
            Some(_) => return Err(Error::Diverged { version: migration.version }),
        }
    }
    Ok(missing)
}

impl Migration {
    fn checksum(&self) -> String {
        format!("{:x}", Sha256::digest(self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn memory() -> Database {
        Database::connect("sqlite::memory:", true).await.unwrap()
    }

    #[test]
    fn both_databases_have_the_same_steps_in_order() {
        let names =
            |steps: &[Migration]| -> Vec<_> { steps.iter().map(|step| (step.version, step.name)).collect() };
        assert_eq!(names(SQLITE), names(POSTGRES));
        // Those who work side by side take numbers before they are done, so one may be missing for a while.
        assert!(SQLITE.is_sorted_by(|one, next| one.version < next.version));
    }

    #[tokio::test]
    async fn only_what_is_missing_runs() {
        let database = memory().await;
        assert_eq!(run(&database, &SQLITE[..1]).await.unwrap(), 1);
        assert_eq!(run(&database, SQLITE).await.unwrap(), SQLITE.len() - 1);
        assert_eq!(run(&database, SQLITE).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn a_newer_schema_is_not_touched() {
        let database = memory().await;
        run(&database, SQLITE).await.unwrap();
        let error = run(&database, &SQLITE[..1]).await.unwrap_err();
        assert!(matches!(error, Error::Newer { known: 1, .. }), "{error}");
    }

    #[tokio::test]
    async fn looking_whether_the_schema_is_the_known_one_changes_nothing() {
        let database = memory().await;
        let error = check(&database, SQLITE).await.unwrap_err();
        assert!(matches!(error, Error::Older { found: 0, .. }), "{error}");
        assert!(database.rows(Query::new("SELECT name FROM sqlite_master")).await.unwrap().is_empty());
        run(&database, &SQLITE[..2]).await.unwrap();
        let error = check(&database, SQLITE).await.unwrap_err();
        assert!(matches!(error, Error::Older { found: 2, .. }), "{error}");
        run(&database, SQLITE).await.unwrap();
        check(&database, SQLITE).await.unwrap();
        let error = check(&database, &SQLITE[..1]).await.unwrap_err();
        assert!(matches!(error, Error::Newer { known: 1, .. }), "{error}");
    }

    #[tokio::test]
    async fn a_step_that_was_changed_later_is_noticed() {
        let database = memory().await;
        run(&database, SQLITE).await.unwrap();
        let mut steps = SQLITE.to_vec();
        steps[0].text = "SELECT 1";
        let error = run(&database, &steps).await.unwrap_err();
        assert!(matches!(error, Error::Diverged { version: 1 }), "{error}");
    }

    #[tokio::test]
    async fn a_step_that_fails_leaves_nothing_behind() {
        let database = memory().await;
        let broken =
            Migration { version: 2, name: "broken", text: "CREATE TABLE half (a TEXT); CREATE nonsense" };
        run(&database, &[SQLITE[0], broken]).await.unwrap_err();
        let tables = database.rows(Query::new("SELECT name FROM sqlite_master")).await.unwrap();
        assert!(tables.is_empty(), "{} tables", tables.len());
    }
}
