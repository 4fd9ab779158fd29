//! The workloads.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use futures::future::try_join_all;
use http::Method;
use http_body_util::BodyExt as _;
use tokio::time::{Instant, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::Arguments;
use super::contender::{Contender, Process};
use super::objects::{self, binds, holder_name, pods_path};
use super::stage::{CARDS, LANES, Stage};
use super::watch::Bound;
use crate::client::Lane;
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
    /// W1: all Pods are there before the scheduler
    Preloaded,
    /// W2: Pods arrive as fast as the server takes them
    Arriving,
    /// W5: every card is held by somebody who may be asked to go
    Reclaim,
    /// W3: as W1, as gangs and not
    Gangs,
    /// W3: as W1, as one gang and not
    OneGang,
    /// W1 on ten times the nodes
    Growth,
}

impl fmt::Display for Workload {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Preloaded => "W1 preloaded",
            Self::Arriving => "W2 arriving",
            Self::Reclaim => "W5 reclaim",
            Self::Gangs => "W3 gangs",
            Self::OneGang => "W3 one gang",
            Self::Growth => "W1 on more nodes",
        })
    }
}

impl Workload {
    /// How many Pods, if nobody said.
    pub(crate) const fn pods(self) -> usize {
        match self {
            Self::Gangs | Self::OneGang => 10_000,
            Self::Preloaded | Self::Arriving | Self::Reclaim | Self::Growth => 4000,
        }
    }
}

/// What one run gave.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// Pods per second.
    pub(crate) rate: f64,
    /// CPU of the contender per Pod, in milliseconds; it reads the cluster once from that too.
    pub(crate) own_cpu: Option<f64>,
    /// The same without what was spent before the first Pod had its node.
    pub(crate) placing_cpu: Option<f64>,
    /// CPU of the API server per Pod, in milliseconds.
    pub(crate) server_cpu: f64,
    /// Most memory of the contender, in MiB.
    pub(crate) memory: Option<f64>,
    /// Requests that change something, per Pod.
    pub(crate) writes: f64,
    /// Pods that had to go, per Pod that came.
    pub(crate) evicted: Option<f64>,
}

impl fmt::Display for Measured {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} pods/s, server {} ms", short(self.rate), short(self.server_cpu))?;
        if let (Some(cpu), Some(placing), Some(memory)) = (self.own_cpu, self.placing_cpu, self.memory) {
            write!(formatter, ", own {cpu:.3} ms ({placing:.3} placing), {} MiB", short(memory))?;
        }
        write!(formatter, ", {} writes", short(self.writes))?;
        if let Some(evicted) = self.evicted {
            write!(formatter, ", {evicted:.3} evicted")?;
        }
        Ok(())
    }
}

/// One contender with one workload.
pub(crate) struct Run<'a> {
    pub(crate) stage: &'a Stage,
    pub(crate) arguments: &'a Arguments,
    pub(crate) maar: &'a std::path::Path,
    pub(crate) workload: Workload,
    pub(crate) contender: Contender,
    pub(crate) pods: usize,
}

