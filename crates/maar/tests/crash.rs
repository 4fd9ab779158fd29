//! `maar up --data-dir` under kill -9 and on a full disk: what was acknowledged is there afterwards.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, PostParams, WatchEvent, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, ResourceExt as _};
use parking_lot::Mutex;
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::Notify;

/// Writers that go at the cluster at the same time, each over a connection of its own.
const WRITERS: usize = 4;

/// A running `maar up` on a folder that outlives it.
struct Running {
    child: Child,
    client: Client,
}

async fn start(folder: &Path, command: &mut Command) -> Running {
    let mut child = command
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let up = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.starts_with("Ctrl-C") {
                return;
            }
        }
        panic!("maar ended before it was up");
    };
    tokio::time::timeout(Duration::from_mins(1), up).await.unwrap();
    Running { child, client: client(folder).await }
}

fn up() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_maar"));
    command.args(arguments());
    command
}

fn arguments() -> [&'static str; 7] {
    ["up", "--port", "0", "--nodes", "1", "--data-dir", "data"]
}

async fn client(folder: &Path) -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let read = Kubeconfig::read_from(folder.join(".maar/kubeconfig")).unwrap();
    let config = kube::Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

fn maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), "default")
}

fn map(name: &str, value: u64) -> ConfigMap {
    serde_json::from_value(json!({
        "metadata": {"name": name, "labels": {"storm": "yes"}},
        "data": {"value": value.to_string(), "ballast": "x".repeat(200)},
    }))
    .unwrap()
}

fn version(map: &ConfigMap) -> u64 {
    map.metadata.resource_version.as_ref().unwrap().parse().unwrap()
}

fn value(map: &ConfigMap) -> u64 {
    map.data.as_ref().unwrap()["value"].parse().unwrap()
}

/// What the cluster has acknowledged of one object, and what was asked of it and never answered.
#[derive(Clone, Debug, Default)]
struct Known {
    acknowledged: Option<(u64, u64, String)>,
    deleted: bool,
    asked: Option<u64>,
    asked_to_delete: bool,
}

/// The books of all writers.
#[derive(Debug, Default)]
struct Books {
    objects: Mutex<BTreeMap<String, Known>>,
    answers: Mutex<u64>,
    answered: Notify,
}

impl Books {
    fn change(&self, name: &str, change: impl FnOnce(&mut Known)) {
        change(self.objects.lock().entry(name.to_owned()).or_default());
    }

    fn asked(&self, name: &str, value: u64) {
        self.change(name, |known| known.asked = Some(value));
    }

    fn acknowledged(&self, map: &ConfigMap) {
        self.change(&map.name_any(), |known| {
            *known = Known {
                acknowledged: Some((version(map), value(map), map.uid().unwrap())),
                ..Known::default()
            };
        });
        self.count();
    }

    fn count(&self) {
        *self.answers.lock() += 1;
        self.answered.notify_waiters();
    }

    /// Waits until so many writes were acknowledged.
    async fn reach(&self, count: u64) {
        loop {
            let answered = self.answered.notified();
            if *self.answers.lock() >= count {
                return;
            }
            answered.await;
        }
    }
}

/// Creates, replaces and deletes as fast as it gets answers, until the first failure.
async fn storm(client: Client, books: Arc<Books>, prefix: String) -> Result<(), kube::Error> {
    let api = maps(&client);
    for number in 0u64.. {
        let name = format!("{prefix}-{number}");
        books.asked(&name, 0);
        let mut object = api.create(&PostParams::default(), &map(&name, 0)).await?;
        books.acknowledged(&object);
        for next in 1..=number % 3 {
            books.asked(&name, next);
            object.data.get_or_insert_default().insert("value".into(), next.to_string());
            object = api.replace(&name, &PostParams::default(), &object).await?;
            books.acknowledged(&object);
        }
        if number % 5 == 4 {
            books.change(&name, |known| known.asked_to_delete = true);
            api.delete(&name, &DeleteParams::default()).await?;
            books.change(&name, |known| known.deleted = true);
            books.count();
        }
    }
    Ok(())
}

/// Compares the books with what is there.
fn check(books: &Books, found: &BTreeMap<String, ConfigMap>, round: usize) {
    for (name, known) in &*books.objects.lock() {
        match (found.get(name), &known.acknowledged) {
            (Some(map), _) if known.deleted => panic!("round {round}: {name} came back: {map:?}"),
            (None, Some(_)) => {
                assert!(known.deleted || known.asked_to_delete, "round {round}: {name} is lost: {known:?}");
            }
            (Some(map), Some((version_then, value_then, uid))) => {
                assert_eq!(map.uid().as_ref(), Some(uid), "round {round}: {name}");
                let as_acknowledged = (version(map), value(map)) == (*version_then, *value_then);
                let as_asked = version(map) > *version_then && Some(value(map)) == known.asked;
                assert!(as_acknowledged || as_asked, "round {round}: {name} is {map:?}, known: {known:?}");
            }
            // Never acknowledged: both are right.
            (Some(_) | None, None) => {}
        }
    }
}

