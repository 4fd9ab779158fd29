//! Imagined futures, as seen from a node, and the waste they leave there.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    hash::{BuildHasherDefault, Hasher},
    sync::Arc,
};

use super::{
    fill::{Arrival, Arrivals, Leftover, Room, choosy_first, leftover},
    mix::Draws,
    random::mixed,
};
use crate::{
    filter::judge_node,
    model::{CardKindId, Node, ResourceId, Shape, Taint},
};

/// Most remembered leftovers; past it they are forgotten together.
const MOST_LEFTOVERS: usize = 200_000;
/// Most of them for nodes of one class with the same cards; past it the oldest makes place.
const MOST_ALIKE: usize = 256;
/// For how many cards one future is meant. To a node with more, each of its Pods comes more than once, or the future would
/// end before the node is full.
const CARDS: usize = 8;

/// Nodes that the same Pods of the futures may go to, with cards of one kind and memory: one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ClassId(u32);

/// What tells classes apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ClassKey {
    /// Values of the labels that some shape asks about; the name counts as one where names are asked about.
    labels: Vec<Option<String>>,
    taints: Vec<Taint>,
    cards: Cards,
}

/// The cards of one kind on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Cards {
    pub(super) kind: CardKindId,
    /// Of one of them, in MiB.
    pub(super) memory: Option<u32>,
    /// How often each Pod of a future comes.
    times: usize,
}

impl Cards {
    pub(super) fn new(kind: CardKindId, memory: Option<u32>, count: usize) -> Self {
        Self { kind, memory, times: count.div_ceil(CARDS).max(1) }
    }
}

/// What may come to the nodes of one class.
#[derive(Debug, Default)]
struct Prospect {
    /// The Pods of each future.
    futures: Vec<Arrivals>,
    /// The least that one of them asks of a card.
    least: u16,
    /// Pods of the futures that ask for cards, and those of them that may not come here.
    asking: i64,
    barred: i64,
}

#[derive(Debug, Default)]
pub(super) struct Futures {
    draws: Draws,
    /// Labels that some shape asks about.
    labels: BTreeSet<String>,
    by_name: bool,
    classes: HashMap<ClassKey, ClassId>,
    /// What may come, by class.
    prospects: Vec<Prospect>,
    /// By the fingerprint of class and cards. 128 bits, so that two states are never taken for one another in practice. They
    /// say themselves for how many cores and how much memory they hold.
    leftovers: HashMap<u128, VecDeque<Leftover>, BuildHasherDefault<AsItIs>>,
    remembered: usize,
    scratch: Vec<u16>,
    /// Room for the caller to write down cards.
    pub(super) cards: Vec<u16>,
}

impl Futures {
    pub(super) fn new(draws: Draws) -> Self {
        let mut labels = BTreeSet::new();
        let mut by_name = false;
        for shape in draws.iter().flatten() {
            labels.extend(shape.node_selector.keys().cloned());
            for term in &shape.node_terms {
                labels.extend(term.labels.iter().map(|one| one.key.clone()));
                by_name |= !term.names.is_empty();
            }
        }
        Self { draws, labels, by_name, ..Self::default() }
    }

    /// How many futures there are, at least one.
    pub(super) fn count(&self) -> i64 {
        i64::try_from(self.draws.len().max(1)).unwrap_or(i64::MAX)
    }

    /// The class of a node, as far as its cards of one kind go.
    pub(super) fn class(&mut self, node: &Node, cards: Cards) -> ClassId {
        let mut labels: Vec<Option<String>> =
            self.labels.iter().map(|label| node.labels.get(label).cloned()).collect();
        if self.by_name {
            labels.push(Some(node.name.clone()));
        }
        let key = ClassKey { labels, taints: node.taints.clone(), cards };
        if let Some(known) = self.classes.get(&key) {
            return *known;
        }
        let id = ClassId(u32::try_from(self.prospects.len()).unwrap_or(u32::MAX));
        self.prospects.push(self.prospect_of(node, cards));
        self.classes.insert(key, id);
        id
    }

