//! What is free in all, counted along with the ledger.

use crate::{
    ledger::Ledger,
    model::{Amounts, NodeId},
};

/// Free amounts on nodes that take new Pods.
#[derive(Debug, Clone, Default)]
pub(crate) struct Free {
    total: Amounts,
    by_node: Vec<Amounts>,
    seen: u64,
}

impl Free {
    /// What is free now. Costs what has changed since the last time.
    pub(crate) fn follow(&mut self, ledger: &Ledger) -> &Amounts {
        if self.seen != ledger.generation() {
            let changed: Vec<NodeId> = if let Some(changed) = ledger.changed_since(self.seen) {
                changed.collect()
            } else {
                *self = Self::default();
                ledger.nodes().map(|state| state.id).collect()
            };
            self.seen = ledger.generation();
            for node in changed {
                self.count(ledger, node);
            }
        }
        &self.total
    }

    fn count(&mut self, ledger: &Ledger, node: NodeId) {
        let index = usize::try_from(node.0).unwrap_or(usize::MAX);
        if self.by_node.len() <= index {
            self.by_node.resize(index + 1, Amounts::default());
        }
        let state = ledger.node(node).filter(|state| state.present && !state.node.unschedulable);
        let mut free = Amounts::default();
        if let Some(state) = state {
            free = state.usable(ledger.kinds());
            free -= &state.used;
        }
        self.total += &free;
        self.total -= &std::mem::replace(&mut self.by_node[index], free);
    }
}
