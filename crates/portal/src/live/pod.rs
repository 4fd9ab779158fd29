//! What is kept of a Pod: there are many, and pages need little of each.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use maar_api::{ResourceList, names, resources::PodResources};

/// Whose work a Pod is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Work {
    Workspace(String),
    Job(String),
    Other,
}

/// What pages need of a Pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PodFacts {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) node: Option<String>,
    pub(crate) phase: String,
    pub(crate) work: Work,
    pub(crate) task: Option<String>,
    pub(crate) account: Option<String>,
    pub(crate) user: Option<String>,
    /// Cards that were given, such as `nvidia.com/gpu=2,3`.
    pub(crate) cards: Option<String>,
    pub(crate) requests: ResourceList,
    pub(crate) restarts: i32,
    /// Why it has no node.
    pub(crate) refusal: Option<String>,
}

impl PodFacts {
    pub(crate) fn of(pod: &Pod) -> Self {
        let label = |name: &str| pod.labels().get(name).cloned();
        let work = match (label(names::LABEL_WORKSPACE), label(names::LABEL_JOB)) {
            (Some(name), _) => Work::Workspace(name),
            (None, Some(name)) => Work::Job(name),
            (None, None) => Work::Other,
        };
        let status = pod.status.as_ref();
        let containers = status.and_then(|status| status.container_statuses.as_ref());
        let conditions = status.and_then(|status| status.conditions.as_ref());
        let refused =
            conditions.into_iter().flatten().find(|one| one.type_ == "PodScheduled" && one.status == "False");
        Self {
            namespace: pod.namespace().unwrap_or_default(),
            name: pod.name_any(),
            node: pod.spec.as_ref().and_then(|spec| spec.node_name.clone()),
            phase: status.and_then(|status| status.phase.clone()).unwrap_or_default(),
            work,
            task: label(names::LABEL_TASK),
            account: label(names::LABEL_ACCOUNT),
            user: label(names::LABEL_USER),
            cards: pod.annotations().get(names::ANNOTATION_CARDS).cloned(),
            requests: PodResources::from_pod(pod).map(|all| all.requests()).unwrap_or_default(),
            restarts: containers.into_iter().flatten().map(|one| one.restart_count).sum(),
            refusal: refused.and_then(|condition| condition.message.clone()),
        }
    }

    /// Whether it holds what was given to it.
    pub(crate) fn holds(&self) -> bool {
        self.node.is_some() && !matches!(self.phase.as_str(), "Succeeded" | "Failed")
    }
}
