//! Nodes.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use maar_api::{Quantity, ResourceList, names};

use super::{CardNames, cards_taken};
use crate::{
    adapter::wire,
    model::{Amounts, CardKind, CardKindId, Effect, Node, Resources, Taint, WHOLE_CARD, Window},
};

/// Node annotation: cards that take no new Pods, as `nvidia.com/gpu=1,3`, kinds apart by `;`. Whoever finds a card broken
/// writes it: an administrator, or an agent that reads the driver's health.
const WITHHELD: &str = "maar.io/withheld-cards";

/// A node. What cannot be read counts as not there: a node with a bad quantity has none of that resource.
pub(crate) fn node(
    node: &wire::Node,
    limits: BTreeMap<String, u32>,
    cards: &CardNames,
    kinds: &[CardKind],
    resources: &mut Resources,
) -> Node {
    let labels = node.metadata.labels.clone();
    let readable = node.status.allocatable.iter().filter_map(|(name, text)| {
        Some((name.clone(), Quantity::parse(text).ok().filter(|quantity| quantity.nanos() >= 0)?))
    });
    let mut allocatable = resources.amounts(&readable.collect::<ResourceList>());
    let withheld_cards = withheld(node, cards, kinds, &mut allocatable);
    Node {
        name: node.metadata.name.clone(),
        taints: node.spec.taints.iter().filter_map(taint).collect(),
        unschedulable: node.spec.unschedulable,
        allocatable,
        card_memory: card_memory(&labels, kinds),
        withheld_cards,
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

/// Cards that take no new Pods. Where some are named, the numbers go up to the node's capacity: its allocatable cards
/// lack the broken ones, and says how many, but not which.
fn withheld(
    node: &wire::Node,
    cards: &CardNames,
    kinds: &[CardKind],
    allocatable: &mut Amounts,
) -> Vec<(CardKindId, u16)> {
    let text = node.metadata.annotations.get(WITHHELD).unwrap_or_default();
    let mut all = Vec::new();
    for given in text.split(';').map(str::trim).filter_map(|text| cards_taken(cards, text)) {
        let Some((id, kind)) = given.kind.and_then(|id| Some((id, kinds.get(usize::from(id.0))?))) else {
            continue;
        };
        let whole = i64::from(WHOLE_CARD);
        let left = allocatable.get(kind.resource) / whole;
        let capacity = node.status.capacity.get(cards.name(id)).and_then(|text| Quantity::parse(text).ok());
        let capacity = capacity.map_or(left, |quantity| quantity.value().clamp(left, i64::from(u16::MAX)));
        allocatable.set(kind.resource, capacity * whole);
        let mut broken: BTreeSet<u16> =
            given.indices.into_iter().filter(|index| i64::from(*index) < capacity).collect();
        // More are missing than are named: the last ones stand for them.
        let mut last = u16::try_from(capacity).unwrap_or(u16::MAX);
        while last > 0 && capacity - i64::try_from(broken.len()).unwrap_or(capacity) > left {
            last -= 1;
            broken.insert(last);
        }
        all.extend(broken.into_iter().map(|index| (id, index)));
    }
    all
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
        let names = CardNames(vec!["nvidia.com/gpu".to_owned()]);
        let node = node(&read, BTreeMap::new(), &names, &kinds, &mut resources);
        assert_eq!(node.allocatable.get(ResourceId::CPU), 7910);
        assert_eq!(node.allocatable.get(ResourceId::MEMORY), 0);
        assert_eq!(node.allocatable.get(ResourceId::PODS), 0);
        assert_eq!(node.allocatable.get(gpu), 8000);
        assert_eq!(node.taints.len(), 1);
        assert_eq!(node.card_memory, [(CardKindId(0), 81920)]);
        assert_eq!(node.lent, Some(Window { closes: Some(1_767_225_600_000) }));
        assert_eq!(node.pool.as_deref(), Some("a100"));
    }

    #[test]
    fn broken_cards_are_withheld_by_their_numbers() {
        let mut resources = Resources::default();
        let gpu = resources.card("nvidia.com/gpu");
        let kinds = [CardKind { resource: gpu, memory_label: None, sharers: 8 }];
        let names = CardNames(vec!["nvidia.com/gpu".to_owned()]);
        let mut read = |text: &str, allocatable: &str| {
            let value = json!({
                "metadata": {"name": "n", "annotations": {WITHHELD: text}},
                "status": {"capacity": {"nvidia.com/gpu": "8"}, "allocatable": {"nvidia.com/gpu": allocatable}},
            });
            let node = node(
                &serde_json::from_value(value).unwrap(),
                BTreeMap::new(),
                &names,
                &kinds,
                &mut resources,
            );
            let withheld: Vec<u16> = node.withheld_cards.iter().map(|(_, index)| *index).collect();
            (node.allocatable.get(gpu), withheld)
        };
        let rows = [
            ("nobody has told which are broken", "", "7", (7000, vec![])),
            ("the driver has seen it too", "nvidia.com/gpu=1", "7", (8000, vec![1])),
            ("the driver has not seen it", "nvidia.com/gpu=1,3", "8", (8000, vec![1, 3])),
            ("more are missing than are named", "nvidia.com/gpu=1", "6", (8000, vec![1, 7])),
            ("a card that the node does not have", "nvidia.com/gpu=9", "8", (8000, vec![])),
            ("a kind that nobody knows", "example.com/x=1", "8", (8000, vec![])),
            ("nonsense", "all of them", "8", (8000, vec![])),
        ];
        for (what, text, allocatable, want) in rows {
            assert_eq!(read(text, allocatable), want, "{what}");
        }
    }
}
