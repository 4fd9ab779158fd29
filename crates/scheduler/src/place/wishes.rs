//! What a Pod would like of its node, as far as the Pods around have to do with it.
//!
//! Wishes of different kinds are weighed against each other as kube-scheduler does: each kind is brought to 0 to 100 over
//! the nodes to choose from, and counts by its weight. Only Pods that have such wishes, or about whom others have some,
//! pay for it; for all others the index has the order already.

use crate::{
    filter::{hated_taints, preference, topology::Question},
    model::{Node, Shape},
};

/// The best of a kind of wishes.
const BEST: i64 = 100;
/// How much each kind counts.
const TAINTS: i64 = 3;
const NODES: i64 = 2;
const SPREAD: i64 = 2;
const PODS: i64 = 2;

/// What there is to choose from, for each kind of wishes.
#[derive(Debug)]
pub(super) struct Wishes<'a> {
    question: &'a Question<'a>,
    shape: &'a Shape,
    hated: Range,
    preferred: Range,
    crowding: Range,
    liking: Range,
}

#[derive(Debug, Clone, Copy)]
struct Range {
    least: i64,
    most: i64,
}

impl Range {
    const NONE: Self = Self { least: i64::MAX, most: i64::MIN };

    fn add(&mut self, value: i64) {
        self.least = self.least.min(value);
        self.most = self.most.max(value);
    }
}

impl<'a> Wishes<'a> {
    /// The wishes of a Pod with these nodes to choose from.
    pub(super) fn new<'n>(
        question: &'a Question<'a>,
        shape: &'a Shape,
        nodes: impl Iterator<Item = &'n Node>,
    ) -> Self {
        let none = Range::NONE;
        let mut all = Self { question, shape, hated: none, preferred: none, crowding: none, liking: none };
        for node in nodes {
            let hated = all.hated(node);
            all.hated.add(hated);
            all.preferred.add(i64::from(preference(shape, node)));
            if let Some(crowding) = question.crowding(node) {
                all.crowding.add(i64::from(crowding));
            }
            all.liking.add(question.liking(node));
        }
        all
    }

    fn hated(&self, node: &Node) -> i64 {
        i64::try_from(hated_taints(self.shape, node)).unwrap_or(i64::MAX)
    }

    /// How much a node leaves to be wished for; less is better.
    pub(super) fn cost(&self, node: &Node) -> u32 {
        let score = TAINTS * (BEST - part(self.hated(node), 0, self.hated.most))
            + NODES * part(i64::from(preference(self.shape, node)), 0, self.preferred.most)
            + SPREAD * self.spread(node)
            + PODS * part(self.question.liking(node), self.liking.least, self.liking.most);
        let best = BEST * (TAINTS + NODES + SPREAD + PODS);
        u32::try_from(best - score).unwrap_or(u32::MAX)
    }

    /// The fewer like it are near the better; how much better depends on how many there are.
    fn spread(&self, node: &Node) -> i64 {
        let Some(near) = self.question.crowding(node) else { return 0 };
        let Range { least, most } = self.crowding;
        if most <= 0 { BEST } else { BEST * (most + least - i64::from(near)) / most }
    }
}

/// Where a value lies between the least and the most, from 0 to 100; 0 if there is nothing between.
fn part(value: i64, least: i64, most: i64) -> i64 {
    if most > least { BEST.saturating_mul(value - least) / (most - least) } else { 0 }
}
