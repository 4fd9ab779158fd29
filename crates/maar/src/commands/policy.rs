//! `maar policy`: what clean-up does.

mod preview;

use super::{client::ClusterArgs, output::OutputArgs};

/// What `maar policy` can be told.
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
    /// Show what clean-up would warn of and end now, what it leaves alone, and why; nothing is changed
    Preview(preview::Arguments),
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let connection = arguments.cluster.connect().await?;
    match arguments.command {
        Command::Preview(command) => preview::run(&connection, arguments.output.output, &command).await,
    }
}
