//! `maar explain`: why something waits.

use super::{client::ClusterArgs, job::explain as explain_job, output::OutputArgs};

/// What `maar explain` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Say why a job waits
    Job {
        /// The job
        name: String,
    },
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let connection = arguments.cluster.connect().await?;
    let What::Job { name } = arguments.what;
    explain_job(&connection, arguments.output.output, &name).await
}
