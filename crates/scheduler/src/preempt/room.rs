//! What is free on one node, as far as one kind of Pod is concerned.

use crate::{
    ledger::NodeState,
    model::{Amounts, CardKindId, CardRequest, CardsTaken, WHOLE_CARD},
};

/// What each Pod of the claimant takes.
#[derive(Debug, Clone, Default)]
pub struct Claim {
    /// Without cards.
    pub requests: Amounts,
    /// Cards.
    pub cards: CardRequest,
    /// Most Pods on one card of that kind.
    pub sharers: u16,
    /// At most one on a node, however much room there is.
    pub one_per_node: bool,
}

/// Free amounts, and the cards of the kind that is claimed.
#[derive(Debug, Clone, Default)]
pub struct Room {
    free: Amounts,
    kind: Option<CardKindId>,
    cards: Vec<Slot>,
    /// Thousandths that the claim takes of each card here; `None` if the node cannot tell.
    milli: Option<u16>,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    taken: u32,
    sharers: u16,
    withheld: bool,
}

impl Slot {
    fn left(self) -> u16 {
        if self.withheld {
            return 0;
        }
        u16::try_from(u32::from(WHOLE_CARD).saturating_sub(self.taken)).unwrap_or(0)
    }

    /// How many shares of this size fit on it.
    fn shares(self, milli: u16, limit: u16) -> u32 {
        let by_size = self.left() / milli.max(1);
        u32::from(by_size.min(limit.saturating_sub(self.sharers)))
    }
}

impl Room {
    /// The room on a node as it is.
    pub fn of(state: &NodeState, claim: &Claim) -> Self {
        let mut free = state.node.allocatable.clone();
        free -= &state.used;
        let kind = claim.cards.kind();
        let cards = kind.map_or(&[][..], |kind| state.cards.of_kind(kind)).iter();
        let cards =
            cards.map(|card| Slot { taken: card.taken, sharers: card.sharers, withheld: card.withheld });
        let milli = claim.cards.milli(kind.and_then(|kind| state.card_memory(kind)));
        Self { free, kind, cards: cards.collect(), milli }
    }

    /// A room with these cards, for tests and trials.
    #[cfg(test)]
    pub(crate) fn with_cards(free: Amounts, kind: CardKindId, taken: &[u16]) -> Self {
        let cards = taken.iter();
        let cards = cards.map(|taken| Slot {
            taken: u32::from(*taken),
            sharers: u16::from(*taken > 0),
            withheld: false,
        });
        Self { free, kind: Some(kind), cards: cards.collect(), milli: Some(WHOLE_CARD) }
    }

    /// A Pod goes.
    pub fn give_back(&mut self, requests: &Amounts, cards: &CardsTaken) {
        self.free += requests;
        if cards.kind.is_none() || cards.kind != self.kind {
            return;
        }
        for index in &cards.indices {
            if let Some(slot) = self.cards.get_mut(usize::from(*index)) {
                slot.taken = slot.taken.saturating_sub(u32::from(cards.milli));
                slot.sharers = slot.sharers.saturating_sub(1);
            }
        }
    }

    /// A Pod comes back.
    pub fn take(&mut self, requests: &Amounts, cards: &CardsTaken) {
        self.free -= requests;
        if cards.kind.is_none() || cards.kind != self.kind {
            return;
        }
        for index in &cards.indices {
            if let Some(slot) = self.cards.get_mut(usize::from(*index)) {
                slot.taken = slot.taken.saturating_add(u32::from(cards.milli));
                slot.sharers = slot.sharers.saturating_add(1);
            }
        }
    }

    /// How many Pods of the claimant fit.
    pub fn fits(&self, claim: &Claim) -> u32 {
        let most = if claim.one_per_node { 1 } else { u32::MAX };
        self.by_amounts(claim).min(self.by_cards(claim)).min(most)
    }

    /// How many fit as far as amounts other than cards go.
    pub(super) fn by_amounts(&self, claim: &Claim) -> u32 {
        let each = claim.requests.iter().filter(|(_, amount)| *amount > 0);
        let each = each.map(|(resource, amount)| self.free.get(resource).max(0) / amount);
        u32::try_from(each.min().unwrap_or(i64::MAX)).unwrap_or(u32::MAX)
    }

    /// How many fit as far as cards go.
    fn by_cards(&self, claim: &Claim) -> u32 {
        match claim.cards {
            CardRequest::None => u32::MAX,
            CardRequest::Whole { count, .. } => self.empty_cards(&claim.cards) / u32::from(count.max(1)),
            CardRequest::Share { .. } => {
                let Some(milli) = self.milli else { return 0 };
                let cards = (0..).zip(&self.cards).filter(|(index, _)| claim.cards.allows(*index));
                cards.map(|(_, slot)| slot.shares(milli, claim.sharers)).sum()
            }
        }
    }

    /// Cards that will do and that nobody holds any part of.
    pub(super) fn empty_cards(&self, asked: &CardRequest) -> u32 {
        let cards = (0..).zip(&self.cards);
        let empty = cards.filter(|(index, slot)| asked.allows(*index) && slot.left() == WHOLE_CARD);
        u32::try_from(empty.count()).unwrap_or(u32::MAX)
    }

    /// The number of cards, and what is left of each.
    pub(super) fn left(&self) -> impl Iterator<Item = u16> + '_ {
        self.cards.iter().map(|slot| slot.left())
    }

    /// Whether a card can be used at all.
    pub(super) fn usable(&self, index: usize) -> bool {
        self.cards.get(index).is_some_and(|slot| !slot.withheld)
    }

    /// What one Pod of the claimant takes of each card.
    pub(super) fn milli(&self) -> Option<u16> {
        self.milli
    }

    pub(super) fn kind(&self) -> Option<CardKindId> {
        self.kind
    }
}
