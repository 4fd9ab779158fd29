//! The cards of one node, one by one.

use crate::model::{CardKind, CardKindId, CardRequest, CardsTaken, Node, WHOLE_CARD};

/// One card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Card {
    /// Thousandths taken; over a thousand only if Pods that were not placed here overcommit it.
    pub taken: u32,
    /// Pods on it.
    pub sharers: u16,
    /// Broken, withheld, or no longer counted by the node: takes no new Pods.
    pub withheld: bool,
}

impl Card {
    /// Thousandths left for new Pods.
    pub fn left(&self) -> u16 {
        if self.withheld {
            return 0;
        }
        u16::try_from(u32::from(WHOLE_CARD).saturating_sub(self.taken)).unwrap_or(0)
    }

    /// Thousandths left for one more Pod that shares it with at most `limit` in all.
    pub fn left_for(&self, limit: u16) -> u16 {
        if self.sharers < limit { self.left() } else { 0 }
    }

    fn take(&mut self, milli: u16) {
        self.taken = self.taken.saturating_add(u32::from(milli));
        self.sharers = self.sharers.saturating_add(1);
    }

    fn give_back(&mut self, milli: u16) {
        self.taken = self.taken.saturating_sub(u32::from(milli));
        self.sharers = self.sharers.saturating_sub(1);
    }
}

/// The cards of a node, by kind and number.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cards(Vec<Vec<Card>>);

impl Cards {
    /// The cards a node has, all free.
    pub(super) fn of(node: &Node, kinds: &[CardKind]) -> Self {
        let mut all: Vec<Vec<Card>> = kinds
            .iter()
            .map(|kind| {
                let count = node.allocatable.get(kind.resource) / i64::from(WHOLE_CARD);
                vec![Card::default(); usize::try_from(count).unwrap_or(0).min(usize::from(u16::MAX))]
            })
            .collect();
        for (kind, index) in &node.withheld_cards {
            let card = all.get_mut(usize::from(kind.0)).and_then(|cards| cards.get_mut(usize::from(*index)));
            if let Some(card) = card {
                card.withheld = true;
            }
        }
        Self(all)
    }

    /// The cards of a kind, by number.
    pub fn of_kind(&self, kind: CardKindId) -> &[Card] {
        self.0.get(usize::from(kind.0)).map_or(&[], Vec::as_slice)
    }

    /// Every kind's cards, in the order of kinds.
    pub fn kinds(&self) -> impl Iterator<Item = (CardKindId, &[Card])> {
        (0..).map(CardKindId).zip(self.0.iter().map(Vec::as_slice))
    }

    /// Whether the node has cards of any kind.
    pub fn any(&self) -> bool {
        self.0.iter().any(|cards| !cards.is_empty())
    }

    pub(super) fn take(&mut self, cards: &CardsTaken) {
        let Some(kind) = cards.kind else { return };
        for index in &cards.indices {
            self.card_mut(kind, *index).take(cards.milli);
        }
    }

    pub(super) fn give_back(&mut self, cards: &CardsTaken) {
        let Some(kind) = cards.kind else { return };
        for index in &cards.indices {
            self.card_mut(kind, *index).give_back(cards.milli);
        }
    }

    /// A card by number. One the node does not count is kept as withheld: a Pod says it holds it.
    fn card_mut(&mut self, kind: CardKindId, index: u16) -> &mut Card {
        let (kind, index) = (usize::from(kind.0), usize::from(index));
        if self.0.len() <= kind {
            self.0.resize(kind + 1, Vec::new());
        }
        let cards = &mut self.0[kind];
        if cards.len() <= index {
            cards.resize(index + 1, Card { withheld: true, ..Card::default() });
        }
        &mut cards[index]
    }

    /// Cards for a Pod that has the node already and does not say which it got: the lowest free ones, else those
    /// least taken.
    pub(super) fn presume(&self, request: &CardRequest, milli: u16) -> CardsTaken {
        let Some(kind) = request.kind() else { return CardsTaken::default() };
        let cards = self.of_kind(kind);
        let mut order: Vec<u16> = (0..u16::try_from(cards.len()).unwrap_or(u16::MAX)).collect();
        order.retain(|index| request.allows(*index));
        order.sort_by_key(|index| {
            let card = &cards[usize::from(*index)];
            let room = card.left() >= milli;
            (!room, if room { 0 } else { card.taken }, *index)
        });
        let mut indices: Vec<u16> = order.into_iter().take(usize::from(request.count())).collect();
        indices.sort_unstable();
        CardsTaken { kind: Some(kind), indices, milli }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Amounts, CardShare, Resources};

    fn four_cards(withheld: &[u16]) -> Cards {
        let resource = Resources::default().card("example.com/card");
        let mut allocatable = Amounts::default();
        allocatable.set(resource, 4000);
        let withheld_cards = withheld.iter().map(|index| (CardKindId(0), *index)).collect();
        let node = Node { allocatable, withheld_cards, ..Node::default() };
        Cards::of(&node, &[CardKind { resource, memory_label: None, sharers: 4 }])
    }

    #[test]
    fn whole_cards_of_unknown_number_are_presumed_to_be_the_lowest_free_ones() {
        let mut cards = four_cards(&[0]);
        cards.take(&CardsTaken { kind: Some(CardKindId(0)), indices: vec![2], milli: 10 });
        let got = cards.presume(&CardRequest::whole(CardKindId(0), 2), WHOLE_CARD);
        assert_eq!(got.indices, [1, 3]);
    }

    #[test]
    fn a_share_of_an_unknown_card_avoids_full_ones() {
        let mut cards = four_cards(&[]);
        cards.take(&CardsTaken { kind: Some(CardKindId(0)), indices: vec![0], milli: 800 });
        let request = CardRequest::Share { kind: CardKindId(0), share: CardShare::Milli(300), index: None };
        assert_eq!(cards.presume(&request, 300).indices, [1]);
    }

    #[test]
    fn a_card_the_node_does_not_count_takes_nobody_new() {
        let mut cards = four_cards(&[]);
        let held = CardsTaken { kind: Some(CardKindId(0)), indices: vec![6], milli: 100 };
        cards.take(&held);
        assert_eq!(cards.of_kind(CardKindId(0))[6].left(), 0);
        assert_eq!(cards.of_kind(CardKindId(0))[5].left(), 0);
        cards.give_back(&held);
        assert_eq!(cards.of_kind(CardKindId(0))[6].taken, 0);
    }
}
