//! Nodes.

use std::collections::BTreeMap;

use super::{Amounts, CardKindId, Millis};

/// A node as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A node, without what runs on it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its taints.
    pub taints: Vec<Taint>,
    /// Cordoned.
    pub unschedulable: bool,
    /// What Pods may take of it; cards in thousandths.
    pub allocatable: Amounts,
    /// Memory in MiB of one card of each kind, where known.
    pub card_memory: Vec<(CardKindId, u32)>,
    /// Cards of each kind that are broken or withheld, by number.
    pub withheld_cards: Vec<(CardKindId, u16)>,
    /// The pool it belongs to.
    pub pool: Option<String>,
    /// For a lent (virtual) node, when it is open.
    pub lent: Option<Window>,
    /// Most volumes of each driver, where limited.
    pub volume_limits: BTreeMap<String, u32>,
}

/// When a lent node closes; work that may run longer does not start there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The end; never, if absent.
    pub closes: Option<Millis>,
}

/// Keeps Pods away that do not tolerate it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Taint {
    /// Key.
    pub key: String,
    /// Value, empty if there is none.
    pub value: String,
    /// What it does.
    pub effect: Effect,
}

/// What a taint does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// No new Pods.
    NoSchedule,
    /// Better no new Pods.
    PreferNoSchedule,
    /// No Pods at all.
    NoExecute,
}
