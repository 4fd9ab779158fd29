//! How long a person waits for `maar up`.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::time::Instant;

use crate::cli::Options;
use crate::client::Door;
use crate::kubeconfig;
use crate::report::Report;
use crate::statistics::Rounds;

const ROUNDS: usize = 3;
const PROMISED: f64 = 2.0;
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// From the start of the binary until the kubeconfig is there, the server ready and every node too.
pub(crate) async fn run(options: &Options, report: &mut Report) -> anyhow::Result<()> {
    Report::say("==> maar up until it is ready");
    if !options.maar.exists() {
        report.absent(format!("the start of maar up, as {} is not built", options.maar.display()));
        return Ok(());
    }
    let mut all = Rounds::default();
    for _ in 0..ROUNDS {
        all.push(one(&options.maar).await?);
    }
    Report::say(&format!("    {all} s"));
    report.figure("maar up, s", json!(all));
    report.under("maar up until all nodes are ready", all.median(), PROMISED, " s");
    Ok(())
}

async fn one(binary: &Path) -> anyhow::Result<f64> {
    let folder = tempfile::tempdir()?;
    let config = folder.path().join("kubeconfig");
    let start = Instant::now();
    let mut process = Command::new(binary)
        .args(["up", "--port", "0", "--write-kubeconfig"])
        .arg(&config)
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("running {}", binary.display()))?;
    let ready = tokio::time::timeout(PATIENCE, until_ready(&config)).await;
    let took = start.elapsed().as_secs_f64();
    end(&mut process).await?;
    ready.context("maar up was not ready in time")??;
    Ok(took)
}

async fn until_ready(config: &Path) -> anyhow::Result<()> {
    while !config.exists() {
        tokio::time::sleep(LOOK_EVERY).await;
    }
    let mut lane = Door::tls(kubeconfig::read(config)?)?.open().await?;
    lane.drain(Method::GET, "/readyz", Bytes::new()).await?;
    while !all_ready(&lane.get("/api/v1/nodes").await?) {
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(())
}

fn all_ready(list: &Value) -> bool {
    let nodes = list["items"].as_array().map_or(&[][..], Vec::as_slice);
    let is_ready = |node: &Value| {
        let conditions = node["status"]["conditions"].as_array().map_or(&[][..], Vec::as_slice);
        conditions.iter().any(|one| one["type"] == "Ready" && one["status"] == "True")
    };
    !nodes.is_empty() && nodes.iter().all(is_ready)
}

/// Asks it to stop, as Ctrl-C does, and waits.
async fn end(process: &mut Child) -> anyhow::Result<()> {
    let pid = process.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()));
    rustix::process::kill_process(pid.context("maar up has ended")?, rustix::process::Signal::TERM)?;
    let status = process.wait().await?;
    ensure!(status.success(), "maar up ended with {status}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_must_be_ready() {
        let node = |status: &str| json!({"status": {"conditions": [{"type": "Ready", "status": status}]}});
        assert!(all_ready(&json!({"items": [node("True"), node("True")]})));
        assert!(!all_ready(&json!({"items": [node("True"), node("False")]})));
        assert!(!all_ready(&json!({"items": []})));
    }
}
