//! The embedded cluster beside a real kube-apiserver with etcd: the same scenarios, the same client, one run.
//!
//! Peers take turns in every round, in alternating order, so that whatever else the machine does meets all of them.
//! The ratio that is promised compares TLS with TLS; the in-process figures are what tests see.

use std::time::Duration;

use maar_embedded::{Cluster, Config};
use serde_json::json;

use crate::cli::Options;
use crate::client::Door;
use crate::peer::{Child, Peer, Real, Unavailable};
use crate::process;
use crate::report::Report;
use crate::scenario::{self, Measured};
use crate::statistics::{Rounds, short};

/// What is promised of the embedded cluster over the real one.
const PROMISED: f64 = 10.0;
/// Pods made and bound in a round, if nobody said.
const PODS: usize = 2000;
/// Events of the fan-out: each goes to all watchers.
const FAN_OUT_PODS: usize = 1000;
/// Time for controllers to take notice of what a round did.
const REST: Duration = Duration::from_millis(300);

/// The rounds of one scenario on one peer.
#[derive(Debug, Default)]
struct Series {
    rate: Rounds,
    cpu: Rounds,
}

impl Series {
    fn push(&mut self, measured: Measured) {
        self.rate.push(measured.rate);
        if let Some(cpu) = measured.cpu {
            self.cpu.push(cpu);
        }
    }
}

/// One scenario: its name, what it counts, and a series per peer.
struct Row {
    name: &'static str,
    unit: &'static str,
    series: Vec<Series>,
}

/// Measures all peers there are.
pub(crate) async fn run(options: &Options, with_real: bool, report: &mut Report) -> anyhow::Result<()> {
    let real = if with_real { start_real(options, report).await? } else { None };
    let mut peers = Vec::new();
    let script = real.map(|Real { script, peer }| {
        peers.push(peer);
        script
    });
    let measured = tokio::select! {
        measured = measure(options, peers, report) => measured,
        () = interrupted() => Err(anyhow::anyhow!("interrupted")),
    };
    if let Some(script) = script {
        Real::stop(&script).await?;
    }
    measured
}

/// Ctrl-C or SIGTERM: the real control plane would go on without us.
pub(crate) async fn interrupted() {
    let terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate());
    let terminated = async {
        match terminate {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = terminated => {}
    }
}

async fn start_real(options: &Options, report: &mut Report) -> anyhow::Result<Option<Real>> {
    Ok(match Real::start(&options.real).await? {
        Ok(real) => Some(real),
        Err(Unavailable(why)) => {
            report.absent(format!("anything beside a real kube-apiserver and etcd, as there is none: {why}"));
            None
        }
    })
}

async fn measure(options: &Options, mut peers: Vec<Peer>, report: &mut Report) -> anyhow::Result<()> {
    let child = Child::start(&["serve"]).await?;
    peers.push(Peer { name: "embedded (TLS)", door: child.door.clone(), pids: vec![child.pid] });
    let cluster = Cluster::start(Config::wall()).await?;
    let door = Door::InProcess(cluster.client());
    peers.push(Peer { name: "embedded (in process)", door, pids: Vec::new() });
    for peer in &peers {
        scenario::prepare(peer).await?;
        warm_up(peer).await?;
    }
    let load = process::load()?;
    Report::say(&format!(
        "    load of the machine before measuring: {load}; with company, trust CPU more than rates"
    ));
    report.figure("load before", json!(load));
    let rows = rounds(options, &peers, report).await?;
    print(&peers, &rows);
    judge(&peers, &rows, report);
    cluster.stop().await;
    child.stop().await
}

/// A real server that has just begun may end the watches it was asked for first.
async fn warm_up(peer: &Peer) -> anyhow::Result<()> {
    for attempt in 1.. {
        match scenario::fan_out(peer, &format!("warm-{attempt}"), 200).await {
            Err(error) if attempt < 4 => Report::say(&format!("    {} is not warm yet: {error}", peer.name)),
            done => return done.map(drop),
        }
    }
    Ok(())
}

