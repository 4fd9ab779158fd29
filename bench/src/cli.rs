//! The commands of the bench: everything, one part of it, or one of the servers that are measured.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::report::Report;
use crate::{compare, core, limits, memory, packing, portal, proxy, scheduler, serve, ssh, start, up};

/// Measures the embedded cluster beside a real Kubernetes on the same machine.
#[derive(Debug, Parser)]
#[command(name = "maar-bench")]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    options: Options,
}

/// How the measuring is done.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    /// How often each scenario is run on each peer
    #[arg(long, default_value_t = 5, global = true)]
    pub(crate) rounds: usize,
    /// Pods in each round [default: 2000, for schedulers 4000, in gangs 10000]
    #[arg(long, global = true)]
    pub(crate) pods: Option<usize>,
    /// The script that starts a real Kubernetes
    #[arg(long, default_value = "dev/real", global = true)]
    pub(crate) real: PathBuf,
    /// The `maar` binary whose start is measured
    #[arg(long, default_value = "target/release/maar", global = true)]
    pub(crate) maar: PathBuf,
    /// Where the figures are written as JSON
    #[arg(long, default_value = "bench/results", global = true)]
    pub(crate) results: PathBuf,
}

#[derive(Clone, Debug, Subcommand)]
enum Command {
    /// Create, bind, list and watch on the real and on the embedded cluster
    Compare,
    /// The scheduler's core alone: what decisions cost and how good they are
    Core,
    /// Create, bind, list and watch on the embedded cluster alone
    Embedded,
    /// Gangs of 10,000 Pods in the scheduler's core, part of `core`
    Gang,
    /// Where the time goes: the store alone, and plain servers that send the same bytes
    Limits,
    /// 10,000 nodes and 100,000 Pods: memory, and how a full list streams
    Memory,
    /// How full the cards get on recorded or made-up traces, beside FGD
    Packing(packing::Arguments),
    /// The portal before 1000 nodes of 8 cards and 10,000 Pods
    Portal,
    /// The proxy of apps beside a direct connection: how much later the slowest answers come
    Proxy,
    /// SSH into a workspace: scp of 1 GB, and 200 idle connections
    Ssh,
    /// How long a test cluster takes to start, in this build
    Start,
    /// How long `maar up` takes to be ready
    Up,
    /// Place Pods on a real API server: Maar's scheduler, kube-scheduler, and a binder that decides nothing
    Scheduler(scheduler::Arguments),
    /// Serve an embedded cluster until standard input closes (the bench runs this as its peer)
    #[command(hide = true)]
    Serve(serve::Arguments),
    /// Serve the portal before a full cluster until standard input closes
    #[command(hide = true)]
    ServePortal,
    /// Serve bytes with nothing behind them until standard input closes
    #[command(hide = true)]
    ServeBytes,
}

/// Runs what was asked for. Fails when a promise was measured and is not kept.
pub(crate) fn run(cli: &Cli) -> anyhow::Result<ExitCode> {
    let options = &cli.options;
    match &cli.command {
        Some(Command::Serve(arguments)) => return serve::cluster(*arguments).map(|()| ExitCode::SUCCESS),
        Some(Command::ServePortal) => return portal::serve().map(|()| ExitCode::SUCCESS),
        Some(Command::ServeBytes) => return serve::bytes().map(|()| ExitCode::SUCCESS),
        _ => {}
    }
    // One thread for all clients: they are cheap, and the servers are to have the rest of the machine.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut report = Report::default();
    runtime.block_on(async {
        match &cli.command {
            Some(Command::Scheduler(arguments)) => scheduler::run(options, arguments, &mut report).await,
            Some(Command::Compare) => compare::run(options, true, &mut report).await,
            Some(Command::Core) => core::run(&mut report),
            Some(Command::Embedded) => compare::run(options, false, &mut report).await,
            Some(Command::Gang) => core::gangs::run(&mut report),
            Some(Command::Limits) => limits::run(options, &mut report).await,
            Some(Command::Memory) => memory::run(&mut report).await,
            Some(Command::Packing(arguments)) => packing::run(arguments, &mut report),
            Some(Command::Portal) => portal::run(&mut report).await,
            Some(Command::Proxy) => proxy::run(options, &mut report).await,
            Some(Command::Ssh) => ssh::run(options, &mut report).await,
            Some(Command::Start) => start::run(&mut report).await,
            Some(Command::Up) => up::run(options, &mut report).await,
            _ => everything(options, &mut report).await,
        }
    })?;
    report.finish(&options.results)
}

async fn everything(options: &Options, report: &mut Report) -> anyhow::Result<()> {
    start::run(report).await?;
    up::run(options, report).await?;
    compare::run(options, true, report).await?;
    limits::run(options, report).await?;
    memory::run(report).await
}
