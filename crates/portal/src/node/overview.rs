//! The cards of all nodes, and who holds them. Worked out once per change of the cluster, not once per page.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt as _;
use maar_api::{ResourceList, names, resources::is_extended};
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Serialize;

use crate::live::{Live, PodFacts, Work};

/// Who is on a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Holder {
    /// `workspace`, `job` or `pod`; hidden as the rest from those who may not see the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// Whose it is, unless the portal hides names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) account: Option<String>,
    /// The part of the card, such as `0.5`; the whole card if it is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) share: Option<String>,
}

/// One card.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CardView {
    /// Its number on the node.
    pub(crate) index: u32,
    pub(crate) holders: Vec<Holder>,
}

/// Cards of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CardsView {
    /// The resource that counts them.
    pub(crate) resource: String,
    pub(crate) cards: Vec<CardView>,
}

/// One node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeView {
    pub(crate) name: String,
    pub(crate) ready: bool,
    /// New Pods may come.
    pub(crate) schedulable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pool: Option<String>,
    /// What its cards are called by their maker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// It belongs to another cluster.
    pub(crate) lent: bool,
    pub(crate) allocatable: ResourceList,
    /// What Pods on it ask for together.
    pub(crate) requested: ResourceList,
    pub(crate) pods: usize,
    pub(crate) cards: Vec<CardsView>,
}

/// All nodes, as of one moment of the cluster.
#[derive(Debug, Default)]
pub(crate) struct Overview {
    made: Mutex<Option<Made>>,
}

/// Nodes, and the versions of nodes and Pods they were made of.
type Made = ((u64, u64), Arc<Vec<NodeView>>);

impl Overview {
    /// All nodes in the order of their names.
    pub(crate) fn get(&self, live: &Live) -> Arc<Vec<NodeView>> {
        let version = (live.nodes.version(), live.pods.version());
        if let Some((of, nodes)) = &*self.made.lock()
            && *of == version
        {
            return Arc::clone(nodes);
        }
        let nodes = Arc::new(make(&live.nodes.list(None), &live.pods.list(None)));
        *self.made.lock() = Some((version, Arc::clone(&nodes)));
        nodes
    }
}

fn make(nodes: &[Arc<Node>], pods: &[Arc<PodFacts>]) -> Vec<NodeView> {
    let mut on: BTreeMap<&str, Vec<&PodFacts>> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| pod.holds()) {
        on.entry(pod.node.as_deref().unwrap_or_default()).or_default().push(pod);
    }
    nodes.iter().map(|node| view(node, on.get(node.name_any().as_str()).map_or(&[], Vec::as_slice))).collect()
}

fn view(node: &Node, pods: &[&PodFacts]) -> NodeView {
    let (spec, status) = (node.spec.as_ref(), node.status.as_ref());
    let conditions = status.and_then(|status| status.conditions.as_ref());
    let ready = conditions.into_iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True");
    let allocatable = status.and_then(|status| status.allocatable.as_ref());
    let allocatable = allocatable.and_then(|all| ResourceList::from_text(all).ok()).unwrap_or_default();
    let mut requested = ResourceList::default();
    for pod in pods {
        requested += &pod.requests;
    }
    let label = |name: &str| node.labels().get(name).cloned();
    NodeView {
        name: node.name_any(),
        ready,
        schedulable: !spec.and_then(|spec| spec.unschedulable).unwrap_or_default(),
        pool: label(names::LABEL_POOL),
        model: label("nvidia.com/gpu.product").or_else(|| label("accelerator")),
        lent: node.labels().get(names::LABEL_LENT).is_some_and(|by| by == names::LENT_BY),
        cards: cards(&allocatable, pods),
        allocatable,
        requested,
        pods: pods.len(),
    }
}

fn cards(allocatable: &ResourceList, pods: &[&PodFacts]) -> Vec<CardsView> {
    let kinds = allocatable.iter().filter(|(name, amount)| is_card(name) && !amount.is_zero());
    kinds
        .map(|(resource, amount)| {
            let count = u32::try_from(amount.value()).unwrap_or_default().min(1024);
            let mut cards: Vec<CardView> =
                (0..count).map(|index| CardView { index, ..CardView::default() }).collect();
            for pod in pods {
                for (index, share) in given(pod.cards.as_deref().unwrap_or_default(), resource) {
                    if let Some(card) = usize::try_from(index).ok().and_then(|index| cards.get_mut(index)) {
                        card.holders.push(holder(pod, share));
                    }
                }
            }
            CardsView { resource: resource.clone(), cards }
        })
        .collect()
}

/// Network cards are counted by device plugins as well, and are no accelerators.
fn is_card(resource: &str) -> bool {
    is_extended(resource) && !resource.starts_with("rdma/") && !resource.contains("hca")
}

/// Numbers and shares of the cards of a kind in an annotation such as `nvidia.com/gpu=2,3` or `nvidia.com/gpu=2:0.5`.
fn given(text: &str, resource: &str) -> Vec<(u32, Option<String>)> {
    let of_kind = text.split(';').find_map(|part| part.trim().strip_prefix(resource)?.strip_prefix('='));
    let one = |part: &str| {
        let (index, share) =
            part.split_once(':').map_or((part, None), |(index, share)| (index, Some(share.to_owned())));
        Some((index.trim().parse().ok()?, share))
    };
    of_kind.unwrap_or_default().split(',').filter_map(one).collect()
}

fn holder(pod: &PodFacts, share: Option<String>) -> Holder {
    let (kind, name) = match &pod.work {
        Work::Workspace(name) => ("workspace", name),
        Work::Job(name) => ("job", name),
        Work::Other => ("pod", &pod.name),
    };
    Holder {
        kind: Some(kind),
        namespace: Some(pod.namespace.clone()),
        name: Some(name.clone()),
        user: pod.user.clone(),
        account: pod.account.clone(),
        share,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use serde_json::json;

    use super::*;

    fn pod(name: &str, cards: &str) -> Arc<PodFacts> {
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {
                "name": name, "namespace": "user-ada", "annotations": { "maar.io/cards": cards },
                "labels": { "maar.io/workspace": name, "maar.io/user": "ada", "maar.io/account": "lab" },
            },
            "spec": { "nodeName": "gpu-1", "containers": [{ "name": "c", "resources": { "requests": { "cpu": "2" } } }] },
            "status": { "phase": "Running" },
        }))
        .unwrap();
        Arc::new(PodFacts::of(&pod))
    }

    #[test]
    fn a_pod_of_several_cards_is_on_all_of_them() {
        let node: Node = serde_json::from_value(json!({
            "metadata": { "name": "gpu-1", "labels": { "maar.io/pool": "a100" } },
            "status": {
                "allocatable": { "cpu": "64", "nvidia.com/gpu": "4", "rdma/hca": "2" },
                "conditions": [{ "type": "Ready", "status": "True" }],
            },
        }))
        .unwrap();
        let pods = [
            pod("two", "nvidia.com/gpu=0,2"),
            pod("half", "nvidia.com/gpu=3:0.5"),
            pod("odd", "nvidia.com/gpu=9,x"),
        ];
        insta::assert_json_snapshot!(make(&[Arc::new(node)], &pods));
    }
}
