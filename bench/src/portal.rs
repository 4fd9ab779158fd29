//! The portal before 1000 nodes of 8 cards, 10,000 Pods, 2000 workspaces and 1000 jobs: what pages cost, and how soon they
//! change.
//!
//! The raw limit of the same run is an axum route that answers the same bytes. Client and server share the machine, so
//! both figures are of half a machine.

mod client;
mod serve;

use std::{process::Stdio, time::Duration};

use anyhow::Context as _;
use bytes::Bytes;
use futures::future::try_join_all;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::Command,
    time::{Instant, timeout},
};

use crate::{
    process,
    report::Report,
    statistics::{Rounds, short},
};
use client::{Events, Lane, Proof, newcomer, sign_in};
use serve::FIRST;
pub(crate) use serve::serve;

const LANES: usize = 32;
/// Requests of each round, and how long it lasts at most.
const REQUESTS: usize = 10_000;
const LONGEST: Duration = Duration::from_secs(5);
const STREAMS: usize = 1000;
const ROUNDS: usize = 20;
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two changes of the cluster where pages are read while it changes.
const CHANGE: Duration = Duration::from_millis(50);

/// What the server says when it is ready.
#[derive(Debug, Deserialize)]
struct Ready {
    portal: String,
    bytes: String,
}

/// Who asks whom.
struct Door {
    portal: String,
    bytes: String,
    /// The first administrator, who sees everything.
    admin: Proof,
    /// Somebody like most: he sees his own work, and of others that they are there.
    user: Proof,
    pid: u32,
}

impl Door {
    async fn lane(&self) -> anyhow::Result<Lane> {
        Lane::open(&self.portal, Some(self.user.clone())).await
    }
}

pub(crate) async fn run(report: &mut Report) -> anyhow::Result<()> {
    Report::say("==> the portal before 1000 nodes of 8 cards, 10,000 Pods, 2000 workspaces and 1000 jobs");
    let mut process = Command::new(std::env::current_exe()?)
        .arg("serve-portal")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let output = process.stdout.take().context("a child without output")?;
    let line = BufReader::new(output).lines().next_line().await?;
    let ready: Ready = serde_json::from_str(
        &line.context("the server ended before it was ready: `maar-bench serve-portal` says why")?,
    )?;
    let admin = sign_in(&ready.portal, "admin", FIRST).await?;
    let user = newcomer(&ready.portal, &admin, "ada").await?;
    let pid = process.id().context("a child without a process")?;
    let door = Door { portal: ready.portal, bytes: ready.bytes, admin, user, pid };
    starts(&door, report).await?;
    pages(&door, report).await?;
    changes(&door, report).await?;
    streams(&door, report).await?;
    drop(process.stdin.take());
    process.wait().await?;
    Ok(())
}

async fn make(lane: &mut Lane, name: &str) -> anyhow::Result<String> {
    let asked = json!({ "name": name, "image": "busybox", "command": ["sleep", "1d"] });
    let made = lane.json(Method::POST, "/api/v1/workspaces", &asked).await?;
    let namespace = made["namespace"].as_str().context("a workspace without a namespace")?;
    Ok(format!("/api/v1/workspaces/{namespace}/{name}"))
}

/// From the click to a workspace that runs.
async fn starts(door: &Door, report: &mut Report) -> anyhow::Result<()> {
    let (mut events, mut lane) = (Events::open(door.lane().await?).await?, door.lane().await?);
    let mut run = async |name: &str| -> anyhow::Result<f64> {
        let start = Instant::now();
        make(&mut lane, name).await?;
        let runs = events.until(|_, data| data["name"] == name && data["item"]["phase"] == "Running");
        timeout(PATIENCE, runs).await.context("a workspace did not run in time")??;
        Ok(start.elapsed().as_secs_f64())
    };
    // Jobs and the scheduler have begun a moment ago and take in all that there is: that is their start and not a click's.
    let first = run("first").await?;
    let mut all = Rounds::default();
    for number in 0..ROUNDS {
        all.push(run(&format!("desk-{number}")).await?);
    }
    Report::say(&format!(
        "    create until Running: {all} s; the first, while the roles begin: {first:.2} s"
    ));
    report.figure("portal: first create until Running, s", json!(first));
    report.figure("portal: create until Running, s", json!(all));
    report.under("create until Running, the slowest", all.most(), 1.0, " s");
    Ok(())
}

/// Requests per second and the 99th of a hundred latencies in milliseconds.
async fn ask(authority: &str, proof: Option<&Proof>, path: &str) -> anyhow::Result<(f64, f64)> {
    let each = REQUESTS / LANES;
    let mut lanes = Vec::new();
    for _ in 0..LANES {
        lanes.push(Lane::open(authority, proof.cloned()).await?);
    }
    let start = Instant::now();
    let asking = lanes.into_iter().map(|mut lane| async move {
        let mut took = Vec::with_capacity(each);
        while took.len() < each && start.elapsed() < LONGEST {
            let begin = Instant::now();
            lane.get(path).await?;
            took.push(begin.elapsed());
        }
        anyhow::Ok(took)
    });
    let mut took: Vec<Duration> = try_join_all(asking).await?.into_iter().flatten().collect();
    let seconds = start.elapsed().as_secs_f64();
    took.sort();
    let late = took.get(took.len() * 99 / 100).copied().unwrap_or_default();
    #[expect(clippy::cast_precision_loss, reason = "a count of requests")]
    let rate = took.len() as f64 / seconds;
    Ok((rate, late.as_secs_f64() * 1e3))
}

