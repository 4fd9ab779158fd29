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
    pods: Vec<JobPod>,
    given_cards: Vec<CardUse>,
    attempt: i32,
    preemptions: i32,
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

pub(crate) fn detail(job: &AIJob, pods: &[&PodFacts], readable: bool) -> JobDetail {
    let status = job.status.clone().unwrap_or_default();
    let pod = |facts: &&PodFacts| JobPod {
        name: facts.name.clone(),
        task: facts.task.clone(),
        phase: facts.phase.clone(),
        node: facts.node.clone(),
        cards: facts.cards.clone(),
        restarts: facts.restarts,
    };
    JobDetail {
        view: view(job),
        tasks: status.tasks,
        pods: pods.iter().map(pod).collect(),
        given_cards: status.cards,
        attempt: status.attempt,
        preemptions: status.preemptions,
        spec: readable.then(|| job.spec.clone()),
    }
}
