//! `maar job explain`, also `maar explain job`: why a job waits.

use std::fmt::Write as _;

use anyhow::Context as _;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, ResourceExt as _, api::ListParams};
use maar_api::{
    names,
    v1alpha1::{AIJob, JobPhase, QueueStatus},
};
use maar_scheduler::explain::count;
use serde_json::json;

use super::show::read;
use crate::commands::{
    client::Connection,
    output::{Output, Table, print, show},
};

/// Says why a job waits, or what it does instead.
pub(crate) async fn explain(connection: &Connection, output: Output, name: &str) -> anyhow::Result<()> {
    let job = read(connection, name).await?;
    let api: Api<Pod> = Api::namespaced(connection.client.clone(), &connection.namespace);
    let params = ListParams::default().labels(&format!("{}={name}", names::LABEL_JOB));
    let pods = api.list(&params).await.context("listing the Pods")?.items;
    let waiting: Vec<(String, String)> = pods.iter().filter_map(refusal).collect();
    if matches!(output, Output::Table | Output::Wide) {
        print(&words(&job, &waiting));
        return Ok(());
    }
    let status = job.status.clone().unwrap_or_default();
    let answer = json!({
        "job": name,
        "namespace": connection.namespace,
        "phase": status.phase,
        "reason": status.reason,
        "message": status.message,
        "queue": status.queue,
        "pods": waiting.iter().map(|(pod, why)| json!({ "pod": pod, "message": why })).collect::<Vec<_>>(),
    });
    show(output, &Table::default(), &answer)
}

/// What the scheduler says of a Pod that waits.
fn refusal(pod: &Pod) -> Option<(String, String)> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let refused = conditions.iter().find(|one| one.type_ == "PodScheduled" && one.status == "False")?;
    Some((pod.name_any(), refused.message.clone().unwrap_or_default()))
}

fn words(job: &AIJob, waiting: &[(String, String)]) -> String {
    let status = job.status.clone().unwrap_or_default();
    // Writing to a String cannot fail, here and below.
    let mut text = format!("job {} is {}", job.name_any(), status.phase);
    if let Some(message) = &status.message {
        let _ = write!(text, ": {message}");
    }
    text.push('\n');
    let waits = matches!(
        status.phase,
        JobPhase::Prequeue | JobPhase::Pending | JobPhase::Preempted | JobPhase::Restarting
    );
    if let Some(queue) = status.queue.as_ref().filter(|_| waits) {
        text.push_str(&queue_words(queue));
    } else if waits && waiting.is_empty() {
        text.push_str("  the scheduler has not said anything about it yet\n");
    }
    for (pod, why) in waiting.iter().take(5) {
        let _ = writeln!(text, "  Pod {pod}: {why}");
    }
    if waiting.len() > 5 {
        let _ = writeln!(text, "  and {}", count(waiting.len() - 5, "more Pod"));
    }
    text
}

/// Why a job waits, as it stands in its status.
pub(crate) fn queue_words(queue: &QueueStatus) -> String {
    let mut text = String::new();
    if let Some(message) = &queue.message {
        let _ = writeln!(text, "  {message}");
    }
    if let Some(position) = queue.position {
        let _ = writeln!(text, "  place in the queue of its account: {position}");
    }
    for one in &queue.filters {
        let _ = writeln!(text, "  {} {}", count(i64::from(one.nodes), "node"), one.filter);
    }
    if !queue.waits_for.is_empty() {
        let _ = writeln!(text, "  has to end first: {}", queue.waits_for.join(", "));
    }
    if let Some(start) = &queue.estimated_start {
        let _ = writeln!(text, "  may start at {}", start.0);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiting_job_in_words() {
        let job: AIJob = serde_json::from_value(json!({
            "metadata": { "name": "train" },
            "spec": { "tasks": [{ "name": "main", "template": {} }] },
            "status": {
                "phase": "Pending", "message": "1 of 1 Pods wait for nodes", "attempt": 0, "retries": 0, "preemptions": 0,
                "queue": {
                    "position": 3, "message": "account vision has all it may have of nvidia.com/gpu",
                    "filters": [
                        { "filter": "have a taint that it does not tolerate", "nodes": 4 },
                        { "filter": "is cordoned", "nodes": 1 },
                    ],
                    "waitsFor": ["lab/other"],
                    "estimatedStart": "2026-01-01T00:00:00Z",
                },
            },
        }))
        .unwrap();
        let waiting = [("train-main-0".to_owned(), "0/5 nodes are available".to_owned())];
        insta::assert_snapshot!(words(&job, &waiting));
        let many: Vec<(String, String)> =
            (0..6).map(|number| (format!("train-main-{number}"), "waits".to_owned())).collect();
        assert!(words(&job, &many).ends_with("  and 1 more Pod\n"), "{}", words(&job, &many));
    }
}