async fn pages(door: &Door, report: &mut Report) -> anyhow::Result<()> {
    let mut lane = door.lane().await?;
    let nodes: Value = serde_json::from_slice(&lane.get("/api/v1/nodes?limit=1").await?)?;
    let node = nodes["items"][0]["name"].as_str().context("no node")?.to_owned();
    let desk = make(&mut lane, "read").await?;
    let map = "/api/v1/nodes".to_owned();
    let all = [
        ("list, 50 of 2000 workspaces", &door.admin, "/api/v1/workspaces".to_owned()),
        ("list, 50 of 1000 jobs with counts", &door.admin, "/api/v1/jobs".to_owned()),
        ("list, the own workspaces", &door.user, "/api/v1/workspaces".to_owned()),
        ("detail of a workspace", &door.user, desk.clone()),
        ("detail of a node", &door.user, format!("/api/v1/nodes/{node}")),
        ("heat map, a page of 50 nodes", &door.user, map.clone()),
        ("first page", &door.user, "/api/v1/overview".to_owned()),
    ];
    for (what, who, path) in all {
        let body = Lane::open(&door.portal, Some(who.clone())).await?.get(&path).await?;
        let size = body.len();
        let mut raw = Lane::open(&door.bytes, None).await?;
        raw.send(Method::PUT, "/", body).await?;
        let (mut rates, mut slowest, mut limits) = (Rounds::default(), Rounds::default(), Rounds::default());
        for _ in 0..3 {
            let (rate, slow) = ask(&door.portal, Some(who), &path).await?;
            rates.push(rate);
            slowest.push(slow);
            limits.push(ask(&door.bytes, None, "/").await?.0);
        }
        Report::say(&format!(
            "    {what} ({size} bytes): {rates} /s, p99 {slowest} ms; the bytes alone {limits} /s"
        ));
        report.figure(
            &format!("portal: {what}"),
            json!({ "bytes": size, "perSecond": rates, "p99Ms": slowest, "rawPerSecond": limits }),
        );
        report.at_least(&format!("portal: {what}, requests"), rates.median(), 5000.0, " /s");
        report.under(&format!("portal: {what}, p99"), slowest.median(), 20.0, " ms");
    }
    while_it_changes(door, &desk, &map, report).await
}

/// The heat map while the cluster changes all the time: nothing is promised of it, and answers that are kept help little.
async fn while_it_changes(door: &Door, desk: &str, map: &str, report: &mut Report) -> anyhow::Result<()> {
    let mut lane = door.lane().await?;
    let protection = format!("{desk}/protection");
    let changing = async {
        for hours in (1..300).cycle() {
            lane.json(Method::PUT, &protection, &json!({ "hours": hours })).await?;
            tokio::time::sleep(CHANGE).await;
        }
        anyhow::Ok(())
    };
    let (rate, slow) = tokio::select! {
        asked = ask(&door.portal, Some(&door.user), map) => asked?,
        changed = changing => anyhow::bail!("the changes ended: {changed:?}"),
    };
    Report::say(&format!("    heat map at 20 changes a second: {} /s, p99 {} ms", short(rate), short(slow)));
    report.figure("portal: heat map while it changes", json!({ "perSecond": rate, "p99Ms": slow }));
    Ok(())
}

/// From a write to the event on an open page; the write itself is in it.
async fn changes(door: &Door, report: &mut Report) -> anyhow::Result<()> {
    let (mut events, mut lane) = (Events::open(door.lane().await?).await?, door.lane().await?);
    let path = make(&mut lane, "changing").await?;
    let (mut all, mut last) = (Rounds::default(), Value::Null);
    for number in 0..ROUNDS {
        let start = Instant::now();
        lane.json(Method::PUT, &format!("{path}/protection"), &json!({ "hours": number + 1 })).await?;
        // Other events of the same workspace still say what it was before.
        let told = async {
            loop {
                let (_, mut data) = events.next().await?;
                let until = data["item"]["protectedUntil"].take();
                if data["name"] == "changing" && until.is_string() && until != last {
                    return anyhow::Ok(until);
                }
            }
        };
        last = timeout(PATIENCE, told).await.context("a change did not arrive")??;
        all.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Report::say(&format!("    a change until an open page has it: {all} ms"));
    report.figure("portal: change until the page, ms", json!(all));
    report.under("a change until an open page has it, the slowest", all.most(), 200.0, " ms");
    Ok(())
}

async fn streams(door: &Door, report: &mut Report) -> anyhow::Result<()> {
    let before = process::memory(door.pid)?.resident;
    let mut open = Vec::with_capacity(STREAMS);
    for _ in 0..STREAMS {
        open.push(Events::open(door.lane().await?).await?);
    }
    let mut lane = door.lane().await?;
    let start = Instant::now();
    make(&mut lane, "told-to-all").await?;
    let told = open.iter_mut().map(|events| events.until(|_, data| data["name"] == "told-to-all"));
    timeout(PATIENCE, try_join_all(told)).await.context("not every stream was told")??;
    let seconds = start.elapsed().as_secs_f64();
    let grown = process::memory(door.pid)?.resident - before;
    Report::say(&format!(
        "    {STREAMS} open streams: {} MiB more, all told of a new workspace {} ms after it was asked for",
        short(grown),
        short(seconds * 1e3)
    ));
    report.figure("portal: 1000 streams", json!({ "mebibytes": grown, "toldMs": seconds * 1e3 }));
    report.under("memory of 1000 open streams", grown, 200.0, " MiB");
    report.under("a change until 1000 open pages have it", seconds * 1e3, 200.0, " ms");
    // Their bodies end with them.
    drop(open);
    lane.send(Method::GET, "/api/v1/me", Bytes::new()).await?;
    Ok(())
}
