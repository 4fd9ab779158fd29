//! Room promised to Pods of other schedulers: they had others evicted, and come when those have gone.

use std::collections::{BTreeMap, BTreeSet};

use super::{Ledger, NodeState};
use crate::model::{NodeId, Pod, PodId, PodPhase, WHOLE_CARD};

/// By node, who is to come.
#[derive(Debug, Clone, Default)]
pub(super) struct Promises(BTreeMap<NodeId, BTreeSet<PodId>>);

impl Promises {
    pub(super) fn add(&mut self, node: NodeId, pod: PodId) {
        self.0.entry(node).or_default().insert(pod);
    }

    pub(super) fn remove(&mut self, node: NodeId, pod: PodId) {
        if let Some(pods) = self.0.get_mut(&node) {
            pods.remove(&pod);
            if pods.is_empty() {
                self.0.remove(&node);
            }
        }
    }
}

/// The node on which room is kept for a Pod. For Pods of ours the core keeps it, and no promise is needed.
pub(super) fn promise(pod: &Pod) -> Option<NodeId> {
    pod.nominated.filter(|_| !pod.ours && pod.phase == PodPhase::Pending)
}

impl Ledger {
    /// The node on which room is kept for a Pod of another scheduler that waits.
    pub fn promised_to(&self, pod: PodId) -> Option<NodeId> {
        promise(&self.pod(pod)?.pod)
    }

    /// A node as it is when those have come who were promised room on it, without those of a lower priority than a
    /// Pod's; none if nobody else is to come. As in kube-scheduler, equal priority is enough to keep a promise.
    pub fn with_promised(&self, state: &NodeState, priority: i32) -> Option<NodeState> {
        let promised = self.promises.0.get(&state.id)?.iter().filter_map(|id| self.pod(*id));
        let mut later: Option<NodeState> = None;
        for pod in promised.map(|one| &one.pod).filter(|pod| pod.priority >= priority) {
            let later = later.get_or_insert_with(|| state.clone());
            let request = &pod.shape.cards;
            let memory = request.kind().and_then(|kind| later.card_memory(kind));
            let cards = later.cards.presume(request, request.milli(memory).unwrap_or(WHOLE_CARD));
            let amounts = self.amounts(&pod.shape, &cards);
            later.count(pod, &amounts, &cards);
        }
        later
    }
}
