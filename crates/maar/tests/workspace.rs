//! `maar login` and `maar workspace` as people run them: the binary against `maar up`, and its exit codes.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::{
    path::Path,
    process::{Output, Stdio},
};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, Command},
};

/// Starts `maar up` and waits until it is up; where the portal is, and the first password.
async fn up(folder: &Path) -> (Child, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_maar"))
        .args(["up", "--port", "0", "--nodes", "2"])
        .current_dir(folder)
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (mut address, mut password) = (None, None);
    while let Some(line) = lines.next_line().await.unwrap() {
        if let Some(at) = line.find("http://").filter(|_| line.starts_with("Portal")) {
            address =
                line[at..].split("/api").next().map(|text| text.trim().trim_end_matches('/').to_owned());
        }
        if let Some((_, rest)) = line.split_once("with the password ") {
            password = rest.split(' ').next().map(str::to_owned);
        }
        if line.starts_with("Ctrl-C") {
            break;
        }
    }
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    (child, address.unwrap(), password.unwrap())
}

async fn maar(folder: &Path, words: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_maar"))
        .args(words)
        .env("MAAR_LOGIN", folder.join("login.json"))
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A command that reads nothing may be over already.
    let _ = stdin.write_all(input.as_bytes()).await;
    drop(stdin);
    child.wait_with_output().await.unwrap()
}

async fn says(folder: &Path, words: &[&str]) -> String {
    let output = maar(folder, words, "").await;
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Gives the first administrator a password of his own, as the pages do.
async fn change_password(address: &str, first: &str) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = kube::Client::try_from(kube::Config::new(address.parse().unwrap())).unwrap();
    let send = async |request: axum::http::request::Builder, body: Value| {
        let request = request.header("x-maar-request", "1").header("content-type", "application/json");
        let answer = client.send(request.body(body.to_string().into_bytes().into()).unwrap()).await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.status());
        answer.headers().get("set-cookie").map(|cookie| cookie.to_str().unwrap().to_owned())
    };
    let post = axum::http::Request::post("/api/v1/login");
    let cookie = send(post, serde_json::json!({ "name": "admin", "password": first })).await.unwrap();
    let put =
        axum::http::Request::put("/api/v1/me/password").header("cookie", cookie.split(';').next().unwrap());
    send(put, serde_json::json!({ "current": first, "new": "correct horse battery" })).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn people_log_in_and_use_workspaces() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let (mut cluster, address, first) = up(here).await;
    let login = ["login", &address, "--user", "admin", "--password-stdin"];
    assert_eq!(
        maar(here, &login, &format!("{first}\n")).await.status.code(),
        Some(4),
        "a password to be changed"
    );
    change_password(&address, &first).await;
    assert_eq!(maar(here, &login, "wrong\n").await.status.code(), Some(4));
    assert_eq!(maar(here, &["login", "http://gpu.example"], "").await.status.code(), Some(2), "no TLS");
    let output = maar(here, &login, "correct horse battery\n").await;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("You are admin"));

    let create =
        ["workspace", "create", "desk", "--image", "busybox", "--gpus", "1", "--wait", "--", "sleep", "1d"];
    let table = says(here, &create).await;
    assert!(
        table.starts_with("NAME ") && table.contains("Running") && table.contains("nvidia.com/gpu="),
        "{table}"
    );
    let list: Value = serde_json::from_str(&says(here, &["workspace", "list", "-o", "json"]).await).unwrap();
    assert_eq!((&list["items"][0]["name"], &list["items"][0]["user"]), (&"desk".into(), &"admin".into()));
    says(here, &["workspace", "logs", "desk", "--tail", "5"]).await;
    assert!(says(here, &["ws", "stop", "desk", "--wait"]).await.contains("Suspended"));
    assert!(says(here, &["ws", "resume", "desk", "--wait"]).await.contains("Running"));
    let again = maar(here, &create, "").await;
    assert_eq!(again.status.code(), Some(4), "it exists already");
    assert_eq!(maar(here, &["ws", "get", "none"], "").await.status.code(), Some(3));
    let bad = ["ws", "create", "bad", "--image", "a;b"];
    assert!(
        String::from_utf8_lossy(&maar(here, &bad, "").await.stderr).contains("image"),
        "the field is named"
    );

    // The same workspace without the portal, by kubeconfig.
    let namespace = list["items"][0]["namespace"].as_str().unwrap();
    let words = ["ws", "exec", "-n", namespace, "desk", "--", "hostname"];
    assert_eq!(says(here, &words).await, "desk\n");
    assert!(says(here, &["ws", "list", "-n", namespace]).await.contains("desk"));
    says(here, &["ws", "delete", "desk", "--wait"]).await;
    assert_eq!(maar(here, &["ws", "get", "desk"], "").await.status.code(), Some(3));

    assert!(says(here, &["completion", "bash"]).await.contains("workspace"));
    says(here, &["login", "--forget"]).await;
    assert!(!here.join("login.json").exists());
    let pid = cluster.id().unwrap().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().await.unwrap().success());
    assert!(cluster.wait().await.unwrap().success());
}
