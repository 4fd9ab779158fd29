//! Texts that many objects have in common, kept once.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

/// How many are kept before those that nobody uses are dropped.
const FEW: usize = 1024;

/// See the module.
#[derive(Debug)]
pub(super) struct Texts {
    plain: HashSet<Arc<str>>,
    labels: HashSet<Arc<BTreeMap<String, String>>>,
    sweep_at: usize,
}

impl Default for Texts {
    fn default() -> Self {
        Self { plain: HashSet::new(), labels: HashSet::new(), sweep_at: FEW }
    }
}

impl Texts {
    pub(super) fn text(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.plain.get(text) {
            return Arc::clone(known);
        }
        self.sweep();
        let text: Arc<str> = text.into();
        self.plain.insert(Arc::clone(&text));
        text
    }

    pub(super) fn labels(&mut self, labels: BTreeMap<String, String>) -> Arc<BTreeMap<String, String>> {
        if let Some(known) = self.labels.get(&labels) {
            return Arc::clone(known);
        }
        self.sweep();
        let labels = Arc::new(labels);
        self.labels.insert(Arc::clone(&labels));
        labels
    }

    fn sweep(&mut self) {
        if self.plain.len() + self.labels.len() >= self.sweep_at {
            self.plain.retain(|text| Arc::strong_count(text) > 1);
            self.labels.retain(|labels| Arc::strong_count(labels) > 1);
            self.sweep_at = FEW.max(2 * (self.plain.len() + self.labels.len()));
        }
    }
}
