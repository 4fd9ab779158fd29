//! `maar job cancel`, `suspend` and `resume`.

use maar_api::v1alpha1::JobPhase;

use super::{
    show::table,
    source::{self, Change},
    wait,
};
use crate::commands::{
    output::{Output, list, show},
    wait::WaitArgs,
    workspace::Source,
};

/// Which jobs.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The jobs
    #[arg(required = true)]
    names: Vec<String>,
    #[command(flatten)]
    wait: WaitArgs,
}

pub(super) async fn run(
    source: &Source,
    output: Output,
    arguments: &Arguments,
    change: Change,
) -> anyhow::Result<()> {
    let mut changed = Vec::new();
    for name in &arguments.names {
        changed.push(source::change(source, name, change).await?);
    }
    if arguments.wait.wait {
        for (name, job) in arguments.names.iter().zip(&mut changed) {
            *job = wait::until(source, name, arguments.wait, |phase| has_come(change, phase)).await?;
        }
    }
    show(output, &table(&changed, false), &list(&changed))
}

/// Whether a phase is what was asked for.
fn has_come(change: Change, phase: JobPhase) -> bool {
    match change {
        Change::Cancel => phase.is_final(),
        Change::Suspend => phase.is_final() || phase == JobPhase::Suspended,
        Change::Resume => !matches!(phase, JobPhase::Suspended | JobPhase::Suspending),
    }
}
