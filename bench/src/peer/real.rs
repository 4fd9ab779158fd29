//! A real control plane, started and stopped by `dev/real`.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use super::Peer;
use crate::client::Door;
use crate::kubeconfig;

/// Why there is no real Kubernetes to compare with.
#[derive(Debug)]
pub(crate) struct Unavailable(pub(crate) String);

/// A real control plane that runs until [`Real::stop`].
pub(crate) struct Real {
    pub(crate) script: PathBuf,
    pub(crate) peer: Peer,
}

impl Real {
    /// The name of our instance, so that nobody else's is disturbed.
    pub(crate) const INSTANCE: &'static str = "bench";

    /// Starts one. The inner result says if this machine has none to start.
    pub(crate) async fn start(script: &Path) -> anyhow::Result<Result<Self, Unavailable>> {
        // What it says while it starts, or builds, is for the reader.
        let mut up = Command::new(script);
        up.args(["up", "--name", Self::INSTANCE]).stderr(Stdio::inherit());
        let up = match up.output().await {
            Ok(up) if up.status.success() => up,
            Ok(_) => {
                let why = format!("`{} up` failed, for the reason it gave above", script.display());
                return Ok(Err(Unavailable(why)));
            }
            Err(error) => {
                return Ok(Err(Unavailable(format!("{} cannot be run: {error}", script.display()))));
            }
        };
        let kubeconfig = String::from_utf8(up.stdout)?;
        let started = Self::connect(script, Path::new(kubeconfig.trim())).await;
        if started.is_err() {
            Self::stop(script).await?;
        }
        started.map(Ok)
    }

    async fn connect(script: &Path, kubeconfig: &Path) -> anyhow::Result<Self> {
        let door = Door::tls(kubeconfig::read(kubeconfig)?)?;
        let status = Command::new(script).args(["status", "--name", Self::INSTANCE]).output().await?;
        let pids = pids(&String::from_utf8(status.stdout)?);
        anyhow::ensure!(pids.len() == 2, "dev/real status names {} of etcd and kube-apiserver", pids.len());
        let peer = Peer { name: "real", door, pids };
        Ok(Self { script: script.to_owned(), peer })
    }

    /// Stops what the script started.
    pub(crate) async fn stop(script: &Path) -> anyhow::Result<()> {
        let down = Command::new(script).args(["down", "--name", Self::INSTANCE]).output().await?;
        anyhow::ensure!(down.status.success(), "stopping it: {}", String::from_utf8_lossy(&down.stderr));
        Ok(())
    }
}

/// The two processes that a request passes through; the controllers beside them are not counted.
fn pids(status: &str) -> Vec<u32> {
    let rows = status.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.filter(|row| row.len() > 2 && matches!(row[1], "etcd" | "kube-apiserver"))
        .filter_map(|row| row[2].parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_way_of_a_request_is_counted() {
        let status = "INSTANCE     COMPONENT   PID PORT READY MEMORY\n\
            bench etcd 11 1 yes 60\nbench kube-apiserver 12 2 yes 300\nbench kube-scheduler 13 3 yes 60\n";
        assert_eq!(pids(status), [11, 12]);
    }
}
