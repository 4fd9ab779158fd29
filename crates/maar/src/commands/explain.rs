//! `maar explain`: why something waits.

mod ask;
mod pod;

use super::{
    client::ClusterArgs,
    job::{self, explain as explain_job},
    output::OutputArgs,
    remote::LoginArgs,
    workspace::Source,
};

pub(crate) use ask::{Held, Subject, UrlArgs};

/// What `maar explain` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    login: LoginArgs,
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
    Job(job::ExplainArguments),
    /// Say why a Pod waits, of a job or not; always of a cluster that a kubeconfig names
    Pod(pod::Arguments),
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let output = arguments.output.output;
    match arguments.what {
        What::Job(job) => {
            let source = Source::choose(&arguments.login, &arguments.cluster).await?;
            explain_job(&source, output, &job).await
        }
        What::Pod(pod) => pod::explain(&arguments.cluster.connect().await?, output, &pod).await,
    }
}
