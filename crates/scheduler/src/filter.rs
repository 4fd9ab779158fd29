//! Where a Pod may go: kube-scheduler's questions about a node, as pure functions.
//!
//! [`judge_node`] asks about the node alone, [`judge_room`] about what is left on it, and [`topology`] about the Pods
//! around it. Each answers with the first [`Reason`] against the node, or none.

mod labels;
mod node;
mod room;
pub mod topology;

use crate::{ledger::Ledger, model::ResourceId};

pub use labels::{matches_selector, matches_term};
pub use node::{hated_taints, judge_node, preference, tolerates};
pub use room::{judge_room, pods_that_fit, room_for_cards};

/// Why a node cannot take a Pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The Pod names another node.
    NodeName,
    /// It is not in a pool that the account may use.
    Pool,
    /// It is lent, and the work does not want lent nodes.
    Lent,
    /// It is lent and closes before the work would end.
    LentCloses,
    /// It is held for somebody who waits longer.
    Held,
    /// It is cordoned.
    Cordoned,
    /// It has a taint that the Pod does not bear.
    Taint,
    /// Its labels are not those the Pod asks for.
    NodeSelector,
    /// A volume of the Pod cannot be reached from it.
    VolumeNode,
    /// A port of the host is in use.
    HostPort,
    /// It has as many volumes of a driver attached as it can.
    VolumeLimit,
    /// It has too little left of a resource.
    Resource(ResourceId),
    /// It has no cards, or no share of a card, of the size asked for left.
    Cards,
    /// No Pod that must be near is.
    Affinity,
    /// A Pod that must not be near is.
    AntiAffinity,
    /// A Pod near does not want this one.
    ExistingAntiAffinity,
    /// It lacks a label over whose values the Pod is spread.
    SpreadLabel,
    /// Too many like it are in this part already.
    Spread,
}

impl Reason {
    /// A phrase for people: `12 nodes …`.
    pub fn phrase(self, ledger: &Ledger) -> String {
        let text = match self {
            Self::NodeName => "are not the node it names",
            Self::Pool => "are in pools that its account may not use",
            Self::Lent => "are lent, and it did not ask for lent nodes",
            Self::LentCloses => "are lent and close before it would end",
            Self::Held => "are held for work that waits longer",
            Self::Cordoned => "are cordoned",
            Self::Taint => "have a taint that it does not tolerate",
            Self::NodeSelector => "do not have the labels it asks for",
            Self::VolumeNode => "cannot reach one of its volumes",
            Self::HostPort => "have its host port in use",
            Self::VolumeLimit => "have no more volumes to attach",
            Self::Resource(resource) => {
                return format!("have too little {} left", ledger.resources().name(resource));
            }
            Self::Cards => "have no cards of the size asked for left",
            Self::Affinity => "have no Pod near that it must be near to",
            Self::AntiAffinity => "have a Pod near that it must be away from",
            Self::ExistingAntiAffinity => "have a Pod near that must be away from it",
            Self::SpreadLabel => "lack a label over which it is spread",
            Self::Spread => "have too many like it near already",
        };
        text.to_owned()
    }

    /// Whether the answer would be another if other Pods left: worth a preemption.
    pub fn may_change(self) -> bool {
        matches!(
            self,
            Self::HostPort
                | Self::VolumeLimit
                | Self::Resource(_)
                | Self::Cards
                | Self::AntiAffinity
                | Self::ExistingAntiAffinity
                | Self::Spread
        )
    }
}
