//! The schema: the same in both databases, made once, and the audit log in it only grows.

use std::os::unix::fs::PermissionsExt as _;

use maar_records::{Actor, AuditFilter, AuditId, Entry, Page, Records};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _, SqliteConnection};

use crate::support::{World, at};

/// Runs a statement past the records, as somebody with the password of the database could.
pub(crate) async fn raw(url: &str, statement: &str) -> Result<u64, sqlx::Error> {
    let statement = sqlx::raw_sql(AssertSqlSafe(statement.to_owned()));
    if url.starts_with("sqlite") {
        let mut connection = SqliteConnection::connect(url).await.unwrap();
        statement.execute(&mut connection).await.map(|done| done.rows_affected())
    } else {
        let mut connection = PgConnection::connect(url).await.unwrap();
        statement.execute(&mut connection).await.map(|done| done.rows_affected())
    }
}

on_both!(the_database_refuses_to_change_the_audit_log, async |world: World| {
    let entry = Entry::new(AuditId::new("one"), at(0), Actor::system("test"), "test.run", ("Test", "x"));
    world.records.append_audit(&entry).await.unwrap();
    let mut attempts = vec![
        "UPDATE audit SET actor_name = 'somebody else'",
        "DELETE FROM audit",
        "DELETE FROM audit WHERE at < 9000000000000000",
    ];
    if world.url.starts_with("postgres") {
        attempts.extend(["TRUNCATE audit", "TRUNCATE audit CASCADE"]);
    }
    for attempt in attempts {
        let error = raw(&world.url, attempt).await.unwrap_err().to_string();
        assert!(error.contains("the audit log is append-only"), "{attempt}: {error}");
    }
    if world.url.starts_with("sqlite") {
        let replace = "INSERT OR REPLACE INTO audit (id, at, actor_kind, actor_name, action, object_kind, \
                       object_name, outcome) VALUES ('one', 0, 'user', 'mallory', 'a', 'b', 'c', 'done')";
        assert_eq!(raw(&world.url, replace).await.unwrap(), 0);
    }
    let left = world.records.audit(&AuditFilter::default(), &Page::first(10).unwrap()).await.unwrap().items;
    assert_eq!(left.into_iter().map(|record| record.entry).collect::<Vec<_>>(), [entry]);
});

on_both!(opening_at_the_same_time_migrates_once, async |world: World| {
    for round in 0..5 {
        let url = if world.url.starts_with("sqlite") {
            let path = world.url.trim_start_matches("sqlite://");
            format!("sqlite://{path}.{round}")
        } else {
            crate::support::postgres::schema("migrations").await.unwrap()
        };
        let tasks: Vec<_> = (0..6)
            .map(|_| {
                let url = url.clone();
                tokio::spawn(async move { Records::open(&url).await })
            })
            .collect();
        for task in tasks {
            task.await.unwrap().unwrap().ping().await.unwrap();
        }
    }
});

/// Table, column, kind of value, and whether it may be absent.
async fn columns(url: &str) -> Vec<(String, String, String, bool)> {
    let mut columns = Vec::new();
    if url.starts_with("sqlite") {
        let mut connection = SqliteConnection::connect(url).await.unwrap();
        let statement = "SELECT m.name AS t, c.name AS c, c.type AS k, c.\"notnull\" = 0 AND c.pk = 0 AS n \
                         FROM sqlite_master m, pragma_table_info(m.name) c \
                         WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'";
        for row in sqlx::query(statement).fetch_all(&mut connection).await.unwrap() {
            columns.push((row.get("t"), row.get("c"), row.get("k"), row.get("n")));
        }
    } else {
        let mut connection = PgConnection::connect(url).await.unwrap();
        let statement = "SELECT table_name::text AS t, column_name::text AS c, upper(data_type::text) AS k, \
                         is_nullable = 'YES' AS n FROM information_schema.columns \
                         WHERE table_schema = current_schema()";
        for row in sqlx::query(statement).fetch_all(&mut connection).await.unwrap() {
            columns.push((row.get("t"), row.get("c"), row.get("k"), row.get("n")));
        }
    }
    for (_, _, kind, _) in &mut columns {
        if kind == "INTEGER" {
            "BIGINT".clone_into(kind);
        }
    }
    columns.sort();
    columns
}

async fn indexes(url: &str) -> Vec<String> {
    let mut names: Vec<String> = if url.starts_with("sqlite") {
        let mut connection = SqliteConnection::connect(url).await.unwrap();
        let statement = "SELECT name FROM sqlite_master WHERE type = 'index' AND name NOT LIKE 'sqlite_%'";
        sqlx::query_scalar(statement).fetch_all(&mut connection).await.unwrap()
    } else {
        let mut connection = PgConnection::connect(url).await.unwrap();
        let statement = "SELECT indexname::text FROM pg_indexes i WHERE schemaname = current_schema() \
                         AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conname = i.indexname)";
        sqlx::query_scalar(statement).fetch_all(&mut connection).await.unwrap()
    };
    names.sort();
    names
}

#[tokio::test]
async fn both_databases_have_the_same_tables_columns_and_indexes() {
    let sqlite = World::sqlite().await;
    let Some(postgres) = World::postgres("both_databases_have_the_same_tables_columns_and_indexes").await
    else {
        return;
    };
    let found = columns(&sqlite.url).await;
    assert!(found.len() > 50, "{found:?}");
    assert_eq!(found, columns(&postgres.url).await);
    assert_eq!(indexes(&sqlite.url).await, indexes(&postgres.url).await);
}

#[tokio::test]
async fn the_file_is_for_nobody_else_and_safe_against_a_power_cut() {
    let world = World::sqlite().await;
    let path = world.url.trim_start_matches("sqlite://");
    for file in [path.to_owned(), format!("{path}-wal"), format!("{path}-shm")] {
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    let mut connection = SqliteConnection::connect(&world.url).await.unwrap();
    let mode: String = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(&mut connection).await.unwrap();
    assert_eq!(mode, "wal");
}

#[tokio::test]
async fn an_address_that_makes_no_sense_is_refused_without_its_password() {
    for url in
        ["mysql://u:secret@h/d", "nothing", "postgres://u:secret@h:x/d", "sqlite:///no/such/folder/secret.db"]
    {
        let error = Records::open(url).await.unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(!text.contains("u:secret"), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_paused_clock_does_not_fire_while_the_database_works() {
    let records = Records::open("sqlite::memory:").await.unwrap();
    let before = tokio::time::Instant::now();
    let tasks: Vec<_> = (0..50)
        .map(|_| {
            let records = records.clone();
            tokio::spawn(async move { records.ping().await.unwrap() })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(before.elapsed(), std::time::Duration::ZERO);
}
