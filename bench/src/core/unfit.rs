//! One job that can never fit, and 10,000 behind it.

use serde_json::json;
use tokio::time::Instant;

use super::stage::{Stage, cpu_time, float, group};
use crate::report::Report;

const NODES: u32 = 1000;
const OTHERS: u32 = 10_000;

pub(super) fn run(report: &mut Report) -> anyhow::Result<()> {
    let without = others(&mut Stage::new(NODES, 64))?;
    let mut stage = Stage::new(NODES, 64);
    let huge = maar_scheduler::model::Group { priority: 9, ..group("huge".to_owned(), "default", 1001) };
    let huge = stage.submit(huge, 8);
    let with = others(&mut stage)?;
    let start = Instant::now();
    let now = stage.now;
    let reason = stage.core.explain(huge, now).map(|explanation| explanation.summary()).unwrap_or_default();
    let millis = start.elapsed().as_secs_f64() * 1000.0;
    Report::say(&format!("unfit       reason after {millis:.1} ms: {reason}"));
    Report::say(&format!(
        "            the {OTHERS} behind it: {with:.1} us of CPU each, {without:.1} us without it"
    ));
    anyhow::ensure!(
        reason.contains("even if they were empty"),
        "it does not say that it can never start: {reason}"
    );
    report.under("core: jobs behind one that cannot fit, over without it", with / without, 1.25, "");
    report
        .figure("coreUnfit", json!({"reasonMillis": millis, "microsBehind": with, "microsWithout": without}));
    Ok(())
}

/// Microseconds of CPU time for each of many small jobs: 8,000 start, the rest waits.
fn others(stage: &mut Stage) -> anyhow::Result<f64> {
    for number in 0..OTHERS {
        stage.submit(group(format!("small-{number}"), "default", 1), 1);
    }
    let (played, seconds) = cpu_time(|| stage.play())?;
    anyhow::ensure!(played.bound.len() == 8000, "{} of 8000 started", played.bound.len());
    Ok(seconds * 1e6 / float(played.bound.len()))
}
