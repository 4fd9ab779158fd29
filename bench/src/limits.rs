//! Where the time goes: what the parts of the embedded server could do alone.

use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt as _;
use maar_embedded::Store;
use serde_json::json;
use tokio::time::Instant;

use crate::cli::Options;
use crate::client::Door;
use crate::peer::Child;
use crate::pods;
use crate::report::Report;
use crate::scenario::{Ready, as_figure, post_all};
use crate::statistics::Rounds;

const REQUESTS: usize = 20_000;
const LANES: usize = 32;
/// About the size of a list of 10,000 Pods.
const BYTES: usize = 20 << 20;

pub(crate) async fn run(options: &Options, report: &mut Report) -> anyhow::Result<()> {
    Report::say("==> raw limits");
    let mut store = Rounds::default();
    for _ in 0..options.rounds {
        store.push(fill_store());
    }
    say(report, "commits to the store alone, per s", &store);
    let child = Child::start(&["serve-bytes"]).await?;
    let (mut requests, mut bytes) = (Rounds::default(), Rounds::default());
    for _ in 0..options.rounds {
        requests.push(echo(&child.door).await?);
        bytes.push(stream(&child.door).await?);
    }
    say(report, "requests of a Pod's size to a server that does nothing, per s", &requests);
    say(report, "a list's bytes from a server that has them ready, MiB/s", &bytes);
    child.stop().await
}

fn say(report: &mut Report, name: &str, rounds: &Rounds) {
    Report::say(&format!("    {name}: {rounds}"));
    report.figure(name, json!(rounds));
}

/// Serialising and storing Pods: what a create is without HTTP, defaults and checks.
fn fill_store() -> f64 {
    let store = Store::default();
    let mut pod = pods::pod("worker");
    let start = Instant::now();
    for number in 0..REQUESTS {
        pod["metadata"]["name"] = json!(format!("pod-{number}"));
        store.fill("pods", &pod);
    }
    as_figure(REQUESTS) / start.elapsed().as_secs_f64()
}

async fn echo(door: &Door) -> anyhow::Result<f64> {
    let requests: Vec<Ready> =
        (0..REQUESTS).map(|_| ("/".to_owned(), pods::body(&pods::pod("worker")))).collect();
    let mut lanes = door.open_many(LANES).await?;
    let start = Instant::now();
    post_all(&mut lanes, &requests).await?;
    Ok(as_figure(REQUESTS) / start.elapsed().as_secs_f64())
}

async fn stream(door: &Door) -> anyhow::Result<f64> {
    let mut lane = door.open().await?;
    let start = Instant::now();
    let mut body = lane.send(Method::GET, &format!("/{BYTES}"), Bytes::new()).await?.into_body();
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        bytes += frame.map_err(anyhow::Error::from_boxed)?.data_ref().map_or(0, Bytes::len);
    }
    anyhow::ensure!(bytes == BYTES, "{bytes} bytes came instead of {BYTES}");
    Ok(as_figure(bytes >> 20) / start.elapsed().as_secs_f64())
}
