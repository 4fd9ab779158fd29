//! SSH into a workspace on this machine's own node: how fast a file goes through, and what idle connections weigh.

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
use crate::process;
use crate::report::Report;

/// How much is carried.
const BYTES: u64 = 1 << 30;
/// Of the rate of the raw exec stream.
const PROMISED_RATE: f64 = 0.5;
const IDLE: usize = 200;
/// MB for all of them.
const PROMISED_MEMORY: f64 = 100.0;
const PASSWORD: &str = "correct horse battery";
const PATIENCE: Duration = Duration::from_mins(2);

/// Runs `maar up` and OpenSSH's own programs.
pub(crate) async fn run(options: &Options, report: &mut Report) -> anyhow::Result<()> {
    Report::say("==> SSH into a workspace");
    let maar = std::path::absolute(&options.maar)?;
    for (program, found) in
        [("maar", maar.exists()), ("ssh", has("ssh").await), ("bwrap", has("bwrap").await)]
    {
        if !found {
            report.absent(format!("SSH, as there is no {program}"));
            return Ok(());
        }
    }
    let folder = tempfile::tempdir()?;
    let mut bench = Bench::start(maar, folder.path()).await?;
    let measured = measure(&bench, report).await;
    bench.server.start_kill()?;
    bench.server.wait().await?;
    measured
}

async fn measure(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let raw = rate(bench.exec(&format!("head -c {BYTES} /dev/zero"))).await?;
    let file = bench.folder.join("file");
    std::fs::File::create(&file)?.set_len(BYTES)?;
    let up = rate(bench.scp("file", "bench@127.0.0.1:/tmp/file")).await?;
    let down = rate(bench.scp("bench@127.0.0.1:/tmp/file", "back")).await?;
    report.figure("SSH, MB/s", json!({ "exec": raw, "scpUp": up, "scpDown": down }));
    Report::say(&format!("    exec {raw:.0} MB/s, scp to {up:.0} MB/s, scp from {down:.0} MB/s"));
    report.at_least("scp to a workspace beside raw exec", up / raw, PROMISED_RATE, "");
    report.at_least("scp from a workspace beside raw exec", down / raw, PROMISED_RATE, "");
    let pid = bench.server.id().context("maar up has ended")?;
    let before = process::memory(pid)?.resident;
    let mut idle = Vec::new();
    for _ in 0..IDLE {
        idle.push(bench.ssh(&["-N"]).stdin(Stdio::null()).spawn()?);
        // All at once is what the limit on tries is for.
        sleep(Duration::from_millis(50)).await;
    }
    sleep(Duration::from_secs(10)).await;
    for one in &mut idle {
        ensure!(one.try_wait()?.is_none(), "an idle connection has ended");
    }
    let grown = process::memory(pid)?.resident - before;
    report.figure("SSH, idle connections, MB", json!({ "count": IDLE, "grown": grown }));
    report.under(&format!("{IDLE} idle SSH connections"), grown, PROMISED_MEMORY, " MB");
    Ok(())
}

/// MB in a second.
async fn rate(mut command: Command) -> anyhow::Result<f64> {
    let start = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status().await?;
    ensure!(status.success(), "{command:?} ended with {status}");
    #[expect(clippy::cast_precision_loss, reason = "a rate need not be exact")]
    let megabytes = BYTES as f64 / 1e6;
    Ok(megabytes / start.elapsed().as_secs_f64())
}

async fn has(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().await.is_ok()
}

/// A cluster with a workspace, and a key that opens it.
struct Bench {
    maar: PathBuf,
    folder: PathBuf,
    server: Child,
    port: u64,
    namespace: String,
}

