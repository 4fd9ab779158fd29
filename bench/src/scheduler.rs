//! Maar's scheduler beside kube-scheduler and beside a binder that decides nothing, on one real API server.
//!
//! The binder without decisions is the limit: what the server bears with the same requests. It runs before and after the
//! schedulers in every round, and every other round goes backwards, so that whatever else the machine does meets all
//! of them. When a Pod got its node is read from one watch that is the same for all; controllers and the scheduler
//! that the control plane brought along are stopped first.

mod contender;
mod objects;
mod stage;
mod watch;
mod work;

use serde_json::{Value, json};

use crate::cli::Options;
use crate::peer::{Real, Unavailable};
use crate::process;
use crate::report::Report;
use crate::statistics::{Rounds, short};

use self::contender::Contender;
use self::stage::{CARDS, Stage};
use self::work::{Measured, Run, Workload};

/// What is measured.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Nodes with eight cards each
    #[arg(long, default_value_t = 1000)]
    nodes: usize,
    /// What the schedulers have to do; nodes are added where a workload needs more
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_values = ["preloaded", "arriving", "reclaim", "gangs", "one-gang", "growth"]
    )]
    workloads: Vec<Workload>,
    /// Pods of one gang
    #[arg(long, default_value_t = 20)]
    gang: usize,
    /// Show also what a watch of all Pods beside the raw binder costs the API server
    #[arg(long)]
    told: bool,
    /// Leave kube-scheduler out
    #[arg(long)]
    without_kube_scheduler: bool,
}

/// One contender in one workload, over all rounds.
#[derive(Debug, Default)]
struct Series {
    rate: Rounds,
    own_cpu: Rounds,
    placing_cpu: Rounds,
    server_cpu: Rounds,
    memory: Rounds,
    writes: Rounds,
    evicted: Rounds,
}

impl Series {
    fn push(&mut self, measured: &Measured) {
        self.rate.push(measured.rate);
        self.server_cpu.push(measured.server_cpu);
        self.writes.push(measured.writes);
        let optional = [
            (&mut self.own_cpu, measured.own_cpu),
            (&mut self.placing_cpu, measured.placing_cpu),
            (&mut self.memory, measured.memory),
            (&mut self.evicted, measured.evicted),
        ];
        for (rounds, figure) in optional {
            if let Some(figure) = figure {
                rounds.push(figure);
            }
        }
    }

    fn figures(&self) -> Value {
        json!({
            "pods/s": self.rate, "own CPU, ms": self.own_cpu, "own CPU placing, ms": self.placing_cpu,
            "server CPU, ms": self.server_cpu, "memory, MiB": self.memory, "writes": self.writes,
            "evicted": self.evicted,
        })
    }
}

/// Measures everything that was asked for.
pub(crate) async fn run(options: &Options, arguments: &Arguments, report: &mut Report) -> anyhow::Result<()> {
    if !options.maar.exists() {
        report.absent(format!("the scheduler, as {} is not built", options.maar.display()));
        return Ok(());
    }
    let real = match Real::start(&options.real).await? {
        Ok(real) => real,
        Err(Unavailable(why)) => {
            report.absent(format!("the scheduler, as there is no real API server: {why}"));
            return Ok(());
        }
    };
    let script = real.script.clone();
    let measured = tokio::select! {
        measured = measure(options, arguments, &real, report) => measured,
        () = crate::compare::interrupted() => Err(anyhow::anyhow!("interrupted")),
    };
    Real::stop(&script).await?;
    measured
}

async fn measure(
    options: &Options,
    arguments: &Arguments,
    real: &Real,
    report: &mut Report,
) -> anyhow::Result<()> {
    let load = process::load()?;
    Report::say(&format!(
        "    load of the machine before measuring: {load}; with company, trust CPU more than rates"
    ));
    report.figure("load before", json!(load));
    let mut stage = Stage::prepare(real, &options.real, arguments.nodes).await?;
    for workload in &arguments.workloads {
        let pods = options.pods.unwrap_or_else(|| workload.pods());
        // A card for each.
        stage.grow(pods.div_ceil(CARDS)).await?;
        let bench = Bench { options, arguments, workload: *workload, pods };
        match workload {
            Workload::Growth => bench.growth(&mut stage, report).await?,
            _ => bench.one(&stage, report).await?,
        }
    }
    Ok(())
}

/// One workload.
struct Bench<'a> {
    options: &'a Options,
    arguments: &'a Arguments,
    workload: Workload,
    pods: usize,
}

/// What each contender gave.
type All = Vec<(Contender, Series)>;

fn series_of(all: &[(Contender, Series)], wanted: Contender) -> Option<&Series> {
    all.iter().find(|(one, _)| *one == wanted).map(|(_, series)| series)
}