    fn prospect_of(&self, node: &Node, cards: Cards) -> Prospect {
        // A cordon passes; what the node is good for does not.
        let node = Node { unschedulable: false, ..node.clone() };
        let mut verdicts = BTreeMap::new();
        let mut prospect = Prospect { least: u16::MAX, ..Prospect::default() };
        for future in &self.draws {
            let mut coming = Vec::with_capacity(future.len() * cards.times);
            for shape in future {
                let address = Arc::as_ptr(shape) as usize;
                let arrival = *verdicts.entry(address).or_insert_with(|| arrival(shape, &node, cards));
                let asks = i64::from(shape.cards.count() > 0);
                prospect.asking += asks;
                prospect.barred += if arrival.is_none() { asks } else { 0 };
                if let Some(arrival) = arrival {
                    coming.extend(std::iter::repeat_n(arrival, cards.times));
                }
            }
            choosy_first(&mut coming);
            let asked = coming.iter().filter(|arrival| arrival.cards > 0).map(|arrival| arrival.milli);
            prospect.least = asked.fold(prospect.least, u16::min);
            prospect.futures.push(coming.into_iter().collect());
        }
        prospect
    }

    /// What the futures leave unused of the cards, in thousandths, summed over all futures; and of all that is idle the
    /// part that stands for Pods that may not come here: such cards are to be used before those that everybody may use.
    pub(super) fn waste(&mut self, class: ClassId, room: Room<'_>) -> i64 {
        let index = usize::try_from(class.0).unwrap_or(usize::MAX);
        let Some(prospect) = self.prospects.get(index) else { return 0 };
        // Cards nobody can use any more count as they are, so that states that differ in them only share an evaluation.
        let (spent, cards) = room.cards.split_at(room.cards.partition_point(|left| *left < prospect.least));
        let sum = |cards: &[u16]| cards.iter().map(|left| i64::from(*left)).sum::<i64>();
        let (count, spent) = (self.count(), sum(spent));
        let closed = (spent + sum(cards)) * count * prospect.barred / prospect.asking.max(1);
        spent * count + closed + self.left_over(class, Room { cards, ..room })
    }

    fn left_over(&mut self, class: ClassId, room: Room<'_>) -> i64 {
        if room.cards.is_empty() {
            return 0;
        }
        let alike = self.leftovers.entry(fingerprint(class, room.cards)).or_default();
        let known = alike.iter().position(|known| known.holds_for(room.cpu, room.memory));
        if let Some(at) = known {
            // Those asked for often come to the front.
            alike.swap(at, at / 2);
            return alike[at / 2].cards;
        }
        let prospect = usize::try_from(class.0).ok().and_then(|index| self.prospects.get(index));
        let futures = prospect.map_or(&[][..], |prospect| &prospect.futures);
        let mut all = Leftover::NOTHING;
        for arrivals in futures {
            all = all.and(&leftover(room, arrivals, &mut self.scratch));
        }
        let left = all.cards;
        if alike.len() < MOST_ALIKE {
            self.remembered += 1;
        } else {
            alike.pop_back();
        }
        alike.push_front(all);
        if self.remembered > MOST_LEFTOVERS {
            self.leftovers.clear();
            self.remembered = 0;
        }
        left
    }
}

/// A Pod as it comes to a node; none if it may not.
fn arrival(shape: &Shape, node: &Node, cards: Cards) -> Option<Arrival> {
    let milli = shape.cards.milli(cards.memory)?;
    let of_kind = shape.cards.kind().is_none_or(|asked| asked == cards.kind);
    (of_kind && judge_node(shape, node).is_none()).then(|| Arrival {
        cpu: shape.requests.get(ResourceId::CPU),
        memory: shape.requests.get(ResourceId::MEMORY),
        cards: shape.cards.count(),
        milli,
    })
}

/// Fingerprints are spread evenly already: half of one serves as its hash.
#[derive(Debug, Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = mixed(self.0 ^ u64::from(*byte));
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "the lower half is meant")]
    fn write_u128(&mut self, number: u128) {
        self.0 = number as u64;
    }
}

/// A number that stands for the cards of a node.
fn fingerprint(class: ClassId, cards: &[u16]) -> u128 {
    let (mut one, mut two) =
        (mixed(u64::from(class.0) ^ 0xA5A5_5A5A), mixed(u64::from(class.0) ^ 0x0F0F_F0F0));
    for four in cards.chunks(4) {
        let number = four.iter().fold(1, |all, left| (all << 16) | u64::from(*left));
        one = mixed(one ^ number);
        two = mixed(two.rotate_left(23).wrapping_add(number));
    }
    (u128::from(one) << 64) | u128::from(two)
}
