//! `maar up` as a user runs it: the binary, its kubeconfig, and a clean end.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{
    ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, ValidationDirective,
};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::conditions::is_pod_running;
use kube::runtime::wait::{Condition as _, await_condition};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client, ResourceExt as _};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
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

/// Runs `maar up` that is expected to refuse; answers what it said about it.
async fn refusal(folder: &Path, arguments: &[&str]) -> String {
    let command = Command::new(env!("CARGO_BIN_EXE_maar"))
        .arg("up")
        .args(arguments)
        .current_dir(folder)
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(Duration::from_mins(1), command).await.unwrap().unwrap();
    assert!(!output.status.success(), "{arguments:?} was not refused");
    assert!(!folder.join(".maar/kubeconfig").exists(), "a refused start left a kubeconfig");
    String::from_utf8(output.stderr).unwrap()
}

async fn end(child: &mut Child) {
    let id = child.id().unwrap().to_string();
    assert!(Command::new("kill").arg(&id).status().await.unwrap().success());
    let ended = tokio::time::timeout(Duration::from_mins(1), child.wait()).await.unwrap().unwrap();
    assert!(ended.success(), "{ended}");
}

/// What the page says that `maar up` announced.
async fn page(said: &[String]) -> String {
    let line = said.iter().find(|line| line.contains("status page")).unwrap();
    let address = line.split("http://").nth(1).unwrap();
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = format!("GET / HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// What the portal answers to the first login that `maar up` announced.
async fn sign_in(said: &[String]) -> String {
    let after = |words: &str, split: &str| {
        let line = said.iter().find(|line| line.contains(words)).unwrap();
        line.split(split).nth(1).unwrap().split([' ', '/']).next().unwrap().to_owned()
    };
    let (address, password) = (after("Portal  ", "http://"), after("first login", "password "));
    let body = format!(r#"{{"name":"admin","password":"{password}"}}"#);
    let request = format!(
        "POST /api/v1/login HTTP/1.1\r\nhost: {address}\r\norigin: http://{address}\r\nx-maar-request: 1\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    // It answers as soon as it has seen the whole cluster once.
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_cluster_comes_up_answers_and_goes_down() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, said) = up(folder.path(), &["--nodes", "5"]).await;
    assert!(said.iter().any(|line| line.contains("5 simulated")), "{said:#?}");
    let client = client(&folder.path().join(".maar/kubeconfig")).await;
    let nodes = Api::<Node>::all(client).list(&ListParams::default()).await.unwrap();
    assert!(nodes.items.len() >= 5, "{}", nodes.items.len());
    let page = page(&said).await;
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("nvidia.com/gpu"), "{page}");
    let answer = sign_in(&said).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"mustChangePassword\":true"), "{answer}");
    end(&mut child).await;
}

#[tokio::test]
async fn the_examples_of_the_guide_run() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, said) = up(folder.path(), &[]).await;
    let client = client(&folder.path().join(".maar/kubeconfig")).await;
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/examples");
    for entry in std::fs::read_dir(examples).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let object: DynamicObject = serde_saphyr::from_str(&text).unwrap();
        let kind = GroupVersionKind::try_from(object.types.clone().unwrap()).unwrap();
        let api =
            Api::<DynamicObject>::default_namespaced_with(client.clone(), &ApiResource::from_gvk(&kind));
        let parameters =
            PatchParams { field_validation: Some(ValidationDirective::Strict), ..PatchParams::apply("test") };
        api.patch(&object.name_any(), &parameters, &Patch::Apply(&object)).await.unwrap();
    }
    let pods = Api::<Pod>::default_namespaced(client);
    let local = said.iter().any(|line| line.contains("runs containers as processes"));
    if local {
        let running = await_condition(pods.clone(), "local-shell", is_pod_running());
        tokio::time::timeout(Duration::from_mins(1), running).await.unwrap().unwrap();
    } else {
        eprintln!("absent: bubblewrap: the Pod local-shell of the examples");
    }
    let of_job = watcher::Config::default().labels("job-name=eight-cards");
    let mut seen = std::pin::pin!(watcher(pods, of_job).applied_objects());
    let running =
        async { while !is_pod_running().matches_object(Some(&seen.try_next().await.unwrap().unwrap())) {} };
    tokio::time::timeout(Duration::from_mins(1), running).await.unwrap();
    end(&mut child).await;
}

