//! `maar job exec`.

use crate::commands::{
    target::Target,
    workspace::{CommandArguments, Source, enter},
};

/// What `maar job exec` can be told.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The job
    name: String,
    /// Which of its Pods, such as worker-1; without it the first that runs
    #[arg(long, value_name = "POD")]
    pod: Option<String>,
    /// Which container; without it the one that the Pod prefers (kubectl.kubernetes.io/default-container), else the first
    #[arg(long, short, value_name = "CONTAINER")]
    container: Option<String>,
    #[command(flatten)]
    command: CommandArguments,
}

pub(super) async fn run(source: &Source, arguments: Arguments) -> anyhow::Result<()> {
    let target = Target::Job { name: arguments.name, pod: arguments.pod };
    enter(source, &target.known(source).await?, arguments.container.as_deref(), &arguments.command).await
}
