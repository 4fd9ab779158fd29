//! Nodes as placing sees them: room left, by kind of card, with the waste to be expected.

use super::{
    fill::Room,
    future::{Cards, ClassId, Futures},
};
use crate::{
    ledger::{Ledger, NodeState},
    model::{CardKindId, ResourceId},
};

/// One node.
#[derive(Debug, Clone, Default)]
pub(super) struct View {
    generation: u64,
    pub(super) cpu: i64,
    pub(super) memory: i64,
    pub(super) kinds: Vec<KindView>,
}

/// Its cards of one kind.
#[derive(Debug, Clone)]
pub(super) struct KindView {
    pub(super) kind: CardKindId,
    pub(super) class: ClassId,
    /// Thousandths left of each card for one more Pod, ascending.
    pub(super) cards: Vec<u16>,
    /// To be expected as things are.
    pub(super) waste: i64,
}

/// Views of all nodes, brought up to date when they are looked at.
#[derive(Debug, Default)]
pub(super) struct Views(Vec<Option<Box<View>>>);

impl Views {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn get(&mut self, ledger: &Ledger, state: &NodeState, futures: &mut Futures) -> &View {
        let index = usize::try_from(state.id.0).unwrap_or(usize::MAX);
        if self.0.len() <= index {
            self.0.resize(index + 1, None);
        }
        let slot = &mut self.0[index];
        if slot.as_ref().is_none_or(|view| view.generation != state.generation) {
            *slot = Some(Box::new(View::of(ledger, state, futures)));
        }
        slot.get_or_insert_default()
    }
}

impl View {
    fn of(ledger: &Ledger, state: &NodeState, futures: &mut Futures) -> Self {
        let left = |resource| state.node.allocatable.get(resource) - state.used.get(resource);
        let (cpu, memory) = (left(ResourceId::CPU), left(ResourceId::MEMORY));
        let mut kinds = Vec::new();
        for (kind, all) in state.cards.kinds().filter(|(_, cards)| !cards.is_empty()) {
            let limit = ledger.kind(kind).map_or(1, |kind| kind.sharers.max(1));
            let mut cards: Vec<u16> = all.iter().map(|card| card.left_for(limit)).collect();
            cards.sort_unstable();
            let class = futures.class(&state.node, Cards::new(kind, state.card_memory(kind), all.len()));
            let waste = futures.waste(class, Room { cpu, memory, cards: &cards });
            kinds.push(KindView { kind, class, cards, waste });
        }
        Self { generation: state.generation, cpu, memory, kinds }
    }

    pub(super) fn of_kind(&self, kind: CardKindId) -> Option<&KindView> {
        self.kinds.iter().find(|view| view.kind == kind)
    }
}
