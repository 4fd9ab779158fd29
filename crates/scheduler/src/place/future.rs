//! Imagined futures, as seen from a node, and the waste they leave there.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    hash::{BuildHasherDefault, Hasher},
};

use super::{
    fill::{Arrival, Arrivals, Room, leftover},
    fragment::Fragments,
    mix::Draws,
    random::mixed,
};
use crate::{
    filter::judge_node,
    model::{CardKindId, Node, ResourceId, Taint},
};

/// Most remembered wastes; past it they are forgotten together.
const MOST_WASTES: usize = 400_000;
/// How many times more what futures leave unused weighs than what single Pods cannot use. Futures alone do not see that
/// Pods for many cards are turned away for good where small ones took a card of each node: enough small ones come in
/// every future to fill the rest.
const FRAGMENTS: i64 = 10;

/// Nodes that the same Pods of the futures may go to, with cards of one kind and memory: one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ClassId(u32);

/// What tells classes apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ClassKey {
    /// Values of the labels that some shape asks about; the name counts as one where names are asked about.
    labels: Vec<Option<String>>,
    taints: Vec<Taint>,
    kind: CardKindId,
    card_memory: Option<u32>,
}

/// What may come to the nodes of one class.
#[derive(Debug, Default)]
struct Prospect {
    /// The Pods of each future.
    futures: Vec<Arrivals>,
    fragments: Fragments,
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
    /// By the fingerprint of class and room. 128 bits, so that two states are never taken for one another in practice.
    wastes: HashMap<u128, i64, BuildHasherDefault<AsItIs>>,
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
    pub(super) fn class(&mut self, node: &Node, kind: CardKindId, card_memory: Option<u32>) -> ClassId {
        let mut labels: Vec<Option<String>> =
            self.labels.iter().map(|label| node.labels.get(label).cloned()).collect();
        if self.by_name {
            labels.push(Some(node.name.clone()));
        }
        let key = ClassKey { labels, taints: node.taints.clone(), kind, card_memory };
        if let Some(known) = self.classes.get(&key) {
            return *known;
        }
        let id = ClassId(u32::try_from(self.prospects.len()).unwrap_or(u32::MAX));
        self.prospects.push(self.prospect_of(node, kind, card_memory));
        self.classes.insert(key, id);
        id
    }

    fn prospect_of(&self, node: &Node, kind: CardKindId, card_memory: Option<u32>) -> Prospect {
        // A cordon passes; what the node is good for does not.
        let node = Node { unschedulable: false, ..node.clone() };
        let mut verdicts = BTreeMap::new();
        let mut arrival = |shape: &std::sync::Arc<crate::model::Shape>| {
            let address = std::sync::Arc::as_ptr(shape) as usize;
            let admitted = *verdicts.entry(address).or_insert_with(|| judge_node(shape, &node).is_none());
            let milli = shape.cards.milli(card_memory)?;
            let of_kind = shape.cards.kind().is_none_or(|asked| asked == kind);
            (admitted && of_kind).then(|| Arrival {
                cpu: shape.requests.get(ResourceId::CPU),
                memory: shape.requests.get(ResourceId::MEMORY),
                cards: shape.cards.count(),
                milli,
            })
        };
        let futures: Vec<Vec<Option<Arrival>>> =
            self.draws.iter().map(|future| future.iter().map(&mut arrival).collect()).collect();
        Prospect {
            fragments: Fragments::of(futures.iter().flatten().copied()),
            futures: futures.into_iter().map(|future| future.into_iter().flatten().collect()).collect(),
        }
    }

    /// What the futures leave unused of the cards, in thousandths, summed over all futures; and a little of what single
    /// Pods of them could not use.
    pub(super) fn waste(&mut self, class: ClassId, room: Room<'_>) -> i64 {
        if room.cards.iter().all(|left| *left == 0) {
            return 0;
        }
        let fingerprint = fingerprint(class, room);
        if let Some(known) = self.wastes.get(&fingerprint) {
            return *known;
        }
        let prospect = usize::try_from(class.0).ok().and_then(|index| self.prospects.get(index));
        let (times, scratch) = (self.count(), &mut self.scratch);
        let waste = prospect.map_or(0, |prospect| {
            let futures = prospect.futures.iter();
            let left: i64 = futures.map(|arrivals| leftover(room, arrivals, scratch)).sum();
            left + prospect.fragments.mean(room, times) / FRAGMENTS
        });
        if self.wastes.len() >= MOST_WASTES {
            self.wastes.clear();
        }
        self.wastes.insert(fingerprint, waste);
        waste
    }
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

/// A number that stands for a state.
fn fingerprint(class: ClassId, room: Room<'_>) -> u128 {
    let (mut one, mut two) =
        (mixed(u64::from(class.0) ^ 0xA5A5_5A5A), mixed(u64::from(class.0) ^ 0x0F0F_F0F0));
    let mut add = |number: u64| {
        one = mixed(one ^ number);
        two = mixed(two.rotate_left(23).wrapping_add(number));
    };
    add(room.cpu.cast_unsigned());
    add(room.memory.cast_unsigned());
    for four in room.cards.chunks(4) {
        add(four.iter().fold(1, |all, left| (all << 16) | u64::from(*left)));
    }
    (u128::from(one) << 64) | u128::from(two)
}
