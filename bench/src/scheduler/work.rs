//! The workloads.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use futures::future::try_join_all;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::Arguments;
use super::contender::Contender;
use super::stage::{LANES, NAMESPACE, Stage};
use super::watch::Bound;
use crate::cli::Options;
use crate::client::Lane;
use crate::pods;
use crate::process;
use crate::scenario::{Ready, as_figure, post_all};
use crate::statistics::short;

/// How long a contender may take for all Pods.
const PATIENCE: Duration = Duration::from_mins(5);
/// How long a scheduler gets to read the cluster before Pods arrive.
const WARM: Duration = Duration::from_secs(3);

/// What a contender has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Workload {
    /// W1: all Pods are there before the scheduler.
    Preloaded,
    /// W2: Pods arrive as fast as the server takes them.
    Arriving,
    /// W3: as W1, as gangs and not.
    Gangs,
}

impl fmt::Display for Workload {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Preloaded => "W1 preloaded",
            Self::Arriving => "W2 arriving",
            Self::Gangs => "W3 gangs",
        })
    }
}

/// What one run gave.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// Pods per second.
    pub(crate) rate: f64,
    /// CPU of the contender per Pod, in milliseconds; it reads the cluster once from that too.
    pub(crate) own_cpu: Option<f64>,
    /// CPU of the API server per Pod, in milliseconds.
    pub(crate) server_cpu: f64,
    /// Most memory of the contender, in MiB.
    pub(crate) memory: Option<f64>,
}

impl fmt::Display for Measured {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} pods/s, server {} ms", short(self.rate), short(self.server_cpu))?;
        if let (Some(cpu), Some(memory)) = (self.own_cpu, self.memory) {
            write!(formatter, ", own {} ms, {} MiB", short(cpu), short(memory))?;
        }
        Ok(())
    }
}

/// One contender, once.
pub(crate) async fn run(
    options: &Options,
    arguments: &Arguments,
    stage: &Stage,
    workload: Workload,
    contender: Contender,
) -> anyhow::Result<Measured> {
    let gang = (contender == Contender::MaarGangs).then_some(arguments.gang);
    let pods = make_pods(options.pods, contender, gang);
    let arriving = workload == Workload::Arriving;
    if let Some(size) = gang {
        make_jobs(stage, options.pods / size, size).await?;
    }
    if !arriving {
        post_all(&mut stage.door.open_many(LANES).await?, &pods).await?;
    }
    let bound = Bound::begin(&stage.door).await?;
    let before = process::cpu_seconds(&[stage.server])?;
    let process = contender.start(stage, &options.maar)?;
    if arriving && process.is_some() {
        tokio::time::sleep(WARM).await;
    }
    let start = Instant::now();
    let work = async {
        match (contender, arriving) {
            (Contender::Raw, true) => create_and_bind(stage, &pods).await,
            (Contender::Raw, false) => {
                post_all(&mut stage.door.open_many(LANES).await?, &binds(stage, pods.len())).await
            }
            (_, true) => post_all(&mut stage.door.open_many(LANES).await?, &pods).await,
            (_, false) => Ok(()),
        }
    };
    let both = async { tokio::try_join!(work, bound.until(pods.len())) };
    let ended = timeout(PATIENCE, both).await.with_context(|| format!("{contender} did not place all Pods"));
    let server_cpu = (process::cpu_seconds(&[stage.server])? - before) * 1e3 / as_figure(pods.len());
    let (mut own_cpu, mut memory) = (None, None);
    if let Some(process) = &process {
        own_cpu = Some(process::cpu_seconds(&[process.pid])? * 1e3 / as_figure(pods.len()));
        memory = Some(process::memory(process.pid)?.peak);
    }
    if let Some(process) = process {
        process.end().await?;
    }
    let ((), times) = ended??;
    stage.clear().await?;
    let (first, last) = (times[0], times[times.len() - 1]);
    // Preloaded, a process needs time to start that has nothing to do with its rate.
    let seconds = if arriving { last - start } else { last - first };
    Ok(Measured { rate: as_figure(pods.len() - 1) / seconds.as_secs_f64(), own_cpu, server_cpu, memory })
}

fn pods_path() -> String {
    format!("/api/v1/namespaces/{NAMESPACE}/pods")
}

fn make_pods(count: usize, contender: Contender, gang: Option<usize>) -> Vec<Ready> {
    let pod = |number: usize| {
        let mut pod = pods::pod(&format!("pod-{number}"));
        pod["spec"]["schedulerName"] = json!(contender.scheduler_name());
        pod["metadata"]["labels"] = match gang {
            None => json!({"app": "train", "team": "vision"}),
            Some(size) => {
                json!({"app": "train", "maar.io/job": format!("job-{}", number / size), "maar.io/task": "worker"})
            }
        };
        (pods_path(), pods::body(&pod))
    };
    (0..gang.map_or(count, |size| count / size * size)).map(pod).collect()
}

async fn make_jobs(stage: &Stage, count: usize, size: usize) -> anyhow::Result<()> {
    let job = |number: usize| -> Value {
        let template = json!({"spec": {"containers": [{"name": "worker", "image": "registry.example.com/train/worker:1"}]}});
        json!({"apiVersion": "maar.io/v1alpha1", "kind": "AIJob", "metadata": {"name": format!("job-{number}")},
            "spec": {"type": "Single", "tasks": [{"name": "worker", "replicas": size, "template": template}]}})
    };
    let path = format!("/apis/maar.io/v1alpha1/namespaces/{NAMESPACE}/aijobs");
    let jobs: Vec<Ready> = (0..count).map(|number| (path.clone(), pods::body(&job(number)))).collect();
    post_all(&mut stage.door.open_many(LANES).await?, &jobs).await
}

/// The bind of every Pod, to one node after the other.
fn binds(stage: &Stage, count: usize) -> Vec<Ready> {
    let bind = |number: usize| {
        let (pod, node) = (format!("pod-{number}"), Stage::node(number % stage.nodes));
        let mut binding = pods::binding(&pod, &node);
        // As much as a scheduler writes.
        binding["metadata"]["annotations"] =
            json!({"maar.io/cards": "nvidia.com/gpu=1", "maar.io/visible-cards": "1"});
        (format!("{}/{pod}/binding", pods_path()), pods::body(&binding))
    };
    (0..count).map(bind).collect()
}

/// Every lane makes a Pod and binds it, then the next.
async fn create_and_bind(stage: &Stage, pods: &[Ready]) -> anyhow::Result<()> {
    let binds = binds(stage, pods.len());
    let next = AtomicUsize::new(0);
    let (binds, next) = (&binds, &next);
    let work = |mut lane: Lane| async move {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let (Some((path, pod)), Some((bind_path, bind))) = (pods.get(number), binds.get(number)) else {
                return anyhow::Ok(());
            };
            lane.post(path, pod.clone()).await?;
            lane.post(bind_path, bind.clone()).await?;
        }
    };
    try_join_all(stage.door.open_many(LANES).await?.into_iter().map(work)).await?;
    Ok(())
}
