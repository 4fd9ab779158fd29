//! What is measured, written once for every peer.

mod fan_out;
mod list;
mod write;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::future::try_join_all;
use http::Method;
use tokio::time::Instant;

pub(crate) use fan_out::fan_out;
pub(crate) use list::list;
pub(crate) use write::{bind, create, prepare};

use crate::client::{Door, Lane};
use crate::peer::Peer;
use crate::pods;
use crate::process;

/// One round of one scenario on one peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    /// What was done per second.
    pub(crate) rate: f64,
    /// Microseconds of the server's CPU time per thing done; none for a server in this process.
    pub(crate) cpu: Option<f64>,
}

/// Takes the time of one round.
struct Meter<'a> {
    peer: &'a Peer,
    start: Instant,
    cpu: f64,
}

impl<'a> Meter<'a> {
    fn start(peer: &'a Peer) -> anyhow::Result<Self> {
        Ok(Self { peer, cpu: process::cpu_seconds(&peer.pids)?, start: Instant::now() })
    }

    fn stop(self, count: usize) -> anyhow::Result<Measured> {
        let seconds = self.start.elapsed().as_secs_f64();
        let cpu = process::cpu_seconds(&self.peer.pids)? - self.cpu;
        let count = as_figure(count);
        let cpu = (!self.peer.pids.is_empty()).then(|| cpu * 1e6 / count);
        Ok(Measured { rate: count / seconds, cpu })
    }
}

/// A count as a figure to calculate with.
pub(crate) fn as_figure(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// A request that is ready to be sent.
pub(crate) type Ready = (String, Bytes);

/// Posts all requests over the lanes, each lane taking the next one when it is free.
pub(crate) async fn post_all(lanes: &mut [Lane], requests: &[Ready]) -> anyhow::Result<()> {
    let next = AtomicUsize::new(0);
    let work = |lane| worker(lane, requests, &next);
    try_join_all(lanes.iter_mut().map(work)).await?;
    Ok(())
}

async fn worker(lane: &mut Lane, requests: &[Ready], next: &AtomicUsize) -> anyhow::Result<()> {
    while let Some((path, body)) = requests.get(next.fetch_add(1, Ordering::Relaxed)) {
        lane.post(path, body.clone()).await?;
    }
    Ok(())
}

/// Makes a namespace and waits until Pods can be made in it.
pub(crate) async fn make_namespace(door: &Door, name: &str) -> anyhow::Result<()> {
    let mut lane = door.open().await?;
    lane.post("/api/v1/namespaces", pods::body(&pods::namespace(name))).await?;
    let account = format!("/api/v1/namespaces/{name}/serviceaccounts/default");
    for _ in 0..500 {
        if lane.drain(Method::GET, &account, Bytes::new()).await.is_ok() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    anyhow::bail!("namespace {name} has no service account after 10 s")
}
