//! Why no node was found.

use std::collections::BTreeMap;

use crate::{filter::Reason, ledger::Ledger};

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
        let parts: Vec<String> = self
            .ranked()
            .iter()
            .map(|(reason, count)| format!("{count} {}", reason.phrase(ledger)))
            .collect();
        format!("none of {} nodes: {}", self.nodes, parts.join(", "))
    }
}
