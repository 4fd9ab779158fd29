//! Filling a node with Pods that come one after another, to see what stays unused.

use std::{cmp::Reverse, ops::Range};

use crate::model::WHOLE_CARD;

/// What is left on a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room<'a> {
    pub(super) cpu: i64,
    pub(super) memory: i64,
    /// Thousandths left of each card, ascending.
    pub(super) cards: &'a [u16],
}

/// What stays unused, and of which nodes that is true: those with the same cards and with so many cores and so much memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Leftover {
    pub(super) cards: i64,
    cpu: Range<i64>,
    memory: Range<i64>,
}

impl Leftover {
    /// No Pod comes, wherever that is.
    pub(super) const NOTHING: Self = Self { cards: 0, cpu: i64::MIN..i64::MAX, memory: i64::MIN..i64::MAX };

    /// Whether it is true of so many cores and so much memory.
    pub(super) fn holds_for(&self, cpu: i64, memory: i64) -> bool {
        self.cpu.contains(&cpu) && self.memory.contains(&memory)
    }

    /// What is left in both cases together, and of which nodes both are true.
    pub(super) fn and(self, other: &Self) -> Self {
        let both = |one: Range<i64>, other: &Range<i64>| one.start.max(other.start)..one.end.min(other.end);
        Self {
            cards: self.cards + other.cards,
            cpu: both(self.cpu, &other.cpu),
            memory: both(self.memory, &other.memory),
        }
    }
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
///
/// With less than what is taken in the end, somebody who stayed would have passed by; with as much as somebody would have
/// needed who passed by, it would have stayed. Between the two everything goes the same way.
pub(super) fn leftover(room: Room<'_>, arrivals: &Arrivals, cards: &mut Vec<u16>) -> Leftover {
    cards.clear();
    cards.extend_from_slice(room.cards);
    let (mut cpu, mut memory) = (room.cpu, room.memory);
    let mut left: i64 = cards.iter().map(|card| i64::from(*card)).sum();
    // How much more of each would have let the first one stay who passed by for want of it.
    let (mut cpu_missing, mut memory_missing) = (i64::MAX, i64::MAX);
    let mut next = 0;
    while left > 0
        && let Some(Coming { arrival, fewer_cores, smaller_share }) = arrivals.0.get(next)
    {
        next += 1;
        if arrival.cpu > cpu {
            cpu_missing = cpu_missing.min(arrival.cpu - cpu);
            next = *fewer_cores;
        } else if arrival.memory > memory {
            memory_missing = memory_missing.min(arrival.memory - memory);
        } else if take(cards, arrival) {
            cpu -= arrival.cpu;
            memory -= arrival.memory;
            left -= i64::from(arrival.cards) * i64::from(arrival.milli);
        } else if arrival.cards == 1 {
            next = *smaller_share;
        }
    }
    let holds = |all: i64, left: i64, missing: i64| all - left.max(0)..all.saturating_add(missing);
    Leftover {
        cards: left,
        cpu: holds(room.cpu, cpu, cpu_missing),
        memory: holds(room.memory, memory, memory_missing),
    }
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
            |arrivals: &[Arrival]| leftover(room, &arrivals.iter().copied().collect(), &mut scratch).cards;
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
            prop_assert_eq!(leftover(room, &arrivals.into_iter().collect(), &mut Vec::new()).cards, want);
        }

        /// What is said to hold for other cores and memory does, and it holds for its own.
        #[test]
        fn what_holds_elsewhere_is_found_there(
            (cpu, memory) in (-2i64..20, -2i64..20),
            (other_cpu, other_memory) in (-2i64..20, -2i64..20),
            mut cards in prop::collection::vec((0u16..11).prop_map(|tenths| tenths * 100), 0..5),
            futures in prop::collection::vec(prop::collection::vec(any_arrival(), 0..20), 1..4),
        ) {
            cards.sort_unstable();
            let futures: Vec<Arrivals> = futures.into_iter().map(|one| one.into_iter().collect()).collect();
            let all = |cpu, memory| {
                let room = Room { cpu, memory, cards: &cards };
                let each = futures.iter().map(|one| leftover(room, one, &mut Vec::new()));
                each.fold(Leftover::NOTHING, |all, one| all.and(&one))
            };
            let here = all(cpu, memory);
            prop_assert!(here.holds_for(cpu, memory));
            if here.holds_for(other_cpu, other_memory) {
                prop_assert_eq!(all(other_cpu, other_memory).cards, here.cards);
            }
        }
    }
}
