//! Who was told to go, by whichever process, and cards that more Pods hold than they bear.

use std::sync::Arc;

use jiff::Timestamp;
use maar_api::names;

use super::World;
use crate::{
    adapter::{dispute::Contender, evict, wire},
    core::Core,
    ledger::NodeState,
    model::{CardKindId, NodeId, PodId, PodPhase, WHOLE_CARD},
};

impl World {
    /// Remembers the notice that stands on a Pod, if the scheduler gave it.
    pub(super) fn note_notice(&mut self, uid: &Arc<str>, meta: &wire::Meta, phase: &PodPhase) {
        let stays = matches!(phase, PodPhase::Placed { .. }) && meta.deletion_timestamp.is_none();
        let ours = meta.annotations.get(names::ANNOTATION_STOP_REASON).is_some_and(evict::is_own_word);
        let at = meta.annotations.get(names::ANNOTATION_STOP_AT).filter(|_| stays && ours);
        match at {
            // A text that is no time is a notice too, and over.
            Some(at) => self.notices.insert(Arc::clone(uid), at.parse().unwrap_or(Timestamp::UNIX_EPOCH)),
            None => self.notices.remove(uid),
        };
    }

    /// When a Pod was told that it will be stopped.
    pub(crate) fn notice(&self, uid: &str) -> Option<Timestamp> {
        self.notices.get(uid).copied()
    }

    /// Pods on which a notice of the scheduler stands.
    pub(crate) fn noticed(&self) -> impl Iterator<Item = &Arc<str>> {
        self.notices.keys()
    }

    /// A Pod that says which cards it has was seen: there may be others who say the same.
    pub(super) fn look_for_dispute(&mut self, core: &Core, id: PodId) {
        let Some(PodPhase::Placed { node, .. }) = core.ledger().pod(id).map(|state| &state.pod.phase) else {
            return;
        };
        if core.ledger().node(*node).is_some_and(|state| !self.disputed_cards(core, state).is_empty()) {
            self.disputed.insert(*node);
        }
    }

    /// Those who hold cards that bear fewer, card by card. Forgets nodes on which all is well again.
    pub(crate) fn disputes(&mut self, core: &Core) -> Vec<Vec<Contender>> {
        let mut disputes = Vec::new();
        for id in self.disputed.clone() {
            let found = core.ledger().node(id).map(|state| self.disputed_cards(core, state));
            match found {
                Some(found) if !found.is_empty() => disputes.extend(found),
                _ => {
                    self.disputed.remove(&id);
                }
            }
        }
        disputes
    }

    /// Whether a Pod is among those who hold too much of a card.
    pub(crate) fn is_disputed(&self, core: &Core, pod: PodId) -> bool {
        let nodes = self.disputed.iter().filter_map(|id: &NodeId| core.ledger().node(*id));
        nodes.flat_map(|state| self.disputed_cards(core, state)).flatten().any(|one| one.id == pod)
    }

    fn disputed_cards(&self, core: &Core, node: &NodeState) -> Vec<Vec<Contender>> {
        let overfull = node.cards.kinds().flat_map(|(kind, cards)| {
            let cards = (0_u16..).zip(cards).filter(|(_, card)| card.taken > u32::from(WHOLE_CARD));
            cards.map(move |(index, _)| (kind, index))
        });
        overfull
            .map(|(kind, index)| self.holders(core, node, kind, index))
            .filter(|holders| {
                holders.iter().map(|one| u32::from(one.milli)).sum::<u32>() > u32::from(WHOLE_CARD)
            })
            .collect()
    }

    /// Those who were seen with a card and are not about to leave it.
    fn holders(&self, core: &Core, node: &NodeState, kind: CardKindId, index: u16) -> Vec<Contender> {
        let holders = node.pods.iter().filter_map(|id| {
            let pod = &core.ledger().pod(*id)?.pod;
            let PodPhase::Placed { cards, .. } = &pod.phase else { return None };
            let says_so = self.pods.get(&pod.uid).is_some_and(|known| known.given);
            let holds = cards.kind == Some(kind) && cards.indices.contains(&index);
            (says_so && holds && pod.ours && !pod.terminating).then(|| Contender {
                id: *id,
                namespace: Arc::clone(&pod.namespace),
                name: Arc::clone(&pod.name),
                uid: Arc::clone(&pod.uid),
                milli: cards.milli,
            })
        });
        holders.collect()
    }
}
