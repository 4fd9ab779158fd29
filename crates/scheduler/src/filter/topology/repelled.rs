//! Pods that do not want others near them: anti-affinity holds both ways.

use std::collections::{BTreeMap, HashMap};

use super::super::labels::about;
use crate::{
    ledger::Ledger,
    model::{NodeId, Pod, PodAffinityTerm},
};

/// Domains in which Pods with a term are, and how many.
pub(super) type Domains = BTreeMap<String, u32>;

/// The anti-affinity terms of placed Pods, with the domains in which they hold.
#[derive(Debug, Default)]
pub(super) struct Repelled {
    followed: Option<u64>,
    nodes: HashMap<NodeId, Vec<(PodAffinityTerm, String)>>,
    terms: HashMap<PodAffinityTerm, Domains>,
}

impl Repelled {
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
        for (term, value) in self.nodes.remove(&id).unwrap_or_default() {
            let Some(domains) = self.terms.get_mut(&term) else { continue };
            if let Some(pods) = domains.get_mut(&value) {
                *pods -= 1;
                if *pods == 0 {
                    domains.remove(&value);
                }
            }
            if domains.is_empty() {
                self.terms.remove(&term);
            }
        }
        let Some(state) = ledger.node(id).filter(|state| state.present) else { return };
        let mut here = Vec::new();
        for one in state.repelling.iter().filter_map(|pod| ledger.pod(*pod)) {
            for term in &one.pod.shape.anti_affinity {
                let Some(value) = state.node.labels.get(&term.topology_key) else { continue };
                let term = with_namespace(term, &one.pod.namespace);
                *self.terms.entry(term.clone()).or_default().entry(value.clone()).or_default() += 1;
                here.push((term, value.clone()));
            }
        }
        if !here.is_empty() {
            self.nodes.insert(id, here);
        }
    }

    /// Labels and domains where a Pod is not wanted.
    pub(super) fn against(&self, pod: &Pod) -> Vec<(&str, &Domains)> {
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
