//! `maar job`, `maar account` and `maar top` as people run them: the binary against `maar up`, and its exit codes.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// Starts `maar up` in a folder and waits until it is up.
async fn up(folder: &Path) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_maar"))
        .args(["up", "--port", "0", "--nodes", "2"])
        .current_dir(folder)
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.starts_with("Ctrl-C") {
            break;
        }
    }
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    child
}

async fn maar(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_maar"));
    // Whoever runs the tests may be logged in somewhere.
    command.args(words).env("MAAR_LOGIN", folder.join("login.json")).current_dir(folder);
    command.output().await.unwrap()
}

/// Runs a command that succeeds, and returns what it said.
async fn says(folder: &Path, words: &[&str]) -> String {
    let output = maar(folder, words).await;
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

async fn json(folder: &Path, words: &[&str]) -> Value {
    serde_json::from_str(&says(folder, words).await).unwrap()
}

async fn code(folder: &Path, words: &[&str]) -> Option<i32> {
    maar(folder, words).await.status.code()
}

/// Each listing in each way: JSON and YAML say the same, and a table has its titles.
async fn listings_are_read_by_programs(here: &Path) {
    let listings: [&[&str]; 9] = [
        &["job", "list"],
        &["job", "get", "train"],
        &["workspace", "list"],
        &["account", "list"],
        &["account", "get", "vision"],
        &["policy", "preview"],
        &["cleanup", "--dry-run"],
        &["top", "nodes"],
        &["top", "accounts"],
    ];
    for words in listings {
        let told = async |way: &str| says(here, &[words, &["-o", way]].concat()).await;
        let read: Value = serde_json::from_str(&told("json").await).unwrap();
        let same: Value = serde_saphyr::from_str(&told("yaml").await).unwrap();
        let names = |value: &Value| -> Vec<Value> {
            let items = value["items"].as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
            items.iter().map(|one| one.pointer("/metadata/name").unwrap_or(&one["name"]).clone()).collect()
        };
        assert!(read.is_object(), "{words:?}: {read}");
        assert_eq!(names(&read), names(&same), "{words:?}");
        let (narrow, wide) = (told("table").await, told("wide").await);
        assert!(!narrow.is_empty() && wide.starts_with(char::is_uppercase), "{words:?}: {wide}");
    }
}

/// Of a job that was cancelled: it is not changed any more, and that is said. One that only sleeps ends by itself.
async fn what_has_ended_stays_so(here: &Path, name: &str) {
    for (word, want) in [("cancel", 0), ("suspend", 4), ("resume", 4)] {
        let output = maar(here, &["job", word, name]).await;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(want), "{word}: {said}");
        assert!(said.contains(&format!("job {name} has ended already, Aborted")), "{word}: {said}");
    }
    let sleeps =
        ["job", "submit", "--name", "nap", "--image", "i", "--wait", "--timeout", "1m", "--", "sleep", "1"];
    assert!(says(here, &sleeps).await.contains("Completed"), "a simulated sleep ends");
}

#[tokio::test(flavor = "multi_thread")]
async fn people_submit_look_at_and_stop_jobs() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let unreachable = ["job", "list", "--kubeconfig", "nowhere"];
    assert_ne!(code(here, &unreachable).await, Some(0));
    let mut cluster = up(here).await;

    let words = ["job", "submit", "--name", "train", "--image", "i", "--gpus", "1", "--account", "vision"];
    let table = says(here, &[&words[..], &["--", "python", "train.py"]].concat()).await;
    assert!(table.starts_with("NAME ") && table.contains("train"), "{table}");
    let said = says(here, &["job", "suspend", "train", "--wait"]).await;
    assert!(said.contains("Suspended"), "what was waited for: {said}");
    let job = json(here, &["job", "get", "train", "-o", "json"]).await;
    assert_eq!(job["status"]["phase"], "Suspended");
    says(here, &["job", "resume", "train", "--wait"]).await;
    let list = json(here, &["job", "list", "-A", "-o", "json"]).await;
    assert_eq!(list["items"][0]["spec"]["account"], "vision");
    assert!(says(here, &["job", "get", "train"]).await.contains("Account:    vision"));
    assert!(says(here, &["explain", "job", "train"]).await.starts_with("job train is "));
    says(here, &["job", "cancel", "train", "--wait"]).await;
    assert!(says(here, &["job", "list", "-o", "yaml"]).await.contains("phase: Aborted"));
    what_has_ended_stays_so(here, "train").await;

    says(here, &["job", "submit", "--name", "huge", "--image", "i", "--gpus", "64", "--", "true"]).await;
    let words = ["explain", "pod", "huge-main-0", "-o", "json"];
    let explained = loop {
        let output = maar(here, &words).await;
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        if answer["explanation"]["state"]["is"] == "neverFits" {
            break answer;
        }
        // The jobs role makes the Pod, and the scheduler sees it, in a moment.
        assert!(matches!(output.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    };
    assert_eq!(explained["job"], "huge");
    let text = says(here, &words[..3]).await;
    assert!(text.starts_with("Pod huge-main-0 waits for a node from maar-scheduler\n"), "{text}");
    assert!(text.contains("nodes"), "{text}");
    let unheard = ["explain", "pod", "huge-main-0", "--explain-url", "http://127.0.0.1:9"];
    assert_eq!(code(here, &unheard).await, Some(5));
    let asked = says(here, &["explain", "job", "huge"]).await;
    assert!(asked.contains("(by the scheduler at http"), "{asked}");
    let unheard = ["job", "explain", "huge", "--explain-url", "http://127.0.0.1:9"];
    assert_eq!(code(here, &unheard).await, Some(5));

    says(here, &["account", "create", "vision", "--deserved", "nvidia.com/gpu=8", "--member", "ada=admin"])
        .await;
    assert!(says(here, &["account", "list", "-o", "wide"]).await.contains("nvidia.com/gpu=8"));
    assert!(says(here, &["account", "get", "vision"]).await.contains("ada"));
    assert!(says(here, &["top"]).await.contains("NODE "));
    assert!(says(here, &["top", "accounts"]).await.contains("vision"));

    listings_are_read_by_programs(here).await;
    let never =
        ["job", "submit", "--name", "never", "--image", "i", "--gpus", "64", "--wait", "--timeout", "1s"];
    let late = maar(here, &never).await;
    let said = String::from_utf8_lossy(&late.stderr).into_owned();
    assert_eq!(late.status.code(), Some(6), "{said}");
    assert!(said.contains("job never is Pending") && said.contains("waited for 1s in vain"), "{said}");

    let rows: [(&[&str], i32); 9] = [
        (&["job", "get", "nobody"], 3),
        (&["explain", "pod", "nobody"], 3),
        (&["explain", "pod", "huge-main-0", "--explain-url", "nowhere"], 2),
        (&["job", "logs", "train"], 3),
        (&["job", "logs", "huge", "--task", "nobody"], 3),
        (&["job", "submit"], 2),
        (&["job", "submit", "--image", "i", "--env", "A"], 2),
        (&["account", "create", "vision"], 4),
        (&["account", "import-volcano"], 3),
    ];
    for (words, want) in rows {
        assert_eq!(code(here, words).await, Some(want), "{words:?}");
    }
    cluster.kill().await.unwrap();
    assert_eq!(code(here, &["job", "list"]).await, Some(5), "nobody is there any more");
}