impl Run<'_> {
    pub(crate) async fn run(&self) -> anyhow::Result<Measured> {
        let pods = self.prepare().await?;
        let (arriving, stage) = (self.workload == Workload::Arriving, self.stage);
        let bound = Bound::begin(&stage.door).await?;
        let _told = self.be_told().await?;
        let writes = stage.writes().await?;
        let server = process::cpu_seconds(&[stage.server])?;
        let mut process = self.contender.start(stage, self.maar)?;
        let pid = process.as_ref().map(|process| process.pid);
        if arriving && process.is_some() {
            tokio::time::sleep(WARM).await;
        }
        let start = Instant::now();
        let both = async { tokio::try_join!(self.act(&pods), bound.until(pods.len(), || cpu(pid))) };
        let ended = tokio::select! {
            ended = timeout(PATIENCE, both) => ended.context("it did not place all Pods in time").flatten(),
            error = ended(process.as_mut()) => Err(error),
        };
        let ((), times) = ended.with_context(|| {
            format!("{}; its log ends with:\n{}", self.contender, stage.log(self.contender))
        })?;
        let server = process::cpu_seconds(&[stage.server])? - server;
        let own = cpu(pid)?;
        let memory = pid.map(process::memory).transpose()?;
        if let Some(process) = process {
            process.end().await?;
        }
        let writes = stage.writes().await? - writes;
        let evicted = if self.workload == Workload::Reclaim { Some(self.evicted().await?) } else { None };
        stage.clear().await?;
        let count = as_figure(pods.len());
        // Preloaded, a process needs time to start that has nothing to do with its rate.
        let seconds = times.last - if arriving { start } else { times.first };
        Ok(Measured {
            rate: (count - 1.0) / seconds.as_secs_f64(),
            own_cpu: own.map(|own| own * 1e3 / count),
            placing_cpu: own.zip(times.cpu).map(|(own, before)| (own - before) * 1e3 / count),
            server_cpu: server * 1e3 / count,
            memory: memory.map(|memory| memory.peak),
            writes: writes / count,
            evicted: evicted.map(|evicted| evicted / count),
        })
    }

    /// Makes what is there before the contender; answers the Pods it has to place.
    async fn prepare(&self) -> anyhow::Result<Vec<Ready>> {
        let Self { stage, contender, .. } = *self;
        let mut lanes = stage.door.open_many(LANES).await?;
        if self.workload == Workload::Reclaim {
            post_all(&mut lanes, &objects::holders(stage, contender)).await?;
            post_all(&mut lanes, &objects::seat_holders(stage)).await?;
        }
        let gang = match (contender, self.workload) {
            (Contender::MaarGangs, Workload::OneGang) => Some(self.pods),
            (Contender::MaarGangs, _) => Some(self.arguments.gang),
            _ => None,
        };
        if let Some(size) = gang {
            post_all(&mut lanes, &objects::jobs(self.pods / size, size)).await?;
        }
        let pods = objects::waiting(self.pods, contender, gang);
        if self.workload != Workload::Arriving {
            post_all(&mut lanes, &pods).await?;
        }
        Ok(pods)
    }

    /// Watches all Pods and throws away what it is told, for as long as the answer is kept.
    async fn be_told(&self) -> anyhow::Result<Option<AbortOnDropHandle<()>>> {
        let Some(form) = self.contender.told() else { return Ok(None) };
        let mut lane = self.stage.door.open().await?;
        let mut body = lane.send_as(Method::GET, "/api/v1/pods?watch=true", form).await?.into_body();
        let reading = async move {
            let _lane = lane;
            while let Some(Ok(_)) = body.frame().await {}
        };
        Ok(Some(AbortOnDropHandle::new(tokio::spawn(reading))))
    }

    /// What this program does while the contender works, or as the contender.
    async fn act(&self, pods: &[Ready]) -> anyhow::Result<()> {
        let stage = self.stage;
        match (self.contender, self.workload) {
            (Contender::Raw, Workload::Arriving) => create_and_bind(stage, pods).await,
            (Contender::Raw, Workload::Reclaim) => delete_and_bind(stage, pods.len()).await,
            (Contender::Raw | Contender::RawTold | Contender::RawToldBinary, _) => {
                post_all(&mut stage.door.open_many(LANES).await?, &binds(stage, pods.len())).await
            }
            (_, Workload::Arriving) => post_all(&mut stage.door.open_many(LANES).await?, pods).await,
            _ => Ok(()),
        }
    }

    /// How many of those who held the cards are gone.
    async fn evicted(&self) -> anyhow::Result<f64> {
        let path = format!("{}?labelSelector=app%3Dsweep", pods_path());
        let left = self.stage.door.open().await?.get(&path).await?;
        let left = left["items"].as_array().map_or(0, Vec::len);
        Ok(as_figure(self.stage.nodes * CARDS - left))
    }
}

fn cpu(pid: Option<u32>) -> anyhow::Result<Option<f64>> {
    pid.map(|pid| process::cpu_seconds(&[pid])).transpose()
}

/// Waits until a process ends by itself; for ever if there is none.
async fn ended(process: Option<&mut Process>) -> anyhow::Error {
    match process {
        Some(process) => process.ended().await,
        None => std::future::pending().await,
    }
}

/// Every lane makes a Pod and binds it, then the next.
async fn create_and_bind(stage: &Stage, pods: &[Ready]) -> anyhow::Result<()> {
    let binds = binds(stage, pods.len());
    each(stage, pods.len(), async |lane: &mut Lane, number| {
        let ((path, pod), (bind_path, bind)) = (&pods[number], &binds[number]);
        lane.post(path, pod.clone()).await?;
        lane.post(bind_path, bind.clone()).await
    })
    .await
}

/// Every lane removes a holder and binds a Pod to its place, then the next.
async fn delete_and_bind(stage: &Stage, count: usize) -> anyhow::Result<()> {
    let binds = binds(stage, count);
    each(stage, count, async |lane: &mut Lane, number| {
        let holder = format!("{}/{}?gracePeriodSeconds=0", pods_path(), holder_name(number));
        lane.drain(Method::DELETE, &holder, Bytes::new()).await?;
        let (path, bind) = &binds[number];
        lane.post(path, bind.clone()).await
    })
    .await
}

/// Does something for every number, over all lanes.
async fn each(
    stage: &Stage,
    count: usize,
    work: impl AsyncFn(&mut Lane, usize) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (next, work) = (AtomicUsize::new(0), &work);
    let next = &next;
    let one = |mut lane: Lane| async move {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return anyhow::Ok(());
            }
            work(&mut lane, number).await?;
        }
    };
    try_join_all(stage.door.open_many(LANES).await?.into_iter().map(one)).await?;
    Ok(())
}