#[tokio::test]
async fn simulated_nodes_join_another_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let (mut cluster, _) = up(folder.path(), &["--nodes", "1"]).await;
    let kubeconfig = folder.path().join(".maar/kubeconfig");
    let profile = "name: more\npools: [{name: guest, count: 3, cpu: 8, memory: 16Gi, pods: 110}]\n";
    std::fs::write(folder.path().join("more.yaml"), profile).unwrap();
    let arguments =
        ["--kubeconfig", kubeconfig.to_str().unwrap(), "--profile", "more.yaml", "--node-set", "guests"];
    let (mut guests, said) = up(folder.path(), &arguments).await;
    assert!(
        said.iter().any(|line| line.starts_with("3 simulated nodes joined https://127.0.0.1:")),
        "{said:#?}"
    );
    assert!(said.iter().any(|line| line.contains("unless another process leads")), "{said:#?}");
    assert!(page(&said).await.contains("guest-2"));
    // Only one of them leads, and both have a portal.
    let answer = tokio::time::timeout(Duration::from_secs(30), sign_in(&said)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let nodes = Api::<Node>::all(client(&kubeconfig).await).list(&ListParams::default()).await.unwrap();
    let guests_there = nodes.items.iter().filter(|node| node.name_any().starts_with("guest-")).count();
    assert_eq!(guests_there, 3);
    assert!(nodes.items.iter().any(|node| node.name_any() == "a100-0"), "others' nodes are left alone");
    end(&mut guests).await;
    // It has let go, so nobody waits.
    let (mut guests, _) = up(folder.path(), &arguments).await;
    end(&mut guests).await;
    end(&mut cluster).await;
}

#[tokio::test]
async fn nodes_that_another_process_runs_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (mut cluster, _) = up(folder.path(), &["--nodes", "6"]).await;
    let kubeconfig = folder.path().join(".maar/kubeconfig");
    let elsewhere = tempfile::tempdir().unwrap();
    let arguments = ["--port", "0", "--kubeconfig", kubeconfig.to_str().unwrap(), "--nodes", "1"];
    let error = refusal(elsewhere.path(), &arguments).await;
    assert!(error.contains("run by another process") && error.contains("--node-set"), "{error}");
    let nodes = Api::<Node>::all(client(&kubeconfig).await).list(&ListParams::default()).await.unwrap();
    let simulated = nodes.items.iter().filter(|node| node.name_any() != "local").count();
    assert_eq!(simulated, 6);
    end(&mut cluster).await;
}

#[tokio::test]
async fn a_first_start_that_fails_leaves_the_first_login_to_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let arguments = ["--nodes", "1", "--data-dir", data.to_str().unwrap()];
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let error =
        refusal(folder.path(), &[&arguments[..], &["--port", "0", "--ssh-port", &port]].concat()).await;
    assert!(error.contains("--ssh-port"), "{error}");
    // What fails later than the ports do: the kubeconfig cannot be written.
    std::fs::write(folder.path().join("file"), "").unwrap();
    let nowhere = ["--port", "0", "--write-kubeconfig", "file/kubeconfig"];
    refusal(folder.path(), &[&arguments[..], &nowhere].concat()).await;
    let (mut child, said) = up(folder.path(), &arguments).await;
    assert!(said.iter().any(|line| line.contains("first login")), "{said:#?}");
    end(&mut child).await;
}

#[tokio::test]
async fn a_taken_port_is_named_with_the_way_out() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let folder = tempfile::tempdir().unwrap();
    let error = refusal(folder.path(), &["--port", &port]).await;
    assert!(error.contains(&format!("port {port}")) && error.contains("--port"), "{error}");
}

#[tokio::test]
async fn a_profile_that_cannot_be_used_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let error = refusal(folder.path(), &["--profile", "nowhere.yaml"]).await;
    assert!(error.contains("nowhere.yaml") && error.contains("No such file"), "{error}");
    std::fs::write(folder.path().join("bad.yaml"), "name: bad\npools: [{name: a, count: -1}]\n").unwrap();
    let error = refusal(folder.path(), &["--profile", "bad.yaml"]).await;
    assert!(error.contains("bad.yaml") && error.contains("count"), "{error}");
    let error = refusal(folder.path(), &["--nodes", "0"]).await;
    assert!(error.contains("--nodes") && error.contains("1..=20000"), "{error}");
    let error = refusal(folder.path(), &["--kubeconfig", "nowhere"]).await;
    assert!(error.contains("reading the kubeconfig nowhere"), "{error}");
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
