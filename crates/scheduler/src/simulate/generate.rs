//! Traces made up: clusters and mixes of the same family as openb's, for when no data is at hand and to see that a
//! method was not tuned to five lists.

use std::sync::Arc;

use maar_api::{names, resources};

use super::{
    table::LABEL_MODEL,
    trace::{Trace, TracePod},
};
use crate::{
    model::{
        CardKind, CardKindId, CardRequest, CardShare, Node, Operator, Requirement, ResourceId, Resources,
        ServiceLevel, Shape, Term, WHOLE_CARD,
    },
    place::random::Random,
};

const GIB: i64 = 1 << 30;
/// Kinds of nodes: cores, memory in GiB, cards, model, and how common they are.
const NODES: [(i64, i64, i64, &str, usize); 6] = [
    (64, 256, 2, "small", 25),
    (96, 384, 8, "eight", 30),
    (128, 768, 8, "large", 15),
    (32, 128, 1, "one", 10),
    (64, 512, 4, "four", 15),
    (96, 512, 0, "none", 5),
];
/// Cores per Pod and how common they are.
const CORES: [(i64, usize); 6] = [(2, 10), (4, 25), (6, 20), (8, 25), (12, 15), (16, 5)];
/// Thousandths of a card and how common they are.
const SHARES: [(u16, usize); 6] = [(100, 15), (200, 20), (300, 15), (460, 20), (500, 20), (700, 10)];

/// What share of Pods asks for what, in percent; the rest asks for one whole card.
#[derive(Debug, Clone, Copy)]
pub struct Recipe {
    /// How many nodes.
    pub nodes: usize,
    /// How many Pods.
    pub pods: usize,
    /// No card.
    pub without_cards: usize,
    /// A share of a card.
    pub shares: usize,
    /// Two to eight cards.
    pub several: usize,
    /// Only certain models of cards.
    pub particular: usize,
}

/// Five recipes, named.
pub const RECIPES: [(&str, Recipe); 5] = [
    ("even", Recipe { nodes: 600, pods: 4000, without_cards: 15, shares: 40, several: 10, particular: 0 }),
    ("sharing", Recipe { nodes: 600, pods: 5000, without_cards: 10, shares: 70, several: 3, particular: 0 }),
    ("several", Recipe { nodes: 600, pods: 4000, without_cards: 10, shares: 25, several: 30, particular: 0 }),
    ("cores", Recipe { nodes: 600, pods: 5000, without_cards: 40, shares: 30, several: 5, particular: 0 }),
    (
        "particular",
        Recipe { nodes: 600, pods: 4000, without_cards: 12, shares: 40, several: 8, particular: 25 },
    ),
];

/// A trace after a recipe; the same for the same seed.
pub fn generate(recipe: Recipe, seed: u64) -> Trace {
    let mut random = Random::new(seed);
    let mut resources = Resources::default();
    let card = resources.card(resources::NVIDIA_GPU);
    let kinds = vec![CardKind { resource: card, memory_label: None, sharers: u16::MAX }];
    let nodes = (0..recipe.nodes).map(|number| node(&mut random, number, card)).collect();
    let pods = (0..recipe.pods).map(|number| pod(&mut random, recipe, number)).collect();
    Trace { resources, kinds, nodes, pods, ..Trace::default() }
}

fn pick<T: Copy>(random: &mut Random, weighed: &[T], weight: impl Fn(&T) -> usize) -> T {
    let mut at = random.below(weighed.iter().map(&weight).sum());
    for one in weighed {
        if at < weight(one) {
            return *one;
        }
        at -= weight(one);
    }
    weighed[weighed.len() - 1]
}

fn node(random: &mut Random, number: usize, card: ResourceId) -> Node {
    let (cores, memory, cards, model, _) = pick(random, &NODES, |(_, _, _, _, weight)| *weight);
    let mut node = Node { name: format!("node-{number}"), ..Node::default() };
    node.allocatable.set(ResourceId::CPU, cores * 1000);
    node.allocatable.set(ResourceId::MEMORY, memory * GIB);
    node.allocatable.set(ResourceId::PODS, 1 << 20);
    node.allocatable.set(card, cards * i64::from(WHOLE_CARD));
    node.labels.insert(LABEL_MODEL.to_owned(), model.to_owned());
    node
}

fn pod(random: &mut Random, recipe: Recipe, number: usize) -> TracePod {
    let mut shape = Shape { namespace: "simulated".to_owned(), ..Shape::default() };
    let (cores, _) = pick(random, &CORES, |(_, weight)| *weight);
    let kind = CardKindId(0);
    let lot = random.below(100);
    let mut cards = 1;
    shape.cards = if lot < recipe.without_cards {
        CardRequest::None
    } else if lot < recipe.without_cards + recipe.shares {
        let (milli, _) = pick(random, &SHARES, |(_, weight)| *weight);
        CardRequest::Share { kind, share: CardShare::Milli(milli), index: None }
    } else if lot < recipe.without_cards + recipe.shares + recipe.several {
        let (count, _) = pick(random, &[(2, 40), (4, 30), (8, 30)], |(_, weight)| *weight);
        cards = i64::from(count);
        CardRequest::whole(kind, count)
    } else {
        CardRequest::whole(kind, 1)
    };
    shape.requests.set(ResourceId::CPU, cores * 1000 * cards);
    shape.requests.set(ResourceId::MEMORY, cores * cards * 3 * GIB);
    shape.requests.set(ResourceId::PODS, 1);
    if shape.cards != CardRequest::None && random.below(100) < recipe.particular {
        let values = vec!["eight".to_owned(), "large".to_owned()];
        let one_of = Requirement { key: LABEL_MODEL.to_owned(), operator: Operator::In, values };
        shape.node_terms.push(Term { labels: vec![one_of], names: Vec::new() });
    }
    TracePod {
        name: format!("pod-{number}").into(),
        shape: Arc::new(shape),
        account: names::DEFAULT_ACCOUNT.into(),
        user: names::DEFAULT_ACCOUNT.into(),
        level: ServiceLevel::Guaranteed,
        priority: 0,
        job: None,
        arrives: 0,
        node: None,
        runs: None,
        recorded: None,
    }
}
