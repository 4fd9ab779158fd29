//! Where a group may look for places, apart from what its Pods ask for.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    filter::Reason,
    ledger::NodeState,
    model::{Millis, Node, NodeId},
};

/// Where a group may look for places.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// Pools it may use.
    pub pools: Pools,
    /// Whether it may use lent nodes.
    pub lent_nodes: bool,
    /// When it will have ended at the latest, if that is known.
    pub ends: Option<Millis>,
    /// Nodes held for others, with the time from which they are wanted. Who has ended by then may use them.
    pub held: Arc<BTreeMap<NodeId, Millis>>,
    /// Where it should rather be.
    pub near: Option<Arc<Near>>,
}

/// Pools of nodes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Pools {
    /// Every node.
    #[default]
    All,
    /// Every node but those of these pools.
    Except(Arc<BTreeSet<String>>),
    /// The nodes of these pools.
    Only(Arc<BTreeSet<String>>),
}

/// Topology domains to be preferred.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Near {
    /// The node label that makes a domain.
    pub label: String,
    /// Its values, best first. All others come after them.
    pub values: Vec<String>,
}

impl Scope {
    /// Questions about the node that do not depend on time.
    pub(crate) fn judge_node(&self, node: &Node) -> Option<Reason> {
        if !self.pools.admits(node.pool.as_ref()) {
            return Some(Reason::Pool);
        }
        (node.lent.is_some() && !self.lent_nodes).then_some(Reason::Lent)
    }

    /// Questions about when the work ends.
    pub(crate) fn judge_time(&self, state: &NodeState) -> Option<Reason> {
        let over_by = |time: Millis| self.ends.is_some_and(|ends| ends <= time);
        let closes = state.node.lent.and_then(|window| window.closes);
        if closes.is_some_and(|closes| !over_by(closes)) {
            return Some(Reason::LentCloses);
        }
        self.held.get(&state.id).is_some_and(|wanted| !over_by(*wanted)).then_some(Reason::Held)
    }

    /// How far down in the list of preferred domains a node is.
    pub(super) fn distance(&self, node: &Node) -> u32 {
        self.near.as_ref().map_or(0, |near| near.distance(node))
    }
}

impl Near {
    /// How far down in the list a node is.
    pub(super) fn distance(&self, node: &Node) -> u32 {
        let value = node.labels.get(&self.label);
        let at = self.values.iter().position(|one| Some(one) == value);
        at.map_or(u32::MAX, |at| u32::try_from(at).unwrap_or(u32::MAX))
    }
}

impl Pools {
    /// Whether nodes of this pool, or of none, may be used.
    pub fn admits(&self, pool: Option<&String>) -> bool {
        match self {
            Self::All => true,
            Self::Except(not) => pool.is_none_or(|pool| !not.contains(pool)),
            Self::Only(only) => pool.is_some_and(|pool| only.contains(pool)),
        }
    }
}
