//! Nodes and Pods as the numbers a person looks for. Pure.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Pod};
use maar_api::resources::{CPU, MEMORY, PodResources, is_extended};
use maar_api::{Quantity, ResourceList};

/// What a page shows.
#[derive(Debug, PartialEq)]
pub(super) struct View {
    pub(super) nodes: Vec<NodeView>,
    /// How many Pods are in each phase.
    pub(super) phases: BTreeMap<String, usize>,
    /// Cards and devices of the whole cluster, by resource name.
    pub(super) devices: BTreeMap<String, Share>,
    pub(super) waiting: Vec<Waiting>,
}

/// Part of a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Share {
    pub(super) taken: Quantity,
    pub(super) whole: Quantity,
}

/// Whether a node takes Pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeState {
    Ready,
    NotReady,
    Cordoned,
}

/// One node.
#[derive(Debug, PartialEq)]
pub(super) struct NodeView {
    pub(super) name: String,
    pub(super) state: NodeState,
    pub(super) pods: usize,
    pub(super) cpu: Share,
    pub(super) memory: Share,
    pub(super) devices: BTreeMap<String, Share>,
}

/// A Pod without a node.
#[derive(Debug, PartialEq)]
pub(super) struct Waiting {
    pub(super) pod: String,
    pub(super) reason: String,
}

impl View {
    pub(super) fn new(nodes: &[Node], pods: &[Pod]) -> Self {
        let mut taken: BTreeMap<&str, (usize, ResourceList)> = BTreeMap::new();
        let mut phases = BTreeMap::new();
        for pod in pods {
            *phases.entry(phase(pod).to_owned()).or_default() += 1;
            if let Some(node) = node_of(pod).filter(|_| !matches!(phase(pod), "Succeeded" | "Failed")) {
                let (count, sum) = taken.entry(node).or_default();
                *count += 1;
                *sum += &requests(pod);
            }
        }
        let nothing = (0, ResourceList::default());
        let nodes: Vec<NodeView> = nodes
            .iter()
            .map(|node| {
                let name = node.metadata.name.as_deref().unwrap_or_default();
                let (pods, sum) = taken.get(name).unwrap_or(&nothing);
                NodeView::new(name, node, *pods, sum)
            })
            .collect();
        let waiting = pods.iter().filter_map(Waiting::of).collect();
        Self { devices: total(&nodes), nodes, phases, waiting }
    }

    /// How many nodes work; one that is closed to new Pods still does.
    pub(super) fn ready(&self) -> usize {
        self.nodes.iter().filter(|node| node.state != NodeState::NotReady).count()
    }
}

impl NodeView {
    fn new(name: &str, node: &Node, pods: usize, taken: &ResourceList) -> Self {
        let offered = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
        let offered = offered.and_then(|offered| ResourceList::from_text(offered).ok()).unwrap_or_default();
        let share = |resource: &str| Share { taken: taken.get(resource), whole: offered.get(resource) };
        let devices = offered
            .iter()
            .filter(|(resource, whole)| is_extended(resource) && !whole.is_zero())
            .map(|(resource, _)| (resource.clone(), share(resource)))
            .collect();
        let (cpu, memory) = (share(CPU), share(MEMORY));
        Self { name: name.to_owned(), state: state(node), pods, cpu, memory, devices }
    }
}

impl Waiting {
    fn of(pod: &Pod) -> Option<Self> {
        if phase(pod) != "Pending" || node_of(pod).is_some() {
            return None;
        }
        let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
        let reason = conditions.into_iter().flatten().find(|condition| condition.type_ == "PodScheduled");
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        Some(Self {
            pod: format!("{namespace}/{name}"),
            reason: reason.and_then(|condition| condition.message.clone()).unwrap_or_default(),
        })
    }
}

impl Share {
    /// How much is taken, from 0 to 100; what is nothing is not taken.
    pub(super) fn percent(self) -> f64 {
        let whole = self.whole.approximate();
        if whole > 0.0 { (100.0 * self.taken.approximate() / whole).clamp(0.0, 100.0) } else { 0.0 }
    }
}

fn total(nodes: &[NodeView]) -> BTreeMap<String, Share> {
    let mut devices: BTreeMap<String, Share> = BTreeMap::new();
    for (resource, share) in nodes.iter().flat_map(|node| &node.devices) {
        let sum = devices.entry(resource.clone()).or_default();
        *sum = Share { taken: sum.taken + share.taken, whole: sum.whole + share.whole };
    }
    devices
}

fn state(node: &Node) -> NodeState {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    let ready = conditions
        .into_iter()
        .flatten()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True");
    let closed = node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or(false);
    match (ready, closed) {
        (false, _) => NodeState::NotReady,
        (true, true) => NodeState::Cordoned,
        (true, false) => NodeState::Ready,
    }
}

fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Unknown")
}

fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref())
}

fn requests(pod: &Pod) -> ResourceList {
    PodResources::from_pod(pod).map(|resources| resources.requests()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn node(name: &str, ready: &str, closed: bool) -> Node {
        serde_json::from_value(json!({
            "metadata": {"name": name}, "spec": {"unschedulable": closed},
            "status": {"allocatable": {"cpu": "8", "memory": "16Gi", "nvidia.com/gpu": "4", "pods": "110"},
                "conditions": [{"type": "Ready", "status": ready}]},
        }))
        .unwrap()
    }

    fn pod(name: &str, node: Option<&str>, phase: &str, cards: &str, conditions: &Value) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": "team"},
            "spec": {"nodeName": node, "containers": [{"name": "main", "resources":
                {"requests": {"cpu": "2", "nvidia.com/gpu": cards}, "limits": {"nvidia.com/gpu": cards}}}]},
            "status": {"phase": phase, "conditions": conditions},
        }))
        .unwrap()
    }

    #[test]
    fn pods_that_ended_take_nothing_and_pods_without_a_node_say_why() {
        let nodes = [node("a", "True", false), node("b", "False", false), node("c", "True", true)];
        let why = json!([{"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}]);
        let pods = [
            pod("one", Some("a"), "Running", "3", &json!([])),
            pod("two", Some("a"), "Succeeded", "1", &json!([])),
            pod("three", None, "Pending", "4", &why),
        ];
        let view = View::new(&nodes, &pods);
        let a = &view.nodes[0];
        assert_eq!((a.pods, a.cpu.percent(), a.devices["nvidia.com/gpu"].percent()), (1, 25.0, 75.0));
        let states: Vec<NodeState> = view.nodes.iter().map(|node| node.state).collect();
        assert_eq!(states, [NodeState::Ready, NodeState::NotReady, NodeState::Cordoned]);
        let cards = view.devices["nvidia.com/gpu"];
        assert_eq!((cards.taken.value(), cards.whole.value()), (3, 12));
        let reason = "0/3 nodes are available".to_owned();
        assert_eq!(view.waiting, [Waiting { pod: "team/three".to_owned(), reason }]);
        assert_eq!((view.ready(), view.phases["Running"]), (2, 1));
    }

    #[test]
    fn nothing_is_not_full() {
        assert!(Share::default().percent() < f64::EPSILON);
        assert_eq!(View::new(&[], &[]).nodes, []);
    }
}
