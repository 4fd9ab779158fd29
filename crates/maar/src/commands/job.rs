//! `maar job`: jobs from the command line.

mod explain;
mod logs;
mod show;
mod stop;
mod submit;
mod wait;

use kube::Api;
use maar_api::v1alpha1::AIJob;

use super::{
    client::{ClusterArgs, Connection},
    output::OutputArgs,
};

pub(crate) use explain::{explain, queue_words};

/// What `maar job` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
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
    Submit(Box<submit::Arguments>),
    /// List jobs
    #[command(visible_alias = "ls")]
    List(show::ListArguments),
    /// Show one job
    Get(show::GetArguments),
    /// Print what the Pods of a job wrote
    Logs(logs::Arguments),
    /// Stop a job for good; its record stays
    Cancel(stop::Arguments),
    /// Take the Pods of a job away until it is resumed
    Suspend(stop::Arguments),
    /// Let a suspended job go on
    Resume(stop::Arguments),
    /// Say why a job waits
    Explain(show::GetArguments),
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let connection = arguments.cluster.connect().await?;
    let output = arguments.output.output;
    match arguments.command {
        Command::Submit(command) => submit::run(&connection, output, *command).await,
        Command::List(command) => show::list(&connection, output, &command).await,
        Command::Get(command) => show::get(&connection, output, &command).await,
        Command::Logs(command) => logs::run(&connection, &command).await,
        Command::Cancel(command) => stop::cancel(&connection, output, &command).await,
        Command::Suspend(command) => stop::suspend(&connection, output, &command, true).await,
        Command::Resume(command) => stop::suspend(&connection, output, &command, false).await,
        Command::Explain(command) => explain(&connection, output, &command.name).await,
    }
}

fn api(connection: &Connection) -> Api<AIJob> {
    Api::namespaced(connection.client.clone(), &connection.namespace)
}
