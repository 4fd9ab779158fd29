//! `maar records` as people run it: a copy of a database that is in use, what is too old, and a password that was lost.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::Path;
use std::process::Output;

use jiff::{SignedDuration, Timestamp};
use maar_controller::clock::{Clock as _, SystemClock};
use maar_records::{Actor, AuditFilter, AuditId, Entry, NewUser, Page, PasswordHash, Records, UserId};
use tokio::process::Command;

async fn maar(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_maar")).args(words).output().await.unwrap()
}

fn url(folder: &Path, name: &str) -> String {
    format!("sqlite://{}", folder.join(name).display())
}

fn entry(id: impl Into<String>, at: Timestamp) -> Entry {
    Entry::new(AuditId::new(id), at, Actor::system("test"), "test.run", ("Test", "x"))
}

async fn ids(records: &Records) -> Vec<String> {
    let page = Page::first(500).unwrap();
    let found = records.audit(&AuditFilter::default(), &page).await.unwrap().items;
    found.into_iter().map(|one| one.entry.id.to_string()).collect()
}

#[tokio::test]
async fn a_database_in_use_is_copied_whole_and_no_file_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let (here, copy) = (url(folder.path(), "records.db"), folder.path().join("copy.db"));
    let target = copy.to_str().unwrap().to_owned();
    let records = Records::open(&here).await.unwrap();
    let now = SystemClock.now();
    records.create_user(&NewUser::named(UserId::new("u-1"), "ada"), now).await.unwrap();
    for number in 0..50 {
        records.append_audit(&entry(format!("before-{number}"), now)).await.unwrap();
    }
    // Somebody goes on writing meanwhile.
    let writer = records.clone();
    let writing = tokio::spawn(async move {
        for number in 0.. {
            writer.append_audit(&entry(format!("during-{number}"), now)).await.unwrap();
            tokio::task::yield_now().await;
        }
    });
    let made = maar(&["records", "backup", "--records", &here, &target]).await;
    writing.abort();
    assert!(made.status.success(), "{made:?}");
    assert!(String::from_utf8_lossy(&made.stdout).contains(&target), "{made:?}");
    let copied = Records::open(&url(folder.path(), "copy.db")).await.unwrap();
    assert_eq!(copied.user_by_name("ada").await.unwrap().unwrap().id, UserId::new("u-1"));
    let entries = ids(&copied).await;
    assert_eq!(entries.iter().filter(|id| id.starts_with("before-")).count(), 50, "{entries:?}");
    drop(copied);
    // What is there stays as it is.
    let before = std::fs::read(&copy).unwrap();
    let again = maar(&["records", "backup", "--records", &here, &target]).await;
    assert!(!again.status.success() && std::fs::read(&copy).unwrap() == before, "{again:?}");
    let nothing = maar(&["records", "backup", "--records", &url(folder.path(), "none.db"), "other.db"]).await;
    assert!(!nothing.status.success() && !folder.path().join("none.db").exists(), "{nothing:?}");
}

#[tokio::test]
async fn what_is_too_old_is_taken_out_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let here = url(folder.path(), "records.db");
    let records = Records::open(&here).await.unwrap();
    let now = SystemClock.now();
    for (id, days) in [("old", 20), ("young", 2)] {
        records.append_audit(&entry(id, now - SignedDuration::from_hours(24 * days))).await.unwrap();
    }
    let pruned = maar(&["records", "prune", "--records", &here, "--audit-days", "10"]).await;
    assert!(pruned.status.success(), "{pruned:?}");
    assert!(String::from_utf8_lossy(&pruned.stdout).starts_with("taken out: 1 audit entries"), "{pruned:?}");
    let left = ids(&records).await;
    assert!(left.len() == 2 && left.contains(&"young".to_owned()), "{left:?}");
}

/// What a command that failed said.
fn refusal(output: &Output, code: i32) -> String {
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test]
async fn a_lost_password_is_replaced_by_one_that_is_shown_once() {
    let folder = tempfile::tempdir().unwrap();
    let here = url(folder.path(), "records.db");
    let records = Records::open(&here).await.unwrap();
    let now = SystemClock.now();
    let lost = PasswordHash::new("lost");
    let admin = NewUser { password_hash: Some(lost.clone()), ..NewUser::named(UserId::new("u-1"), "admin") };
    records.create_user(&admin, now).await.unwrap();
    records.create_user(&NewUser::named(UserId::new("u-2"), "ada"), now).await.unwrap();
    let made = maar(&["records", "password", "admin", "--records", &here]).await;
    assert!(made.status.success(), "{made:?}");
    let said = String::from_utf8(made.stdout).unwrap();
    let password = said.split("the password ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    assert_eq!(password.len(), 23, "{said}");
    assert!(!String::from_utf8_lossy(&made.stderr).contains(password), "not in logs");
    let user = records.user_by_name("admin").await.unwrap().unwrap();
    assert!(user.must_change_password && user.password_hash != Some(lost), "{user:?}");
    assert_eq!(ids(&records).await.len(), 1);
    let unknown = refusal(&maar(&["records", "password", "nobody", "--records", &here]).await, 3);
    assert!(unknown.contains("giving nobody a new password: there is no such user"), "{unknown}");
    let elsewhere = refusal(&maar(&["records", "password", "ada", "--records", &here]).await, 4);
    assert!(elsewhere.contains("ada signs in by other means and has no password here"), "{elsewhere}");
    let empty = folder.path().join("empty.db");
    std::fs::write(&empty, "").unwrap();
    let older = maar(&["records", "password", "admin", "--records", &url(folder.path(), "empty.db")]).await;
    let older = refusal(&older, 1);
    assert!(older.contains("the database has schema 0") && older.contains("maar records migrate"), "{older}");
}
