//! Candidates in the order in which a gang wants them, kept from one of its Pods to the next.
//!
//! Each Pod changes one node. Putting all candidates in order anew for each Pod would cost a large gang on a large cluster
//! the product of both.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
    sync::Arc,
};

use super::{IndexKey, Near, Refusal, index::Index};
use crate::{
    filter::Reason,
    ledger::Ledger,
    model::{NodeId, ShapeId},
};

/// Entries that stand for nothing any more stay in the heap until they come up. Past so many it is built anew.
const MOST_STALE: usize = 4096;

/// How far down in the list of preferred domains a node is, its score, and the node.
type Entry = Reverse<(u32, u64, NodeId)>;

/// See the module. Of a node that has changed there may be several entries; the one that is as the node is now counts.
#[derive(Debug)]
pub(super) struct Ranking {
    key: IndexKey,
    near: Arc<Near>,
    followed: u64,
    heap: BinaryHeap<Entry>,
}

impl Ranking {
    /// The order for these verdicts, from the one for the Pod before if it was of the same gang.
    pub(super) fn follow(
        known: Option<Self>,
        key: &IndexKey,
        near: &Arc<Near>,
        ledger: &Ledger,
        index: &Index,
    ) -> Self {
        let still = |one: &Self| {
            // Verdicts on a Pod that the ledger does not know are nobody else's.
            key.shape != ShapeId(u32::MAX)
                && one.key == *key
                && one.near == *near
                && one.heap.len() < index.len() + MOST_STALE
        };
        if let Some(mut known) = known.filter(still)
            && let Some(changed) = ledger.changed_since(known.followed)
        {
            let changed = changed.filter_map(|id| known.near.entry(ledger, index, id));
            known.heap.extend(changed.collect::<Vec<_>>());
            known.followed = ledger.generation();
            return known;
        }
        let places: HashMap<&str, u32> = near.values.iter().map(String::as_str).zip(0..).collect();
        let entry = |(id, score): (NodeId, u64)| {
            let value = ledger.node(id)?.node.labels.get(&near.label);
            let place = value.and_then(|value| places.get(value.as_str()).copied());
            Some(Reverse((place.unwrap_or(u32::MAX), score, id)))
        };
        let heap = index.candidates().filter_map(entry).collect::<Vec<_>>().into();
        Self { key: key.clone(), near: Arc::clone(near), followed: ledger.generation(), heap }
    }

    /// The first candidate about which nobody has anything to say.
    pub(super) fn first(
        &mut self,
        ledger: &Ledger,
        index: &Index,
        ask: impl Fn(NodeId) -> Option<Reason>,
    ) -> Result<NodeId, Refusal> {
        let mut refusal = index.refusal();
        let mut passed: Vec<Entry> = Vec::new();
        let mut found = None;
        while let Some(entry) = self.heap.pop() {
            let id = entry.0.2;
            if passed.last() == Some(&entry) || self.near.entry(ledger, index, id) != Some(entry) {
                continue;
            }
            passed.push(entry);
            match ask(id) {
                None => {
                    found = Some(id);
                    break;
                }
                Some(reason) => refusal.count(reason),
            }
        }
        self.heap.extend(passed);
        found.ok_or(refusal)
    }
}

impl Near {
    /// The entry of a node as it is now; none if it is no candidate.
    fn entry(&self, ledger: &Ledger, index: &Index, id: NodeId) -> Option<Entry> {
        let score = index.score(id)?;
        Some(Reverse((self.distance(&ledger.node(id)?.node), score, id)))
    }
}
