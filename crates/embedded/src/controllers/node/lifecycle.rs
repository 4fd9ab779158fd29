//! Marks nodes that fell silent and taints those in trouble.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, NodeCondition, ObjectReference, Pod, PodCondition, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use parking_lot::Mutex;

use super::index::PodsByNode;
use super::zones::{Pacing, Permission};
use crate::controllers::base::{self, Base};
use crate::controllers::placement::{NO_EXECUTE, NO_SCHEDULE};
use crate::controllers::recorder::{Recorder, pod_reference};
use crate::controllers::view::{NodeView, PodView, until};
use crate::controllers::{Again, Controller};
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Event, Key};

/// How long a node may be silent, and how long before its first word.
const GRACE: SignedDuration = SignedDuration::from_secs(50);
const STARTUP_GRACE: SignedDuration = SignedDuration::from_secs(60);
const LEASES: &str = "leases.coordination.k8s.io";
const LEASE_NAMESPACE: &str = "kube-node-lease";
const ZONE: &str = "topology.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";

pub(crate) const NOT_READY: &str = "node.kubernetes.io/not-ready";
pub(crate) const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";
/// Conditions that keep Pods away, the status that does, and the taint.
const TROUBLES: [(&str, &str, &str); 6] = [
    ("Ready", "False", NOT_READY),
    ("Ready", "Unknown", UNREACHABLE),
    ("MemoryPressure", "True", "node.kubernetes.io/memory-pressure"),
    ("DiskPressure", "True", "node.kubernetes.io/disk-pressure"),
    ("PIDPressure", "True", "node.kubernetes.io/pid-pressure"),
    ("NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable"),
];

#[derive(Debug)]
pub(crate) struct NodeLifecycle {
    base: Base,
    table: Arc<str>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    pods: PodsByNode,
    /// When each node was last heard of.
    heard: BTreeMap<Box<str>, Timestamp>,
    pacing: Pacing,
}

/// When a silent node is to be marked: after a shorter time if it ever spoke.
fn deadline(node: &NodeView, heard: Timestamp) -> Timestamp {
    let spoke = node.condition("Ready").is_some_and(|ready| ready.reason != "NodeStatusNeverUpdated");
    heard.saturating_add(if spoke { GRACE } else { STARTUP_GRACE }).unwrap_or(Timestamp::MAX)
}

/// Makes all that a kubelet reports unknown.
fn silence(conditions: &mut Vec<NodeCondition>, created: Option<&Time>, now: Timestamp) {
    for kind in ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"] {
        match conditions.iter_mut().find(|condition| condition.type_ == kind) {
            Some(condition) if condition.status == "Unknown" => {}
            Some(condition) => {
                condition.status = "Unknown".into();
                condition.reason = Some("NodeStatusUnknown".into());
                condition.message = Some("Kubelet stopped posting node status.".into());
                condition.last_transition_time = Some(Time(now));
            }
            None => conditions.push(NodeCondition {
                type_: kind.into(),
                status: "Unknown".into(),
                reason: Some("NodeStatusNeverUpdated".into()),
                message: Some("Kubelet never posted node status.".into()),
                last_heartbeat_time: created.cloned(),
                last_transition_time: Some(Time(now)),
            }),
        }
    }
}

/// The taint that drives Pods off a node in this condition.
fn driving_taint(node: &NodeView) -> Option<&'static str> {
    match node.condition("Ready").map(|ready| ready.status.as_str()) {
        Some("False") => Some(NOT_READY),
        Some("Unknown") => Some(UNREACHABLE),
        _ => None,
    }
}

