//! A full cluster of best-effort work, then 4,000 jobs of one card, and one of 2,000 cards.

use maar_scheduler::model::{Group, ServiceLevel};
use serde_json::json;

use super::stage::{Stage, cpu_time, float, group};
use crate::report::Report;

const NODES: u32 = 1000;
/// Cards evicted over cards needed.
const GOAL: f64 = 1.05;

pub(super) fn run(report: &mut Report) -> anyhow::Result<()> {
    let mut figures = serde_json::Map::new();
    for (what, claims) in [("4,000 of one card", (4000, 1, 1)), ("one of 2,000 cards", (1, 250, 8))] {
        let (over_needed, seconds) = reclaim(claims)?;
        Report::say(&format!(
            "reclaim     {what}: {over_needed:.3} cards evicted per card needed, {seconds:.2} s of CPU"
        ));
        report.under(&format!("core: {what}: cards evicted over needed"), over_needed, GOAL, "");
        figures.insert(what.to_owned(), json!({"evictedOverNeeded": over_needed, "cpuSeconds": seconds}));
    }
    report.figure("coreReclaim", figures.into());
    Ok(())
}

/// Fills the cluster, has room made for jobs of so many Pods of so many cards, and says what was evicted for it.
fn reclaim((jobs, pods, cards): (u32, u32, u16)) -> anyhow::Result<(f64, f64)> {
    let mut stage = Stage::new(NODES, 64);
    // Pods of one, two and four cards, a node's worth at a time.
    for number in 0..NODES {
        stage.now += 1;
        for (part, pods, cards) in [("a", 1, 1), ("b", 1, 1), ("c", 1, 2), ("d", 1, 4)] {
            let best_effort = group(format!("scrap-{number}-{part}"), "default", pods);
            stage.submit(Group { level: ServiceLevel::BestEffort, ..best_effort }, cards);
        }
    }
    let filled = stage.play();
    anyhow::ensure!(stage.used("default") == i64::from(NODES) * 8, "{} bound", filled.bound.len());
    for number in 0..jobs {
        stage.submit(group(format!("sure-{number}"), "default", pods), cards);
    }
    let (played, seconds) = cpu_time(|| stage.play())?;
    let evicted: i64 = played
        .evicted
        .iter()
        .filter_map(|pod| stage.core.ledger().pod(*pod))
        .map(|state| i64::from(state.pod.shape.cards.count()))
        .sum();
    stage.end(&played.evicted);
    let bound = stage.play().bound.len() + played.bound.len();
    let wanted = usize::try_from(jobs * pods).unwrap_or(usize::MAX);
    anyhow::ensure!(bound == wanted, "{bound} of {wanted} claimants were bound");
    let needed = f64::from(jobs * pods) * f64::from(cards);
    Ok((float(usize::try_from(evicted).unwrap_or(0)) / needed, seconds))
}
