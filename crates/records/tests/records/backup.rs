//! Backups: whole, private, and of one moment.

use std::os::unix::fs::PermissionsExt as _;

use maar_records::{Error, Records};

use crate::support::{World, at, new_user, user};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_made_under_writes_opens_and_holds_what_was_there() {
    let world = World::sqlite().await;
    user(&world.records, "before").await;
    let writer = {
        let records = world.records.clone();
        tokio::spawn(async move {
            for number in 0..200 {
                records.create_user(&new_user(&format!("during-{number}")), at(1)).await.unwrap();
            }
        })
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("copy of records.db");
    world.records.backup(&path).await.unwrap();
    writer.await.unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["copy of records.db"]);

    let copy = Records::open(&format!("sqlite://{}", path.display())).await.unwrap();
    assert!(copy.user_by_name("before").await.unwrap().is_some());
    let last = copy.user_by_name("during-199").await.unwrap();
    let any = copy.user_by_name("during-0").await.unwrap();
    assert!(last.is_none() || any.is_some(), "it is one moment");
    user(&copy, "after").await;
    assert!(world.records.user_by_name("after").await.unwrap().is_none());
}

#[tokio::test]
async fn a_backup_overwrites_nothing_and_leaves_nothing_half_done() {
    let world = World::sqlite().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("precious");
    std::fs::write(&path, "precious").unwrap();
    let error = world.records.backup(&path).await.unwrap_err();
    assert!(matches!(error, Error::File { .. }), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    let nowhere = folder.path().join("no/such/folder/copy");
    assert!(matches!(world.records.backup(&nowhere).await.unwrap_err(), Error::File { .. }));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_database_in_memory_or_without_tables_is_not_taken_for_a_backup() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.db");
    let records = Records::open("sqlite::memory:").await.unwrap();
    let error = records.backup(&copy).await.unwrap_err();
    let want = "a backup is not supported on SQLite in memory: keep the records in a file";
    assert_eq!(error.to_string(), want);
    let empty = folder.path().join("empty.db");
    std::fs::write(&empty, "").unwrap();
    let records = Records::open_as_is(&format!("sqlite://{}", empty.display())).await.unwrap();
    assert!(matches!(records.backup(&copy).await.unwrap_err(), Error::Damaged { .. }));
    assert!(!copy.exists());
}

#[tokio::test]
async fn postgres_has_its_own_tool_for_that() {
    let Some(world) = World::postgres("postgres_has_its_own_tool_for_that").await else { return };
    let error = world.records.backup("/tmp/x".as_ref()).await.unwrap_err();
    assert_eq!(error.to_string(), "a backup is not supported on PostgreSQL: use pg_dump");
}

#[tokio::test]
async fn looking_at_a_database_makes_none_and_changes_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.db");
    let url = format!("sqlite://{}", path.display());
    Records::open_as_is(&url).await.unwrap_err();
    assert!(!path.exists());
    std::fs::write(&path, "").unwrap();
    let records = Records::open_as_is(&url).await.unwrap();
    assert!(records.user_by_name("alice").await.is_err(), "it has no tables, and was given none");
    let schema = records.migrate().await.unwrap();
    assert!(schema.steps > 0 && schema.version > 0, "{schema:?}");
    assert!(records.user_by_name("alice").await.unwrap().is_none());
    assert_eq!(records.migrate().await.unwrap().steps, 0);
}