impl Bench<'_> {
    /// The contenders in the order of the first round; the first comes last again, so that it is measured before and
    /// after the others.
    fn order(&self) -> Vec<Contender> {
        let mut order = match self.workload {
            Workload::Gangs | Workload::OneGang => vec![Contender::Maar, Contender::MaarGangs],
            Workload::Growth => return vec![Contender::Maar],
            Workload::Preloaded | Workload::Arriving | Workload::Reclaim => {
                vec![Contender::Raw, Contender::Maar]
            }
        };
        let beside = matches!(self.workload, Workload::Preloaded | Workload::Arriving);
        if beside && !self.arguments.without_kube_scheduler {
            order.push(Contender::KubeScheduler);
        }
        if self.arguments.told && self.workload == Workload::Preloaded {
            order.extend([Contender::RawTold, Contender::RawToldBinary]);
        }
        order.push(order[0]);
        order
    }

    async fn rounds(&self, stage: &Stage) -> anyhow::Result<All> {
        Report::say(&format!("==> {}: {} Pods on {} nodes", self.workload, self.pods, stage.nodes));
        let mut all = All::new();
        let mut order = self.order();
        for _ in 0..self.options.rounds {
            for contender in &order {
                let run = Run {
                    stage,
                    arguments: self.arguments,
                    maar: &self.options.maar,
                    workload: self.workload,
                    contender: *contender,
                    pods: self.pods,
                };
                let measured = run.run().await?;
                Report::say(&format!("    {:<16} {measured}", contender.to_string()));
                let known = all.iter().position(|(one, _)| one == contender).unwrap_or_else(|| {
                    all.push((*contender, Series::default()));
                    all.len() - 1
                });
                all[known].1.push(&measured);
            }
            order.reverse();
        }
        Ok(all)
    }

    async fn one(&self, stage: &Stage, report: &mut Report) -> anyhow::Result<()> {
        let all = self.rounds(stage).await?;
        for (contender, series) in &all {
            report.figure(&format!("{}, {contender}", self.workload), series.figures());
        }
        let (raw, maar) = (series_of(&all, Contender::Raw), series_of(&all, Contender::Maar));
        if let (Some(raw), Some(maar)) = (raw, maar) {
            self.judge_beside_raw(raw, maar, series_of(&all, Contender::KubeScheduler), report);
        }
        if let (Some(alone), Some(gangs)) = (maar, series_of(&all, Contender::MaarGangs)) {
            let ratio = alone.rate.median() / gangs.rate.median();
            if self.workload == Workload::Gangs {
                report.under("G4, time of gangs over the same Pods alone", ratio, 1.10, "");
                report.under("G4, writes per Pod", gangs.writes.median(), 1.1, "");
            } else {
                report.under("G5, time of one gang over the same Pods alone", ratio, 1.25, "");
            }
        }
        Ok(())
    }

    fn judge_beside_raw(&self, raw: &Series, maar: &Series, kube: Option<&Series>, report: &mut Report) {
        let ratio = maar.rate.median() / raw.rate.median();
        match self.workload {
            Workload::Preloaded => {
                let cpu = maar.own_cpu.median() / raw.server_cpu.median();
                report.at_least("G1, rate over raw binds", ratio, 0.85, "");
                report.under("G3, own CPU per Pod over the server's per bind", cpu, 0.15, "");
            }
            Workload::Reclaim => {
                report.at_least("G6, rate over raw delete and bind", ratio, 0.60, "");
                report.under("G6, evicted over needed", maar.evicted.median(), 1.05, "");
            }
            _ => report.at_least("G2, rate over raw create and bind", ratio, 0.80, ""),
        }
        let Some(kube) = kube else { return };
        Report::say(&format!(
            "    kube-scheduler over raw: {}",
            short(kube.rate.median() / raw.rate.median())
        ));
        if self.workload == Workload::Preloaded {
            let memory = maar.memory.median() / kube.memory.median();
            report.under("G12, memory over kube-scheduler's", memory, 0.4, "");
        }
    }

    /// The same Pods on these nodes and on ten times as many.
    async fn growth(&self, stage: &mut Stage, report: &mut Report) -> anyhow::Result<()> {
        let few = self.rounds(stage).await?;
        stage.grow(stage.nodes * 10).await?;
        let many = self.rounds(stage).await?;
        for (nodes, all) in [("few", &few), ("many", &many)] {
            if let Some(series) = series_of(all, Contender::Maar) {
                report.figure(&format!("{}, {nodes}", self.workload), series.figures());
            }
        }
        if let (Some(few), Some(many)) = (series_of(&few, Contender::Maar), series_of(&many, Contender::Maar))
        {
            let ratio = many.placing_cpu.median() / few.placing_cpu.median();
            report.under("G3, CPU per Pod on ten times the nodes", ratio, 1.5, "");
        }
        Ok(())
    }
}
