//! The cluster on which all of them perform.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use http::Method;
use maar_api::v1alpha1::definitions;
use serde_json::{Value, json};
use tokio::process::Command;

use super::contender::Contender;
use crate::client::Door;
use crate::peer::Real;
use crate::pods;
use crate::scenario::{Ready, make_namespace, post_all};

/// Requests under way at a time, for us as for the schedulers.
pub(crate) const LANES: usize = 32;
/// Where the Pods live.
pub(crate) const NAMESPACE: &str = "bench";
/// Cards of a node.
pub(crate) const CARDS: usize = 8;

/// See the module.
pub(crate) struct Stage {
    pub(crate) door: Door,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) kube_scheduler: PathBuf,
    /// The API server alone.
    pub(crate) server: u32,
    pub(crate) nodes: usize,
    /// Configurations and logs.
    pub(crate) folder: tempfile::TempDir,
}

impl Stage {
    pub(crate) async fn prepare(real: &Real, script: &Path, nodes: usize) -> anyhow::Result<Self> {
        let door = real.peer.door.clone();
        make_namespace(&door, NAMESPACE).await?;
        let components = components(script).await?;
        let pid = |name: &str| {
            let found = components.iter().find(|(component, _)| component == name);
            found.map(|(_, pid)| *pid).with_context(|| format!("dev/real started no {name}"))
        };
        let kube_scheduler = std::fs::read_link(format!("/proc/{}/exe", pid("kube-scheduler")?))?;
        for name in ["kube-scheduler", "kube-controller-manager"] {
            let pid = rustix::process::Pid::from_raw(pid(name)?.cast_signed()).context("process 0")?;
            rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        }
        let kubeconfig =
            Command::new(script).args(["kubeconfig", "--name", Real::INSTANCE]).output().await?.stdout;
        let mut stage = Self {
            door,
            kubeconfig: PathBuf::from(String::from_utf8(kubeconfig)?.trim()),
            kube_scheduler,
            server: pid("kube-apiserver")?,
            nodes: 0,
            folder: tempfile::tempdir()?,
        };
        stage.grow(nodes).await?;
        stage.define_jobs().await?;
        Ok(stage)
    }

    pub(crate) fn node(number: usize) -> String {
        format!("node-{number}")
    }

    /// Makes nodes until there are so many.
    pub(crate) async fn grow(&mut self, nodes: usize) -> anyhow::Result<()> {
        let new = self.nodes..nodes.max(self.nodes);
        let node = |number| {
            let mut node = pods::node(&Self::node(number));
            let amounts =
                json!({"cpu": "128", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": CARDS.to_string()});
            node["status"] = json!({"capacity": amounts, "allocatable": amounts,
                "conditions": [{"type": "Ready", "status": "True", "reason": "Bench", "message": ""}]});
            ("/api/v1/nodes".to_owned(), pods::body(&node))
        };
        let requests: Vec<Ready> = new.clone().map(node).collect();
        post_all(&mut self.door.open_many(LANES).await?, &requests).await?;
        // The server taints new nodes until a controller takes that back, and there is none.
        let untaint = pods::body(&json!([{"op": "remove", "path": "/spec/taints"}]));
        let mut lane = self.door.open().await?;
        for number in new.clone() {
            let path = format!("/api/v1/nodes/{}", Self::node(number));
            let node = lane.get(&path).await?;
            if node["spec"]["taints"].is_array() {
                lane.patch(&path, untaint.clone()).await?;
            }
        }
        self.nodes = new.end;
        Ok(())
    }

    async fn define_jobs(&self) -> anyhow::Result<()> {
        let mut lane = self.door.open().await?;
        for definition in definitions() {
            let body = Bytes::from(serde_json::to_vec(&definition)?);
            lane.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body).await?;
        }
        for _ in 0..100 {
            if lane.drain(Method::GET, "/apis/maar.io/v1alpha1/aijobs", Bytes::new()).await.is_ok() {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        anyhow::bail!("the API server does not serve jobs")
    }

    /// How many requests that change something the server has answered.
    pub(crate) async fn writes(&self) -> anyhow::Result<f64> {
        let metrics = self.door.open().await?.text("/metrics").await?;
        Ok(metrics.lines().filter_map(written).sum())
    }

    /// The end of what a contender had to say.
    pub(crate) fn log(&self, contender: Contender) -> String {
        let text = std::fs::read_to_string(self.log_file(contender)).unwrap_or_default();
        let lines: Vec<&str> = text.lines().rev().take(5).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn log_file(&self, contender: Contender) -> PathBuf {
        self.folder.path().join(format!("{contender}.log"))
    }

    /// Removes all Pods and jobs, and waits until they are gone.
    pub(crate) async fn clear(&self) -> anyhow::Result<()> {
        let mut lane = self.door.open().await?;
        let pods = format!("/api/v1/namespaces/{NAMESPACE}/pods");
        lane.drain(Method::DELETE, &format!("{pods}?gracePeriodSeconds=0"), Bytes::new()).await?;
        let jobs = format!("/apis/maar.io/v1alpha1/namespaces/{NAMESPACE}/aijobs");
        lane.drain(Method::DELETE, &jobs, Bytes::new()).await?;
        for _ in 0..600 {
            if is_empty(&lane.get(&format!("{pods}?limit=1")).await?) {
                // The server tidies up after itself for a moment.
                tokio::time::sleep(Duration::from_secs(1)).await;
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        anyhow::bail!("Pods do not go away")
    }
}

/// The count in a line of the server's metrics, if it counts requests that change something.
fn written(line: &str) -> Option<f64> {
    let labels = line.strip_prefix("apiserver_request_total{")?;
    let changes = ["POST", "PUT", "PATCH", "APPLY", "DELETE"];
    if !changes.iter().any(|verb| labels.contains(&format!("verb=\"{verb}\""))) {
        return None;
    }
    labels.rsplit(' ').next()?.parse().ok()
}

fn is_empty(list: &Value) -> bool {
    list["items"].as_array().is_none_or(Vec::is_empty)
}

/// Names and numbers of the processes of the control plane.
async fn components(script: &Path) -> anyhow::Result<Vec<(String, u32)>> {
    let status = Command::new(script).args(["status", "--name", Real::INSTANCE]).output().await?;
    let text = String::from_utf8(status.stdout)?;
    let rows = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    Ok(rows.filter_map(|row| Some(((*row.get(1)?).to_owned(), row.get(2)?.parse().ok()?))).collect())
}

#[cfg(test)]
mod tests {
    use super::written;

    #[test]
    fn only_requests_that_change_something_are_counted() {
        let line = |verb: &str| {
            format!("apiserver_request_total{{code=\"201\",resource=\"pods\",verb=\"{verb}\"}} 42")
        };
        assert_eq!(written(&line("POST")), Some(42.0));
        assert_eq!(written(&line("LIST")), None);
        assert_eq!(written("apiserver_request_duration_seconds_sum{verb=\"POST\"} 1"), None);
    }
}
