//! The rows of one resource and the log of what happened to them.

use std::collections::btree_map::Range;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use super::{Entry, RevisionError};

/// How many events a follower may be behind and still find its place at a glance.
const NEAR: usize = 16;

/// How many bytes of objects a table remembers events of: many small changes or fewer large ones.
const HISTORY_BYTES: usize = 64 << 20;
/// As many events are remembered however large they are, so that whoever follows closely misses none.
const LEAST_HISTORY: usize = 16;

/// One change of one object.
#[derive(Debug)]
pub struct Event {
    /// The object after the change; for a deletion its last state, at the revision that removed it.
    pub entry: Arc<Entry>,
    /// The object before the change.
    pub previous: Option<Arc<Entry>>,
    /// Whether the change removed it.
    pub deleted: bool,
}

/// A change in the log, with its revision beside it: followers look for their place more often than at events.
#[derive(Debug)]
struct Logged {
    revision: u64,
    row: Arc<str>,
    event: Arc<Event>,
}

#[derive(Debug)]
pub(super) struct Table {
    rows: BTreeMap<Arc<str>, Arc<Entry>>,
    log: VecDeque<Logged>,
    history: usize,
    /// The size of the objects in the log, without what they were before: that is mostly in the log as well.
    bytes: usize,
    /// Events up to and including this revision are no longer in the log.
    compacted: u64,
}

impl Table {
    /// An empty table whose history is complete from `floor` on.
    pub(super) fn new(history: usize, floor: u64) -> Self {
        Self { rows: BTreeMap::new(), log: VecDeque::new(), history, bytes: 0, compacted: floor }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn get(&self, row: &str) -> Option<Arc<Entry>> {
        self.rows.get(row).cloned()
    }

    pub(super) fn insert(&mut self, row: &Arc<str>, entry: Arc<Entry>) {
        self.rows.insert(Arc::clone(row), entry);
    }

    pub(super) fn rows_with_keys(&self) -> impl Iterator<Item = (Arc<str>, Arc<Entry>)> + '_ {
        self.rows.iter().map(|(row, entry)| (Arc::clone(row), Arc::clone(entry)))
    }

    pub(super) fn rows(&self, namespace: Option<&str>) -> Vec<Arc<Entry>> {
        self.range(namespace).map(|(_, entry)| Arc::clone(entry)).collect()
    }

    /// Rows are in byte order of `namespace/name`, so a namespace is the run from `namespace/` to `namespace0`
    /// (`0` follows `/`).
    fn range(&self, namespace: Option<&str>) -> Range<'_, Arc<str>, Arc<Entry>> {
        match namespace {
            None => self.rows.range::<str, _>((Bound::Unbounded, Bound::Unbounded)),
            Some(namespace) => {
                let (from, to) = (format!("{namespace}/"), format!("{namespace}0"));
                self.rows.range::<str, _>((Bound::Included(&*from), Bound::Excluded(&*to)))
            }
        }
    }

    pub(super) fn rows_at(
        &self,
        namespace: Option<&str>,
        revision: u64,
    ) -> Result<Vec<Arc<Entry>>, RevisionError> {
        self.check_kept(revision)?;
        let prefix = namespace.map(|namespace| format!("{namespace}/"));
        // What each row was before its first change after `revision`.
        let mut undone: BTreeMap<&str, Option<&Arc<Entry>>> = BTreeMap::new();
        for Logged { row, event, .. } in self.log.range(self.place_after(revision)..).rev() {
            if prefix.as_ref().is_none_or(|prefix| row.starts_with(prefix.as_str())) {
                undone.insert(row, event.previous.as_ref());
            }
        }
        if undone.is_empty() {
            return Ok(self.rows(namespace));
        }
        let current: BTreeMap<&str, &Arc<Entry>> =
            self.range(namespace).map(|(row, entry)| (&**row, entry)).collect();
        let keys: BTreeSet<&str> = current.keys().chain(undone.keys()).copied().collect();
        let at = |row: &str| undone.get(row).copied().unwrap_or_else(|| current.get(row).copied());
        Ok(keys.into_iter().filter_map(at).cloned().collect())
    }

    pub(super) fn record(&mut self, row: &Arc<str>, event: Event) {
        if event.deleted {
            self.rows.remove(row);
        } else {
            self.rows.insert(Arc::clone(row), Arc::clone(&event.entry));
        }
        let revision = event.entry.revision;
        self.bytes += event.entry.json.len();
        self.log.push_back(Logged { revision, row: Arc::clone(row), event: Arc::new(event) });
        while self.log.len() > self.history || (self.bytes > HISTORY_BYTES && self.log.len() > LEAST_HISTORY)
        {
            if let Some(oldest) = self.log.pop_front() {
                self.bytes -= oldest.event.entry.json.len();
                self.compacted = oldest.revision;
            }
        }
    }

    pub(super) fn forget_before(&mut self, revision: u64) {
        self.log.clear();
        self.bytes = 0;
        self.compacted = revision;
    }

    pub(super) fn events_after(&self, revision: u64) -> Result<Vec<Arc<Event>>, RevisionError> {
        self.check_kept(revision)?;
        Ok(self.log.range(self.place_after(revision)..).map(|logged| Arc::clone(&logged.event)).collect())
    }

    /// Where the log goes on after `revision`. Nearly everybody who asks is only a few events behind.
    fn place_after(&self, revision: u64) -> usize {
        let len = self.log.len();
        let newer = self.log.iter().rev().take(NEAR).take_while(|logged| logged.revision > revision).count();
        if newer < NEAR {
            len - newer
        } else {
            self.log.partition_point(|logged| logged.revision <= revision)
        }
    }

    fn check_kept(&self, requested: u64) -> Result<(), RevisionError> {
        let oldest = self.compacted;
        if requested < oldest { Err(RevisionError::Compacted { requested, oldest }) } else { Ok(()) }
    }
}
