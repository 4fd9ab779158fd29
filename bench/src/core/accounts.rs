//! 30 accounts under 5 parents and 15,000 jobs: does everybody get its part, and what does it cost.

use serde_json::json;

use super::stage::{Stage, cpu_time, float, group};
use crate::report::Report;

const PARENTS: usize = 5;
const CHILDREN: usize = 6;
const JOBS: usize = 500;
/// 2,000 cards: a fifteenth of what the jobs want at a time.
const NODES: u32 = 250;

pub(super) fn run(report: &mut Report) -> anyhow::Result<()> {
    let mut stage = Stage::new(NODES, 64);
    let mut leaves = Vec::new();
    for parent in 0..PARENTS {
        let name = format!("parent-{parent}");
        stage.account(&name, None, 400, None);
        for child in 0..CHILDREN {
            let leaf = format!("{name}-{child}");
            // Parts of 50 to 100 cards; nobody may have more than 150.
            let deserved = [100, 80, 60, 60, 50, 50][child];
            stage.account(&leaf, Some(&name), deserved, Some(150));
            leaves.push((leaf, deserved));
        }
    }
    for job in 0..JOBS {
        for (leaf, _) in &leaves {
            let cards = [1, 1, 1, 2, 4][job % 5];
            stage.submit(group(format!("{leaf}/{job}"), leaf, 1), cards);
        }
    }
    let (rounds, seconds) = cpu_time(|| drain(&mut stage, &leaves))?;
    let jobs = PARENTS * CHILDREN * JOBS;
    Report::say(&format!(
        "accounts    {jobs} jobs of {} accounts in {} rounds, {:.1} us of CPU per job; farthest from its part while all \
         wait: {} cards; over a limit: {}",
        leaves.len(),
        rounds.count,
        seconds * 1e6 / float(jobs),
        rounds.farthest,
        rounds.breaches
    ));
    anyhow::ensure!(rounds.started == jobs, "{} of {jobs} jobs started", rounds.started);
    report.under("core: accounts over a limit", float(rounds.breaches), 1.0, "");
    report.under("core: cards an account is from its part", float(rounds.farthest), 9.0, "");
    report.figure(
        "coreAccounts",
        json!({"microsPerJob": seconds * 1e6 / float(jobs), "farthest": rounds.farthest}),
    );
    Ok(())
}

#[derive(Default)]
struct Rounds {
    count: usize,
    started: usize,
    farthest: usize,
    breaches: usize,
}

/// Everything that runs ends, round by round, until nothing waits.
fn drain(stage: &mut Stage, leaves: &[(String, i64)]) -> Rounds {
    let mut rounds = Rounds::default();
    loop {
        stage.now += 60_000;
        let played = stage.play();
        if played.bound.is_empty() {
            return rounds;
        }
        rounds.count += 1;
        rounds.started += played.bound.len();
        // Later, accounts with little left to do leave theirs to others.
        let all_wait = rounds.count <= 3;
        for (leaf, deserved) in leaves {
            let used = stage.used(leaf);
            rounds.breaches += usize::from(used > 150);
            if all_wait {
                rounds.farthest = rounds.farthest.max(usize::try_from(used.abs_diff(*deserved)).unwrap_or(0));
            }
        }
        let pods: Vec<_> = played.bound.iter().map(|(pod, _)| *pod).collect();
        stage.end(&pods);
    }
}
