//! `maar up` with a workspace on this machine's own node: what the ways into it are measured on.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use http_body_util::BodyExt as _;
use kube::client::Body;
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use crate::cli::Options;
use crate::report::Report;

const PASSWORD: &str = "correct horse battery";
const PATIENCE: Duration = Duration::from_mins(2);

/// The `maar` to start, unless something is not there that a workspace needs.
pub(crate) async fn found(
    options: &Options,
    what: &str,
    programs: &[&str],
    report: &mut Report,
) -> anyhow::Result<Option<PathBuf>> {
    let maar = std::path::absolute(&options.maar)?;
    if !maar.exists() {
        report.absent(format!("{what}, as there is no {}", maar.display()));
        return Ok(None);
    }
    for program in programs {
        let mut command = Command::new(program);
        command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if command.status().await.is_err() {
            report.absent(format!("{what}, as there is no {program}"));
            return Ok(None);
        }
    }
    Ok(Some(maar))
}

/// A cluster with a workspace that runs, and somebody who is signed in.
pub(crate) struct Desk {
    pub(crate) maar: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) server: Child,
    /// Where the portal listens.
    pub(crate) authority: String,
    pub(crate) namespace: String,
    client: Client,
    cookie: String,
}

impl Desk {
    pub(crate) async fn start(maar: PathBuf, folder: &Path) -> anyhow::Result<Self> {
        let mut server = Command::new(&maar)
            .args(["up", "--port", "0", "--nodes", "1"])
            .current_dir(folder)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let (address, first) = tokio::time::timeout(PATIENCE, announced(&mut server)).await??;
        let authority = address.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let client = Client::try_from(Config::new(address.parse()?))?;
        let (folder, cookie, namespace) = (folder.to_owned(), String::new(), String::new());
        let mut desk = Self { maar, folder, server, authority, namespace, client, cookie };
        desk.cookie = desk.send("POST", "/login", json!({ "name": "admin", "password": first })).await?.1;
        desk.ask("PUT", "/me/password", json!({ "current": first, "new": PASSWORD })).await?;
        let wanted = json!({ "name": "bench", "image": "busybox", "command": ["sleep", "1d"] });
        let made = desk.ask("POST", "/workspaces", wanted).await?;
        made["namespace"].as_str().context("a workspace has a namespace")?.clone_into(&mut desk.namespace);
        let start = Instant::now();
        while desk.ask("GET", &desk.path(), Value::Null).await?["phase"] != "Running" {
            ensure!(start.elapsed() < PATIENCE, "the workspace does not run");
            sleep(Duration::from_millis(100)).await;
        }
        Ok(desk)
    }

    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        self.server.start_kill()?;
        self.server.wait().await?;
        Ok(())
    }

    /// The workspace, in the API of the portal.
    pub(crate) fn path(&self) -> String {
        format!("/workspaces/{}/bench", self.namespace)
    }

    /// What the portal answers.
    pub(crate) async fn ask(&self, method: &str, path: &str, body: Value) -> anyhow::Result<Value> {
        Ok(self.send(method, path, body).await?.0)
    }

    /// The answer, and the cookie it sets.
    async fn send(&self, method: &str, path: &str, body: Value) -> anyhow::Result<(Value, String)> {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = http::Request::builder()
            .method(method)
            .uri(format!("/api/v1{path}"))
            .header("x-maar-request", "1")
            .header("content-type", "application/json")
            .header("cookie", &self.cookie)
            .body(Body::from(body))?;
        let answer = self.client.send(request).await?;
        ensure!(answer.status().is_success(), "{method} {path}: {}", answer.status());
        let cookie = answer.headers().get("set-cookie").and_then(|value| value.to_str().ok());
        let cookie = cookie.and_then(|text| text.split(';').next()).unwrap_or_default().to_owned();
        let bytes = answer.into_body().collect().await?.to_bytes();
        Ok((serde_json::from_slice(&bytes).unwrap_or_default(), cookie))
    }
}

/// Where the portal is, and the first password, once it is up.
async fn announced(server: &mut Child) -> anyhow::Result<(String, String)> {
    let mut lines = BufReader::new(server.stdout.take().context("maar up says where it is")?).lines();
    let (mut address, mut password) = (None, None);
    while let Some(line) = lines.next_line().await? {
        if let Some(at) = line.find("http://").filter(|_| line.starts_with("Portal")) {
            address = Some(line[at..].trim().to_owned());
        }
        if let Some((_, rest)) = line.split_once("with the password ") {
            password = rest.split(' ').next().map(str::to_owned);
        }
        if line.starts_with("Ctrl-C") {
            break;
        }
    }
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    Ok((address.context("there is a portal")?, password.context("there is a first password")?))
}
