//! What is kept of a Pod: there are many, and pages need little of each.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use maar_api::{ResourceList, names, resources::PodResources};
use maar_jobs::{PodKind, PodKinds};

/// Whose work a Pod is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Work {
    Workspace(String),
    Job(String),
    Other,
}

impl Work {
    /// In words; a Pod of its own by its name.
    pub(crate) fn words(&self, pod: &str) -> String {
        match self {
            Self::Workspace(name) => format!("workspace {name}"),
            Self::Job(name) => format!("job {name}"),
            Self::Other => format!("Pod {pod}"),
        }
    }
}

/// What pages need of a Pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PodFacts {
    /// Tells it from a namesake that was made later.
    pub(crate) uid: Option<String>,
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
    /// Claims that it mounts.
    pub(crate) claims: Vec<String>,
    /// Why it has no node.
    pub(crate) refusal: Option<String>,
    /// Part of the system, work of users, or somebody else's.
    pub(crate) kind: PodKind,
    /// When its node took it.
    pub(crate) started: Option<Timestamp>,
    /// When it ends at the latest, if that was said: a notice, or its longest run.
    pub(crate) ends: Option<Timestamp>,
}

impl PodFacts {
    /// Of a Pod, where `kinds` says which namespaces are whose.
    pub(crate) fn of(pod: &Pod, kinds: &PodKinds) -> Self {
        let label = |name: &str| pod.labels().get(name).cloned();
        // Volcano names its own Jobs on their Pods; those that an AIJob asked for say their task, too.
        let volcano =
            label(names::LABEL_VOLCANO_JOB).filter(|_| pod.labels().contains_key(names::LABEL_TASK));
        let work = match (label(names::LABEL_WORKSPACE), label(names::LABEL_JOB).or(volcano)) {
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
            uid: pod.uid(),
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
            claims: claims(pod),
            refusal: refused.and_then(|condition| condition.message.clone()),
            kind: kinds.of(pod),
            started: started(pod),
            ends: end(pod),
        }
    }

    /// Whether it runs, or will.
    pub(crate) fn lives(&self) -> bool {
        !matches!(self.phase.as_str(), "Succeeded" | "Failed")
    }

    /// Whether it holds what was given to it.
    pub(crate) fn holds(&self) -> bool {
        self.node.is_some() && self.lives()
    }
}

fn claims(pod: &Pod) -> Vec<String> {
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    volumes.filter_map(|volume| Some(volume.persistent_volume_claim.as_ref()?.claim_name.clone())).collect()
}

fn started(pod: &Pod) -> Option<Timestamp> {
    pod.status.as_ref()?.start_time.as_ref().map(|time| time.0)
}

fn end(pod: &Pod) -> Option<Timestamp> {
    let annotation = |name: &str| pod.annotations().get(name);
    let notice = annotation(names::ANNOTATION_STOP_AT).and_then(|text| text.parse::<Timestamp>().ok());
    let longest = annotation(names::ANNOTATION_MAX_RUN_TIME).and_then(|text| text.parse::<i64>().ok());
    let run = started(pod)
        .zip(longest)
        .and_then(|(begin, longest)| begin.checked_add(SignedDuration::from_secs(longest)).ok());
    [notice, run].into_iter().flatten().min()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pods_say_whose_work_they_are() {
        let work_of = |labels: serde_json::Value| {
            let pod = serde_json::from_value(json!({ "metadata": { "labels": labels } })).unwrap();
            PodFacts::of(&pod, &PodKinds::default()).work
        };
        assert_eq!(work_of(json!({ "maar.io/workspace": "desk" })), Work::Workspace("desk".to_owned()));
        assert_eq!(work_of(json!({ "maar.io/job": "train" })), Work::Job("train".to_owned()));
        let asked = json!({ "volcano.sh/job-name": "train", "maar.io/task": "main" });
        assert_eq!(work_of(asked), Work::Job("train".to_owned()));
        // A Job that somebody gave to Volcano has no AIJob to lead to.
        assert_eq!(work_of(json!({ "volcano.sh/job-name": "theirs" })), Work::Other);
        assert_eq!(work_of(json!({})), Work::Other);
    }

    #[test]
    fn the_end_of_a_pod_is_the_first_that_was_said() {
        let end_of = |annotations: serde_json::Value| {
            let pod = json!({ "metadata": { "annotations": annotations }, "status": { "startTime": "2026-01-01T00:00:00Z" } });
            PodFacts::of(&serde_json::from_value(pod).unwrap(), &PodKinds::default())
                .ends
                .map(|end| end.to_string())
        };
        assert_eq!(end_of(json!({})), None);
        let run = json!({ "maar.io/max-run-time": "3600" });
        assert_eq!(end_of(run).as_deref(), Some("2026-01-01T01:00:00Z"));
        let both = json!({ "maar.io/max-run-time": "3600", "maar.io/stop-at": "2026-01-01T00:30:00Z" });
        assert_eq!(end_of(both).as_deref(), Some("2026-01-01T00:30:00Z"));
        assert_eq!(end_of(json!({ "maar.io/max-run-time": "99999999999999999" })), None);
    }
}
