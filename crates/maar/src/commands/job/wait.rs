//! Waiting for a job.

use std::{pin::pin, time::Duration};

use anyhow::Context as _;
use futures::TryStreamExt as _;
use kube::runtime::{WatchStreamExt as _, watcher};
use maar_api::v1alpha1::{AIJob, AIJobStatus, JobPhase};
use tokio::time::sleep;

use super::{
    show::table,
    source::{api, get},
};
use crate::commands::{
    client::Connection,
    failure::Failure,
    output::{Output, show},
    workspace::Source,
};

/// How often a portal is asked.
const PACE: Duration = Duration::from_millis(500);

/// Waits until the phase of a job is one that is wanted.
pub(super) async fn until(
    source: &Source,
    name: &str,
    there: impl Fn(JobPhase) -> bool,
) -> anyhow::Result<AIJob> {
    if let Source::Cluster(connection) = source {
        return follow(connection, name, there).await;
    }
    loop {
        let job = get(source, name).await?;
        if job.status.as_ref().is_some_and(|status| there(status.phase)) {
            return Ok(job);
        }
        sleep(PACE).await;
    }
}

async fn follow(
    connection: &Connection,
    name: &str,
    there: impl Fn(JobPhase) -> bool,
) -> anyhow::Result<AIJob> {
    let selection = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let events = watcher(api(connection), selection).default_backoff().applied_objects();
    let mut events = pin!(events);
    while let Some(job) = events.try_next().await.with_context(|| format!("following job {name}"))? {
        // A status of an older spec says nothing about this one.
        let current = |status: &AIJobStatus| {
            status.phase.is_final() || status.observed_generation == job.metadata.generation
        };
        if job.status.as_ref().is_some_and(|status| current(status) && there(status.phase)) {
            return Ok(job);
        }
    }
    Err(Failure::failed(format!("job {name} could not be followed to its end")).into())
}

/// Waits until a job is over; a failure if it did not succeed.
pub(super) async fn until_over(source: &Source, name: &str, output: Output) -> anyhow::Result<()> {
    let job = until(source, name, JobPhase::is_final).await?;
    show(output, &table(std::slice::from_ref(&job), false), &job)?;
    let status = job.status.unwrap_or_default();
    if status.phase == JobPhase::Completed {
        return Ok(());
    }
    let why = status.message.unwrap_or_default();
    Err(Failure::failed(format!("job {name} ended as {}: {why}", status.phase)).into())
}
