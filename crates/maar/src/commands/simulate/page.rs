//! The results of a simulation, for people.

use std::fmt::Write as _;

use maar_scheduler::simulate::{
    chart::{self, duration},
    outcome::Outcome,
    packing::Packed,
};
use serde::Serialize;

/// Columns and rows of the chart.
const CHART: (usize, usize) = (72, 8);

/// What came of filling the cluster several times.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Filled {
    runs: Vec<Run>,
    allocation_percent: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    fgd_allocation_percent: Option<f64>,
    /// Ours over FGD's.
    #[serde(skip_serializing_if = "Option::is_none")]
    unused_over_fgd: Option<f64>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    pods: usize,
    placed: usize,
    allocation_percent: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    fgd_allocation_percent: Option<f64>,
}

impl Filled {
    pub(super) fn of(runs: &[(Packed, Option<Packed>)]) -> Self {
        let allocation = |packed: &Packed| 100.0 * (1.0 - packed.unused());
        let runs: Vec<Run> = runs
            .iter()
            .map(|(ours, by_fgd)| Run {
                pods: ours.came,
                placed: ours.placed,
                allocation_percent: allocation(ours),
                fgd_allocation_percent: by_fgd.as_ref().map(allocation),
            })
            .collect();
        let mean = |figures: Vec<f64>| {
            let count = f64::from(u32::try_from(figures.len()).unwrap_or(u32::MAX));
            (!figures.is_empty()).then(|| figures.iter().sum::<f64>() / count)
        };
        let ours = mean(runs.iter().map(|run| run.allocation_percent).collect()).unwrap_or(0.0);
        let by_fgd = mean(runs.iter().filter_map(|run| run.fgd_allocation_percent).collect());
        Self {
            runs,
            allocation_percent: ours,
            fgd_allocation_percent: by_fgd,
            unused_over_fgd: by_fgd
                .filter(|percent| *percent < 100.0)
                .map(|percent| (100.0 - ours) / (100.0 - percent)),
        }
    }
}

pub(super) fn filled(filled: &Filled) -> String {
    let mut page = String::new();
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(page, "{:>4} {:>8} {:>8} {:>12} {:>8}", "run", "Pods", "placed", "allocation", "FGD");
    let percent = |figure: Option<f64>| figure.map_or("-".to_owned(), |figure| format!("{figure:.2} %"));
    for (number, run) in (1..).zip(&filled.runs) {
        let (ours, by_fgd) = (percent(Some(run.allocation_percent)), percent(run.fgd_allocation_percent));
        let _ = writeln!(page, "{number:>4} {:>8} {:>8} {ours:>12} {by_fgd:>8}", run.pods, run.placed);
    }
    let _ = writeln!(page, "\nallocation  {}", percent(Some(filled.allocation_percent)));
    if let (Some(by_fgd), Some(ratio)) = (filled.fgd_allocation_percent, filled.unused_over_fgd) {
        let _ = writeln!(page, "by FGD      {}", percent(Some(by_fgd)));
        let _ = writeln!(page, "unused cards over FGD's  {ratio:.3}");
    }
    page
}

pub(super) fn in_time(outcome: &Outcome) -> String {
    // Where all come at once there is no curve.
    let curve = outcome.seconds > 0.0;
    let mut page = if curve { chart::text(outcome, CHART.0, CHART.1) } else { String::new() };
    let _ = writeln!(
        page,
        "\ncards       {:.0}, in use {:.1} % on average, {:.1} % at most",
        outcome.cards, outcome.allocation_percent, outcome.peak_percent
    );
    let _ = writeln!(
        page,
        "Pods        {}, never started {}, stopped for others {}",
        outcome.pods, outcome.never_started, outcome.evictions
    );
    let waiting = &outcome.waiting;
    let _ = writeln!(
        page,
        "waiting     mean {}, p50 {}, p99 {}, longest {}",
        duration(waiting.mean),
        duration(waiting.p50),
        duration(waiting.p99),
        duration(waiting.max)
    );
    let _ = writeln!(
        page,
        "fairness    {:.3} (1: every account got the same part of what it asked for)\n",
        outcome.fairness
    );
    let _ = writeln!(
        page,
        "{:<24} {:>7} {:>8} {:>12} {:>8} {:>10} {:>10}",
        "ACCOUNT", "PODS", "STARTED", "CARD HOURS", "SHARE", "MEAN WAIT", "P99 WAIT"
    );
    for account in &outcome.accounts {
        let _ = writeln!(
            page,
            "{:<24} {:>7} {:>8} {:>12.1} {:>6.1} % {:>10} {:>10}",
            account.name,
            account.pods,
            account.started,
            account.card_hours,
            account.share_percent,
            duration(account.waiting.mean),
            duration(account.waiting.p99)
        );
    }
    page
}