impl Bench {
    async fn start(maar: PathBuf, folder: &Path) -> anyhow::Result<Self> {
        let mut server = Command::new(&maar)
            .args(["up", "--port", "0", "--nodes", "1"])
            .current_dir(folder)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let (address, first) = tokio::time::timeout(PATIENCE, announced(&mut server)).await??;
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f", "key"])
            .current_dir(folder)
            .status()
            .await?;
        ensure!(made.success(), "ssh-keygen ended with {made}");
        let portal = Portal(Client::try_from(Config::new(address.parse()?))?);
        let cookie =
            portal.send("POST", "/login", json!({ "name": "admin", "password": first }), "").await?.1;
        portal.send("PUT", "/me/password", json!({ "current": first, "new": PASSWORD }), &cookie).await?;
        let key = std::fs::read_to_string(folder.join("key.pub"))?;
        portal.send("POST", "/me/ssh-keys", json!({ "key": key }), &cookie).await?;
        let wanted = json!({ "name": "bench", "image": "busybox", "command": ["sleep", "1d"] });
        let workspace = portal.send("POST", "/workspaces", wanted, &cookie).await?.0;
        let namespace = workspace["namespace"].as_str().context("a workspace has a namespace")?.to_owned();
        let path = format!("/workspaces/{namespace}/bench");
        let start = Instant::now();
        while portal.send("GET", &path, Value::Null, &cookie).await?.0["phase"] != "Running" {
            ensure!(start.elapsed() < PATIENCE, "the workspace does not run");
            sleep(Duration::from_millis(100)).await;
        }
        let about = portal.send("GET", "/ssh", Value::Null, &cookie).await?.0;
        let known = format!("maar {}\n", about["hostKeys"][0].as_str().context("the host has a key")?);
        std::fs::write(folder.join("known_hosts"), known)?;
        let port = about["port"].as_u64().context("SSH has a port")?;
        Ok(Self { maar, folder: folder.to_owned(), server, port, namespace })
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        let options =
            ["UserKnownHostsFile=known_hosts", "IdentityFile=key", "HostKeyAlias=maar", "BatchMode=yes"];
        command.args(["-F", "none"]).args(options.iter().flat_map(|option| ["-o", option]));
        command.current_dir(&self.folder).kill_on_drop(true);
        command
    }

    fn ssh(&self, words: &[&str]) -> Command {
        let mut command = self.program("ssh");
        command.args(["-p", &self.port.to_string(), "-l", "bench"]).args(words).arg("127.0.0.1");
        command
    }

    fn scp(&self, from: &str, to: &str) -> Command {
        let mut command = self.program("scp");
        command.args(["-q", "-P", &self.port.to_string(), from, to]);
        command
    }

    /// The same by the exec of Kubernetes, with nothing between.
    fn exec(&self, script: &str) -> Command {
        let mut command = Command::new(&self.maar);
        command.args([
            "workspace",
            "exec",
            "--kubeconfig",
            ".maar/kubeconfig",
            "-n",
            &self.namespace,
            "bench",
            "--",
        ]);
        command.args(["/bin/sh", "-c", script]).current_dir(&self.folder);
        command
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

struct Portal(Client);

impl Portal {
    /// The answer, and the cookie it sets.
    async fn send(
        &self,
        method: &str,
        path: &str,
        body: Value,
        cookie: &str,
    ) -> anyhow::Result<(Value, String)> {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = http::Request::builder()
            .method(method)
            .uri(format!("/api/v1{path}"))
            .header("x-maar-request", "1")
            .header("content-type", "application/json")
            .header("cookie", cookie)
            .body(Body::from(body))?;
        let answer = self.0.send(request).await?;
        ensure!(answer.status().is_success(), "{method} {path}: {}", answer.status());
        let cookie = answer.headers().get("set-cookie").and_then(|value| value.to_str().ok());
        let cookie = cookie.and_then(|text| text.split(';').next()).unwrap_or_default().to_owned();
        let bytes = answer.into_body().collect().await?.to_bytes();
        Ok((serde_json::from_slice(&bytes).unwrap_or_default(), cookie))
    }
}
