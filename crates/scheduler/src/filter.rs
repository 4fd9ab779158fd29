//! Where a Pod may go: kube-scheduler's questions about a node, as pure functions.
//!
//! [`judge_node`] asks about the node alone, [`judge_room`] about what is left on it, and [`topology`] about the Pods
//! around it. Each answers with the first [`Reason`] against the node, or none.

mod beside;
mod labels;
mod node;
mod room;
pub mod topology;
mod volumes;

use crate::{ledger::Ledger, model::ResourceId};

pub use beside::{clash, is_one_per_node, judge_host};
pub use labels::{matches_selector, matches_term};
pub use node::{hated_taints, judge_node, preference, tolerates};
pub use room::{judge_promises, judge_room, pods_that_fit, room_for_cards};
pub use volumes::judge_volumes;

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
    /// No volume that is made already and free suits a claim of the Pod there.
    NoVolume,
    /// A claim that the Pod must have to itself is in use by another.
    ClaimInUse,
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
    /// What is left is promised to a Pod of another scheduler.
    Promised,
}

impl Reason {
    /// A phrase for people, of so many nodes: `12 nodes …`, `1 node …`.
    pub fn phrase(self, ledger: &Ledger, nodes: usize) -> String {
        let (many, one) = self.verbs();
        let verb = if nodes == 1 { one } else { many };
        let rest = match self {
            Self::NodeName => "the node it names",
            Self::Pool if nodes == 1 => "in a pool that its account may not use",
            Self::Pool => "in pools that its account may not use",
            Self::Lent => "lent, and it did not ask for lent nodes",
            Self::LentCloses if nodes == 1 => "lent and closes before it would end",
            Self::LentCloses => "lent and close before it would end",
            Self::Held => "held for work that waits longer",
            Self::Cordoned => "cordoned",
            Self::Taint => "a taint that it does not tolerate",
            Self::NodeSelector => "the labels it asks for",
            Self::VolumeNode => "reach one of its volumes",
            Self::NoVolume => "no free volume for one of its claims",
            Self::ClaimInUse => "use a claim that another Pod has to itself",
            Self::HostPort => "its host port in use",
            Self::VolumeLimit => "no room for more volumes",
            Self::Resource(resource) => {
                return format!("{verb} too little {} left", ledger.resources().name(resource));
            }
            Self::Cards => "no cards of the size asked for left",
            Self::Affinity => "no Pod near that it must be near to",
            Self::AntiAffinity => "a Pod near that it must be away from",
            Self::ExistingAntiAffinity => "a Pod near that must be away from it",
            Self::SpreadLabel => "a label over which it is spread",
            Self::Spread => "too many like it near already",
            Self::Promised => "room only for a Pod of another scheduler that is to come",
        };
        format!("{verb} {rest}")
    }

    /// The verb of the phrase, for many nodes and for one.
    const fn verbs(self) -> (&'static str, &'static str) {
        match self {
            Self::NodeName => ("are not", "is not"),
            Self::Pool | Self::Lent | Self::LentCloses | Self::Held | Self::Cordoned => ("are", "is"),
            Self::NodeSelector => ("do not have", "does not have"),
            Self::VolumeNode | Self::ClaimInUse => ("cannot", "cannot"),
            Self::SpreadLabel => ("lack", "lacks"),
            _ => ("have", "has"),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Resources;

    #[test]
    fn reasons_agree_in_number() {
        let all = [
            Reason::NodeName,
            Reason::Pool,
            Reason::Lent,
            Reason::LentCloses,
            Reason::Held,
            Reason::Cordoned,
            Reason::Taint,
            Reason::NodeSelector,
            Reason::VolumeNode,
            Reason::NoVolume,
            Reason::ClaimInUse,
            Reason::HostPort,
            Reason::VolumeLimit,
            Reason::Resource(ResourceId::CPU),
            Reason::Cards,
            Reason::Affinity,
            Reason::AntiAffinity,
            Reason::ExistingAntiAffinity,
            Reason::SpreadLabel,
            Reason::Spread,
            Reason::Promised,
        ];
        let ledger = Ledger::new(Vec::new(), Resources::default());
        let line = |reason: &Reason| {
            format!("1 node {}\n2 nodes {}", reason.phrase(&ledger, 1), reason.phrase(&ledger, 2))
        };
        insta::assert_snapshot!(all.iter().map(line).collect::<Vec<_>>().join("\n"));
    }
}
