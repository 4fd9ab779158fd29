//! What the core wants done.

use crate::model::{CardsTaken, GroupId, Millis, NodeId, PodId};

/// Something for the adapter to do. The ledger counts on it already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Bind a Pod. Those of a gang come together, and only when its minimum is placed.
    Bind {
        /// The Pod.
        pod: PodId,
        /// The node.
        node: NodeId,
        /// Its cards there.
        cards: CardsTaken,
    },
    /// Ask a Pod to go. The claimant is bound when all who were asked for it have gone.
    Evict {
        /// The Pod.
        pod: PodId,
        /// For whom; one of them, where room is made for several alike.
        claimant: GroupId,
        /// By what right.
        reason: Reason,
        /// How long it gets to stop.
        grace: Millis,
    },
    /// A gang has stood for too long with some of its Pods placed and others not.
    Stalled {
        /// The gang.
        group: GroupId,
        /// Pods placed.
        placed: u32,
        /// Pods it needs at least.
        minimum: u32,
    },
}

/// By what right somebody is asked to go. In the order in which they are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Reason {
    /// It is best-effort work, and the claimant is guaranteed.
    BestEffort,
    /// Its account has more than its part, and the claimant's less.
    Reclaimed,
    /// The claimant is of the same account and has a higher priority.
    Priority,
}
