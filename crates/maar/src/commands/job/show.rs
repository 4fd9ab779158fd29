//! `maar job list` and `maar job get`.

use std::fmt::Write as _;

use jiff::Timestamp;
use kube::ResourceExt as _;
use maar_api::v1alpha1::{AIJob, AIJobStatus, JobPhase};
use maar_controller::clock::{Clock as _, SystemClock};

use super::source;
use crate::commands::{
    output::{Output, Table, age, list as listing, or_dash, print, show},
    workspace::Source,
};

/// What `maar job list` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct ListArguments {
    /// Jobs of all namespaces; behind a portal all that the asker may see
    #[arg(long, short = 'A')]
    all_namespaces: bool,
    /// Only jobs of this account
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
    /// Only jobs of this user
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Only jobs in this phase, such as Running
    #[arg(long, value_name = "PHASE")]
    phase: Option<String>,
    /// Only jobs that this schedule or array made
    #[arg(long, value_name = "JOB")]
    parent: Option<String>,
}

/// A job.
#[derive(Debug, clap::Args)]
pub(crate) struct GetArguments {
    /// The job
    pub(super) name: String,
}

pub(super) async fn list(source: &Source, output: Output, arguments: &ListArguments) -> anyhow::Result<()> {
    let mut found = source::list(source, arguments.all_namespaces, arguments.parent.as_deref()).await?;
    found.retain(|job| {
        let phase = job.status.as_ref().map(|status| status.phase).unwrap_or_default().to_string();
        arguments.account.as_ref().is_none_or(|account| job.spec.account() == account)
            && arguments.user.as_ref().is_none_or(|user| job.spec.user.as_ref() == Some(user))
            && arguments.phase.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(&phase))
    });
    show(output, &table(&found, arguments.all_namespaces), &listing(&found))
}

pub(super) async fn get(source: &Source, output: Output, arguments: &GetArguments) -> anyhow::Result<()> {
    let job = source::get_whole(source, &arguments.name).await?;
    if output == Output::Table {
        print(&describe(&job, SystemClock.now()));
        return Ok(());
    }
    show(output, &table(std::slice::from_ref(&job), false), &job)
}

/// Jobs as a table.
pub(super) fn table(jobs: &[AIJob], namespaces: bool) -> Table {
    let now = SystemClock.now();
    let mut titles = vec![
        "NAME", "TYPE", "PHASE", "READY", "ACCOUNT", "USER", "AGE", "REASON", "LEVEL", "NODES", "MESSAGE",
    ];
    let mut narrow = 7;
    if namespaces {
        titles.insert(0, "NAMESPACE");
        narrow += 1;
    }
    let rows = jobs.iter().map(|job| {
        let mut row = row(job, now);
        if namespaces {
            row.insert(0, job.namespace().unwrap_or_default());
        }
        row
    });
    Table { titles, narrow, rows: rows.collect() }
}

fn row(job: &AIJob, now: Timestamp) -> Vec<String> {
    let status = job.status.clone().unwrap_or_default();
    vec![
        job.name_any(),
        format!("{:?}", job.spec.job_type),
        phase(&status),
        or_dash(status.ready.as_deref()),
        job.spec.account().to_owned(),
        or_dash(job.spec.user.as_deref()),
        age(job.metadata.creation_timestamp.as_ref().map(|time| time.0), now),
        or_dash(status.reason.as_deref()),
        format!("{:?}", job.spec.service_level),
        or_dash(Some(&status.nodes.join(","))),
        or_dash(status.message.as_deref()),
    ]
}

fn phase(status: &AIJobStatus) -> String {
    status.phase.to_string()
}

/// A job in words.
pub(super) fn describe(job: &AIJob, now: Timestamp) -> String {
    let status = job.status.clone().unwrap_or_default();
    let time = |time: &Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time>| {
        time.as_ref().map(|time| format!("{} ({} ago)", time.0, age(Some(time.0), now)))
    };
    let mut rows = vec![
        ("Name", Some(job.name_any())),
        ("Namespace", job.namespace()),
        ("Type", Some(format!("{:?}", job.spec.job_type))),
        ("Account", Some(job.spec.account().to_owned())),
        ("User", job.spec.user.clone()),
        ("Level", Some(format!("{:?}", job.spec.service_level))),
        ("Phase", Some(phase(&status))),
        ("Reason", status.reason.clone()),
        ("Message", status.message.clone()),
        ("Ready", status.ready.clone()),
        ("Submitted", time(&job.metadata.creation_timestamp)),
        ("Started", time(&status.start_time)),
        ("Ended", time(&status.completion_time)),
        ("Attempt", (status.attempt > 0).then(|| status.attempt.to_string())),
        ("Preempted", (status.preemptions > 0).then(|| format!("{} times", status.preemptions))),
        ("Nodes", Some(status.nodes.join(", ")).filter(|nodes| !nodes.is_empty())),
    ];
    if let Some(stop) = &status.stop {
        rows.push(("Stopping", Some(format!("{} at {}", stop.reason, stop.at.0))));
    }
    if let Some(cleanup) = status.cleanup.as_ref().filter(|_| !status.phase.is_final()) {
        let words = format!("at {} by the rule {} of {}", cleanup.end_time.0, cleanup.rule, cleanup.account);
        rows.push(("Clean-up", Some(words)));
    }
    // Writing to a String cannot fail, here and below.
    let mut text = String::new();
    for (title, value) in rows {
        if let Some(value) = value {
            let _ = writeln!(text, "{:<12}{value}", format!("{title}:"));
        }
    }
    for used in &status.cards {
        let _ = writeln!(text, "Cards:      {} on {} of {}", used.cards, used.node, used.pod);
    }
    if !status.tasks.is_empty() && status.phase != JobPhase::Scheduled {
        text.push('\n');
        text.push_str(&tasks(&status).text(false));
    }
    text
}

fn tasks(status: &AIJobStatus) -> Table {
    let rows = status.tasks.iter().map(|task| {
        let counts = [
            task.replicas,
            task.pending,
            task.starting,
            task.running,
            task.succeeded,
            task.failed,
            task.stopping,
        ];
        std::iter::once(task.name.clone()).chain(counts.map(|count| count.to_string())).collect()
    });
    let titles = vec!["TASK", "PODS", "PENDING", "STARTING", "RUNNING", "SUCCEEDED", "FAILED", "STOPPING"];
    Table { narrow: titles.len(), titles, rows: rows.collect() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_job_in_words() {
        let job: AIJob = serde_json::from_value(json!({
            "metadata": { "name": "train", "namespace": "lab", "creationTimestamp": "2026-01-01T00:00:00Z" },
            "spec": { "type": "PyTorch", "user": "ada", "tasks": [{ "name": "worker", "replicas": 2, "template": {} }] },
            "status": {
                "phase": "Running", "reason": "MinimumRunning", "message": "2 of 2 Pods run", "ready": "2/2",
                "startTime": "2026-01-01T00:01:00Z", "nodes": ["a", "b"], "attempt": 1, "retries": 1,
                "preemptions": 0,
                "tasks": [{ "name": "worker", "replicas": 2, "running": 2 }],
                "cards": [{ "pod": "train-worker-0", "node": "a", "cards": "nvidia.com/gpu=2,3" }],
            },
        }))
        .unwrap();
        insta::assert_snapshot!(describe(&job, "2026-01-01T01:00:00Z".parse().unwrap()));
    }
}
