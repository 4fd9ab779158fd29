//! How good a node is for a Pod, as one number: lower is better.

use super::{fill::Room, future::Futures, view::View};
use crate::{
    filter::{hated_taints, preference},
    ledger::{Ledger, NodeState},
    model::{CardRequest, CardsTaken, ResourceId, Shape, WHOLE_CARD},
};

/// Growths of waste that differ by less than this many thousandths of a card count as equal: the futures are samples.
const GRAIN: i64 = 30;

/// The score of a node that has room. In order of weight: taints that would rather not have the Pod, preferred terms,
/// whether the node is lent, whether it has cards and the Pod needs none, growth of waste, cores left.
pub(super) fn score(
    ledger: &Ledger,
    shape: &Shape,
    state: &NodeState,
    view: &View,
    futures: &mut Futures,
) -> u64 {
    let hated = clamped(i64::try_from(hated_taints(shape, &state.node)).unwrap_or(i64::MAX), 4);
    let wanted = clamped(1023 - i64::from(preference(shape, &state.node)), 10);
    let lent = u64::from(state.node.lent.is_some());
    let spoils = u64::from(shape.cards == CardRequest::None && !view.kinds.is_empty());
    let growth = best_growth(ledger, shape, state, view, futures).map_or(i64::MAX, |(growth, _)| growth);
    let growth = growth.saturating_add(1 << 13);
    let cpu = view.cpu - shape.requests.get(ResourceId::CPU);
    let mut packed = hated;
    for (number, bits) in
        [(wanted, 10), (lent, 1), (spoils, 1), (clamped(growth, 14), 14), (clamped(cpu, 33), 33)]
    {
        packed = (packed << bits) | number;
    }
    packed
}

/// A number made to fit into so many bits.
fn clamped(number: i64, bits: u32) -> u64 {
    number.clamp(0, (1 << bits) - 1).cast_unsigned()
}

/// The cards to take on a node that has room.
pub(super) fn cards(
    ledger: &Ledger,
    shape: &Shape,
    state: &NodeState,
    view: &View,
    futures: &mut Futures,
) -> CardsTaken {
    let Some(kind) = shape.cards.kind() else { return CardsTaken::default() };
    let milli = shape.cards.milli(state.card_memory(kind)).unwrap_or(WHOLE_CARD);
    let level = best_growth(ledger, shape, state, view, futures).map_or(WHOLE_CARD, |(_, level)| level);
    let limit = ledger.sharers(&shape.cards);
    let fitting = (0..)
        .zip(state.cards.of_kind(kind))
        .filter(|(index, card)| shape.cards.allows(*index) && card.left_for(limit) == level);
    let indices = fitting.map(|(index, _)| index).take(usize::from(shape.cards.count())).collect();
    CardsTaken { kind: Some(kind), indices, milli }
}

/// How much the waste grows at best, in grains, and what must be left of the card to take for that.
fn best_growth(
    ledger: &Ledger,
    shape: &Shape,
    state: &NodeState,
    view: &View,
    futures: &mut Futures,
) -> Option<(i64, u16)> {
    let cpu = view.cpu - shape.requests.get(ResourceId::CPU);
    let memory = view.memory - shape.requests.get(ResourceId::MEMORY);
    let grain = GRAIN * futures.count();
    let Some(kind) = shape.cards.kind() else {
        let growth: i64 = view
            .kinds
            .iter()
            .map(|kind| futures.waste(kind.class, Room { cpu, memory, cards: &kind.cards }) - kind.waste)
            .sum();
        return Some((growth.div_euclid(grain), 0));
    };
    let of_kind = view.of_kind(kind)?;
    let milli = shape.cards.milli(state.card_memory(kind))?;
    let mut best = None;
    let mut after = std::mem::take(&mut futures.cards);
    let mut last = None;
    for level in of_kind.cards.iter().copied().filter(|left| *left >= milli) {
        if last.replace(level) == Some(level) || !may_take(ledger, shape, state, level) {
            continue;
        }
        take(&of_kind.cards, level, milli, shape.cards.count(), &mut after);
        let growth = futures.waste(of_kind.class, Room { cpu, memory, cards: &after }) - of_kind.waste;
        let growth = growth.div_euclid(grain);
        if best.is_none_or(|(least, _)| growth < least) {
            best = Some((growth, level));
        }
    }
    futures.cards = after;
    best
}

/// Whether a card with this much left may be taken: whole cards must be, and a card insisted on must have it.
fn may_take(ledger: &Ledger, shape: &Shape, state: &NodeState, level: u16) -> bool {
    match shape.cards {
        CardRequest::Share { index: Some(index), kind, .. } => {
            let card = state.cards.of_kind(kind).get(usize::from(index));
            card.is_some_and(|card| card.left_for(ledger.sharers(&shape.cards)) == level)
        }
        CardRequest::Share { .. } => true,
        _ => level == WHOLE_CARD,
    }
}

/// Writes down the cards left, ascending, after taking `milli` of `count` cards with this much left.
fn take(cards: &[u16], level: u16, milli: u16, count: u16, after: &mut Vec<u16>) {
    let first = cards.partition_point(|left| *left < level);
    let last = (first + usize::from(count)).min(cards.len());
    let place = cards.partition_point(|left| *left < level - milli);
    after.clear();
    after.extend_from_slice(&cards[..place]);
    after.resize(place + last - first, level - milli);
    after.extend_from_slice(&cards[place..first]);
    after.extend_from_slice(&cards[last..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taking_keeps_the_order() {
        let mut after = Vec::new();
        for (level, milli, count, want) in [
            (700, 300, 1, vec![0, 300, 400, 700, 1000, 1000]),
            (300, 300, 1, vec![0, 0, 700, 700, 1000, 1000]),
            (1000, 1000, 2, vec![0, 0, 0, 300, 700, 700]),
            (1000, 200, 1, vec![0, 300, 700, 700, 800, 1000]),
        ] {
            take(&[0, 300, 700, 700, 1000, 1000], level, milli, count, &mut after);
            assert_eq!(after, want);
        }
    }
}
