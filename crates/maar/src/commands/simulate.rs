//! `maar simulate`: the scheduler on a trace, to see what would happen.

mod page;

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use maar_scheduler::simulate::{
    Trace, chart,
    packing::{arrivals, pack, pack_by_fgd},
    recording,
    run::{Options, run as run_trace},
    table::{self, File},
};

use self::page::Filled;

/// What `maar simulate` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Table of nodes (CSV): sn, cpu_milli, memory_mib, gpu and optionally model, pool, rack
    #[arg(long, requires = "pods", required_unless_present = "recording")]
    nodes: Option<PathBuf>,
    /// Table of Pods (CSV): name, cpu_milli, memory_mib, num_gpu, gpu_milli and optionally gpu_spec, qos,
    /// creation_time, deletion_time, scheduled_time (in seconds), account, user, priority, job
    #[arg(long, requires = "nodes")]
    pods: Option<PathBuf>,
    /// A recorded cluster instead of tables: the output of `kubectl get
    /// nodes,pods,poddisruptionbudgets,accounts,aijobs -A -o json`, and whatever else the scheduler reads: namespaces,
    /// PodGroups, volumes, claims and storage classes
    #[arg(long, conflicts_with_all = ["nodes", "pods"])]
    recording: Option<PathBuf>,
    /// How much Pods ask for, in percent of all cards: they come faster or slower; with --fill more or fewer come
    /// [default: as the trace has it; 130% with --fill]
    #[arg(long, value_parser = percent)]
    load: Option<f64>,
    /// Tell the scheduler how long Pods run, as users do by a longest run time
    #[arg(long)]
    know_run_times: bool,
    /// Pods come one by one in random order and none leaves: how full do the cards get
    #[arg(long, conflicts_with = "know_run_times")]
    fill: bool,
    /// How many random orders are tried
    #[arg(long, default_value_t = 1, requires = "fill", value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: u32,
    /// Run another method on the same Pods, too
    #[arg(long, requires = "fill")]
    compare: Option<Method>,
    /// Write the curve over time as a picture
    #[arg(long, value_name = "FILE", conflicts_with = "fill")]
    svg: Option<PathBuf>,
    /// How the result is printed
    #[arg(long, short, default_value = "text")]
    output: Output,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Method {
    /// Fragmentation gradient descent (USENIX ATC 2023)
    Fgd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Text,
    Json,
}

/// `130%` or `130`, as a part.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>();
    match number {
        Ok(number) if (1.0..=1000.0).contains(&number) => Ok(number / 100.0),
        _ => Err("it must be a number of percent from 1 to 1000, such as 130%".to_owned()),
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let mut trace = read(arguments)?;
    if trace.card_capacity() == 0 {
        bail!("the nodes have no cards: there is nothing to measure");
    }
    let text = if arguments.fill { fill(arguments, &trace)? } else { in_time(arguments, &mut trace)? };
    std::io::stdout().write_all(text.as_bytes()).context("printing the result")
}

fn read(arguments: &Arguments) -> anyhow::Result<Trace> {
    let content =
        |path: &Path| std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()));
    if let Some(path) = &arguments.recording {
        return Ok(recording::read(&path.display().to_string(), &content(path)?)?);
    }
    let (Some(nodes), Some(pods)) = (&arguments.nodes, &arguments.pods) else {
        bail!("name two tables by --nodes and --pods, or a recorded cluster by --recording");
    };
    let (nodes_text, pods_text) = (content(nodes)?, content(pods)?);
    let (nodes, pods) = (nodes.display().to_string(), pods.display().to_string());
    let trace =
        table::read(File { name: &nodes, text: &nodes_text }, File { name: &pods, text: &pods_text })?;
    Ok(trace)
}

/// Pods come and go as the trace says.
fn in_time(arguments: &Arguments, trace: &mut Trace) -> anyhow::Result<String> {
    if let Some(load) = arguments.load {
        let set = trace.set_load(load);
        set.context("--load (with --fill Pods come again and again, until the load is reached)")?;
    }
    let options = Options { run_times_known: arguments.know_run_times, ..Options::default() };
    let outcome = run_trace(trace, &options);
    if let Some(file) = &arguments.svg {
        std::fs::write(file, chart::svg(&outcome)).with_context(|| format!("writing {}", file.display()))?;
    }
    match arguments.output {
        Output::Text => Ok(page::in_time(&outcome)),
        Output::Json => json(&outcome),
    }
}

/// Pods come one by one and stay.
fn fill(arguments: &Arguments, trace: &Trace) -> anyhow::Result<String> {
    let load = arguments.load.unwrap_or(1.3);
    let mut runs = Vec::new();
    for seed in 0..u64::from(arguments.seeds) {
        let came = arrivals(trace, load, seed);
        let by_fgd = arguments.compare.map(|Method::Fgd| pack_by_fgd(trace, &came));
        runs.push((pack(trace, &came, seed), by_fgd));
    }
    let filled = Filled::of(&runs);
    match arguments.output {
        Output::Text => Ok(page::filled(&filled)),
        Output::Json => json(&filled),
    }
}

fn json(result: &impl serde::Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(result).context("writing the result as JSON")? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_percents() {
        assert_eq!(percent("130%"), Ok(1.3));
        assert_eq!(percent("80"), Ok(0.8));
        for bad in ["", "%", "0", "-5%", "1001%", "many"] {
            assert!(percent(bad).unwrap_err().contains("from 1 to 1000"), "{bad}");
        }
    }
}