/// The taints a node should have. `drive` says whether Pods may be driven off; a taint that does so already stays
/// as it is.
fn taints(node: &NodeView, drive: bool, now: Timestamp) -> Vec<Taint> {
    let wanted_keys =
        |condition: &str, status: &str| node.condition(condition).is_some_and(|known| known.status == status);
    let mut keeping_away: Vec<&str> = TROUBLES
        .iter()
        .filter(|(kind, status, _)| wanted_keys(kind, status))
        .map(|(_, _, key)| *key)
        .collect();
    if node.spec.unschedulable {
        keeping_away.push(UNSCHEDULABLE);
    }
    let driving = driving_taint(node).filter(|_| drive);
    let ours = |taint: &Taint| {
        let known = TROUBLES.iter().any(|(_, _, key)| *key == taint.key) || taint.key == UNSCHEDULABLE;
        let drives = taint.effect == NO_EXECUTE && (taint.key == NOT_READY || taint.key == UNREACHABLE);
        (known && taint.effect == NO_SCHEDULE) || drives
    };
    let wanted = |taint: &Taint| match taint.effect.as_str() {
        NO_EXECUTE => driving == Some(taint.key.as_str()),
        _ => keeping_away.contains(&taint.key.as_str()),
    };
    let mut taints: Vec<Taint> =
        node.spec.taints.iter().filter(|taint| !ours(taint) || wanted(taint)).cloned().collect();
    let mut add = |key: &str, effect: &str| {
        if !taints.iter().any(|taint| taint.key == key && taint.effect == effect) {
            taints.push(Taint {
                key: key.into(),
                effect: effect.into(),
                value: None,
                time_added: Some(Time(now)),
            });
        }
    };
    for key in keeping_away {
        add(key, NO_SCHEDULE);
    }
    if let Some(key) = driving {
        add(key, NO_EXECUTE);
    }
    taints
}

fn zone_of(node: &NodeView) -> String {
    let label = |key: &str| node.metadata.labels.get(key).map_or("", String::as_str);
    format!("{}:{}", label(REGION), label(ZONE))
}

impl NodeLifecycle {
    pub(crate) fn new(server: &Arc<Server>) -> Self {
        let base = Base::new(server, "node-controller");
        let table = Arc::clone(&base.local.resource::<Node>().table);
        let pods = PodsByNode::new(&base.local.resource::<Pod>().field_paths);
        let state = State { pods, heard: BTreeMap::new(), pacing: Pacing::default() };
        Self { base, table, state: Mutex::new(state) }
    }

    fn view(&self, name: &str) -> Option<Arc<NodeView>> {
        self.base.local.entry::<Node>("", name)?.view()
    }

    async fn sync(&self, name: &str) -> Result<Again, ApiError> {
        let Some(mut node) = self.view(name) else {
            self.state.lock().heard.remove(name);
            return Ok(None);
        };
        let now = self.base.now();
        let heard = *self.state.lock().heard.entry(name.into()).or_insert(now);
        let deadline = deadline(&node, heard);
        let mut again = Some(until(deadline, now)).filter(|wait| !wait.is_zero());
        if again.is_none() && self.mark_silent(&node, now).await? {
            node = self.view(name).unwrap_or(node);
        }
        let (drive, retry) = self.may_drive(&node, now);
        again = again.into_iter().chain(retry).min();
        self.settle_taints(&node, drive, now).await?;
        if driving_taint(&node).is_some() {
            self.mark_pods_unready(&node).await?;
        }
        Ok(again)
    }

