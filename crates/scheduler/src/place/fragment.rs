//! What is left on a node and of no use to a single Pod, on average over the Pods to expect: the measure of FGD
//! ("Beware of Fragmentation", USENIX ATC 2023).

use std::collections::BTreeMap;

use super::fill::{Arrival, Room};

/// The Pods to expect at nodes of one class.
#[derive(Debug, Default)]
pub(super) struct Fragments {
    /// Pods that ask for cards here, by what they ask for, with how many there are.
    arrivals: Vec<(Arrival, i64)>,
    /// All Pods: those that may not come here or ask for no cards, too.
    all: i64,
}

impl Fragments {
    /// From Pods, where those that may not come here are none.
    pub(super) fn of(pods: impl Iterator<Item = Option<Arrival>>) -> Self {
        let mut counts: BTreeMap<(u16, u16, i64, i64), i64> = BTreeMap::new();
        let mut all = 0;
        for pod in pods {
            all += 1;
            if let Some(pod) = pod.filter(|pod| pod.cards > 0) {
                *counts.entry((pod.milli, pod.cards, pod.cpu, pod.memory)).or_default() += 1;
            }
        }
        let arrival = |((milli, cards, cpu, memory), count)| (Arrival { cpu, memory, cards, milli }, count);
        Self { arrivals: counts.into_iter().map(arrival).collect(), all }
    }

    /// Thousandths of cards that a Pod cannot use, on average, `times` as many.
    pub(super) fn mean(&self, room: Room<'_>, times: i64) -> i64 {
        let idle: i64 = room.cards.iter().map(|left| i64::from(*left)).sum();
        let mut usable = 0;
        for (arrival, count) in &self.arrivals {
            let smaller = room.cards.partition_point(|left| *left < arrival.milli);
            let fits = arrival.cpu <= room.cpu
                && arrival.memory <= room.memory
                && room.cards.len() - smaller >= usize::from(arrival.cards);
            if fits {
                usable += count * room.cards[smaller..].iter().map(|left| i64::from(*left)).sum::<i64>();
            }
        }
        (idle * self.all - usable) * times / self.all.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pod_cannot_use_is_a_fragment() {
        let pod = |cpu, cards, milli| Some(Arrival { cpu, memory: 1, cards, milli });
        let room = Room { cpu: 8, memory: 8, cards: &[300, 1000, 1000] };
        let mean = |pods: &[Option<Arrival>]| Fragments::of(pods.iter().copied()).mean(room, 1);
        assert_eq!(mean(&[pod(1, 1, 200)]), 0);
        assert_eq!(mean(&[pod(1, 1, 500)]), 300, "the card with less left");
        assert_eq!(mean(&[pod(1, 3, 1000)]), 2300, "three are not there");
        assert_eq!(mean(&[pod(9, 1, 200)]), 2300, "the cores are not there");
        assert_eq!(mean(&[pod(1, 0, 0), None]), 2300, "no use for cards, or none for these");
        assert_eq!(mean(&[pod(1, 1, 200), pod(1, 1, 500), None, None]), (300 + 2 * 2300) / 4);
        assert_eq!(Fragments::default().mean(room, 1), 0);
    }
}
