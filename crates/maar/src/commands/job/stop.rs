//! `maar job cancel`, `suspend` and `resume`.

use anyhow::Context as _;
use kube::api::{Patch, PatchParams};
use maar_api::v1alpha1::JobPhase;
use serde_json::{Value, json};

use super::{api, show::table, wait};
use crate::commands::{
    client::Connection,
    output::{Output, list, show},
};

/// Which jobs.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The jobs
    #[arg(required = true)]
    names: Vec<String>,
    /// Wait until it has happened
    #[arg(long)]
    wait: bool,
}

pub(super) async fn cancel(
    connection: &Connection,
    output: Output,
    arguments: &Arguments,
) -> anyhow::Result<()> {
    change(connection, output, arguments, &json!({ "cancel": true })).await?;
    wait_for(connection, arguments, JobPhase::is_final).await
}

pub(super) async fn suspend(
    connection: &Connection,
    output: Output,
    arguments: &Arguments,
    suspend: bool,
) -> anyhow::Result<()> {
    change(connection, output, arguments, &json!({ "suspend": suspend })).await?;
    let there = move |phase: JobPhase| {
        let at_rest = phase.is_final() || phase == JobPhase::Suspended;
        if suspend { at_rest } else { !matches!(phase, JobPhase::Suspended | JobPhase::Suspending) }
    };
    wait_for(connection, arguments, there).await
}

async fn change(
    connection: &Connection,
    output: Output,
    arguments: &Arguments,
    spec: &Value,
) -> anyhow::Result<()> {
    let mut changed = Vec::new();
    for name in &arguments.names {
        let patch = Patch::Merge(json!({ "spec": spec }));
        let job = api(connection).patch(name, &PatchParams::default(), &patch).await;
        changed.push(job.with_context(|| format!("changing job {name}"))?);
    }
    show(output, &table(&changed, false), &list(&changed))
}

async fn wait_for(
    connection: &Connection,
    arguments: &Arguments,
    there: impl Fn(JobPhase) -> bool,
) -> anyhow::Result<()> {
    for name in arguments.names.iter().filter(|_| arguments.wait) {
        wait::until(connection, name, &there).await?;
    }
    Ok(())
}
