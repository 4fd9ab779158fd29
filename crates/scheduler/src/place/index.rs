//! Verdicts and scores of all nodes for one shape.

use std::collections::{BTreeMap, BinaryHeap};

use super::Refusal;
use crate::{
    filter::Reason,
    ledger::{Ledger, NodeState},
    model::NodeId,
};

/// A node that is not a candidate.
const OUT: u64 = u64::MAX;
/// Nodes per block. The best of each block is remembered, so that finding the best of all looks at few numbers.
const BLOCK: usize = 64;

/// Verdicts by node number.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// When it was last asked for.
    pub(super) asked: u64,
    followed: Option<u64>,
    scores: Vec<u64>,
    reasons: Vec<Option<Reason>>,
    /// The least score of each block.
    blocks: Vec<u64>,
    removed: BTreeMap<Reason, usize>,
    nodes: usize,
    /// The round in which a node was last judged: it may be in the log many times.
    judged: Vec<u32>,
    round: u32,
}

impl Index {
    /// Judges again the nodes that changed.
    pub(super) fn follow(
        &mut self,
        ledger: &Ledger,
        mut judge: impl FnMut(&NodeState) -> Result<u64, Reason>,
    ) {
        let changed = self.followed.and_then(|generation| ledger.changed_since(generation));
        self.round = self.round.wrapping_add(1);
        if let Some(changed) = changed {
            for id in changed {
                let present = ledger.node(id).filter(|state| state.present);
                self.update(id, present.map(|state| (state, &mut judge)));
            }
        } else {
            let round = self.round;
            *self = Self { asked: self.asked, round, ..Self::default() };
            for state in ledger.nodes() {
                self.update(state.id, Some((state, &mut judge)));
            }
        }
        self.nodes = ledger.node_count();
        self.followed = Some(ledger.generation());
    }

    fn update(
        &mut self,
        id: NodeId,
        node: Option<(&NodeState, &mut impl FnMut(&NodeState) -> Result<u64, Reason>)>,
    ) {
        let index = usize::try_from(id.0).unwrap_or(usize::MAX);
        if self.scores.len() <= index {
            self.scores.resize(index + 1, OUT);
            self.reasons.resize(index + 1, None);
            self.judged.resize(index + 1, 0);
            self.blocks.resize(index / BLOCK + 1, OUT);
        }
        if self.judged[index] == self.round {
            return;
        }
        self.judged[index] = self.round;
        if let Some(old) = self.reasons[index].take()
            && let Some(count) = self.removed.get_mut(&old)
        {
            *count -= 1;
            if *count == 0 {
                self.removed.remove(&old);
            }
        }
        let score = match node.map(|(state, judge)| judge(state)) {
            None => OUT,
            Some(Ok(score)) => score.min(OUT - 1),
            Some(Err(reason)) => {
                self.reasons[index] = Some(reason);
                *self.removed.entry(reason).or_default() += 1;
                OUT
            }
        };
        let old = std::mem::replace(&mut self.scores[index], score);
        let block = &mut self.blocks[index / BLOCK];
        if score <= *block {
            *block = score;
        } else if old == *block {
            let start = index / BLOCK * BLOCK;
            let end = (start + BLOCK).min(self.scores.len());
            *block = self.scores[start..end].iter().copied().min().unwrap_or(OUT);
        }
    }

    /// How many verdicts it holds.
    pub(super) fn len(&self) -> usize {
        self.scores.len()
    }

    /// Whether a node is a candidate.
    pub(super) fn admits(&self, id: NodeId) -> bool {
        self.score(id).is_some()
    }

    /// The score of a candidate.
    pub(super) fn score(&self, id: NodeId) -> Option<u64> {
        let score = usize::try_from(id.0).ok().and_then(|index| self.scores.get(index));
        score.copied().filter(|score| *score != OUT)
    }

    /// The best candidate; of equal ones the one with the lowest number.
    pub(super) fn first(&self) -> Option<NodeId> {
        let (block, least) = self.blocks.iter().enumerate().min_by_key(|(_, least)| **least)?;
        if *least == OUT {
            return None;
        }
        let start = block * BLOCK;
        let within = self.scores[start..].iter().position(|score| score == least)?;
        Some(NodeId(u32::try_from(start + within).ok()?))
    }

    /// All candidates with their scores, by number.
    pub(super) fn candidates(&self) -> impl Iterator<Item = (NodeId, u64)> + '_ {
        (0..).map(NodeId).zip(self.scores.iter().copied()).filter(|(_, score)| *score != OUT)
    }

    /// All candidates, best first; a rank weighs more than the score.
    pub(super) fn in_order(
        &self,
        rank: Option<&dyn Fn(NodeId) -> (u32, u32)>,
    ) -> impl Iterator<Item = NodeId> {
        let key = |(id, score): (NodeId, u64)| {
            let rank = rank.map_or((0, 0), |rank| rank(id));
            std::cmp::Reverse((rank, score, id))
        };
        let mut heap: BinaryHeap<_> = self.candidates().map(key).collect::<Vec<_>>().into();
        std::iter::from_fn(move || heap.pop().map(|std::cmp::Reverse((_, _, id))| id))
    }

    /// What has removed nodes so far.
    pub(super) fn refusal(&self) -> Refusal {
        Refusal { nodes: self.nodes, removed: self.removed.clone() }
    }
}
