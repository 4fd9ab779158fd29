//! Pods.

use std::{collections::BTreeMap, sync::Arc};

use super::{CardsTaken, GroupId, Millis, NodeId, PodVolumes, Shape};

/// A Pod as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodId(pub u32);

/// Where a Pod stands, as far as placing goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PodPhase {
    /// Waits for a node.
    Pending,
    /// Waits, and must not be placed yet (scheduling gates).
    Gated,
    /// Has a node: it is bound, or a bind is on its way.
    Placed {
        /// The node.
        node: NodeId,
        /// Its cards there.
        cards: CardsTaken,
        /// Since when.
        since: Millis,
    },
    /// Has ended; takes nothing, and has done its part for its group.
    Ended,
    /// Has failed; takes nothing, and its group lacks it until another one has come.
    Failed,
}

/// A Pod.
#[derive(Debug, Clone)]
pub struct Pod {
    /// Namespace.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
    /// Its uid: a Pod deleted and made again under its name is another one.
    pub uid: Arc<str>,
    /// Its labels, for the affinities of others.
    pub labels: Arc<BTreeMap<String, String>>,
    /// All that decides where it may go. Pods of one template share it.
    pub shape: Arc<Shape>,
    /// Volumes it attaches, and claims it has to itself.
    pub volumes: Arc<PodVolumes>,
    /// The group it starts with; [`GroupId::NONE`] for Pods of other schedulers.
    pub group: GroupId,
    /// The task of the group it belongs to; empty if there is but one.
    pub task: Arc<str>,
    /// Pod priority.
    pub priority: i32,
    /// When it was made.
    pub created: Millis,
    /// It is being deleted: its place will be free.
    pub terminating: bool,
    /// Ours to place; Pods of other schedulers only count.
    pub ours: bool,
    /// Where it stands.
    pub phase: PodPhase,
    /// A node promised to it after a preemption. Until a Pod of another scheduler has one, its room there is not for
    /// Pods of ours that have no higher priority.
    pub nominated: Option<NodeId>,
}