async fn stored(api: &Api<ConfigMap>) -> (BTreeMap<String, ConfigMap>, u64) {
    let list = api.list(&ListParams::default().labels("storm=yes")).await.unwrap();
    let revision = list.metadata.resource_version.unwrap().parse().unwrap();
    (list.items.into_iter().map(|map| (map.name_any(), map)).collect(), revision)
}

/// A watch from an old version either goes on or says that it cannot.
async fn check_watches(api: &Api<ConfigMap>, old: u64, now: u64) {
    let parameters = WatchParams::default().labels("storm=yes").timeout(10);
    let stale = api.watch(&parameters, &old.to_string()).await.unwrap();
    match std::pin::pin!(stale).next().await.unwrap() {
        Ok(WatchEvent::Error(status)) => assert_eq!(status.code, 410, "{status:?}"),
        other => panic!("a version from before the restart: {other:?}"),
    }
    let fresh = api.watch(&parameters, &now.to_string()).await.unwrap();
    let created = api.create(&PostParams::default(), &map(&format!("after-{now}"), 0)).await.unwrap();
    assert!(version(&created) > now);
    match std::pin::pin!(fresh).next().await.unwrap() {
        Ok(WatchEvent::Added(seen)) => assert_eq!(seen.uid(), created.uid()),
        other => panic!("a version from after the restart: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_write_is_lost_by_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    let books = Arc::new(Books::default());
    let (mut newest, mut total) = (0, 0);
    for (round, writes) in [40, 333, 700, 150].into_iter().enumerate() {
        let mut running = start(folder.path(), &mut up()).await;
        let api = maps(&running.client);
        let (found, revision) = stored(&api).await;
        check(&books, &found, round);
        assert!(revision >= newest, "round {round}: {revision} is older than {newest}");
        if round > 0 {
            check_watches(&api, newest / 2, revision).await;
        }
        // The kill comes at an acknowledgement, with the other writers' requests under way.
        let mut writers = Vec::new();
        for number in 0..WRITERS {
            let prefix = format!("storm-{round}-{number}");
            writers.push(tokio::spawn(storm(client(folder.path()).await, Arc::clone(&books), prefix)));
        }
        total += writes;
        tokio::time::timeout(Duration::from_secs(30), books.reach(total)).await.unwrap();
        running.child.kill().await.unwrap();
        for writer in writers {
            assert!(writer.await.unwrap().is_err(), "a killed cluster answers nobody");
        }
        total = *books.answers.lock();
        let versions = books.objects.lock();
        newest = versions.values().filter_map(|known| Some(known.acknowledged.as_ref()?.0)).max().unwrap();
    }
    let running = start(folder.path(), &mut up()).await;
    let (found, revision) = stored(&maps(&running.client)).await;
    check(&books, &found, 99);
    assert!(revision >= newest && found.len() > 300, "{revision} {newest} {}", found.len());
}

/// The same on a disk with room for so many KiB per file. The signal that comes with the limit is ignored, so that
/// maar sees what a full disk gives: a write that fails.
fn up_on_a_small_disk(kilobytes: u32) -> Command {
    let mut command = Command::new("bash");
    let script = format!("trap '' XFSZ; ulimit -f {kilobytes}; exec \"$0\" \"$@\"");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_maar")]).args(arguments());
    command
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_said_and_harms_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let books = Arc::new(Books::default());
    let mut running = start(folder.path(), &mut up_on_a_small_disk(512)).await;
    let writing = storm(client(folder.path()).await, Arc::clone(&books), "full".into());
    let error = tokio::time::timeout(Duration::from_mins(1), writing).await.unwrap().unwrap_err();
    let kube::Error::Api(status) = error else { panic!("{error}") };
    assert_eq!(status.code, 500, "{status:?}");
    assert!(status.message.contains("writing to disk: data/log"), "{}", status.message);
    let (found, _) = stored(&maps(&running.client)).await;
    check(&books, &found, 0);
    assert!(found.len() > 50, "reads go on: {}", found.len());
    running.child.kill().await.unwrap();
    let running = start(folder.path(), &mut up()).await;
    let api = maps(&running.client);
    check(&books, &stored(&api).await.0, 1);
    api.create(&PostParams::default(), &map("room-again", 0)).await.unwrap();
}

#[tokio::test]
async fn a_damaged_log_is_refused_by_name_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let log: PathBuf = folder.path().join("data/log");
    std::fs::create_dir_all(log.parent().unwrap()).unwrap();
    std::fs::write(&log, "what is this\n").unwrap();
    let output = up().current_dir(folder.path()).output().await.unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains("data/log line 1"), "{error}");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "what is this\n");
}
