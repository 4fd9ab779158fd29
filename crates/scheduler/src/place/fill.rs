//! Filling a node with Pods that come one after another, to see what stays unused.

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

/// Thousandths of cards that stay unused when these Pods come; those that do not fit pass by. `cards` is scratch space.
pub(super) fn leftover(room: Room<'_>, arrivals: &[Arrival], cards: &mut Vec<u16>) -> i64 {
    cards.clear();
    cards.extend_from_slice(room.cards);
    let (mut cpu, mut memory) = (room.cpu, room.memory);
    let mut left: i64 = cards.iter().map(|card| i64::from(*card)).sum();
    for arrival in arrivals {
        if left == 0 {
            return 0;
        }
        if arrival.cpu > cpu || arrival.memory > memory || !take(cards, arrival) {
            continue;
        }
        cpu -= arrival.cpu;
        memory -= arrival.memory;
        left -= i64::from(arrival.cards) * i64::from(arrival.milli);
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
    use super::*;

    fn arrival(cpu: i64, cards: u16, milli: u16) -> Arrival {
        Arrival { cpu, memory: 0, cards, milli }
    }

    #[test]
    fn what_does_not_fit_passes_by() {
        let room = Room { cpu: 10, memory: 0, cards: &[300, 1000, 1000] };
        let mut scratch = Vec::new();
        let mut left = |arrivals: &[Arrival]| leftover(room, arrivals, &mut scratch);
        assert_eq!(left(&[]), 2300);
        assert_eq!(left(&[arrival(1, 3, 1000), arrival(1, 2, 1000)]), 300, "three whole cards are not there");
        assert_eq!(left(&[arrival(1, 1, 300), arrival(1, 2, 1000)]), 0, "a share takes the fullest card");
        assert_eq!(left(&[arrival(10, 0, 0), arrival(1, 1, 300)]), 2300, "cores run out");
    }
}
