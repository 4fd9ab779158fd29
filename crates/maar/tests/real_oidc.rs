//! kubectl with a kubeconfig by oidc: a real kubectl calls `maar kubeconfig token`, and a real kube-apiserver believes what it
//! says. The portal is `maar portal`, behind the TLS end that an API server asks for.
//!
//! Run by `make real`: it starts a control plane of its own, since the API server has to be told of the provider.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

#[path = "../../nodes/tests/support/absent.rs"]
mod absent;
#[expect(dead_code, reason = "shared with the tests of the portal, which use all of it")]
#[path = "../../portal/tests/real_kubeconfig/server.rs"]
mod server;

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use axum::http::Request;
use serde_json::{Value, json};
use server::Server;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

const FIRST: &str = "the first password";
const PASSWORD: &str = "correct horse battery";

/// The portal, and how its pages are asked.
struct Desk {
    _process: Child,
    folder: tempfile::TempDir,
    address: String,
    cookie: String,
}

impl Desk {
    async fn start(server: &Server) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        std::fs::write(here.join("password"), FIRST).unwrap();
        std::fs::write(here.join("ca.crt"), server.reached().1).unwrap();
        let listen = format!("127.0.0.1:{}", server.portal);
        let mut process = Command::new(env!("CARGO_BIN_EXE_maar"))
            .args(["portal", "--records", "sqlite:records.db", "--admin-password-file", "password"])
            .args(["--listen", &listen, "--external-url", &server.issuer, "--kubernetes-ca", "ca.crt"])
            .args(["--kubernetes-url", &server.reached().0, "--kubeconfig-mode", "oidc"])
            .args(["--health-address", "127.0.0.1:0", "--metrics-address", "127.0.0.1:0"])
            .arg("--kubeconfig")
            .arg(server.admin())
            .current_dir(here)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let address = format!("http://{listen}");
        let mut desk = Self { _process: process, folder, address, cookie: String::new() };
        desk.sign_in().await;
        desk
    }

    /// A request of a page; nothing if nobody answers yet.
    async fn send(&self, request: axum::http::request::Builder, body: Value) -> Option<String> {
        let client = kube::Client::try_from(kube::Config::new(self.address.parse().unwrap())).unwrap();
        let request = request
            .header("x-maar-request", "1")
            .header("cookie", &self.cookie)
            .header("content-type", "application/json");
        let answer = client.send(request.body(body.to_string().into_bytes().into()).unwrap()).await.ok()?;
        answer.status().is_success().then_some(())?;
        let cookie = answer.headers().get("set-cookie").map(|cookie| cookie.to_str().unwrap().to_owned());
        Some(cookie.unwrap_or_default().split(';').next().unwrap_or_default().to_owned())
    }

    async fn sign_in(&mut self) {
        let asked = json!({ "name": "admin", "password": FIRST });
        let cookie = async {
            loop {
                if let Some(cookie) = self.send(Request::post("/api/v1/login"), asked.clone()).await {
                    break cookie;
                }
                // It starts, and tells nobody when it has.
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        };
        let cookie = tokio::time::timeout(Duration::from_mins(1), cookie).await.unwrap();
        self.cookie = cookie;
        let asked = json!({ "current": FIRST, "new": PASSWORD });
        self.send(Request::put("/api/v1/me/password"), asked).await.unwrap();
    }

    /// A program that shows a code to type into a browser, which is typed; how it ended, and what it said.
    async fn with_code(&self, server: &Server, mut command: Command) -> (bool, String) {
        let path = Path::new(env!("CARGO_BIN_EXE_maar")).parent().unwrap().to_owned();
        let path = std::env::join_paths([path, PathBuf::from("/usr/bin"), PathBuf::from("/bin")]).unwrap();
        let mut child = command
            .env("PATH", path)
            .env("SSL_CERT_FILE", server.folder.path().join("tls.crt"))
            .env("MAAR_LOGIN", self.folder.path().join("login.json"))
            .env("MAAR_TOKENS", self.folder.path().join("tokens"))
            .env("MAAR_DEVICE_FLOW", "true")
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = String::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            if let Some((_, code)) = line.split_once("type the code ") {
                let answer = Request::post(format!("/api/v1/device/{}", code.trim()));
                self.send(answer, json!({ "approve": true })).await.unwrap();
            }
            said.push_str(&line);
            said.push('\n');
        }
        let output = child.wait_with_output().await.unwrap();
        said.push_str(&String::from_utf8_lossy(&output.stdout));
        (output.status.success(), said)
    }

    async fn maar(&self, server: &Server, words: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_maar"));
        command.args(words);
        let (well, said) = self.with_code(server, command).await;
        assert!(well, "{words:?}: {said}");
        said
    }

    async fn kubectl(&self, server: &Server, words: &[&str]) -> (bool, String) {
        let mut command = Command::new(server.kubectl_path());
        command.arg("--kubeconfig").arg(self.folder.path().join("config")).args(words);
        self.with_code(server, command).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a real API server: see dev/real"]
async fn kubectl_asks_maar_who_it_is_and_the_api_server_believes_it() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let Some(server) = Server::start() else { return };
    let read = kube::config::Kubeconfig::read_from(server.admin()).unwrap();
    let usual = kube::config::KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(read, &usual).await.unwrap();
    maar_jobs::install(&kube::Client::try_from(config).unwrap()).await.unwrap();
    server.as_admin(&["create", "namespace", "maar-system"]);
    server.apply("deploy/rbac/portal.yaml");
    server.apply("deploy/rbac/user.yaml");
    let desk = Desk::start(&server).await;

    desk.maar(&server, &["login", &server.issuer, "--device"]).await;
    let write = ["kubeconfig", "write", "--mode", "oidc", "--kubeconfig", "config", "--device", "laptop"];
    let said = desk.maar(&server, &write).await;
    assert!(said.contains("by oidc, until "), "{said}");
    // The server reads the provider's keys when it first can, every ten seconds, and tells nobody.
    let mut first = desk.kubectl(&server, &["get", "pods"]).await;
    assert!(first.1.contains("type the code"), "somebody has to sign in: {}", first.1);
    for _ in 0..60 {
        if first.0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        first = desk.kubectl(&server, &["get", "pods"]).await;
    }
    assert!(first.0, "{}", first.1);
    let (well, said) = desk.kubectl(&server, &["auth", "whoami"]).await;
    assert!(well && said.contains("maar:u-") && !said.contains("type the code"), "once is enough: {said}");
    let (well, said) = desk.kubectl(&server, &["get", "pods", "--namespace", "default"]).await;
    assert!(!well && said.contains("Forbidden"), "{said}");

    // Another for the same device: what it had before is worth nothing, and the next use asks anew.
    std::fs::rename(desk.folder.path().join("config"), desk.folder.path().join("before")).unwrap();
    desk.maar(&server, &write).await;
    let (well, said) = desk.kubectl(&server, &["get", "pods"]).await;
    assert!(well && said.contains("type the code"), "{said}");
    let items: Value =
        serde_json::from_str(desk.maar(&server, &["kubeconfig", "list", "-o", "json"]).await.trim()).unwrap();
    let live: Vec<&Value> =
        items["items"].as_array().unwrap().iter().filter(|one| one["revoked"] == false).collect();
    assert_eq!(live.len(), 1, "{items}");
    desk.maar(&server, &["kubeconfig", "revoke", live[0]["id"].as_str().unwrap()]).await;
    let (well, said) = desk.kubectl(&server, &["get", "pods"]).await;
    assert!(!well && said.contains("Forbidden"), "believed for its last minutes, and may nothing: {said}");
    drop(desk);
    server.stop();
}
