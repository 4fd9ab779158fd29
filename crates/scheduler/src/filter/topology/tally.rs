//! How many Pods that a term is about are in each domain.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::super::{
    labels::{about, matches_selector},
    node::{admits, tolerates},
};
use crate::{
    ledger::{Ledger, NodeState},
    model::{LabelSelector, Node, NodeId, Pod, PodAffinityTerm, Shape, Term, Toleration},
};

/// What is counted, and by which label.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct TallyKey {
    pub(super) topology_key: String,
    pub(super) who: Who,
    pub(super) eligible: Option<Eligible>,
}

/// Which Pods.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Who {
    /// Those for which every term holds.
    AllOf { terms: Vec<PodAffinityTerm>, own_namespace: Arc<str> },
    /// Those of the namespace that a spread counts; Pods that are going do not count.
    Spread { selector: LabelSelector, namespace: Arc<str> },
}

/// Which nodes make domains for a spread.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Eligible {
    /// Labels they must have.
    pub(super) keys: Vec<String>,
    /// Node selector and terms that must hold.
    pub(super) admitted: Option<(BTreeMap<String, String>, Vec<Term>)>,
    /// Tolerations that must bear their taints.
    pub(super) tolerations: Option<Vec<Toleration>>,
}

#[derive(Debug, Default)]
pub(super) struct Tally {
    /// When it was last asked for.
    pub(super) asked: u64,
    followed: Option<u64>,
    nodes: HashMap<NodeId, (String, u32)>,
    domains: BTreeMap<String, Domain>,
}

#[derive(Debug, Default)]
struct Domain {
    nodes: u32,
    pods: u32,
}

impl Tally {
    /// Looks again at the nodes that changed.
    pub(super) fn follow(&mut self, key: &TallyKey, ledger: &Ledger) {
        let changed: Option<Vec<NodeId>> =
            self.followed.and_then(|generation| ledger.changed_since(generation)).map(Iterator::collect);
        if let Some(changed) = changed {
            for id in changed {
                self.recount(id, key, ledger);
            }
        } else {
            self.nodes.clear();
            self.domains.clear();
            for state in ledger.nodes() {
                self.recount(state.id, key, ledger);
            }
        }
        self.followed = Some(ledger.generation());
    }

    fn recount(&mut self, id: NodeId, key: &TallyKey, ledger: &Ledger) {
        if let Some((value, pods)) = self.nodes.remove(&id)
            && let Some(domain) = self.domains.get_mut(&value)
        {
            domain.nodes -= 1;
            domain.pods -= pods;
            if domain.nodes == 0 {
                self.domains.remove(&value);
            }
        }
        let Some(state) = ledger.node(id).filter(|state| state.present) else { return };
        let Some(value) = state.node.labels.get(&key.topology_key) else { return };
        if key.eligible.as_ref().is_some_and(|eligible| !eligible.admits(&state.node)) {
            return;
        }
        let pods = key.who.count(state, ledger);
        let domain = self.domains.entry(value.clone()).or_default();
        domain.nodes += 1;
        domain.pods += pods;
        self.nodes.insert(id, (value.clone(), pods));
    }

    /// How many are in a domain.
    pub(super) fn pods_in(&self, value: &str) -> u32 {
        self.domains.get(value).map_or(0, |domain| domain.pods)
    }

    /// Whether there is none anywhere.
    pub(super) fn is_empty(&self) -> bool {
        self.domains.values().all(|domain| domain.pods == 0)
    }

    /// How many are in the emptiest domain; none, if there are fewer domains than there should be.
    pub(super) fn emptiest(&self, fewest_domains: u32) -> u32 {
        if self.domains.len() < usize::try_from(fewest_domains).unwrap_or(usize::MAX) {
            return 0;
        }
        self.domains.values().map(|domain| domain.pods).min().unwrap_or(0)
    }
}

impl Who {
    fn count(&self, state: &NodeState, ledger: &Ledger) -> u32 {
        let pods = state.pods.iter().filter_map(|id| ledger.pod(*id));
        u32::try_from(pods.filter(|one| self.includes(&one.pod)).count()).unwrap_or(u32::MAX)
    }

    fn includes(&self, pod: &Pod) -> bool {
        match self {
            Self::AllOf { terms, own_namespace } => {
                terms.iter().all(|term| about(term, own_namespace, &pod.namespace, &pod.labels))
            }
            // As in kube-scheduler, a selector without any requirement counts nobody here.
            Self::Spread { selector: LabelSelector(Some(empty)), .. } if empty.is_empty() => false,
            Self::Spread { selector, namespace } => {
                !pod.terminating && pod.namespace == *namespace && matches_selector(selector, &pod.labels)
            }
        }
    }
}

impl Eligible {
    fn admits(&self, node: &Node) -> bool {
        self.keys.iter().all(|key| node.labels.contains_key(key))
            && self.tolerations.as_ref().is_none_or(|tolerations| tolerates(tolerations, node))
            && self.admitted.as_ref().is_none_or(|(node_selector, node_terms)| {
                let shape = Shape {
                    node_selector: node_selector.clone(),
                    node_terms: node_terms.clone(),
                    ..Shape::default()
                };
                admits(&shape, node)
            })
    }
}
