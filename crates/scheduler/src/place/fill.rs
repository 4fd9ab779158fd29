//! Filling a node with Pods that come one after another, to see what stays unused.

use std::cmp::Reverse;

use crate::model::WHOLE_CARD;

/// What is left on a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room<'a> {
    pub(super) cpu: i64,
    pub(super) memory: i64,
    /// Thousandths left of each card, ascending.
    pub(super) cards: &'a [u16],
}

/// A Pod that comes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub(super) cpu: i64,
    pub(super) memory: i64,
    pub(super) cards: u16,
    /// Of each card.
    pub(super) milli: u16,
}

/// Pods that come one after another.
///
/// What is left on a node only shrinks, so a Pod for which the cores are missing speaks for all later ones that ask for
/// as many, and so for cards: each remembers the next one that asks for less, and the rest is skipped unseen.
#[derive(Debug, Clone, Default)]
pub(super) struct Arrivals(Vec<Coming>);

#[derive(Debug, Clone, Copy)]
struct Coming {
    arrival: Arrival,
    /// The next one that asks for fewer cores.
    fewer_cores: usize,
    /// The next one that asks for less of each card.
    smaller_share: usize,
}

impl FromIterator<Arrival> for Arrivals {
    fn from_iter<T: IntoIterator<Item = Arrival>>(arrivals: T) -> Self {
        let coming = |arrival| Coming { arrival, fewer_cores: 0, smaller_share: 0 };
        let mut all: Vec<Coming> = arrivals.into_iter().map(coming).collect();
        for index in (0..all.len()).rev() {
            let one = all[index].arrival;
            let mut next = index + 1;
            while all.get(next).is_some_and(|later| later.arrival.cpu >= one.cpu) {
                next = all[next].fewer_cores;
            }
            all[index].fewer_cores = next;
            let mut next = index + 1;
            while all.get(next).is_some_and(|later| later.arrival.milli >= one.milli) {
                next = all[next].smaller_share;
            }
            all[index].smaller_share = next;
        }
        Self(all)
    }
}

/// Orders Pods as if each went to the node that suits it best: first those that want most cards, then by how few of their
/// like fit on one card, the others in the order they have. Small ones have many cards to choose from and take what the
/// large ones leave. Pods without cards stay where they are.
pub(super) fn choosy_first(pods: &mut [Arrival]) {
    let mut choosy: Vec<Arrival> = pods.iter().copied().filter(|pod| pod.cards > 0).collect();
    choosy.sort_by_key(|pod| (Reverse(pod.cards), WHOLE_CARD / pod.milli.max(1)));
    for (slot, pod) in pods.iter_mut().filter(|pod| pod.cards > 0).zip(choosy) {
        *slot = pod;
    }
}

/// Thousandths of cards that stay unused when these Pods come; those that do not fit pass by. `cards` is scratch space.
pub(super) fn leftover(room: Room<'_>, arrivals: &Arrivals, cards: &mut Vec<u16>) -> i64 {
    cards.clear();
    cards.extend_from_slice(room.cards);
    let (mut cpu, mut memory) = (room.cpu, room.memory);
    let mut left: i64 = cards.iter().map(|card| i64::from(*card)).sum();
    let mut next = 0;
    while let Some(Coming { arrival, fewer_cores, smaller_share }) = arrivals.0.get(next) {
        next += 1;
        if left == 0 {
            return 0;
        }
        if arrival.cpu > cpu {
            next = *fewer_cores;
        } else if arrival.memory <= memory {
            if take(cards, arrival) {
                cpu -= arrival.cpu;
                memory -= arrival.memory;
                left -= i64::from(arrival.cards) * i64::from(arrival.milli);
            } else if arrival.cards == 1 {
                next = *smaller_share;
            }
        }
    }
    left
}

/// Takes the cards of an arrival, if they are there: the fullest one that fits for a single card, else the first.
fn take(cards: &mut [u16], arrival: &Arrival) -> bool {
    match arrival.cards {
        0 => true,
        1 => {
            let fitting = cards.iter_mut().filter(|left| **left >= arrival.milli);
            let Some(fullest) = fitting.min_by_key(|left| **left) else { return false };
            *fullest -= arrival.milli;
            true
        }
        count => {
            let fitting = cards.iter().filter(|left| **left >= arrival.milli).count();
            if fitting < usize::from(count) {
                return false;
            }
            let fitting = cards.iter_mut().filter(|left| **left >= arrival.milli);
            for left in fitting.take(usize::from(count)) {
                *left -= arrival.milli;
            }
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn arrival(cpu: i64, cards: u16, milli: u16) -> Arrival {
        Arrival { cpu, memory: 0, cards, milli }
    }

    #[test]
    fn what_does_not_fit_passes_by() {
        let room = Room { cpu: 10, memory: 0, cards: &[300, 1000, 1000] };
        let mut scratch = Vec::new();
        let mut left =
            |arrivals: &[Arrival]| leftover(room, &arrivals.iter().copied().collect(), &mut scratch);
        assert_eq!(left(&[]), 2300);
        assert_eq!(left(&[arrival(1, 3, 1000), arrival(1, 2, 1000)]), 300, "three whole cards are not there");
        assert_eq!(left(&[arrival(1, 1, 300), arrival(1, 2, 1000)]), 0, "a share takes the fullest card");
        assert_eq!(left(&[arrival(10, 0, 0), arrival(1, 1, 300)]), 2300, "cores run out");
    }

    #[test]
    fn the_choosy_come_first() {
        let mut pods: Vec<Arrival> =
            [(1, 320), (0, 0), (1, 650), (2, 1000), (1, 1000), (1, 470), (8, 1000), (1, 810)]
                .into_iter()
                .map(|(cards, milli)| arrival(1, cards, milli))
                .collect();
        choosy_first(&mut pods);
        let order: Vec<(u16, u16)> = pods.iter().map(|pod| (pod.cards, pod.milli)).collect();
        let want = [(8, 1000), (0, 0), (2, 1000), (1, 650), (1, 1000), (1, 810), (1, 470), (1, 320)];
        assert_eq!(order, want, "one of 650, 1000 and 810 fits on a card: their order stays");
    }

    fn any_arrival() -> impl Strategy<Value = Arrival> {
        (0i64..6, 0i64..6, 0u16..4, 1u16..11).prop_map(|(cpu, memory, cards, tenths)| {
            let milli = if cards == 1 { tenths * 100 } else { 1000 };
            Arrival { cpu, memory, cards, milli: if cards == 0 { 0 } else { milli } }
        })
    }

    proptest! {
        /// Those that are skipped unseen would not have fitted.
        #[test]
        fn skipping_changes_nothing(
            (cpu, memory) in (0i64..20, 0i64..20),
            mut cards in prop::collection::vec((0u16..11).prop_map(|tenths| tenths * 100), 0..5),
            arrivals in prop::collection::vec(any_arrival(), 0..40),
        ) {
            cards.sort_unstable();
            let (mut cores_left, mut memory_left, mut cards_left) = (cpu, memory, cards.clone());
            for one in &arrivals {
                if one.cpu <= cores_left && one.memory <= memory_left && take(&mut cards_left, one) {
                    cores_left -= one.cpu;
                    memory_left -= one.memory;
                }
            }
            let want: i64 = cards_left.iter().map(|left| i64::from(*left)).sum();
            let room = Room { cpu, memory, cards: &cards };
            prop_assert_eq!(leftover(room, &arrivals.into_iter().collect(), &mut Vec::new()), want);
        }
    }
}
