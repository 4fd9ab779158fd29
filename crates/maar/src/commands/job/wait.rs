//! Waiting for a job.

use std::{pin::pin, time::Duration};

use anyhow::Context as _;
use futures::TryStreamExt as _;
use kube::{
    ResourceExt as _,
    runtime::{WatchStreamExt as _, watcher},
};
use maar_api::v1alpha1::{AIJob, JobPhase};
use tokio::time::sleep;

use super::{
    show::table,
    source::{api, get},
};
use crate::commands::{
    client::Connection,
    failure::Failure,
    output::{Output, show},
    wait::{News, WaitArgs, stand},
    workspace::Source,
};

/// How often a portal is asked.
const PACE: Duration = Duration::from_millis(500);

/// Waits until the phase of a job is one that is wanted, for as long as was said.
pub(super) async fn until(
    source: &Source,
    name: &str,
    wait: WaitArgs,
    there: impl Fn(JobPhase) -> bool,
) -> anyhow::Result<AIJob> {
    let news = News::default();
    let there = |job: &AIJob| {
        let come = has_come(job, &there);
        if !come {
            news.tell(words(job));
        }
        come
    };
    let waiting = async {
        if let Source::Cluster(connection) = source {
            return follow(connection, name, there).await;
        }
        loop {
            let job = get(source, name).await?;
            if there(&job) {
                return Ok(job);
            }
            sleep(PACE).await;
        }
    };
    wait.within(&news, waiting).await
}

/// Whether a job is where it was wanted. A status of an older spec says nothing about this one, but the end is the end.
fn has_come(job: &AIJob, there: impl Fn(JobPhase) -> bool) -> bool {
    job.status.as_ref().is_some_and(|status| {
        let current = status.phase.is_final() || status.observed_generation >= job.metadata.generation;
        current && there(status.phase)
    })
}

/// Where a job is, and why.
fn words(job: &AIJob) -> String {
    let status = job.status.clone().unwrap_or_default();
    let place =
        status.queue.and_then(|queue| queue.position).map(|place| format!("place {place} in its queue"));
    let why = status.message.or(status.reason).or(place);
    stand(&format!("job {}", job.name_any()), &status.phase.to_string(), why.as_deref())
}

async fn follow(
    connection: &Connection,
    name: &str,
    there: impl Fn(&AIJob) -> bool,
) -> anyhow::Result<AIJob> {
    let selection = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let events = watcher(api(connection), selection).default_backoff().applied_objects();
    let mut events = pin!(events);
    while let Some(job) = events.try_next().await.with_context(|| format!("following job {name}"))? {
        if there(&job) {
            return Ok(job);
        }
    }
    Err(Failure::failed(format!("job {name} could not be followed to its end")).into())
}

/// Waits until a job is over; a failure if it did not succeed.
pub(super) async fn until_over(
    source: &Source,
    name: &str,
    output: Output,
    wait: WaitArgs,
) -> anyhow::Result<()> {
    let job = until(source, name, wait, JobPhase::is_final).await?;
    show(output, &table(std::slice::from_ref(&job), false), &job)?;
    let status = job.status.unwrap_or_default();
    if status.phase == JobPhase::Completed {
        return Ok(());
    }
    let why = status.message.unwrap_or_default();
    Err(Failure::failed(format!("job {name} ended as {}: {why}", status.phase)).into())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn job(generation: Option<i64>, status: &Value) -> AIJob {
        let spec = json!({ "tasks": [{ "name": "main", "template": {} }] });
        let metadata = json!({ "name": "train", "generation": generation });
        serde_json::from_value(json!({ "metadata": metadata, "spec": spec, "status": status })).unwrap()
    }

    #[test]
    fn a_phase_of_what_was_wished_before_is_not_what_was_waited_for() {
        let suspended = |phase| phase == JobPhase::Suspended;
        let of = |generation: i64, observed: i64, phase: &str| {
            job(Some(generation), &json!({ "phase": phase, "observedGeneration": observed }))
        };
        assert!(
            !has_come(&of(3, 1, "Suspended"), suspended),
            "it was suspended before, resumed, and is again"
        );
        assert!(has_come(&of(3, 3, "Suspended"), suspended));
        assert!(!has_come(&of(3, 3, "Running"), suspended));
        assert!(has_come(&of(3, 1, "Completed"), JobPhase::is_final), "what is over stays over");
        assert!(!has_come(&job(Some(1), &Value::Null), suspended), "nobody has looked at it yet");
        assert!(
            has_come(&job(None, &json!({ "phase": "Suspended" })), suspended),
            "a portal that does not count"
        );
    }

    #[test]
    fn who_waits_is_told_where_it_is_and_why() {
        let place = json!({ "phase": "Pending", "queue": { "position": 3 } });
        assert_eq!(words(&job(None, &place)), "job train is Pending: place 3 in its queue");
        let known = json!({ "phase": "Pending", "reason": "Unschedulable", "message": "no card is free" });
        assert_eq!(words(&job(None, &known)), "job train is Pending: no card is free");
        assert_eq!(words(&job(None, &json!({ "phase": "Running" }))), "job train is Running");
    }
}