    /// Whether the node was not known to be silent.
    async fn mark_silent(&self, node: &NodeView, now: Timestamp) -> Result<bool, ApiError> {
        let kinds = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];
        if kinds.iter().all(|kind| node.condition(kind).is_some_and(|known| known.status == "Unknown")) {
            return Ok(false);
        }
        let was_ready = node.condition("Ready").is_some_and(|ready| ready.status == "True");
        let change = |node: &mut Node| {
            let created = node.metadata.creation_timestamp.clone();
            let conditions = node.status.get_or_insert_default().conditions.get_or_insert_default();
            silence(conditions, created.as_ref(), now);
        };
        self.base.local.modify_status("", node.name(), change).await?;
        if was_ready {
            let message = format!("Node {} status is now: NodeNotReady", node.name());
            self.base.recorder.normal(&node_reference(node), "NodeNotReady", message).await;
        }
        Ok(true)
    }

    /// Whether Pods may be driven off this node, and when to ask again.
    fn may_drive(&self, node: &NodeView, now: Timestamp) -> (bool, Option<Duration>) {
        let Some(key) = driving_taint(node) else { return (false, None) };
        let zones = self.zones();
        let mut state = self.state.lock();
        let zone = zone_of(node);
        let permission = state.pacing.ask(&zone, &zones, now);
        if permission == Permission::Never {
            // Looked at again when any node changes: see `keys`.
            return (false, None);
        }
        let driven = node.spec.taints.iter().any(|taint| taint.effect == NO_EXECUTE && taint.key == key);
        if driven {
            return (true, None);
        }
        if let Permission::At(time) = permission {
            return (false, Some(until(time, now)));
        }
        state.pacing.used(&zone, now);
        (true, None)
    }

    fn zones(&self) -> BTreeMap<String, (usize, usize)> {
        let mut zones: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for node in self.base.local.entries::<Node>(None).iter().filter_map(|entry| entry.view::<NodeView>())
        {
            let counts = zones.entry(zone_of(&node)).or_default();
            if driving_taint(&node).is_some() {
                counts.1 += 1;
            } else {
                counts.0 += 1;
            }
        }
        zones
    }

    async fn settle_taints(&self, node: &NodeView, drive: bool, now: Timestamp) -> Result<(), ApiError> {
        let wanted = taints(node, drive, now);
        if wanted == node.spec.taints {
            return Ok(());
        }
        let known = node.spec.taints.clone();
        let change = |node: &mut Node| {
            let spec = node.spec.get_or_insert_default();
            // Only if nobody changed the taints since they were looked at; else the change comes round again.
            if spec.taints.clone().unwrap_or_default() == known {
                spec.taints = Some(wanted.clone()).filter(|taints| !taints.is_empty());
            }
        };
        self.base.local.modify("", node.name(), change).await.map(|_| ())
    }

    /// Pods on a node that is not ready cannot be ready.
    async fn mark_pods_unready(&self, node: &NodeView) -> Result<(), ApiError> {
        let entries = self.state.lock().pods.on(node.name(), self.base.store());
        let now = self.base.now();
        for pod in entries.iter().filter_map(|entry| entry.view::<PodView>()) {
            if !pod.is_ready() || pod.is_terminal() {
                continue;
            }
            let change = |pod: &mut Pod| unready(pod, now);
            match self.base.local.modify_status(&pod.metadata.namespace, pod.name(), change).await {
                Err(error) if !error.is_not_found() => return Err(error),
                _ => {}
            }
            let about = pod_reference(&pod.metadata.namespace, pod.name(), &pod.metadata.uid);
            self.base.recorder.warning(&about, "NodeNotReady", "Node is not ready".into()).await;
        }
        Ok(())
    }

    /// Takes note of a sign of life. Whether the node is to be looked at.
    fn hear(&self, table: &str, event: &Event) -> bool {
        let name = &event.entry.meta.name;
        let now = self.base.now();
        let mut state = self.state.lock();
        if table == LEASES {
            if !event.deleted && &*event.entry.meta.namespace == LEASE_NAMESPACE {
                state.heard.insert(name.clone(), now);
            }
            return false;
        }
        let heartbeat = |entry: &crate::store::Entry| {
            entry.view::<NodeView>().and_then(|node| node.condition("Ready")?.last_heartbeat_time)
        };
        let before = event.previous.as_ref().and_then(|entry| heartbeat(entry));
        if event.previous.is_none() || before != heartbeat(&event.entry) {
            state.heard.insert(name.clone(), now);
        }
        true
    }
}

fn unready(pod: &mut Pod, now: Timestamp) {
    let conditions = pod.status.get_or_insert_default().conditions.get_or_insert_default();
    let ready = conditions.iter_mut().find(|condition| condition.type_ == "Ready");
    if let Some(ready) = ready.filter(|ready: &&mut PodCondition| ready.status == "True") {
        ready.status = "False".into();
        ready.last_transition_time = Some(Time(now));
    }
}

fn node_reference(node: &NodeView) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".into()),
        kind: Some("Node".into()),
        name: Some(node.name().to_owned()),
        uid: Some(node.metadata.uid.clone()),
        ..ObjectReference::default()
    }
}

