//! `maar up` as a user runs it: the binary, its kubeconfig, and a clean end.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::api::ListParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// Starts `maar up` in a folder and waits until it says that it is up; answers what it said.
async fn up(folder: &Path, arguments: &[&str]) -> (Child, Vec<String>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_maar"))
        .args(["up", "--port", "0"])
        .args(arguments)
        .current_dir(folder)
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut said = Vec::new();
    let listening = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            let last = line.starts_with("Ctrl-C");
            said.push(line);
            if last {
                break;
            }
        }
    };
    tokio::time::timeout(Duration::from_mins(1), listening).await.unwrap();
    (child, said)
}

async fn client(kubeconfig: &Path) -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let read = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = kube::Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

#[tokio::test]
async fn a_cluster_comes_up_answers_and_goes_down() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, said) = up(folder.path(), &["--nodes", "5"]).await;
    assert!(said.iter().any(|line| line.contains("5 simulated")), "{said:#?}");
    let client = client(&folder.path().join(".maar/kubeconfig")).await;
    let nodes = Api::<Node>::all(client).list(&ListParams::default()).await.unwrap();
    assert!(nodes.items.len() >= 5, "{}", nodes.items.len());
    let id = child.id().unwrap().to_string();
    assert!(Command::new("kill").arg(&id).status().await.unwrap().success());
    let ended = tokio::time::timeout(Duration::from_mins(1), child.wait()).await.unwrap().unwrap();
    assert!(ended.success(), "{ended}");
}

#[tokio::test]
async fn a_second_maar_on_one_data_folder_says_so_and_harms_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let arguments = ["--nodes", "1", "--data-dir", data.to_str().unwrap()];
    let (_first, _) = up(folder.path(), &arguments).await;
    let second = Command::new(env!("CARGO_BIN_EXE_maar"))
        .args(["up", "--port", "0"])
        .args(arguments)
        .current_dir(folder.path())
        .output()
        .await
        .unwrap();
    assert!(!second.status.success());
    let error = String::from_utf8_lossy(&second.stderr);
    assert!(error.contains("in use by another process"), "{error}");
    client(&folder.path().join(".maar/kubeconfig")).await.apiserver_version().await.unwrap();
}
