//! Removes Pods from nodes with `NoExecute` taints that they do not tolerate, or no longer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod, PodCondition, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use parking_lot::Mutex;

use super::index::PodsByNode;
use crate::controllers::base::Base;
use crate::controllers::placement::{NO_EXECUTE, tolerates};
use crate::controllers::recorder::{Recorder, pod_reference};
use crate::controllers::view::{NodeView, PodView, seconds_after, until};
use crate::controllers::{Again, Controller};
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Event, Key};

#[derive(Debug)]
pub(crate) struct TaintEviction {
    base: Base,
    pods: Mutex<PodsByNode>,
    /// When a taint without a time was first seen, by node and taint.
    seen: Mutex<BTreeMap<(String, String), Timestamp>>,
    table: Arc<str>,
}

/// When a Pod has to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Stay,
    Go,
    GoAt(Timestamp),
}

/// Judges a Pod by the taints of its node, each with the time it is there.
fn judge(pod: &PodView, taints: &[(Taint, Timestamp)]) -> Verdict {
    let placed = placed_at(pod);
    let mut earliest: Option<Timestamp> = None;
    for (taint, added) in taints {
        let tolerations = pod.spec.tolerations.iter();
        let mut matching = tolerations.filter(|toleration| tolerates(toleration, taint)).peekable();
        if matching.peek().is_none() {
            return Verdict::Go;
        }
        let limits = matching.filter_map(|toleration| toleration.toleration_seconds);
        if let Some(seconds) = limits.min() {
            // A Pod that comes to a node tainted long ago tolerates that from then on: else it would be driven off
            // at once, and the one that replaces it too.
            let since = placed.map_or(*added, |placed| placed.max(*added));
            let end = if seconds <= 0 { since } else { seconds_after(since, seconds) };
            earliest = Some(earliest.map_or(end, |known| known.min(end)));
        }
    }
    earliest.map_or(Verdict::Stay, Verdict::GoAt)
}

/// Since when a Pod is on its node; one that was made for its node, from its beginning.
fn placed_at(pod: &PodView) -> Option<Timestamp> {
    let bound = pod.condition("PodScheduled").filter(|scheduled| scheduled.status == "True");
    bound.and_then(|bound| bound.last_transition_time).or(pod.metadata.creation_timestamp)
}

impl TaintEviction {
    pub(crate) fn new(server: &Arc<Server>) -> Self {
        let base = Base::new(server, "taint-eviction-controller");
        let table = Arc::clone(&base.local.resource::<Node>().table);
        let pods = PodsByNode::new(&base.local.resource::<Pod>().field_paths);
        Self { base, pods: Mutex::new(pods), seen: Mutex::default(), table }
    }

    async fn sync(&self, name: &str) -> Result<Again, ApiError> {
        let node: Option<Arc<NodeView>> =
            self.base.local.entry::<Node>("", name).and_then(|entry| entry.view());
        let taints = self.driving(name, node.as_deref());
        if taints.is_empty() {
            return Ok(None);
        }
        let now = self.base.now();
        let entries = self.pods.lock().on(name, self.base.store());
        let mut next: Option<Duration> = None;
        for pod in entries.iter().filter_map(|entry| entry.view::<PodView>()) {
            if pod.is_deleting() {
                continue;
            }
            match judge(&pod, &taints) {
                Verdict::Stay => {}
                Verdict::GoAt(time) if time > now => {
                    let wait = until(time, now);
                    next = Some(next.map_or(wait, |known| known.min(wait)));
                }
                Verdict::Go | Verdict::GoAt(_) => self.evict(&pod, now).await?,
            }
        }
        Ok(next)
    }

    /// The taints that drive Pods off, each with the time it is there.
    fn driving(&self, name: &str, node: Option<&NodeView>) -> Vec<(Taint, Timestamp)> {
        let taints = node.map(|node| node.spec.taints.as_slice()).unwrap_or_default();
        let driving: Vec<&Taint> = taints.iter().filter(|taint| taint.effect == NO_EXECUTE).collect();
        let mut seen = self.seen.lock();
        seen.retain(|(node, key), _| node != name || driving.iter().any(|taint| taint.key == *key));
        let now = self.base.now();
        driving
            .into_iter()
            .map(|taint| {
                let since = match &taint.time_added {
                    Some(time) => time.0,
                    None => *seen.entry((name.to_owned(), taint.key.clone())).or_insert(now),
                };
                (taint.clone(), since)
            })
            .collect()
    }

    async fn evict(&self, pod: &PodView, now: Timestamp) -> Result<(), ApiError> {
        let about = pod_reference(&pod.metadata.namespace, pod.name(), &pod.metadata.uid);
        let message = format!("Marking for deletion Pod {}/{}", pod.metadata.namespace, pod.name());
        self.base.recorder.normal(&about, "TaintManagerEviction", message).await;
        let change = |pod: &mut Pod| {
            disrupted(pod, "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint", now);
        };
        match self.base.local.modify_status(&pod.metadata.namespace, pod.name(), change).await {
            Err(error) if !error.is_not_found() => return Err(error),
            _ => {}
        }
        self.base.delete_pod(pod).await
    }
}

