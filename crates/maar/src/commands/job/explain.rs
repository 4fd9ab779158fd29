//! `maar job explain`, also `maar explain job`: why a job waits.
//!
//! The scheduler that leads knows best, and is asked where it can be reached; the status of the job has a bounded part of
//! that, as of the last time it changed. A portal says what it knows. Each answer says which of them it is.

use std::fmt::Write as _;

use anyhow::Context as _;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, ResourceExt as _, api::ListParams};
use maar_api::{
    names,
    v1alpha1::{AIJob, AIJobStatus, JobPhase, QueueStatus},
};
use maar_controller::clock::{Clock as _, SystemClock};
use maar_scheduler::explain::{Explanation, count};
use serde_json::{Value, json};

use super::source;
use crate::commands::{
    client::Connection,
    explain::{Held, Subject, UrlArgs},
    output::{Output, Table, print, show},
    remote::Remote,
    workspace::Source,
};

/// What `maar explain job` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The job
    name: String,
    #[command(flatten)]
    url: UrlArgs,
}

/// All that is known about why a job waits.
#[derive(Debug, Default)]
struct Known {
    /// Who says so.
    by: String,
    /// What the scheduler says when asked.
    explanation: Option<Explanation>,
    /// What a portal says.
    sentences: Vec<String>,
    /// What is said of single Pods.
    pods: Vec<Held>,
}

/// Says why a job waits, or what it does instead.
pub(crate) async fn explain(source: &Source, output: Output, arguments: &Arguments) -> anyhow::Result<()> {
    let mut job = source::get(source, &arguments.name).await?;
    let known = match source {
        Source::Portal { remote, .. } => {
            let path = source::path(source, &arguments.name)?;
            of_portal(remote, &path, &mut job).await?
        }
        Source::Cluster(connection) => of_cluster(connection, &job, &arguments.url).await?,
    };
    if matches!(output, Output::Table | Output::Wide) {
        print(&words(&job, &known, SystemClock.now().as_millisecond()));
        return Ok(());
    }
    let status = job.status.clone().unwrap_or_default();
    let mut answer = json!({
        "job": arguments.name,
        "namespace": source::namespace(source),
        "by": known.by,
        "phase": status.phase,
        "reason": status.reason,
        "message": status.message,
        "queue": status.queue,
        "pods": known.pods,
    });
    if let Some(explanation) = known.explanation {
        answer["explanation"] = json!(explanation);
    }
    if !known.sentences.is_empty() {
        answer["sentences"] = json!(known.sentences);
    }
    show(output, &Table::default(), &answer)
}

fn waits(status: &AIJobStatus) -> bool {
    use JobPhase::{Pending, Preempted, Prequeue, Restarting};
    matches!(status.phase, Prequeue | Pending | Preempted | Restarting)
}

async fn of_cluster(connection: &Connection, job: &AIJob, url: &UrlArgs) -> anyhow::Result<Known> {
    let status = job.status.clone().unwrap_or_default();
    let name = job.name_any();
    if !waits(&status) {
        return Ok(Known::default());
    }
    let heard = url.ask(connection, Subject::Group(&name)).await?;
    let (answer, by) = heard.parts("the status of the job");
    let mut pods = answer.pods;
    if pods.is_empty() {
        let api: Api<Pod> = Api::namespaced(connection.client.clone(), &connection.namespace);
        let params = ListParams::default().labels(&format!("{}={name}", names::LABEL_JOB));
        let found = api.list(&params).await.context("listing the Pods")?.items;
        pods = found.iter().filter_map(refusal).collect();
    }
    Ok(Known { by, explanation: answer.explanation, pods, ..Known::default() })
}

async fn of_portal(remote: &Remote, path: &str, job: &mut AIJob) -> anyhow::Result<Known> {
    let why = remote.get(&format!("{path}/why")).await?;
    let status = job.status.get_or_insert_default();
    if !waits(status) {
        return Ok(Known::default());
    }
    let queue = json!({ "position": why["position"], "waitsFor": why["waitsFor"], "estimatedStart": why["estimatedStart"] });
    status.queue = serde_json::from_value(queue).context("understanding what the portal says")?;
    // The first only says its phase, and its message is said already.
    let said = why["sentences"].as_array().into_iter().flatten().skip(1).filter_map(Value::as_str);
    let sentences = said.filter(|one| Some(*one) != status.message.as_deref()).map(str::to_owned).collect();
    Ok(Known { by: format!("by the portal at {}", remote.address()), sentences, ..Known::default() })
}

/// What the scheduler says of a Pod that waits.
fn refusal(pod: &Pod) -> Option<Held> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let refused = conditions.iter().find(|one| one.type_ == "PodScheduled" && one.status == "False")?;
    Some(Held { pod: pod.name_any(), reason: refused.message.clone().unwrap_or_default() })
}

/// All of it for people, with times counted from `now`.
fn words(job: &AIJob, known: &Known, now: i64) -> String {
    let status = job.status.clone().unwrap_or_default();
    // Writing to a String cannot fail, here and below.
    let mut text = format!("job {} is {}", job.name_any(), status.phase);
    if let Some(message) = &status.message {
        let _ = write!(text, ": {message}");
    }
    text.push('\n');
    if !waits(&status) {
        return text;
    }
    for sentence in &known.sentences {
        let _ = writeln!(text, "  {sentence}");
    }
    if let Some(explanation) = &known.explanation {
        for line in explanation.lines(now) {
            let _ = writeln!(text, "  {line}");
        }
    } else if let Some(queue) = &status.queue {
        text.push_str(&queue_words(queue));
    } else if known.pods.is_empty() && known.sentences.is_empty() {
        text.push_str("  the scheduler has not said anything about it yet\n");
    }
    for Held { pod, reason } in known.pods.iter().take(5) {
        let _ = writeln!(text, "  Pod {pod}: {reason}");
    }
    if known.pods.len() > 5 {
        let _ = writeln!(text, "  and {}", count(known.pods.len() - 5, "more Pod"));
    }
    if !known.by.is_empty() {
        let _ = writeln!(text, "  ({})", known.by);
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
        let held = |number: usize| Held {
            pod: format!("train-main-{number}"),
            reason: "0/5 nodes are available".to_owned(),
        };
        let known = |pods: usize| Known {
            by: "by the status of the job".to_owned(),
            pods: (0..pods).map(held).collect(),
            ..Known::default()
        };
        insta::assert_snapshot!(words(&job, &known(1), 0));
        let many = words(&job, &known(6), 0);
        assert!(many.contains("  and 1 more Pod\n"), "{many}");
        let explanation = json!({ "group": "lab/train", "account": "vision", "reserved": false, "start": 600_000,
            "state": { "is": "noRoom", "pods": 1, "fit": 0 } });
        let by = "by the scheduler at http://localhost:8082".to_owned();
        let asked =
            Known { by, explanation: serde_json::from_value(explanation).unwrap(), ..Known::default() };
        let text = words(&job, &asked, 0);
        assert!(!text.contains("place in the queue"), "the scheduler knows better than the status: {text}");
        assert!(text.contains("starts in about 10 min") && text.contains("(by the scheduler at"), "{text}");
    }
}
