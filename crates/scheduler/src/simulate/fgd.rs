//! Fragmentation gradient descent, the placement method of "Beware of Fragmentation" (USENIX ATC 2023): the measure for
//! ours.
//!
//! The target mix is the most frequent shapes that cover 95 % of the trace. A node's fragment for a shape is all its idle
//! cards if the shape cannot run there or asks for none, else what is idle on cards with less left than it asks; the
//! fragment of a node is their mean by frequency. A Pod goes where that grows least: the growth becomes a score from 0
//! to 100 by a sigmoid, and of equal scores the tightest node wins. Without the rounding it is half a point worse.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::trace::Trace;
use crate::{
    filter::judge_node,
    model::{Node, ResourceId, Shape, WHOLE_CARD},
};

/// How much of the trace the target mix covers.
const COVER: f64 = 0.95;

/// A cluster that is filled by FGD.
#[derive(Debug)]
pub struct Fgd {
    /// How many nodes are in each state. Nodes in equal state are equally good.
    states: BTreeMap<State, usize>,
    /// A node of each kind: kinds differ by what may run there.
    kinds: Vec<Node>,
    mix: Vec<(Arc<Shape>, f64)>,
    fragments: HashMap<State, f64>,
    admitted: HashMap<(Arc<Shape>, usize), bool>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct State {
    kind: usize,
    cpu: i64,
    memory: i64,
    /// Thousandths left of each card, ascending.
    cards: Vec<u16>,
}

impl State {
    fn idle(&self) -> i64 {
        self.cards.iter().map(|left| i64::from(*left)).sum()
    }

    fn has_room(&self, shape: &Shape, milli: u16) -> bool {
        self.cpu >= shape.requests.get(ResourceId::CPU)
            && self.memory >= shape.requests.get(ResourceId::MEMORY)
            && self.cards.iter().filter(|left| **left >= milli).count() >= usize::from(shape.cards.count())
    }

    /// The states after placing: one for each different card a share may go to.
    fn after(&self, shape: &Shape, milli: u16) -> Vec<Self> {
        let mut base = self.clone();
        base.cpu -= shape.requests.get(ResourceId::CPU);
        base.memory -= shape.requests.get(ResourceId::MEMORY);
        let count = usize::from(shape.cards.count());
        if count == 0 {
            return vec![base];
        }
        let mut levels: Vec<u16> = base.cards.iter().copied().filter(|left| *left >= milli).collect();
        levels.dedup();
        if count > 1 {
            levels.truncate(1);
        }
        let take = |level: u16| {
            let mut state = base.clone();
            let fitting = state.cards.iter_mut().filter(|left| **left >= level);
            for left in fitting.take(count) {
                *left -= milli;
            }
            state.cards.sort_unstable();
            state
        };
        levels.into_iter().map(take).collect()
    }
}

impl Fgd {
    /// The nodes of a trace, empty, and its mix as the target.
    pub fn new(trace: &Trace) -> Self {
        let mut kinds: Vec<Node> = Vec::new();
        let mut states = BTreeMap::new();
        for node in &trace.nodes {
            let alike = |other: &Node| other.labels == node.labels && other.taints == node.taints;
            let kind = kinds.iter().position(alike).unwrap_or_else(|| {
                kinds.push(node.clone());
                kinds.len() - 1
            });
            let cards: i64 = trace.kinds.iter().map(|kind| node.allocatable.get(kind.resource)).sum();
            let cards = usize::try_from(cards / i64::from(WHOLE_CARD)).unwrap_or(0);
            let state = State {
                kind,
                cpu: node.allocatable.get(ResourceId::CPU),
                memory: node.allocatable.get(ResourceId::MEMORY),
                cards: vec![WHOLE_CARD; cards],
            };
            *states.entry(state).or_default() += 1;
        }
        Self { states, kinds, mix: target(trace), fragments: HashMap::new(), admitted: HashMap::new() }
    }

    /// Places a Pod; says whether it found a place.
    pub fn place(&mut self, shape: &Arc<Shape>) -> bool {
        let milli = shape.cards.milli(None).unwrap_or(WHOLE_CARD);
        let mut best: Option<((i64, i64), State, State)> = None;
        let states: Vec<State> = self.states.keys().cloned().collect();
        for state in states {
            if !self.fits(&state, shape, milli) {
                continue;
            }
            let before = self.fragment(&state);
            for after in state.after(shape, milli) {
                let growth = self.fragment(&after) - before;
                #[expect(clippy::cast_possible_truncation, reason = "from 0 to 100")]
                let score = (100.0 / (1.0 + (growth / 1000.0).exp())) as i64;
                let key = (-score, after.idle() * 1000 + after.cpu / 100);
                if best.as_ref().is_none_or(|(least, _, _)| key < *least) {
                    best = Some((key, state.clone(), after));
                }
            }
        }
        let Some((_, state, after)) = best else { return false };
        if let Some(count) = self.states.get_mut(&state) {
            *count -= 1;
            if *count == 0 {
                self.states.remove(&state);
            }
        }
        *self.states.entry(after).or_default() += 1;
        true
    }

    fn fits(&mut self, state: &State, shape: &Arc<Shape>, milli: u16) -> bool {
        if !state.has_room(shape, milli) {
            return false;
        }
        let node = &self.kinds[state.kind];
        *self
            .admitted
            .entry((Arc::clone(shape), state.kind))
            .or_insert_with(|| judge_node(shape, node).is_none())
    }

    fn fragment(&mut self, state: &State) -> f64 {
        if let Some(known) = self.fragments.get(state) {
            return *known;
        }
        let idle = state.idle();
        let mut sum = 0.0;
        for index in 0..self.mix.len() {
            let (shape, frequency) = (Arc::clone(&self.mix[index].0), self.mix[index].1);
            let milli = shape.cards.milli(None).unwrap_or(WHOLE_CARD);
            let usable = idle > 0 && shape.cards.count() > 0 && self.fits(state, &shape, milli);
            let lost: i64 = if usable {
                state.cards.iter().filter(|left| **left < milli).map(|left| i64::from(*left)).sum()
            } else {
                idle
            };
            #[expect(clippy::cast_precision_loss, reason = "thousandths of the cards of one node")]
            let lost = lost as f64;
            sum += frequency * lost;
        }
        self.fragments.insert(state.clone(), sum);
        sum
    }
}

/// The most frequent shapes, until they cover enough, with their frequencies.
fn target(trace: &Trace) -> Vec<(Arc<Shape>, f64)> {
    let mut shapes = trace.shapes();
    let total: f64 = shapes.iter().map(|(_, count)| count).sum();
    shapes.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let mut covered = 0.0;
    let mut mix = Vec::new();
    for (shape, count) in shapes {
        mix.push((shape, count / total));
        covered += count / total;
        if covered >= COVER {
            break;
        }
    }
    mix
}
