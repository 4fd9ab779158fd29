//! `maar job`: jobs from the command line, through the portal one is logged in to, or straight to a cluster.

mod exec;
mod explain;
mod logs;
mod show;
mod source;
mod stop;
mod submit;
mod wait;

use super::{client::ClusterArgs, output::OutputArgs, remote::LoginArgs, workspace::Source};
use source::Change;

pub(crate) use explain::{Arguments as ExplainArguments, explain, queue_words};
pub(crate) use logs::default_container;
pub(crate) use source::{get, get_in, namespace, path, pods_by_portal, pods_in};

/// What `maar job` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    login: LoginArgs,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Submit a job, from a file or from flags
    #[command(after_help = "Examples:\n  \
        maar job submit --image pytorch/pytorch --gpus 1 --wait -- python train.py\n  \
        maar job submit --type pytorch --replicas 4 --gpus 8 --image pytorch/pytorch --max-run-time 4h -- torchrun train.py\n  \
        maar job submit --file job.yaml --wait --timeout 2h\n  \
        maar job submit --image busybox --dry-run -o yaml -- sleep 60")]
    Submit(Box<submit::Arguments>),
    /// List jobs
    #[command(visible_alias = "ls")]
    List(show::ListArguments),
    /// Show one job
    Get(show::GetArguments),
    /// Print what the Pods of a job wrote
    Logs(logs::Arguments),
    /// Run a command in a Pod of a job, a shell if none is said
    #[command(after_help = "Examples:\n  \
        maar job exec train                             a shell in the first Pod that runs\n  \
        maar job exec train --pod worker-1 -- nvidia-smi")]
    Exec(exec::Arguments),
    /// Stop a job for good; its record stays
    Cancel(stop::Arguments),
    /// Take the Pods of a job away until it is resumed
    Suspend(stop::Arguments),
    /// Let a suspended job go on
    Resume(stop::Arguments),
    /// Say why a job waits
    Explain(explain::Arguments),
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let source = Source::choose(&arguments.login, &arguments.cluster).await?;
    let output = arguments.output.output;
    match arguments.command {
        Command::Submit(command) => submit::run(&source, output, *command).await,
        Command::List(command) => show::list(&source, output, &command).await,
        Command::Get(command) => show::get(&source, output, &command).await,
        Command::Logs(command) => logs::run(&source, &command).await,
        Command::Exec(command) => exec::run(&source, command).await,
        Command::Cancel(command) => stop::run(&source, output, &command, Change::Cancel).await,
        Command::Suspend(command) => stop::run(&source, output, &command, Change::Suspend).await,
        Command::Resume(command) => stop::run(&source, output, &command, Change::Resume).await,
        Command::Explain(command) => explain(&source, output, &command).await,
    }
}