/// Notes in a Pod that it did not end by itself.
pub(super) fn disrupted(pod: &mut Pod, reason: &str, message: &str, now: Timestamp) {
    let conditions = pod.status.get_or_insert_default().conditions.get_or_insert_default();
    conditions.retain(|condition| condition.type_ != "DisruptionTarget");
    conditions.push(PodCondition {
        type_: "DisruptionTarget".into(),
        status: "True".into(),
        reason: Some(reason.into()),
        message: Some(message.into()),
        last_transition_time: Some(Time(now)),
        ..PodCondition::default()
    });
}

impl Controller for TaintEviction {
    fn name(&self) -> &'static str {
        "taint-eviction-controller"
    }

    fn recorder(&self) -> Option<&Recorder> {
        Some(&self.base.recorder)
    }

    fn tables(&self) -> Vec<&'static str> {
        vec!["pods", "nodes"]
    }

    fn forget(&self, table: &str) {
        if table == "pods" {
            self.pods.lock().clear();
        }
    }

    fn keys(&self, table: &str, event: &Event) -> Vec<Key> {
        if table == "nodes" {
            let taints =
                |entry: &crate::store::Entry| entry.view::<NodeView>().map(|node| node.spec.taints.clone());
            let same = event.previous.as_ref().is_some_and(|before| taints(before) == taints(&event.entry));
            let name = &event.entry.meta.name;
            return if same { Vec::new() } else { vec![Key::new(&self.table, "", name)] };
        }
        let mut pods = self.pods.lock();
        pods.note(event);
        let newly = |node: &&str| {
            !event.deleted && event.previous.as_ref().is_none_or(|before| pods.node_of(before) != Some(*node))
        };
        // A Pod that was just put on a node may have to leave it again.
        pods.node_of(&event.entry)
            .filter(newly)
            .map(|node| Key::new(&self.table, "", node))
            .into_iter()
            .collect()
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        Box::pin(self.sync(key.name()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;
    use crate::controllers::view::ConditionView;
    use crate::controllers::view::tests::{noon, pod};

    fn taint(key: &str) -> (Taint, Timestamp) {
        (from_value(json!({"key": key, "effect": "NoExecute"})).unwrap(), noon())
    }

    #[test]
    fn pods_stay_as_long_as_they_tolerate() {
        let judged = |tolerations: Value, keys: &[&str]| {
            let mut pod = pod("p");
            pod.spec.tolerations = from_value(tolerations).unwrap();
            judge(&pod, &keys.iter().map(|key| taint(key)).collect::<Vec<_>>())
        };
        assert_eq!(judged(json!([]), &["a"]), Verdict::Go);
        assert_eq!(judged(json!([]), &[]), Verdict::Stay);
        assert_eq!(judged(json!([{"operator": "Exists"}]), &["a", "b"]), Verdict::Stay);
        let five = json!([{"key": "a", "operator": "Exists", "tolerationSeconds": 300}]);
        assert_eq!(judged(five.clone(), &["a"]), Verdict::GoAt(seconds_after(noon(), 300)));
        assert_eq!(judged(five, &["a", "b"]), Verdict::Go);
        let both =
            json!([{"operator": "Exists", "tolerationSeconds": 60}, {"key": "a", "operator": "Exists"}]);
        assert_eq!(judged(both, &["a"]), Verdict::GoAt(seconds_after(noon(), 60)));
    }
    #[test]
    fn a_pod_tolerates_from_when_it_came() {
        let toleration = json!([{"operator": "Exists", "tolerationSeconds": 300}]);
        let mut made = pod("p").aged(-100);
        made.spec.tolerations = from_value(toleration).unwrap();
        assert_eq!(judge(&made, &[taint("a")]), Verdict::GoAt(seconds_after(noon(), 400)));
        let scheduled = |status: &str, seconds: i64| ConditionView {
            kind: "PodScheduled".into(),
            status: status.into(),
            last_transition_time: Some(seconds_after(noon(), seconds)),
            ..ConditionView::default()
        };
        made.status.conditions = vec![scheduled("True", 150)];
        assert_eq!(judge(&made, &[taint("a")]), Verdict::GoAt(seconds_after(noon(), 450)));
        made.status.conditions = vec![scheduled("False", 150)];
        assert_eq!(judge(&made, &[taint("a")]), Verdict::GoAt(seconds_after(noon(), 400)));
        made.spec.tolerations[0].toleration_seconds = Some(i64::MAX);
        assert_eq!(judge(&made, &[taint("a")]), Verdict::GoAt(Timestamp::MAX), "longer than time goes on");
    }
}
