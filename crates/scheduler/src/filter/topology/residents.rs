//! What placed Pods want of others: their terms hold for those who come, too.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::super::labels::about;
use crate::{
    ledger::{Ledger, NodeState},
    model::{NodeId, Pod, PodAffinityTerm, PodId, Shape},
};

/// How much a required affinity of a placed Pod counts for those it is about, as in kube-scheduler.
const REQUIRED: i64 = 1;

/// Domains in which Pods with a term are.
pub(super) type Domains = BTreeMap<String, Felt>;

/// How many Pods have a term in a domain, and how much they like those it is about.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Felt {
    pods: u32,
    pub(super) weight: i64,
}

/// Terms of placed Pods, with the domains in which they hold.
#[derive(Debug)]
pub(super) struct Residents {
    /// The Pods of a node that have such terms.
    who: fn(&NodeState) -> &BTreeSet<PodId>,
    /// The terms, with how much the Pod likes those they are about.
    terms_of: fn(&Shape) -> Vec<(&PodAffinityTerm, i64)>,
    followed: Option<u64>,
    nodes: HashMap<NodeId, Vec<Held>>,
    terms: HashMap<PodAffinityTerm, Domains>,
}

/// A term of a Pod on a node.
#[derive(Debug)]
struct Held {
    term: PodAffinityTerm,
    domain: String,
    weight: i64,
}

impl Residents {
    /// Those that must not have others near.
    pub(super) fn repelling() -> Self {
        Self::new(
            |state| &state.repelling,
            |shape| shape.anti_affinity.iter().map(|term| (term, -REQUIRED)).collect(),
        )
    }

    /// Those that want others near, or would like them near or away.
    pub(super) fn minding() -> Self {
        Self::new(
            |state| &state.minding,
            |shape| {
                let required = shape.affinity.iter().map(|term| (term, REQUIRED));
                let preferred = shape.preferred_pods.iter().map(|one| (&one.term, i64::from(one.weight)));
                required.chain(preferred).collect()
            },
        )
    }

    fn new(
        who: fn(&NodeState) -> &BTreeSet<PodId>,
        terms_of: fn(&Shape) -> Vec<(&PodAffinityTerm, i64)>,
    ) -> Self {
        Self { who, terms_of, followed: None, nodes: HashMap::new(), terms: HashMap::new() }
    }

    /// Looks again at the nodes that changed.
    pub(super) fn follow(&mut self, ledger: &Ledger) {
        let changed: Option<Vec<NodeId>> =
            self.followed.and_then(|generation| ledger.changed_since(generation)).map(Iterator::collect);
        if let Some(changed) = changed {
            for id in changed {
                self.recount(id, ledger);
            }
        } else {
            self.nodes.clear();
            self.terms.clear();
            for state in ledger.nodes() {
                self.recount(state.id, ledger);
            }
        }
        self.followed = Some(ledger.generation());
    }

    fn recount(&mut self, id: NodeId, ledger: &Ledger) {
        for held in self.nodes.remove(&id).unwrap_or_default() {
            self.forget(&held);
        }
        let Some(state) = ledger.node(id).filter(|state| state.present) else { return };
        let mut here = Vec::new();
        for one in (self.who)(state).iter().filter_map(|pod| ledger.pod(*pod)) {
            for (term, weight) in (self.terms_of)(&one.pod.shape) {
                let Some(domain) = state.node.labels.get(&term.topology_key) else { continue };
                let term = with_namespace(term, &one.pod.namespace);
                let felt = self.terms.entry(term.clone()).or_default().entry(domain.clone()).or_default();
                felt.pods += 1;
                felt.weight += weight;
                here.push(Held { term, domain: domain.clone(), weight });
            }
        }
        if !here.is_empty() {
            self.nodes.insert(id, here);
        }
    }

    fn forget(&mut self, held: &Held) {
        let Some(domains) = self.terms.get_mut(&held.term) else { return };
        if let Some(felt) = domains.get_mut(&held.domain) {
            felt.pods -= 1;
            felt.weight -= held.weight;
            if felt.pods == 0 {
                domains.remove(&held.domain);
            }
        }
        if domains.is_empty() {
            self.terms.remove(&held.term);
        }
    }

    /// Labels and domains where Pods have a term about this one.
    pub(super) fn about(&self, pod: &Pod) -> Vec<(&str, &Domains)> {
        let meant =
            self.terms.iter().filter(|(term, _)| about(term, &pod.namespace, &pod.namespace, &pod.labels));
        meant.map(|(term, domains)| (term.topology_key.as_str(), domains)).collect()
    }
}

/// A term without namespaces is about those of the Pod that has it.
fn with_namespace(term: &PodAffinityTerm, namespace: &str) -> PodAffinityTerm {
    let mut term = term.clone();
    if term.namespaces.as_ref().is_some_and(Vec::is_empty) {
        term.namespaces = Some(vec![namespace.to_owned()]);
    }
    term
}
