//! How full the cards get when Pods come one by one, none leaves, and more come than fit.

use std::sync::Arc;

use super::{
    fgd::Fgd,
    trace::{Trace, TracePod},
};
use crate::place::{Placer, Scope, random::Random};

/// What came of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packed {
    /// Thousandths of cards there are.
    pub capacity: i64,
    /// Thousandths of cards given out.
    pub given: i64,
    /// Pods that found a place.
    pub placed: usize,
    /// Pods that came.
    pub came: usize,
}

impl Packed {
    /// How much of the cards stays unused, from 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "thousandths of cards are far below 2^53")]
    pub fn unused(&self) -> f64 {
        if self.capacity == 0 { 0.0 } else { (self.capacity - self.given) as f64 / self.capacity as f64 }
    }
}

/// Pods of a trace in random order until they ask for `load` (1.3 is 130 %) of all cards. When the trace is not enough,
/// Pods are drawn from it again.
pub fn arrivals(trace: &Trace, load: f64, seed: u64) -> Vec<&TracePod> {
    let mut random = Random::new(seed);
    let mut order: Vec<&TracePod> = trace.pods.iter().collect();
    for index in (1..order.len()).rev() {
        order.swap(index, random.below(index + 1));
    }
    if order.iter().all(|pod| pod.cards() == 0) {
        return order;
    }
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a goal, not a count")]
    let goal = (trace.card_capacity() as f64 * load) as i64;
    let mut asked = 0;
    let mut all = Vec::new();
    while asked < goal {
        let pod = order.get(all.len()).copied().unwrap_or_else(|| order[random.below(order.len())]);
        asked += pod.cards();
        all.push(pod);
    }
    all
}

/// Packs with our placement. It expects the mix of the whole trace, as FGD does; the seed fixes the futures it imagines.
pub fn pack(trace: &Trace, arrivals: &[&TracePod], seed: u64) -> Packed {
    let mut ledger = trace.ledger();
    let shapes = trace.shapes();
    let mut placer = Placer::expecting(seed, shapes.iter().map(|(shape, count)| (&**shape, *count)));
    let mut packed = Packed { capacity: trace.card_capacity(), given: 0, placed: 0, came: arrivals.len() };
    for (number, arrival) in arrivals.iter().enumerate() {
        let pod = arrival.pod(number);
        let id = ledger.upsert_pod(pod.clone());
        let found = placer.best(&ledger, &pod, &Scope::default());
        if found.is_ok_and(|found| ledger.place(id, found.node, found.cards, 0).is_ok()) {
            packed.placed += 1;
            packed.given += arrival.cards();
        } else {
            ledger.remove_pod(&pod.uid);
        }
    }
    packed
}

/// Packs with FGD.
pub fn pack_by_fgd(trace: &Trace, arrivals: &[&TracePod]) -> Packed {
    let mut fgd = Fgd::new(trace);
    let mut packed = Packed { capacity: trace.card_capacity(), given: 0, placed: 0, came: arrivals.len() };
    for arrival in arrivals {
        if fgd.place(&Arc::clone(&arrival.shape)) {
            packed.placed += 1;
            packed.given += arrival.cards();
        }
    }
    packed
}
