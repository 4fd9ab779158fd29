//! `maar explain`: why something waits.

mod pod;

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
    /// Say why a Pod waits, of a job or not
    Pod(pod::Arguments),
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let connection = arguments.cluster.connect().await?;
    let output = arguments.output.output;
    match arguments.what {
        What::Job { name } => explain_job(&connection, output, &name).await,
        What::Pod(pod) => pod::explain(&connection, output, &pod).await,
    }
}
