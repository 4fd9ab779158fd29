//! Maar's scheduler beside kube-scheduler and beside a binder that decides nothing, on one real API server.
//!
//! The binder without decisions is the limit: what the server bears with the same requests. It runs before and after the
//! schedulers in every round, and every other round goes backwards, so that whatever else the machine does meets all
//! of them. When a Pod got its node is read from one watch that is the same for all; controllers and the scheduler
//! that the control plane brought along are stopped first.

mod contender;
mod stage;
mod watch;
mod work;

use serde_json::json;

use crate::cli::Options;
use crate::peer::{Real, Unavailable};
use crate::process;
use crate::report::Report;
use crate::statistics::{Rounds, short};

use self::contender::Contender;
use self::stage::Stage;
use self::work::{Measured, Workload};

/// What is measured.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Nodes with eight cards each
    #[arg(long, default_value_t = 1000)]
    nodes: usize,
    /// Pods that are there before the scheduler, that arrive while it runs, or that start as gangs
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["preloaded", "arriving", "gangs"])]
    workloads: Vec<Workload>,
    /// Pods of one gang
    #[arg(long, default_value_t = 20)]
    gang: usize,
    /// Leave kube-scheduler out
    #[arg(long)]
    without_kube_scheduler: bool,
}

/// One contender in one workload, over all rounds.
#[derive(Debug, Default)]
struct Series {
    rate: Rounds,
    own_cpu: Rounds,
    server_cpu: Rounds,
    memory: Rounds,
}

impl Series {
    fn push(&mut self, measured: &Measured) {
        self.rate.push(measured.rate);
        self.server_cpu.push(measured.server_cpu);
        if let Some(cpu) = measured.own_cpu {
            self.own_cpu.push(cpu);
        }
        if let Some(memory) = measured.memory {
            self.memory.push(memory);
        }
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
    let stage = Stage::prepare(real, &options.real, arguments.nodes).await?;
    for workload in &arguments.workloads {
        one(options, arguments, &stage, *workload, report).await?;
    }
    Ok(())
}

async fn one(
    options: &Options,
    arguments: &Arguments,
    stage: &Stage,
    workload: Workload,
    report: &mut Report,
) -> anyhow::Result<()> {
    Report::say(&format!("==> {workload}: {} Pods on {} nodes", options.pods, arguments.nodes));
    let mut order = vec![Contender::Raw, Contender::Maar];
    if workload == Workload::Gangs {
        order = vec![Contender::Maar, Contender::MaarGangs];
    } else if !arguments.without_kube_scheduler {
        order.push(Contender::KubeScheduler);
    }
    order.push(order[0]);
    let contenders = [Contender::Raw, Contender::Maar, Contender::MaarGangs, Contender::KubeScheduler];
    let mut series = contenders.map(|contender| (contender, Series::default()));
    for round in 0..options.rounds {
        for contender in &order {
            let measured = work::run(options, arguments, stage, workload, *contender).await?;
            Report::say(&format!("    {:<16} {measured}", contender.to_string()));
            if let Some((_, series)) = series.iter_mut().find(|(one, _)| one == contender) {
                series.push(&measured);
            }
        }
        if round + 1 < options.rounds {
            order.reverse();
        }
    }
    judge(workload, &series, report);
    Ok(())
}

fn judge(workload: Workload, series: &[(Contender, Series)], report: &mut Report) {
    let of = |wanted: Contender| {
        series.iter().find(|(one, all)| *one == wanted && !all.rate.is_empty()).map(|(_, all)| all)
    };
    for (contender, all) in series.iter().filter(|(_, all)| !all.rate.is_empty()) {
        Report::say(&format!(
            "    {:<16} {} pods/s; CPU per Pod: own {} ms, server {} ms; memory {} MiB",
            contender.to_string(),
            all.rate,
            all.own_cpu,
            all.server_cpu,
            all.memory
        ));
        let figures = json!({"pods/s": all.rate, "own CPU, ms": all.own_cpu, "server CPU, ms": all.server_cpu,
            "memory, MiB": all.memory});
        report.figure(&format!("{workload}, {contender}"), figures);
    }
    let (raw, maar) = (of(Contender::Raw), of(Contender::Maar));
    if let (Some(raw), Some(maar)) = (raw, maar) {
        let ratio = maar.rate.median() / raw.rate.median();
        let goal = if workload == Workload::Preloaded {
            ("G1, rate over raw binds", 0.85)
        } else {
            ("G2, rate over raw create+bind", 0.80)
        };
        report.at_least(goal.0, ratio, goal.1, "");
        if let Some(kube) = of(Contender::KubeScheduler) {
            Report::say(&format!(
                "    kube-scheduler over raw: {}",
                short(kube.rate.median() / raw.rate.median())
            ));
        }
    }
    if let (Some(raw), Some(maar), Workload::Preloaded) = (raw, maar, workload) {
        report.under(
            "G3, own CPU per Pod over the server's per bind",
            maar.own_cpu.median() / raw.server_cpu.median(),
            0.15,
            "",
        );
        if let Some(kube) = of(Contender::KubeScheduler) {
            report.under(
                "G12, memory over kube-scheduler's",
                maar.memory.median() / kube.memory.median(),
                0.4,
                "",
            );
        }
    }
    if let (Some(plain), Some(gangs)) = (maar, of(Contender::MaarGangs)) {
        report.under(
            "G4, time of gangs over the same Pods alone",
            plain.rate.median() / gangs.rate.median(),
            1.10,
            "",
        );
    }
}
