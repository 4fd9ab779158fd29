//! What a decision costs on 1,000 and on 10,000 nodes.

use serde_json::json;

use super::stage::{Stage, cpu_time, float, group};
use crate::report::Report;

/// Pods decided on each size in a round.
const PODS: u32 = 6000;
/// CPU time is told in hundredths of a second: enough rounds for it to be told apart.
const ROUNDS: u32 = 8;
/// Most that a decision may cost on ten times the nodes, over what it costs on one time.
const GOAL: f64 = 1.5;

pub(super) fn run(report: &mut Report) -> anyhow::Result<()> {
    // In turns, so that whatever else the machine does meets both.
    let (mut small, mut large) = (0.0, 0.0);
    for _ in 0..ROUNDS {
        small += decide(1000)? / f64::from(ROUNDS);
        large += decide(10_000)? / f64::from(ROUNDS);
    }
    Report::say(&format!(
        "growth      {small:.1} us of CPU per Pod on 1,000 nodes, {large:.1} us on 10,000: {:.2} times",
        large / small
    ));
    report.under("core: CPU per decision on 10,000 nodes over 1,000", large / small, GOAL, "");
    report.figure("coreGrowth", json!({"microsAt1000": small, "microsAt10000": large}));
    Ok(())
}

/// Microseconds of CPU time per Pod of one card, some of them in shapes of their own. The first Pods are not counted:
/// they build what later ones follow along.
fn decide(nodes: u32) -> anyhow::Result<f64> {
    let mut stage = Stage::new(nodes, 64);
    stage.submit(group("warm".to_owned(), "default", 64), 1);
    for cards in [2, 4, 8] {
        stage.submit(group(format!("warm-{cards}"), "default", 1), cards);
    }
    stage.play();
    for number in 0..PODS {
        let cards = if number % 50 == 0 { 2 } else { 1 };
        stage.submit(group(format!("pod-{number}"), "default", 1), cards);
    }
    let (played, seconds) = cpu_time(|| stage.play())?;
    let wanted = usize::try_from(PODS).unwrap_or(usize::MAX);
    anyhow::ensure!(played.bound.len() == wanted, "{} of {wanted} Pods found a place", played.bound.len());
    Ok(seconds * 1e6 / float(wanted))
}
