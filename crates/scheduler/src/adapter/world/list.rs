//! Which objects there are of each kind, so that a new list shows which are gone.

use std::collections::{BTreeMap, BTreeSet};

use crate::adapter::feed::Kind;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Lists {
    known: BTreeMap<Kind, BTreeSet<String>>,
    /// Those seen so far in a list that is being read.
    reading: BTreeMap<Kind, BTreeSet<String>>,
}

impl Lists {
    pub(super) fn begin(&mut self, kind: Kind) {
        self.reading.insert(kind, BTreeSet::new());
    }

    pub(super) fn saw(&mut self, kind: Kind, key: String) {
        if let Some(reading) = self.reading.get_mut(&kind) {
            reading.insert(key.clone());
        }
        self.known.entry(kind).or_default().insert(key);
    }

    /// Whether the kind has ever been listed.
    pub(super) fn is_served(&self, kind: Kind) -> bool {
        self.known.contains_key(&kind) || self.reading.contains_key(&kind)
    }

    pub(super) fn forgot(&mut self, kind: Kind, key: &str) {
        self.known.entry(kind).or_default().remove(key);
    }

    /// A list is complete of a kind whose objects are known elsewhere: answers what was seen.
    pub(super) fn take(&mut self, kind: Kind) -> BTreeSet<String> {
        self.known.insert(kind, BTreeSet::new());
        self.reading.remove(&kind).unwrap_or_default()
    }

    /// The list is complete: answers what is gone.
    pub(super) fn end(&mut self, kind: Kind) -> Vec<String> {
        let seen = self.reading.remove(&kind).unwrap_or_default();
        let known = self.known.insert(kind, seen.clone()).unwrap_or_default();
        known.into_iter().filter(|key| !seen.contains(key)).collect()
    }
}
