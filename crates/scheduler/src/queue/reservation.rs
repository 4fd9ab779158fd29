//! When a group that cannot start now will, and what is held for it until then.

use std::collections::BTreeMap;

use crate::model::{GroupId, Millis, NodeId};

/// Nodes held for a group. Others may use them if they end before it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// For whom.
    pub group: GroupId,
    /// The nodes, ascending.
    pub nodes: Vec<NodeId>,
    /// When it will start, if what runs there says how long it may run.
    pub start: Option<Millis>,
}

/// From when on a node takes so many Pods of the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// The node.
    pub node: NodeId,
    /// From when on; [`Millis::MAX`] if nobody can say.
    pub from: Millis,
    /// How many, in all.
    pub count: u32,
}

/// The first time at which the openings take `need` Pods together, and the fewest nodes that do so then.
pub fn earliest(need: u32, openings: &[Opening]) -> Option<(Millis, Vec<NodeId>)> {
    let mut sorted = openings.to_vec();
    sorted.sort_by_key(|opening| (opening.from, opening.node));
    let mut counts: BTreeMap<NodeId, u32> = BTreeMap::new();
    let mut total = 0u64;
    let mut start = None;
    for opening in sorted {
        if start.is_some_and(|start| start < opening.from) {
            break;
        }
        let count = counts.entry(opening.node).or_default();
        total += u64::from(opening.count.saturating_sub(*count));
        *count = opening.count.max(*count);
        if total >= u64::from(need) {
            start = Some(opening.from);
        }
    }
    let start = start?;
    let mut nodes: Vec<(NodeId, u32)> = counts.into_iter().filter(|(_, count)| *count > 0).collect();
    nodes.sort_by_key(|(node, count)| (std::cmp::Reverse(*count), *node));
    let mut left = need;
    let mut chosen = Vec::new();
    for (node, count) in nodes {
        if left == 0 {
            break;
        }
        left = left.saturating_sub(count);
        chosen.push(node);
    }
    chosen.sort_unstable();
    Some((start, chosen))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opening(node: u32, from: Millis, count: u32) -> Opening {
        Opening { node: NodeId(node), from, count }
    }

    #[test]
    fn a_group_starts_when_enough_nodes_are_open() {
        let openings = [opening(1, 0, 1), opening(1, 50, 4), opening(2, 20, 2), opening(3, 90, 8)];
        assert_eq!(earliest(1, &openings), Some((0, vec![NodeId(1)])));
        assert_eq!(earliest(3, &openings), Some((20, vec![NodeId(1), NodeId(2)])));
        assert_eq!(earliest(6, &openings), Some((50, vec![NodeId(1), NodeId(2)])));
        assert_eq!(earliest(8, &openings), Some((90, vec![NodeId(3)])));
        assert_eq!(earliest(15, &openings), None);
    }
}
