//! 10,000 nodes and 100,000 Pods in one server: how much memory that takes, and whether a full list streams.

use serde_json::json;
use tokio::time::Instant;

use crate::peer::{Child, Peer};
use crate::pods;
use crate::process;
use crate::report::Report;
use crate::scenario::{Ready, as_figure, list, make_namespace, post_all};
use crate::statistics::short;

const NODES: usize = 10_000;
const PODS: usize = 100_000;
const LANES: usize = 32;
/// Requests are made ready in portions, so that this process stays small.
const PORTION: usize = 10_000;
/// 3 GB, in MiB.
const PROMISED: f64 = 3e9 / 1_048_576.0;
/// How much a list may add to the server's memory if it streams: far less than its body of some 200 MiB.
const STREAMING: f64 = 64.0;

pub(crate) async fn run(report: &mut Report) -> anyhow::Result<()> {
    Report::say(&format!("==> {NODES} nodes and {PODS} Pods"));
    let child = Child::start(&["serve"]).await?;
    let start = Instant::now();
    fill(&child).await?;
    let seconds = start.elapsed().as_secs_f64();
    let filled = process::memory(child.pid)?;
    Report::say(&format!(
        "    filled in {} s ({} objects/s): {} MiB resident, {} MiB at most",
        short(seconds),
        short(as_figure(NODES + PODS) / seconds),
        short(filled.resident),
        short(filled.peak)
    ));
    report.figure("memory, MiB", json!({"resident": filled.resident, "peak": filled.peak}));
    report.under("memory of 10,000 nodes and 100,000 Pods", filled.peak, PROMISED, " MiB");
    stream(&child, report).await?;
    child.stop().await
}

async fn fill(child: &Child) -> anyhow::Result<()> {
    let mut lanes = child.door.open_many(LANES).await?;
    let nodes: Vec<Ready> = (0..NODES)
        .map(|number| ("/api/v1/nodes".to_owned(), pods::body(&pods::node(&format!("node-{number}")))))
        .collect();
    post_all(&mut lanes, &nodes).await?;
    for portion in 0..PODS / PORTION {
        let namespace = format!("team-{portion}");
        make_namespace(&child.door, &namespace).await?;
        let path = format!("/api/v1/namespaces/{namespace}/pods");
        let pods: Vec<Ready> = (0..PORTION)
            .map(|number| {
                let mut pod = pods::pod(&format!("worker-{number}"));
                pod["spec"]["nodeName"] = json!(format!("node-{}", number % NODES));
                (path.clone(), pods::body(&pod))
            })
            .collect();
        post_all(&mut lanes, &pods).await?;
    }
    Ok(())
}

async fn stream(child: &Child, report: &mut Report) -> anyhow::Result<()> {
    let before = process::memory(child.pid)?.resident;
    process::forget_peak(child.pid)?;
    let peer = Peer { name: "embedded (TLS)", door: child.door.clone(), pids: vec![child.pid] };
    let found = list(&peer, "/api/v1/pods", PODS).await?;
    let grown = process::memory(child.pid)?.peak - before;
    let size = as_figure(found.bytes >> 20);
    let seconds = as_figure(PODS) / found.measured.rate;
    Report::say(&format!(
        "    full list: {} MiB in {} s ({} MiB/s), first byte after {} ms, memory grew by {} MiB meanwhile",
        short(size),
        short(seconds),
        short(size / seconds),
        short(found.first_byte * 1e3),
        short(grown)
    ));
    report.figure(
        "full list",
        json!({"mebibytes": size, "seconds": seconds, "firstByteMs": found.first_byte * 1e3, "grownMebibytes": grown}),
    );
    report.under("growth of memory during a full list", grown, STREAMING, " MiB");
    Ok(())
}
