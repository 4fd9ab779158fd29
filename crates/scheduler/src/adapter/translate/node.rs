//! Nodes.

use std::collections::BTreeMap;

use jiff::Timestamp;
use maar_api::{Quantity, ResourceList, names};

use crate::{
    adapter::wire,
    model::{CardKind, CardKindId, Effect, Node, Resources, Taint, Window},
};

/// A node. What cannot be read counts as not there: a node with a bad quantity has none of that resource.
pub(crate) fn node(
    node: &wire::Node,
    limits: BTreeMap<String, u32>,
    kinds: &[CardKind],
    resources: &mut Resources,
) -> Node {
    let labels = node.metadata.labels.clone();
    let readable = node.status.allocatable.iter().filter_map(|(name, text)| {
        Some((name.clone(), Quantity::parse(text).ok().filter(|quantity| quantity.nanos() >= 0)?))
    });
    let allocatable = resources.amounts(&readable.collect::<ResourceList>());
    Node {
        name: node.metadata.name.clone(),
        taints: node.spec.taints.iter().filter_map(taint).collect(),
        unschedulable: node.spec.unschedulable,
        allocatable,
        card_memory: card_memory(&labels, kinds),
        withheld_cards: Vec::new(),
        pool: labels.get(names::LABEL_POOL).cloned(),
        lent: lent(node),
        volume_limits: limits,
        labels,
    }
}

pub(crate) fn effect(text: &str) -> Option<Effect> {
    match text {
        "NoSchedule" => Some(Effect::NoSchedule),
        "PreferNoSchedule" => Some(Effect::PreferNoSchedule),
        "NoExecute" => Some(Effect::NoExecute),
        _ => None,
    }
}

fn taint(taint: &wire::Taint) -> Option<Taint> {
    let effect = effect(&taint.effect)?;
    Some(Taint { key: taint.key.clone(), value: taint.value.clone(), effect })
}

fn card_memory(labels: &wire::Labels, kinds: &[CardKind]) -> Vec<(CardKindId, u32)> {
    let memory = |kind: &CardKind| labels.get(kind.memory_label.as_ref()?)?.parse().ok();
    (0..).zip(kinds).filter_map(|(number, kind)| Some((CardKindId(number), memory(kind)?))).collect()
}

/// A lent node closes at the time it names. One that names a time nobody can read has closed: nothing new starts there.
fn lent(node: &wire::Node) -> Option<Window> {
    let meta = &node.metadata;
    meta.labels.get(names::LABEL_LENT).filter(|by| *by == names::LENT_BY)?;
    let closes = meta
        .annotations
        .get(names::ANNOTATION_CLOSES_AT)
        .map(|text| text.parse().map_or(0, Timestamp::as_millisecond));
    Some(Window { closes })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::ResourceId;

    #[test]
    fn a_node_is_read_and_nonsense_in_it_counts_as_nothing() {
        let mut resources = Resources::default();
        let gpu = resources.card("nvidia.com/gpu");
        let memory_label = Some("nvidia.com/gpu.memory".to_owned());
        let kinds = [CardKind { resource: gpu, memory_label, sharers: 8 }];
        let text = json!({
            "metadata": {
                "name": "n",
                "labels": {"maar.io/pool": "a100", "nvidia.com/gpu.memory": "81920", "kubeocean.io/managed-by": "kubeocean"},
                "annotations": {"maar.io/closes-at": "2026-01-01T00:00:00Z"},
            },
            "spec": {"unschedulable": true, "taints": [
                {"key": "a", "effect": "NoSchedule"}, {"key": "b", "value": "c", "effect": "Sometimes"}]},
            "status": {"allocatable": {"cpu": "7910m", "memory": "lots", "nvidia.com/gpu": "8", "pods": "-1"}},
        });
        let read: wire::Node = serde_json::from_value(text).unwrap();
        let node = node(&read, BTreeMap::new(), &kinds, &mut resources);
        assert_eq!(node.allocatable.get(ResourceId::CPU), 7910);
        assert_eq!(node.allocatable.get(ResourceId::MEMORY), 0);
        assert_eq!(node.allocatable.get(ResourceId::PODS), 0);
        assert_eq!(node.allocatable.get(gpu), 8000);
        assert_eq!(node.taints.len(), 1);
        assert_eq!(node.card_memory, [(CardKindId(0), 81920)]);
        assert_eq!(node.lent, Some(Window { closes: Some(1_767_225_600_000) }));
        assert_eq!(node.pool.as_deref(), Some("a100"));
    }
}
