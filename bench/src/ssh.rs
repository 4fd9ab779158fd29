//! SSH into a workspace on this machine's own node: how fast a file goes through, and what idle connections weigh.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::{Instant, sleep};

use crate::cli::Options;
use crate::desk::{Desk, found};
use crate::process;
use crate::report::Report;

/// How much is carried.
const BYTES: u64 = 1 << 30;
/// Of the rate of the raw exec stream.
const PROMISED_RATE: f64 = 0.5;
const IDLE: usize = 200;
/// In a mebibyte.
const MEGABYTES: f64 = 1.048_576;
/// MB for all of them.
const PROMISED_MEMORY: f64 = 100.0;

/// Runs `maar up` and OpenSSH's own programs.
pub(crate) async fn run(options: &Options, report: &mut Report) -> anyhow::Result<()> {
    Report::say("==> SSH into a workspace");
    let Some(maar) = found(options, "SSH", &["ssh", "scp", "bwrap"], report).await? else { return Ok(()) };
    let folder = tempfile::tempdir()?;
    let guest = Guest::start(Desk::start(maar, folder.path()).await?).await?;
    let measured = measure(&guest, report).await;
    guest.desk.stop().await?;
    measured
}

async fn measure(guest: &Guest, report: &mut Report) -> anyhow::Result<()> {
    let path = guest.desk.folder.join("file");
    std::fs::File::create(&path)?.set_len(BYTES)?;
    let none = Stdio::null;
    // Each way for itself, file to file: the streams of exec are not equally fast, and a disk is slower than /dev/null.
    let raw_up = rate(guest.exec("cat > /tmp/raw"), std::fs::File::open(&path)?.into(), none()).await?;
    let up = rate(guest.scp("file", "bench@127.0.0.1:/tmp/file"), none(), none()).await?;
    let copy = std::fs::File::create(guest.desk.folder.join("copy"))?;
    let raw_down = rate(guest.exec("cat /tmp/raw"), none(), copy.into()).await?;
    let down = rate(guest.scp("bench@127.0.0.1:/tmp/file", "back"), none(), none()).await?;
    let rates = json!({ "execUp": raw_up, "scpUp": up, "execDown": raw_down, "scpDown": down });
    report.figure("SSH, MB/s", rates);
    Report::say(&format!("    to a workspace: exec {raw_up:.0} MB/s, scp {up:.0} MB/s"));
    Report::say(&format!("    from a workspace: exec {raw_down:.0} MB/s, scp {down:.0} MB/s"));
    report.at_least("scp to a workspace beside raw exec", up / raw_up, PROMISED_RATE, "");
    report.at_least("scp from a workspace beside raw exec", down / raw_down, PROMISED_RATE, "");
    let grown = idle(guest, &["-N"]).await?;
    let shells = idle(guest, &["-tt"]).await?;
    report.figure("SSH, idle, MB", json!({ "count": IDLE, "connections": grown, "shells": shells }));
    report.under(&format!("{IDLE} idle SSH connections"), grown, PROMISED_MEMORY, " MB");
    // The cluster is in the same process: what it holds of each exec is in this figure.
    report.under(&format!("{IDLE} idle SSH connections with a shell"), shells, PROMISED_MEMORY, " MB");
    Ok(())
}

/// By how much connections on which nothing is said make the process grow, in MB.
async fn idle(guest: &Guest, words: &[&str]) -> anyhow::Result<f64> {
    let pid = guest.desk.server.id().context("maar up has ended")?;
    // What there was before has ended by then.
    sleep(Duration::from_secs(2)).await;
    let before = process::memory(pid)?.resident;
    let mut idle = Vec::new();
    for _ in 0..IDLE {
        let mut command = guest.ssh(words);
        // Held open: the end of its input would be the end of a shell.
        idle.push(command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
        // All at once is what the limit on tries is for.
        sleep(Duration::from_millis(50)).await;
    }
    sleep(Duration::from_secs(10)).await;
    for one in &mut idle {
        ensure!(one.try_wait()?.is_none(), "an idle connection has ended");
    }
    let grown = (process::memory(pid)?.resident - before) * MEGABYTES;
    for one in &mut idle {
        one.start_kill()?;
        one.wait().await?;
    }
    Ok(grown)
}

/// MB in a second.
async fn rate(mut command: Command, from: Stdio, to: Stdio) -> anyhow::Result<f64> {
    let start = Instant::now();
    let status = command.stdin(from).stdout(to).status().await?;
    ensure!(status.success(), "{command:?} ended with {status}");
    #[expect(clippy::cast_precision_loss, reason = "a rate need not be exact")]
    let megabytes = BYTES as f64 / 1e6;
    Ok(megabytes / start.elapsed().as_secs_f64())
}

/// A machine with a key that opens the workspace.
struct Guest {
    desk: Desk,
    port: u64,
}

impl Guest {
    async fn start(desk: Desk) -> anyhow::Result<Self> {
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f", "key"])
            .current_dir(&desk.folder)
            .status()
            .await?;
        ensure!(made.success(), "ssh-keygen ended with {made}");
        let key = std::fs::read_to_string(desk.folder.join("key.pub"))?;
        desk.ask("POST", "/me/ssh-keys", json!({ "key": key })).await?;
        let about = desk.ask("GET", "/ssh", Value::Null).await?;
        let known = format!("maar {}\n", about["hostKeys"][0].as_str().context("the host has a key")?);
        std::fs::write(desk.folder.join("known_hosts"), known)?;
        let port = about["port"].as_u64().context("SSH has a port")?;
        Ok(Self { desk, port })
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        let options =
            ["UserKnownHostsFile=known_hosts", "IdentityFile=key", "HostKeyAlias=maar", "BatchMode=yes"];
        command.args(["-F", "none"]).args(options.iter().flat_map(|option| ["-o", option]));
        command.current_dir(&self.desk.folder).kill_on_drop(true);
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
        let mut command = Command::new(&self.desk.maar);
        command.args(["workspace", "exec", "--kubeconfig", ".maar/kubeconfig", "-n", &self.desk.namespace]);
        command.args(["bench", "--", "/bin/sh", "-c", script]).current_dir(&self.desk.folder);
        command
    }
}
