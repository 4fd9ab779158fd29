//! What a ReplicaSet reports about its Pods.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetCondition, ReplicaSetStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use maar_machinery::selector::LabelSelector;

use crate::controllers::base::count;
use crate::controllers::view::PodView;

pub(crate) const REPLICA_FAILURE: &str = "ReplicaFailure";

/// The status that follows from the Pods and from how the last change went.
pub(crate) fn status(
    set: &ReplicaSet,
    active: &[Arc<PodView>],
    terminating: usize,
    failure: Option<&str>,
    now: Timestamp,
) -> ReplicaSetStatus {
    let spec = set.spec.clone().unwrap_or_default();
    let template_labels = spec.template.and_then(|template| template.metadata?.labels).unwrap_or_default();
    let labels = LabelSelector::from_labels(template_labels);
    let min_ready = spec.min_ready_seconds.unwrap_or(0);
    let counted = |test: &dyn Fn(&PodView) -> bool| active.iter().filter(|pod| test(pod)).count();
    let before = set.status.clone().unwrap_or_default();
    let difference = i64::try_from(active.len()).unwrap_or(i64::MAX) - i64::from(spec.replicas.unwrap_or(1));
    ReplicaSetStatus {
        replicas: count(active.len()).unwrap_or(0),
        fully_labeled_replicas: count(counted(&|pod| labels.matches(&pod.metadata.labels))),
        ready_replicas: count(counted(&PodView::is_ready)),
        available_replicas: count(counted(&|pod| pod.is_available(min_ready, now))),
        terminating_replicas: i32::try_from(terminating).ok(),
        observed_generation: set.metadata.generation,
        conditions: conditions(before.conditions, failure, difference, now),
    }
}

fn conditions(
    before: Option<Vec<ReplicaSetCondition>>,
    failure: Option<&str>,
    difference: i64,
    now: Timestamp,
) -> Option<Vec<ReplicaSetCondition>> {
    let mut conditions = before.unwrap_or_default();
    let known = conditions.iter().any(|condition| condition.type_ == REPLICA_FAILURE);
    match failure {
        Some(message) if !known => conditions.push(ReplicaSetCondition {
            type_: REPLICA_FAILURE.into(),
            status: "True".into(),
            reason: Some(if difference < 0 { "FailedCreate" } else { "FailedDelete" }.into()),
            message: Some(message.to_owned()),
            last_transition_time: Some(Time(now)),
        }),
        Some(_) => {}
        None => conditions.retain(|condition| condition.type_ != REPLICA_FAILURE),
    }
    Some(conditions).filter(|conditions| !conditions.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;
    use crate::controllers::view::tests::{noon, pod};

    fn set() -> ReplicaSet {
        from_value(json!({
            "metadata": {"name": "a", "generation": 4},
            "spec": {"replicas": 3, "minReadySeconds": 10, "selector": {"matchLabels": {"app": "a"}},
                "template": {"metadata": {"labels": {"app": "a", "tier": "web"}}}},
        }))
        .unwrap()
    }

    #[test]
    fn pods_are_counted_by_label_readiness_and_time() {
        let pods = [
            Arc::new(pod("a").labelled("app", "a").labelled("tier", "web").ready_for(10)),
            Arc::new(pod("b").labelled("app", "a").ready_for(9)),
            Arc::new(pod("c").labelled("app", "a")),
        ];
        let status = status(&set(), &pods, 1, None, noon());
        assert_eq!(status.replicas, 3);
        assert_eq!(status.fully_labeled_replicas, Some(1));
        assert_eq!(status.ready_replicas, Some(2));
        assert_eq!(status.available_replicas, Some(1));
        assert_eq!(status.terminating_replicas, Some(1));
        assert_eq!(status.observed_generation, Some(4));
        assert_eq!(status.conditions, None);
    }

    #[test]
    fn a_failure_is_reported_until_it_is_over() {
        let mut set = set();
        let failed = status(&set, &[], 0, Some("quota"), noon());
        let conditions = failed.conditions.clone().unwrap();
        assert_eq!(conditions[0].reason.as_deref(), Some("FailedCreate"));
        set.status = Some(failed);
        assert_eq!(status(&set, &[], 0, Some("another"), noon()).conditions, Some(conditions));
        assert_eq!(status(&set, &[], 0, None, noon()).conditions, None);
    }
}
