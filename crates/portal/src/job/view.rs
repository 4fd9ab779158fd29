//! What is shown of a job. Pure.

use jiff::Timestamp;
use kube::ResourceExt as _;
use maar_api::{
    Quantity, ResourceList, names,
    v1alpha1::{AIJob, AIJobSpec, CardUse, CleanupStatus, JobPhase, JobType, ServiceLevel, TaskStatus},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    access::{Kind, Object},
    live::PodFacts,
    page::MOST,
};

/// A job as everyone sees it who may see it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JobView {
    namespace: String,
    name: String,
    #[serde(rename = "type")]
    job_type: JobType,
    phase: JobPhase,
    /// Why, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Why, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    account: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    service_level: ServiceLevel,
    priority: i32,
    /// Pods when it is complete.
    replicas: i32,
    /// How many Pods run of how many, such as `3/4`.
    #[serde(skip_serializing_if = "Option::is_none")]
    ready: Option<String>,
    /// Whole cards of all its Pods together.
    cards: ResourceList,
    /// Parts of cards that its Pods have.
    card_parts: Vec<CardPart>,
    suspended: bool,
    /// Its place in the queue of its account.
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<i32>,
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated_start: Option<Timestamp>,
    #[schemars(with = "Option<String>")]
    created: Option<Timestamp>,
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<Timestamp>,
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<Timestamp>,
    /// What a clean-up policy is about to do with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    cleanup: Option<CleanupStatus>,
    /// The job whose schedule or array made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
}

/// Pods that have a part of a card each: a share of it, or some of its memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CardPart {
    resource: String,
    /// How many Pods.
    pods: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<Quantity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Quantity>,
}

/// A Pod of a job.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JobPod {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    phase: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cards: Option<String>,
    restarts: i32,
}

/// A job with what its owner put into it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JobDetail {
    #[serde(flatten)]
    view: JobView,
    tasks: Vec<TaskStatus>,
    /// Its Pods by name, the first 500; see `…/pods` for the others.
    pods: Vec<JobPod>,
    /// How many there are.
    pod_count: usize,
    given_cards: Vec<CardUse>,
    attempt: i32,
    preemptions: i32,
    /// Counts what was wished of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    generation: Option<i64>,
    /// The last wish that its phase takes into account.
    #[serde(skip_serializing_if = "Option::is_none")]
    observed_generation: Option<i64>,
    /// Only for those who may read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    spec: Option<AIJobSpec>,
}

/// What access to it is decided by.
pub(crate) fn object_of(job: &AIJob) -> Object {
    let namespace = job.metadata.namespace.as_deref().unwrap_or_default();
    Object::work(Kind::Job, namespace, job.spec.account.as_deref())
}

fn cards(spec: &AIJobSpec) -> ResourceList {
    let mut all = ResourceList::default();
    for task in &spec.tasks {
        if let Some(cards) = &task.cards
            && let Some(count) = cards.count
        {
            let more = Quantity::from_units(i64::from(count) * i64::from(task.replicas));
            all.insert(cards.resource.clone(), all.get(&cards.resource) + more);
        }
    }
    all
}

/// Parts of cards, those that are alike together.
fn card_parts(spec: &AIJobSpec) -> Vec<CardPart> {
    let mut all: Vec<CardPart> = Vec::new();
    for task in &spec.tasks {
        let Some(cards) = task.cards.as_ref().filter(|cards| cards.count.is_none()) else { continue };
        let part = CardPart {
            resource: cards.resource.clone(),
            pods: task.replicas,
            share: cards.share,
            memory: cards.memory,
        };
        let alike = |one: &&mut CardPart| {
            (&one.resource, &one.share, &one.memory) == (&part.resource, &part.share, &part.memory)
        };
        match all.iter_mut().find(alike) {
            Some(one) => one.pods += part.pods,
            None => all.push(part),
        }
    }
    all
}

pub(crate) fn view(job: &AIJob) -> JobView {
    let (spec, status) = (&job.spec, job.status.clone().unwrap_or_default());
    let queue = status.queue.unwrap_or_default();
    JobView {
        namespace: job.namespace().unwrap_or_default(),
        name: job.name_any(),
        job_type: spec.job_type,
        phase: status.phase,
        reason: status.reason,
        message: status.message,
        account: spec.account().to_owned(),
        user: spec.user.clone(),
        service_level: spec.service_level,
        priority: spec.priority,
        replicas: spec.replicas(),
        ready: status.ready,
        cards: cards(spec),
        card_parts: card_parts(spec),
        suspended: spec.suspend,
        position: queue.position,
        estimated_start: queue.estimated_start.map(|time| time.0),
        created: job.creation_timestamp().map(|time| time.0),
        started: status.start_time.map(|time| time.0),
        ended: status.completion_time.map(|time| time.0),
        cleanup: status.cleanup,
        parent: parent_of(job).map(str::to_owned),
    }
}

/// The job whose schedule or array made it.
pub(super) fn parent_of(job: &AIJob) -> Option<&str> {
    job.labels().get(names::LABEL_PARENT).map(String::as_str)
}

pub(super) fn pod_view(facts: &PodFacts) -> JobPod {
    JobPod {
        name: facts.name.clone(),
        task: facts.task.clone(),
        phase: facts.phase.clone(),
        node: facts.node.clone(),
        cards: facts.cards.clone(),
        restarts: facts.restarts,
    }
}

pub(crate) fn detail(job: &AIJob, pods: &[&PodFacts], readable: bool) -> JobDetail {
    let status = job.status.clone().unwrap_or_default();
    JobDetail {
        view: view(job),
        tasks: status.tasks,
        pods: pods.iter().take(MOST).map(|pod| pod_view(pod)).collect(),
        pod_count: pods.len(),
        given_cards: status.cards,
        attempt: status.attempt,
        preemptions: status.preemptions,
        generation: job.metadata.generation,
        observed_generation: status.observed_generation,
        spec: readable.then(|| job.spec.clone()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_of_cards_are_told_beside_whole_ones_and_those_alike_together() {
        let task = |name: &str, replicas: i32, cards: serde_json::Value| {
            let containers = json!([{ "name": "main", "image": "busybox" }]);
            json!({ "name": name, "replicas": replicas, "cards": cards, "template": { "spec": { "containers": containers } } })
        };
        let tasks = [
            task("chief", 1, json!({ "count": 2 })),
            task("worker", 3, json!({ "share": "0.5" })),
            task("other", 1, json!({ "share": "500m" })),
            task("cache", 2, json!({ "memory": "8Gi" })),
        ];
        let job: AIJob = serde_json::from_value(json!({
            "apiVersion": "maar.io/v1alpha1", "kind": "AIJob", "metadata": { "name": "train" },
            "spec": { "type": "PyTorch", "tasks": tasks },
        }))
        .unwrap();
        let shown = serde_json::to_value(view(&job)).unwrap();
        assert_eq!(shown["cards"], json!({ "nvidia.com/gpu": "2" }));
        let parts = json!([
            { "resource": "nvidia.com/gpu", "pods": 4, "share": "500m" },
            { "resource": "nvidia.com/gpu", "pods": 2, "memory": "8Gi" },
        ]);
        assert_eq!(shown["cardParts"], parts);
    }
}
