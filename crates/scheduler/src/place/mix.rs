//! What Pods to expect: those seen lately, each counted once.

use std::{collections::HashMap, sync::Arc};

use super::random::Random;
use crate::{
    ledger::{Ledger, PodState},
    model::{CardRequest, PodId, Shape},
};

/// How many futures are imagined.
const FUTURES: usize = 32;
/// How many Pods come in each: for eight cards. With more of them every node would reckon with small Pods that cannot come
/// to all nodes.
const LENGTH: usize = 32;
/// Pods without cards come less often in imagined futures than in truth: in truth there is nearly always another node
/// for them, also one whose cards are all taken.
const WITHOUT_CARDS: f64 = 0.05;
/// Most shapes remembered.
const MOST_SHAPES: usize = 512;
/// When so many Pods have been counted, all counts are halved: what came long ago fades.
const FADE_AT: f64 = 20_000.0;
/// New futures are drawn when twice as many Pods have been seen, and at the latest after so many.
const REDRAW_AFTER: u64 = 4096;

/// Futures: in each, the shapes that come, in their order.
pub(super) type Draws = Vec<Vec<Arc<Shape>>>;

#[derive(Debug)]
pub(super) struct Mix {
    random: Random,
    learns: bool,
    counts: HashMap<Arc<Shape>, Count>,
    total: f64,
    newest: Option<PodId>,
    seen: u64,
    drawn_at: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
struct Count {
    weight: f64,
    /// Order of appearance, so that draws do not depend on the order of a hash table.
    number: u64,
}

impl Mix {
    pub(super) fn learning(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            learns: true,
            counts: HashMap::new(),
            total: 0.0,
            newest: None,
            seen: 0,
            drawn_at: None,
        }
    }

    pub(super) fn fixed<'a>(seed: u64, shapes: impl IntoIterator<Item = (&'a Shape, f64)>) -> Self {
        let mut mix = Self { learns: false, ..Self::learning(seed) };
        for (shape, weight) in shapes {
            mix.count(shape, weight);
        }
        mix
    }

    /// Counts the Pods that came since the last time.
    pub(super) fn learn(&mut self, ledger: &Ledger) {
        if !self.learns {
            return;
        }
        // Pods of one template come one after the other: each run of them is counted at once.
        let mut run: Option<(&PodState, f64)> = None;
        for (id, state) in ledger.pods_after(self.newest) {
            self.newest = Some(id);
            self.seen += 1;
            match &mut run {
                Some((first, count)) if first.shape == state.shape => *count += 1.0,
                _ => {
                    if let Some((first, count)) = run.replace((state, 1.0)) {
                        self.count(&first.pod.shape, count);
                    }
                }
            }
        }
        if let Some((first, count)) = run {
            self.count(&first.pod.shape, count);
        }
        if self.total > FADE_AT {
            self.fade();
        }
    }

    fn count(&mut self, shape: &Shape, weight: f64) {
        let reduced = reduced(shape);
        let number = u64::try_from(self.counts.len()).unwrap_or(u64::MAX);
        let count = self.counts.entry(reduced).or_insert(Count { weight: 0.0, number });
        count.weight += weight;
        self.total += weight;
        if self.counts.len() > MOST_SHAPES {
            self.fade();
        }
    }

    /// Halves all counts and drops the rarest shapes.
    fn fade(&mut self) {
        let mut all: Vec<(Arc<Shape>, Count)> = self.counts.drain().collect();
        all.sort_by(|(_, one), (_, other)| {
            other.weight.total_cmp(&one.weight).then(one.number.cmp(&other.number))
        });
        all.truncate(MOST_SHAPES / 2);
        self.total = 0.0;
        for (number, (shape, count)) in (0..).zip(all) {
            let weight = if self.learns { count.weight / 2.0 } else { count.weight };
            self.total += weight;
            self.counts.insert(shape, Count { weight, number });
        }
    }

    /// New futures, if it is time for them.
    pub(super) fn redraw(&mut self) -> Option<Draws> {
        let due = match self.drawn_at {
            None => true,
            Some(at) => self.learns && self.seen >= (at * 2).min(at + REDRAW_AFTER).max(at + 1),
        };
        if !due {
            return None;
        }
        self.drawn_at = Some(self.seen);
        Some(self.draw())
    }

    fn draw(&mut self) -> Draws {
        let mut all: Vec<(&Arc<Shape>, Count)> =
            self.counts.iter().map(|(shape, count)| (shape, *count)).collect();
        all.sort_by_key(|(_, count)| count.number);
        let mut sum = 0.0;
        let heap: Vec<(f64, &Arc<Shape>)> = all
            .into_iter()
            .map(|(shape, count)| {
                let rarer = if shape.cards == CardRequest::None { WITHOUT_CARDS } else { 1.0 };
                sum += count.weight * rarer;
                (sum, shape)
            })
            .collect();
        if heap.is_empty() {
            return Vec::new();
        }
        // One draw from each of equally likely strata, then shuffled: all futures together have the mix itself.
        let count = FUTURES * LENGTH;
        let mut all: Vec<Arc<Shape>> = (0..count)
            .map(|stratum| {
                let at = (float(stratum) + self.random.unit()) / float(count) * sum;
                let index = heap.partition_point(|(until, _)| *until <= at).min(heap.len() - 1);
                Arc::clone(heap[index].1)
            })
            .collect();
        for index in (1..count).rev() {
            all.swap(index, self.random.below(index + 1));
        }
        all.chunks(LENGTH).map(<[_]>::to_vec).collect()
    }
}

#[expect(clippy::cast_precision_loss, reason = "a few thousand at most")]
fn float(number: usize) -> f64 {
    number as f64
}

/// What matters of a shape for how it fills a node.
fn reduced(shape: &Shape) -> Arc<Shape> {
    Arc::new(Shape {
        requests: shape.requests.clone(),
        cards: match shape.cards {
            CardRequest::Share { kind, share, .. } => CardRequest::Share { kind, share, index: None },
            CardRequest::Whole { kind, count, .. } => CardRequest::whole(kind, count),
            other @ CardRequest::None => other,
        },
        node_selector: shape.node_selector.clone(),
        node_terms: shape.node_terms.clone(),
        tolerations: shape.tolerations.clone(),
        ..Shape::default()
    })
}