impl Controller for NodeLifecycle {
    fn name(&self) -> &'static str {
        "node-controller"
    }

    fn recorder(&self) -> Option<&Recorder> {
        Some(&self.base.recorder)
    }

    fn tables(&self) -> Vec<&'static str> {
        vec!["nodes", LEASES, "pods"]
    }

    fn forget(&self, table: &str) {
        if table == "pods" {
            self.state.lock().pods.clear();
        }
    }

    fn keys(&self, table: &str, event: &Event) -> Vec<Key> {
        if table == "pods" {
            self.state.lock().pods.note(event);
            return Vec::new();
        }
        if !self.hear(table, event) {
            return Vec::new();
        }
        let own = base::own_key(table, event);
        let ready =
            |entry: &crate::store::Entry| entry.view::<NodeView>().map(|node| driving_taint(&node).is_none());
        let turned = event.deleted
            || event.previous.as_ref().is_none_or(|before| ready(before) != ready(&event.entry));
        if !turned {
            return vec![own];
        }
        // A node that came, went or turned changes what may be done about its troubled neighbours.
        let troubled = |entry: &&Arc<crate::store::Entry>| ready(entry) == Some(false);
        let nodes = self.base.local.entries::<Node>(None);
        let mut keys: Vec<Key> =
            nodes.iter().filter(troubled).map(|entry| Key::new(&self.table, "", &entry.meta.name)).collect();
        keys.push(own);
        keys
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        Box::pin(self.sync(key.name()))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "tables of JSON literals read better by value")]

    use serde_json::{Value, from_value, json};

    use super::*;
    use crate::controllers::view::tests::noon;

    fn node(conditions: Value, taints: Value, unschedulable: bool) -> NodeView {
        from_value(
            json!({"metadata": {"name": "n"}, "spec": {"taints": taints, "unschedulable": unschedulable},
            "status": {"conditions": conditions}}),
        )
        .unwrap()
    }

    fn keys(taints: &[Taint]) -> Vec<String> {
        taints
            .iter()
            .map(|taint| format!("{}:{}", taint.key.trim_start_matches("node.kubernetes.io/"), taint.effect))
            .collect()
    }

    #[test]
    fn taints_follow_conditions() {
        let own = json!([{"key": "gpu", "effect": "NoSchedule"}]);
        let old =
            json!([{"key": UNREACHABLE, "effect": "NoExecute"}, {"key": NOT_READY, "effect": "NoSchedule"}]);
        let ready = |status: &str| json!([{"type": "Ready", "status": status}]);
        let pressed =
            json!([{"type": "Ready", "status": "True"}, {"type": "DiskPressure", "status": "True"}]);
        let rows = [
            ("healthy", node(ready("True"), own.clone(), false), true, vec!["gpu:NoSchedule"]),
            ("healed", node(ready("True"), old, false), true, vec![]),
            (
                "not ready",
                node(ready("False"), own, false),
                true,
                vec!["gpu:NoSchedule", "not-ready:NoSchedule", "not-ready:NoExecute"],
            ),
            (
                "silent, others too",
                node(ready("Unknown"), json!([]), false),
                false,
                vec!["unreachable:NoSchedule"],
            ),
            ("closed", node(ready("True"), json!([]), true), true, vec!["unschedulable:NoSchedule"]),
            ("under pressure", node(pressed, json!([]), false), true, vec!["disk-pressure:NoSchedule"]),
        ];
        for (name, node, drive, want) in rows {
            assert_eq!(keys(&taints(&node, drive, noon())), want, "{name}");
        }
    }

    #[test]
    fn a_driving_taint_keeps_the_time_it_was_added() {
        let since = json!([{"key": UNREACHABLE, "effect": "NoExecute", "timeAdded": "2026-01-01T11:00:00Z"},
            {"key": UNREACHABLE, "effect": "NoSchedule", "timeAdded": "2026-01-01T11:00:00Z"}]);
        let node = node(json!([{"type": "Ready", "status": "Unknown"}]), since, false);
        assert_eq!(taints(&node, true, noon()), node.spec.taints);
    }

    #[test]
    fn silence_makes_everything_unknown_once() {
        let mut conditions: Vec<NodeCondition> = from_value(
            json!([{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T10:00:00Z"}]),
        )
        .unwrap();
        silence(&mut conditions, None, noon());
        assert_eq!(conditions.len(), 4);
        assert!(conditions.iter().all(|condition| condition.status == "Unknown"));
        assert_eq!(conditions[0].reason.as_deref(), Some("NodeStatusUnknown"));
        let before = conditions.clone();
        silence(&mut conditions, None, noon() + SignedDuration::from_secs(9));
        assert_eq!(conditions, before);
    }

    #[test]
    fn a_node_that_never_spoke_gets_more_time() {
        let spoke = node(json!([{"type": "Ready", "status": "True"}]), json!([]), false);
        let never = node(json!([]), json!([]), false);
        assert_eq!(deadline(&spoke, noon()), noon() + GRACE);
        assert_eq!(deadline(&never, noon()), noon() + STARTUP_GRACE);
    }
}
