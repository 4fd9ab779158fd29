//! The cluster on which all of them perform.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use http::Method;
use maar_api::v1alpha1::definitions;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::client::Door;
use crate::peer::Real;
use crate::pods;
use crate::scenario::{Ready, make_namespace, post_all};

/// Requests under way at a time, for us as for the schedulers.
pub(crate) const LANES: usize = 32;
/// Where the Pods live.
pub(crate) const NAMESPACE: &str = "bench";

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
        let stage = Self {
            door,
            kubeconfig: PathBuf::from(String::from_utf8(kubeconfig)?.trim()),
            kube_scheduler,
            server: pid("kube-apiserver")?,
            nodes,
            folder: tempfile::tempdir()?,
        };
        stage.make_nodes().await?;
        stage.define_jobs().await?;
        Ok(stage)
    }

    pub(crate) fn node(number: usize) -> String {
        format!("node-{number}")
    }

    async fn make_nodes(&self) -> anyhow::Result<()> {
        let node = |number| {
            let mut node = pods::node(&Self::node(number));
            let amounts = json!({"cpu": "128", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": "8"});
            node["status"] = json!({"capacity": amounts, "allocatable": amounts,
                "conditions": [{"type": "Ready", "status": "True", "reason": "Bench", "message": ""}]});
            ("/api/v1/nodes".to_owned(), pods::body(&node))
        };
        let nodes: Vec<Ready> = (0..self.nodes).map(node).collect();
        post_all(&mut self.door.open_many(LANES).await?, &nodes).await?;
        // The server taints new nodes until a controller takes that back, and there is none.
        let untaint = pods::body(&json!([{"op": "remove", "path": "/spec/taints"}]));
        let mut lane = self.door.open().await?;
        for number in 0..self.nodes {
            let path = format!("/api/v1/nodes/{}", Self::node(number));
            let node = lane.get(&path).await?;
            if node["spec"]["taints"].is_array() {
                lane.patch(&path, untaint.clone()).await?;
            }
        }
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
