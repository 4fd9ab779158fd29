//! How full the cards get, beside FGD: the same Pods in the same order for both.

mod family;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use maar_scheduler::simulate::{
    Trace,
    generate::{RECIPES, generate},
    packing::{arrivals, pack, pack_by_fgd},
    table::{self, File},
};
use serde::Serialize;
use tokio::time::Instant;

use crate::report::Report;

/// The lists of Pods measured.
const LISTS: [&str; 5] = ["default", "cpu250", "gpushare40", "multigpu20", "gpuspec10"];
const NODES: &str = "openb_node_list_gpu_node.csv";
/// How much of FGD's unused cards ours may leave unused.
const GOAL: f64 = 0.90;

/// What `maar-bench packing` can be told.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Folder with the openb trace, which is not part of this repository: openb_node_list_gpu_node.csv and
    /// openb_pod_list_*.csv. Without it made-up traces are measured
    #[arg(long)]
    data: Option<PathBuf>,
    /// How many orders of the Pods are tried
    #[arg(long, default_value_t = 10)]
    seeds: u32,
    /// How much the Pods ask for, in percent of all cards
    #[arg(long, default_value_t = 130)]
    load: u32,
    /// Measure also lists made from those at hand in other proportions, on other nodes and with other loads
    #[arg(long, requires = "data")]
    family: bool,
    /// Only lists whose name contains this
    #[arg(long, default_value = "")]
    only: String,
}

/// The figures of one list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    list: String,
    allocation_percent: f64,
    fgd_allocation_percent: f64,
    unused_over_fgd: f64,
    seconds_per_run: f64,
}

/// Measures every list, prints a table, and promises what it promises only on the traces it was promised for.
pub(crate) fn run(arguments: &Arguments, report: &mut Report) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    if let Some(folder) = &arguments.data {
        let given = given(folder)?;
        if arguments.family {
            family::say_how_near(&given);
        }
        head();
        for (list, trace) in given.iter().filter(|(list, _)| list.contains(&arguments.only)) {
            let row = measure(arguments, trace, list, arguments.load);
            report.under(&format!("packing {list}: unused cards over FGD's"), row.unused_over_fgd, GOAL, "");
            report.under(&format!("packing {list}: seconds per run"), row.seconds_per_run, 1.0, " s");
            rows.push(row);
        }
        let others = if arguments.family { family::cases(&given) } else { Vec::new() };
        for case in others.iter().filter(|case| case.name.contains(&arguments.only)) {
            let row = measure(arguments, &case.trace, &case.name, case.load.unwrap_or(arguments.load));
            let what = format!("packing {}: unused cards over FGD's", case.name);
            report.under(&what, row.unused_over_fgd, GOAL, "");
            rows.push(row);
        }
    } else {
        report.absent(
            "packing on openb: the trace is not part of this repository, name its folder by --data"
                .to_owned(),
        );
        head();
        for (seed, (name, recipe)) in (1..).zip(RECIPES) {
            rows.push(measure(arguments, &generate(recipe, seed), name, arguments.load));
        }
    }
    report.figure("packing", serde_json::to_value(rows)?);
    Ok(())
}

fn head() {
    Report::say(&format!(
        "{:<26} {:>8} {:>8} {:>11} {:>7}",
        "trace", "maar %", "FGD %", "unused/FGD", "s/run"
    ));
}

/// The lists at hand.
fn given(folder: &Path) -> anyhow::Result<Vec<(&'static str, Trace)>> {
    let nodes = read(folder, NODES)?;
    let list = |list: &'static str| {
        let file = format!("openb_pod_list_{list}.csv");
        let pods = read(folder, &file)?;
        Ok((list, table::read(File { name: NODES, text: &nodes }, File { name: &file, text: &pods })?))
    };
    LISTS.into_iter().map(list).collect()
}

fn measure(arguments: &Arguments, trace: &Trace, list: &str, load: u32) -> Row {
    let (mut unused, mut unused_by_fgd, mut seconds) = (0.0, 0.0, 0.0);
    for seed in 0..u64::from(arguments.seeds) {
        let came = arrivals(trace, f64::from(load) / 100.0, seed);
        let start = Instant::now();
        unused += pack(trace, &came, seed).unused();
        seconds += start.elapsed().as_secs_f64();
        unused_by_fgd += pack_by_fgd(trace, &came).unused();
    }
    let runs = f64::from(arguments.seeds.max(1));
    let row = Row {
        list: list.to_owned(),
        allocation_percent: 100.0 * (1.0 - unused / runs),
        fgd_allocation_percent: 100.0 * (1.0 - unused_by_fgd / runs),
        unused_over_fgd: unused / unused_by_fgd,
        seconds_per_run: seconds / runs,
    };
    let (ours, theirs, ratio) = (row.allocation_percent, row.fgd_allocation_percent, row.unused_over_fgd);
    let seconds = row.seconds_per_run;
    Report::say(&format!("{list:<26} {ours:>8.2} {theirs:>8.2} {ratio:>11.3} {seconds:>7.2}"));
    row
}

fn read(folder: &Path, name: &str) -> anyhow::Result<String> {
    let file = folder.join(name);
    std::fs::read_to_string(&file).with_context(|| {
        format!(
            "reading {}: the openb trace is not part of this repository; it is the folder cluster-trace-gpu-v2023 of \
             alibaba/clusterdata",
            file.display()
        )
    })
}
