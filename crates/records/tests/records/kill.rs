//! kill -9 of processes that write: what they were told is kept is kept.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

use futures::TryStreamExt as _;
use maar_records::{Actor, AuditFilter, AuditId, Entry, Records};

use crate::support::{at, new_user};

/// Tells a copy of this program that it is to write, and where.
const ADDRESS: &str = "MAAR_TEST_RECORDS";
/// Tells it what to begin the names with.
const PREFIX: &str = "MAAR_TEST_PREFIX";

/// Not a test but the process that is killed.
#[tokio::test]
#[ignore = "started by the test below"]
async fn writer() {
    let text = |name| std::env::var_os(name).and_then(|value| value.into_string().ok());
    let (Some(url), Some(prefix)) = (text(ADDRESS), text(PREFIX)) else { return };
    let records = Records::open(&url).await.unwrap();
    for number in 0.. {
        let name = format!("{prefix}-{number}");
        records.create_user(&new_user(&name), at(number)).await.unwrap();
        let actor = Actor::system("test");
        let entry = Entry::new(AuditId::new(&name), at(number), actor, "user.create", ("User", &name));
        records.append_audit(&entry).await.unwrap();
        // One call, past the harness: a line is there whole or not at all.
        std::io::stdout().write_all(format!("\nkept {name}\n").as_bytes()).unwrap();
        std::io::stdout().flush().unwrap();
    }
}

fn start(url: &str, prefix: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::writer", "--ignored", "--nocapture", "--test-threads=1"])
        .env(ADDRESS, url)
        .env(PREFIX, prefix)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Kills a writer after so many writes; gives all it said was kept.
fn killed_after(mut child: Child, count: usize) -> Vec<String> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut kept = Vec::new();
    for line in lines {
        if let Some(name) = line.strip_prefix("kept ") {
            kept.push(name.to_owned());
            if kept.len() == count {
                child.kill().unwrap();
            }
        }
    }
    child.wait().unwrap();
    kept
}

#[tokio::test]
async fn nothing_that_was_acknowledged_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/records.db", folder.path().display());
    let mut kept = Vec::new();
    for round in 0..4 {
        // Two at a time: the file is also shared between processes.
        let writers = [start(&url, &format!("a-{round}")), start(&url, &format!("b-{round}"))];
        let threads = writers.map(|child| std::thread::spawn(move || killed_after(child, 10 + 15 * round)));
        for thread in threads {
            let names = thread.join().unwrap();
            assert!(names.len() >= 10 + 15 * round, "round {round} ended early: {names:?}");
            kept.extend(names);
        }
        let records = Records::open(&url).await.unwrap();
        let entries: Vec<_> = records.export_audit(AuditFilter::default()).try_collect().await.unwrap();
        let told: std::collections::BTreeSet<_> = entries.iter().map(|one| one.entry.id.as_str()).collect();
        for name in &kept {
            assert!(records.user_by_name(name).await.unwrap().is_some(), "the user {name} is lost");
            assert!(told.contains(name.as_str()), "the entry {name} is lost");
        }
    }
}
