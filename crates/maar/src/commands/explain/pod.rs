//! `maar explain pod`: why a single Pod waits.
//!
//! The whole answer comes from the scheduler that leads, at the address in the kubeconfig or on the command line. Without
//! one there is what stands in the cluster: the status of the Pod's job, and the last event about the Pod.

mod words;

use anyhow::Context as _;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::{Api, ResourceExt as _, api::ListParams};
use maar_api::{
    names,
    v1alpha1::{AIJob, QueueStatus},
};
use maar_controller::{
    Categorized as _, Category,
    clock::{Clock as _, SystemClock},
};
use maar_scheduler::explain::Explanation;
use serde::Serialize;

use super::ask::{Subject, UrlArgs};
use crate::commands::{
    client::Connection,
    output::{Output, Table, print, show},
};

/// What `maar explain pod` can be told.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The Pod
    name: String,
    #[command(flatten)]
    url: UrlArgs,
}

/// All that is known about why a Pod waits, or that it does not.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    pod: String,
    namespace: String,
    phase: String,
    scheduler: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    /// It is being deleted.
    terminating: bool,
    /// What keeps every scheduler from placing it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    gates: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<String>,
    /// Why it waits, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// What the scheduler wrote into the status of its job.
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<QueueStatus>,
    /// Who says why it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    /// What the scheduler says when asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<Explanation>,
}

impl Found {
    fn of(pod: &Pod) -> Self {
        let spec = pod.spec.clone().unwrap_or_default();
        let status = pod.status.clone().unwrap_or_default();
        let gates = spec.scheduling_gates.unwrap_or_default();
        Self {
            pod: pod.name_any(),
            namespace: pod.namespace().unwrap_or_default(),
            phase: status.phase.unwrap_or_else(|| "Pending".to_owned()),
            scheduler: spec.scheduler_name.unwrap_or_default(),
            node: spec.node_name.filter(|node| !node.is_empty()),
            terminating: pod.metadata.deletion_timestamp.is_some(),
            gates: gates.into_iter().map(|gate| gate.name).collect(),
            job: pod.labels().get(names::LABEL_JOB).cloned(),
            ..Self::default()
        }
    }

    /// Whether it waits for a scheduler.
    fn waits(&self) -> bool {
        self.node.is_none() && !self.terminating && self.gates.is_empty() && self.phase == "Pending"
    }
}

/// Says why a Pod waits, or what it does instead.
pub(super) async fn explain(
    connection: &Connection,
    output: Output,
    arguments: &Arguments,
) -> anyhow::Result<()> {
    let api: Api<Pod> = Api::namespaced(connection.client.clone(), &connection.namespace);
    let pod = api.get(&arguments.name).await.with_context(|| format!("reading Pod {}", arguments.name))?;
    let mut found = Found::of(&pod);
    if found.waits() {
        let heard = arguments.url.ask(connection, Subject::Pod(&found.pod)).await?;
        let (answer, by) = heard.parts("what stands in the cluster");
        found.by = Some(by);
        found.message = answer.pods.into_iter().next().map(|held| held.reason);
        found.explanation = answer.explanation;
        if found.explanation.is_none() {
            found.queue = queue(connection, found.job.as_deref()).await?;
        }
        if found.message.is_none() {
            found.message = told(connection, &pod).await?;
        }
    }
    if matches!(output, Output::Table | Output::Wide) {
        print(&words::words(&found, SystemClock.now().as_millisecond()));
        return Ok(());
    }
    show(output, &Table::default(), &found)
}

/// Why its job waits.
async fn queue(connection: &Connection, job: Option<&str>) -> anyhow::Result<Option<QueueStatus>> {
    let Some(job) = job else { return Ok(None) };
    let api: Api<AIJob> = Api::namespaced(connection.client.clone(), &connection.namespace);
    let found = unless_denied(api.get_opt(job).await).with_context(|| format!("reading job {job}"))?;
    Ok(found.flatten().and_then(|job| job.status?.queue))
}

/// What a scheduler last said about the Pod: in its conditions, as kube-scheduler does, or in an event.
async fn told(connection: &Connection, pod: &Pod) -> anyhow::Result<Option<String>> {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let mut refused = conditions.filter(|one| one.type_ == "PodScheduled" && one.status == "False");
    if let Some(message) = refused.find_map(|one| one.message.clone()) {
        return Ok(Some(message));
    }
    let api: Api<Event> = Api::namespaced(connection.client.clone(), &connection.namespace);
    let uid = pod.uid().unwrap_or_default();
    let params = ListParams::default().fields(&format!("involvedObject.uid={uid}"));
    let events = unless_denied(api.list(&params).await).context("listing the events of the Pod")?;
    let events = events.into_iter().flat_map(|list| list.items);
    let failures = events.filter(|event| event.reason.as_deref() == Some("FailedScheduling"));
    Ok(failures.max_by_key(last_seen).and_then(|event| event.message))
}

fn last_seen(event: &Event) -> Option<jiff::Timestamp> {
    let series = event.series.as_ref().and_then(|series| series.last_observed_time.as_ref());
    let moments = [
        series.map(|time| time.0),
        event.last_timestamp.as_ref().map(|time| time.0),
        event.event_time.as_ref().map(|time| time.0),
        event.metadata.creation_timestamp.as_ref().map(|time| time.0),
    ];
    moments.into_iter().flatten().max()
}

/// Who may not read something does without it.
fn unless_denied<T>(answer: kube::Result<T>) -> kube::Result<Option<T>> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.category() == Category::Denied => Ok(None),
        Err(error) => Err(error),
    }
}