async fn rounds(options: &Options, peers: &[Peer], report: &mut Report) -> anyhow::Result<Vec<Row>> {
    let row = |name, unit| Row { name, unit, series: peers.iter().map(|_| Series::default()).collect() };
    let pods = options.pods.unwrap_or(PODS);
    let mut create = row("pod create", "pods/s");
    let mut bind = row("pod bind", "binds/s");
    for round in 0..options.rounds {
        Report::say(&format!("==> create and bind {pods} Pods, round {} of {}", round + 1, options.rounds));
        for index in turns(peers.len(), round) {
            let (peer, name) = (&peers[index], format!("round-{round}"));
            create.series[index].push(scenario::create(peer, &name, pods).await?);
            tokio::time::sleep(REST).await;
            bind.series[index].push(scenario::bind(peer, &name, pods).await?);
            tokio::time::sleep(REST).await;
        }
    }
    let total = options.rounds * pods;
    let mut list = row("pod list", "pods/s");
    let mut sizes = vec![0; peers.len()];
    for round in 0..options.rounds {
        Report::say(&format!("==> list {total} Pods, round {} of {}", round + 1, options.rounds));
        for index in turns(peers.len(), round) {
            let found = scenario::list(&peers[index], "/api/v1/namespaces/bench/pods", total).await?;
            list.series[index].push(found.measured);
            sizes[index] = found.bytes;
            tokio::time::sleep(REST).await;
        }
    }
    for (peer, size) in peers.iter().zip(sizes) {
        report.figure(&format!("list bytes, {}", peer.name), json!(size));
        Report::say(&format!("    {}: {size} bytes", peer.name));
    }
    let mut fan_out = row("watch fan-out to 50", "events/s");
    for round in 0..options.rounds {
        Report::say(&format!(
            "==> {FAN_OUT_PODS} Pods to 50 watchers, round {} of {}",
            round + 1,
            options.rounds
        ));
        for index in turns(peers.len(), round) {
            let found = scenario::fan_out(&peers[index], &format!("{round}"), FAN_OUT_PODS).await?;
            fan_out.series[index].push(found);
            tokio::time::sleep(REST).await;
        }
    }
    Ok(vec![create, bind, list, fan_out])
}

/// The order of the peers in a round: forwards, then backwards.
fn turns(count: usize, round: usize) -> Vec<usize> {
    if round.is_multiple_of(2) { (0..count).collect() } else { (0..count).rev().collect() }
}

fn print(peers: &[Peer], rows: &[Row]) {
    Report::say(&format!(
        "\n{:<20} {:<22} {:>38} {:>22} {:>8} {:>9}",
        "scenario", "peer", "rate: median [least..most]", "server CPU us each", "ratio", "CPU ratio"
    ));
    for row in rows {
        for (index, (peer, series)) in peers.iter().zip(&row.series).enumerate() {
            let name = if index == 0 { row.name } else { "" };
            let first = &row.series[0];
            let ratio = series.rate.median() / first.rate.median();
            let cpu = if series.cpu.is_empty() {
                "-".into()
            } else {
                short(first.cpu.median() / series.cpu.median())
            };
            let rate = format!("{} {}", series.rate, row.unit);
            Report::say(&format!(
                "{name:<20} {:<22} {rate:>38} {:>22} {:>8} {cpu:>9}",
                peer.name,
                series.cpu,
                short(ratio)
            ));
        }
    }
    Report::say(
        "server CPU: of kube-apiserver and etcd, or of the embedded server's process; ratios: over the first peer",
    );
}

/// TLS beside TLS is what is promised: the first peer is the real one, the second the embedded one.
fn judge(peers: &[Peer], rows: &[Row], report: &mut Report) {
    for row in rows {
        for (peer, series) in peers.iter().zip(&row.series) {
            let name = format!("{}, {}", row.name, peer.name);
            report
                .figure(&name, json!({"unit": row.unit, "rate": series.rate, "cpuMicroseconds": series.cpu}));
        }
        if let [real, embedded, _] = row.series.as_slice() {
            let ratio = embedded.rate.median() / real.rate.median();
            report.at_least(&format!("{}, embedded over real, both by TLS", row.name), ratio, PROMISED, "x");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_take_turns() {
        assert_eq!(turns(3, 0), [0, 1, 2]);
        assert_eq!(turns(3, 1), [2, 1, 0]);
    }
}
