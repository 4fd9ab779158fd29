//! Why no node was found.

use std::collections::BTreeMap;

use crate::{explain::of_nodes, filter::Reason, ledger::Ledger};

/// How many nodes each filter removed; each node is counted under its first reason.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Refusal {
    /// How many nodes were looked at.
    pub nodes: usize,
    /// How many were removed, by reason.
    pub removed: BTreeMap<Reason, usize>,
}

impl Refusal {
    pub(super) fn count(&mut self, reason: Reason) {
        *self.removed.entry(reason).or_default() += 1;
    }

    /// Reasons with their counts, most frequent first.
    pub fn ranked(&self) -> Vec<(Reason, usize)> {
        let mut all: Vec<_> = self.removed.iter().map(|(reason, count)| (*reason, *count)).collect();
        all.sort_by_key(|(reason, count)| (std::cmp::Reverse(*count), *reason));
        all
    }

    /// A sentence for people.
    pub fn sentence(&self, ledger: &Ledger) -> String {
        if self.nodes == 0 {
            return "there are no nodes".to_owned();
        }
        let phrase = |(reason, count): &(Reason, usize)| (*count, reason.phrase(ledger, *count));
        let parts: Vec<(usize, String)> = self.ranked().iter().map(phrase).collect();
        of_nodes(self.nodes, parts.iter().map(|(count, phrase)| (*count, phrase.as_str())))
    }
}
