//! `maar account`: who pays.

mod create;
mod import;
mod show;
mod usage;

use super::{client::ClusterArgs, output::OutputArgs};

pub(crate) use show::{read, table, table_by_status};
pub(crate) use usage::{Usage, requests};

/// What `maar account` can be told.
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
    /// List accounts and what they use
    #[command(visible_alias = "ls")]
    List,
    /// Show one account and what its members use
    Get {
        /// The account
        name: String,
    },
    /// Make an account
    Create(create::Arguments),
    /// Make accounts of the Queues of a Volcano installation
    ImportVolcano(import::Arguments),
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let connection = arguments.cluster.connect().await?;
    let output = arguments.output.output;
    match arguments.command {
        Command::List => show::list(&connection, output).await,
        Command::Get { name } => show::get(&connection, output, &name).await,
        Command::Create(command) => create::run(&connection, output, command).await,
        Command::ImportVolcano(command) => import::run(&connection, output, &command).await,
    }
}
