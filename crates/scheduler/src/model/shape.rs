//! What decides where a Pod may go, apart from its identity.
//!
//! Pods made from one template have one shape, and verdicts on nodes are remembered per shape: a thousand equal Pods
//! ask each question once.

use std::collections::BTreeMap;

use super::{Amounts, CardRequest, Effect, StaticClaim};

/// A shape as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShapeId(pub u32);

/// The scheduling half of a Pod's spec.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Shape {
    /// Namespace, which affinity terms without their own are about.
    pub namespace: String,
    /// What it takes of a node, one Pod place included, cards not.
    pub requests: Amounts,
    /// Cards.
    pub cards: CardRequest,
    /// Labels a node must have.
    pub node_selector: BTreeMap<String, String>,
    /// One of these must hold, unless there is none.
    pub node_terms: Vec<Term>,
    /// Nodes preferred.
    pub preferred_nodes: Vec<PreferredTerm>,
    /// Taints it bears.
    pub tolerations: Vec<Toleration>,
    /// Ports it takes of the host, as (address, protocol, port).
    pub host_ports: Vec<(String, String, u16)>,
    /// Pods it must be near to.
    pub affinity: Vec<PodAffinityTerm>,
    /// Pods it must be away from.
    pub anti_affinity: Vec<PodAffinityTerm>,
    /// Pods it would like to be near to or away from.
    pub preferred_pods: Vec<PodPreference>,
    /// How evenly it must be spread.
    pub spread: Vec<SpreadConstraint>,
    /// Node terms of the volumes it uses: each volume's must hold.
    pub volume_terms: Vec<Vec<Term>>,
    /// Claims that get one of the volumes made beforehand, smallest first.
    pub static_claims: Vec<StaticClaim>,
    /// The one node it names.
    pub node_name: Option<String>,
}

impl Shape {
    /// Whether Pods of this shape make some places better than others for the Pods that come after them.
    pub(crate) fn minds_others(&self) -> bool {
        !self.affinity.is_empty() || !self.preferred_pods.is_empty()
    }
}

/// Requirements that must all hold.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Term {
    /// About labels of the node.
    pub labels: Vec<Requirement>,
    /// About the node's name, from `matchFields`.
    pub names: Vec<Requirement>,
}

/// A term that counts, but does not decide.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PreferredTerm {
    /// 1 to 100.
    pub weight: i32,
    /// The term.
    pub term: Term,
}

/// A question about one label.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Requirement {
    /// The label.
    pub key: String,
    /// The question.
    pub operator: Operator,
    /// What to compare with.
    pub values: Vec<String>,
}

/// How a label is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// Has one of the values.
    In,
    /// Has none of the values, or is absent.
    NotIn,
    /// Is there.
    Exists,
    /// Is not there.
    DoesNotExist,
    /// Is a number above the value.
    Gt,
    /// Is a number below the value.
    Lt,
}

/// Pods by their labels. Without a selector no Pod is meant; an empty one means all.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct LabelSelector(pub Option<Vec<Requirement>>);

/// Pods to be near to or away from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PodAffinityTerm {
    /// Which Pods.
    pub selector: LabelSelector,
    /// In which namespaces; `None` means all of them.
    pub namespaces: Option<Vec<String>>,
    /// Node label that makes a domain.
    pub topology_key: String,
}

/// Pods that it would be good or bad to be near to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PodPreference {
    /// How good, 1 to 100; how bad, if it is below zero.
    pub weight: i32,
    /// Which Pods, and what near means.
    pub term: PodAffinityTerm,
}

/// How evenly Pods must lie over the values of a node label.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SpreadConstraint {
    /// Node label that makes a domain.
    pub topology_key: String,
    /// Largest difference between the fullest and the emptiest domain.
    pub max_skew: u32,
    /// Fewest domains, below which the emptiest counts as empty.
    pub min_domains: Option<u32>,
    /// What if it cannot be kept.
    pub unsatisfiable: Unsatisfiable,
    /// Which Pods are counted.
    pub selector: LabelSelector,
    /// Count only nodes that the Pod's node affinity admits.
    pub honor_affinity: bool,
    /// Count only nodes whose taints the Pod bears.
    pub honor_taints: bool,
}

/// What to do when a spread cannot be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unsatisfiable {
    /// The Pod waits.
    DoNotSchedule,
    /// The Pod goes where it disturbs least.
    ScheduleAnyway,
}

/// A taint a Pod bears.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Toleration {
    /// Taints with this key; all keys if absent.
    pub key: Option<String>,
    /// With this value; all values if absent.
    pub value: Option<String>,
    /// With this effect; all effects if absent.
    pub effect: Option<Effect>,
}
