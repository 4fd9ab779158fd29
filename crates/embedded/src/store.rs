//! The versioned store: one revision counter, one table per resource, a log per table.
//!
//! Objects are kept as the JSON bytes they are served as, with the few facts that lists, watches and garbage
//! collection ask for beside them. A list is a walk and a concatenation; a watch is a position in a log.
//! Older revisions are not kept: they are rebuilt from the current rows and the log, as far as the log reaches.
//!
//! Start reading at [`Store::commit`]: every change of the cluster passes through it.

mod disk;
mod entry;
mod key;
mod progress;
mod table;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use parking_lot::RwLock;
use serde_json::Value;

pub(crate) use disk::DiskError;
pub(crate) use entry::{Draft, decode};
pub use entry::{Entry, Meta, Owner};
pub use key::Key;
pub use progress::Follower;
use progress::{Progress, Tables};
pub use table::Event;
use table::Table;

/// How many events a table remembers for watches that fall behind.
const DEFAULT_HISTORY: usize = 16_384;

/// What must be true of a row for an operation to take effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    Absent,
    Revision(u64),
}

/// One change; a transaction is a list of them that all take effect or none does.
#[derive(Debug)]
pub(crate) enum Operation {
    Put { key: Key, draft: Draft, expect: Expect },
    Delete { key: Key, expect: Expect },
}

/// The row whose expectation did not hold.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommitError {
    #[error("{0:?} is not at the expected revision")]
    Stale(Key),
    #[error("writing to disk: {0}")]
    Disk(#[from] DiskError),
}

/// Why an old revision cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RevisionError {
    /// The log no longer reaches back to it.
    #[error("revision {requested} is older than {oldest}, the oldest kept")]
    Compacted {
        /// What was asked for.
        requested: u64,
        /// The oldest revision that can still be read.
        oldest: u64,
    },
    /// It has not happened yet.
    #[error("revision {requested} is newer than {current}, the current one")]
    Future {
        /// What was asked for.
        requested: u64,
        /// The newest revision.
        current: u64,
    },
}

/// A consistent set of rows at one revision.
#[derive(Debug)]
pub struct Listing {
    /// The revision the rows were read at.
    pub revision: u64,
    /// The rows in key order.
    pub rows: Vec<Arc<Entry>>,
}

/// See the module documentation.
#[derive(Debug)]
pub struct Store {
    inner: RwLock<Inner>,
    progress: Arc<Progress>,
}

#[derive(Debug)]
struct Inner {
    revision: u64,
    /// Where history began: a store read from disk knows nothing of how it came to be.
    floor: u64,
    history: usize,
    tables: BTreeMap<Arc<str>, Table>,
    children: HashMap<Box<str>, BTreeSet<Key>>,
    disk: Option<disk::Disk>,
}

impl Default for Store {
    fn default() -> Self {
        Self::new(DEFAULT_HISTORY)
    }
}

impl Store {
    /// An empty store in memory that remembers `history` events per table.
    pub fn new(history: usize) -> Self {
        Self::from_inner(Inner {
            revision: 1,
            floor: 0,
            history,
            tables: BTreeMap::new(),
            children: HashMap::new(),
            disk: None,
        })
    }

    /// A store that keeps every acknowledged write in `folder`, starting from what is there. `fields` are the selectable
    /// fields of an object as they are now, for tables it knows: they stand by number, and another version of this program
    /// may have had others.
    pub(crate) fn open(
        folder: &Path,
        history: usize,
        fields: impl Fn(&str, &Value) -> Option<Vec<Box<str>>>,
    ) -> Result<Self, DiskError> {
        let (disk, loaded) = disk::Disk::open(folder)?;
        let store = Self::new(history);
        {
            let mut inner = store.inner.write();
            let revision = loaded.revision.max(1);
            inner.revision = revision;
            inner.floor = revision;
            for (key, json, revision, stored) in loaded.into_rows() {
                let fields = |object: &Value| fields(&key.table, object).unwrap_or(stored);
                let entry = Entry::restore(&json, revision, fields)
                    .map_err(|source| DiskError::Corrupt { key: key.row.to_string(), source })?;
                inner.insert_row(&key, Arc::new(entry));
            }
            inner.disk = Some(disk);
            store.progress.set(Tables::default(), revision);
        }
        Ok(store)
    }

    fn from_inner(inner: Inner) -> Self {
        let progress = Progress::new(inner.revision);
        Self { inner: RwLock::new(inner), progress }
    }

    /// The newest revision.
    pub fn revision(&self) -> u64 {
        self.inner.read().revision
    }

    /// Follows the changes of every table.
    pub fn follow(&self) -> Follower {
        self.progress.follow_all()
    }

    /// Follows the changes of some tables, whether they have rows yet or not.
    pub fn follow_tables<'a>(&self, tables: impl IntoIterator<Item = &'a str>) -> Follower {
        self.progress.follow(tables)
    }

    /// The current state of one object.
    pub fn get(&self, key: &Key) -> Option<Arc<Entry>> {
        self.inner.read().tables.get(&key.table)?.get(&key.row)
    }

    /// The rows of a table, all of them or those of one namespace.
    pub fn list(&self, table: &str, namespace: Option<&str>) -> Listing {
        let inner = self.inner.read();
        let rows = inner.tables.get(table).map(|table| table.rows(namespace)).unwrap_or_default();
        Listing { revision: inner.revision, rows }
    }

    /// The rows as they were at `revision`.
    pub fn list_at(
        &self,
        table: &str,
        namespace: Option<&str>,
        revision: u64,
    ) -> Result<Listing, RevisionError> {
        let inner = self.inner.read();
        inner.check_not_future(revision)?;
        let rows = match inner.tables.get(table) {
            Some(table) => table.rows_at(namespace, revision)?,
            // What it had before it was forgotten nobody knows.
            None if revision < inner.floor => {
                return Err(RevisionError::Compacted { requested: revision, oldest: inner.floor });
            }
            None => Vec::new(),
        };
        Ok(Listing { revision, rows })
    }

    /// The names of all tables that ever had a row, in order.
    pub fn tables(&self) -> Vec<Arc<str>> {
        self.inner.read().tables.keys().cloned().collect()
    }

    /// How many rows a table has.
    pub fn count(&self, table: &str) -> usize {
        self.inner.read().tables.get(table).map_or(0, Table::len)
    }

    /// The events of a table after `revision`, with the revision up to which they are complete.
    pub fn events_after(&self, table: &str, revision: u64) -> Result<(Vec<Arc<Event>>, u64), RevisionError> {
        let inner = self.inner.read();
        let events = match inner.tables.get(table) {
            Some(table) => table.events_after(revision)?,
            None if revision < inner.floor => {
                return Err(RevisionError::Compacted { requested: revision, oldest: inner.floor });
            }
            None => Vec::new(),
        };
        Ok((events, inner.revision))
    }

    /// The objects that name `uid` as an owner.
    pub fn children(&self, uid: &str) -> Vec<Key> {
        self.inner.read().children.get(uid).map(|keys| keys.iter().cloned().collect()).unwrap_or_default()
    }

    /// Forgets the history of a table, so that older watches get 410 Gone.
    pub fn compact(&self, table: &str) {
        let mut inner = self.inner.write();
        let revision = inner.revision;
        if let Some(table) = inner.tables.get_mut(table) {
            table.forget_before(revision);
        }
    }

    /// Makes all the changes in one step, or none if a row is not as expected before the first of them. A row may be
    /// changed more than once, as a Pod is that goes: each change has its event.
    ///
    /// Answers the entries in the order of the operations: for a delete, the last state of the object at the
    /// revision that removed it.
    pub(crate) fn commit(&self, operations: Vec<Operation>) -> Result<Vec<Arc<Entry>>, CommitError> {
        let mut inner = self.inner.write();
        inner.check_expectations(&operations)?;
        let mut entries = Vec::with_capacity(operations.len());
        let mut changes = Vec::with_capacity(operations.len());
        let mut revision = inner.revision;
        for operation in operations {
            revision += 1;
            let change = inner.prepare(operation, revision, &changes);
            entries.push(Arc::clone(&change.entry));
            changes.push(change);
        }
        if let Some(disk) = &mut inner.disk {
            disk.append(&changes)?;
        }
        let mut tables = Tables::default();
        for change in changes {
            tables.add(self.progress.place(&change.key.table));
            inner.take_effect(change);
        }
        inner.revision = revision;
        inner.rotate_disk();
        // Inside the lock, so that followers never see the counter go backwards; they are woken outside of it, or
        // they would wake only to wait for it.
        self.progress.set(tables, revision);
        drop(inner);
        self.progress.wake(tables);
        Ok(entries)
    }

    /// Stores a new object as it is, past every rule of the API, under the namespace and name of its metadata: for
    /// tools that fill or measure a store. `false` if it could not be stored, mostly because it is there already.
    pub fn fill(&self, table: &str, object: &Value) -> bool {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let key = Key::new(&table.into(), text("namespace"), text("name"));
        self.commit(vec![put(key, object, Vec::new(), Expect::Absent)]).is_ok()
    }

    /// A hash of every row and the revision: equal histories have equal fingerprints.
    pub fn fingerprint(&self) -> String {
        use sha2::{Digest, Sha256};
        let inner = self.inner.read();
        let mut hash = Sha256::new();
        hash.update(inner.revision.to_be_bytes());
        // A table that was emptied is no different from one that never was.
        for (name, table) in inner.tables.iter().filter(|(_, table)| table.len() > 0) {
            hash.update(name.as_bytes());
            for entry in table.rows(None) {
                hash.update(&entry.json);
            }
        }
        format!("{:x}", hash.finalize())
    }
}

/// A change that has its revision but is not visible yet.
#[derive(Debug)]
struct Change {
    key: Key,
    entry: Arc<Entry>,
    previous: Option<Arc<Entry>>,
    deleted: bool,
}

impl Inner {
    fn check_not_future(&self, requested: u64) -> Result<(), RevisionError> {
        let current = self.revision;
        if requested > current { Err(RevisionError::Future { requested, current }) } else { Ok(()) }
    }

    fn current(&self, key: &Key) -> Option<Arc<Entry>> {
        self.tables.get(&key.table)?.get(&key.row)
    }

    fn check_expectations(&self, operations: &[Operation]) -> Result<(), CommitError> {
        for operation in operations {
            let (Operation::Put { key, expect, .. } | Operation::Delete { key, expect }) = operation;
            let holds = match (self.current(key), expect) {
                (None, Expect::Absent) => true,
                (Some(entry), Expect::Revision(revision)) => entry.revision == *revision,
                _ => false,
            };
            if !holds {
                return Err(CommitError::Stale(key.clone()));
            }
        }
        Ok(())
    }

    /// A row as the changes before leave it.
    fn latest(&self, key: &Key, before: &[Change]) -> Option<Arc<Entry>> {
        match before.iter().rev().find(|change| change.key == *key) {
            Some(change) => (!change.deleted).then(|| Arc::clone(&change.entry)),
            None => self.current(key),
        }
    }

    fn prepare(&self, operation: Operation, revision: u64, before: &[Change]) -> Change {
        match operation {
            Operation::Put { key, draft, .. } => {
                let previous = self.latest(&key, before);
                Change { key, entry: Arc::new(draft.finish(revision)), previous, deleted: false }
            }
            Operation::Delete { key, .. } => {
                let previous =
                    self.latest(&key, before).expect("expectations of this transaction were checked");
                Change {
                    key,
                    entry: Arc::new(previous.at_revision(revision)),
                    previous: Some(previous),
                    deleted: true,
                }
            }
        }
    }

    fn take_effect(&mut self, change: Change) {
        let Change { key, entry, previous, deleted } = change;
        if let Some(previous) = &previous {
            self.unlink_children(&key, previous);
        }
        if !deleted {
            self.link_children(&key, &entry);
        }
        self.table_mut(&key.table).record(&key.row, Event { entry, previous, deleted });
    }

    fn insert_row(&mut self, key: &Key, entry: Arc<Entry>) {
        self.link_children(key, &entry);
        self.table_mut(&key.table).insert(&key.row, entry);
    }

    fn table_mut(&mut self, name: &Arc<str>) -> &mut Table {
        let (history, floor) = (self.history, self.floor);
        self.tables.entry(Arc::clone(name)).or_insert_with(|| Table::new(history, floor))
    }

    fn link_children(&mut self, key: &Key, entry: &Entry) {
        for owner in &entry.meta.owners {
            self.children.entry(owner.uid.clone()).or_default().insert(key.clone());
        }
    }

    fn unlink_children(&mut self, key: &Key, entry: &Entry) {
        for owner in &entry.meta.owners {
            if let Some(keys) = self.children.get_mut(&owner.uid) {
                keys.remove(key);
                if keys.is_empty() {
                    self.children.remove(&owner.uid);
                }
            }
        }
    }

    fn rotate_disk(&mut self) {
        let Some(mut disk) = self.disk.take() else { return };
        if disk.wants_snapshot() {
            let rows = self.tables.iter().flat_map(|(name, table)| {
                table.rows_with_keys().map(move |(row, entry)| (Arc::clone(name), row, entry))
            });
            if let Err(error) = disk.snapshot(self.revision, rows) {
                // The log is still whole, so nothing is lost: it only stays longer than it should.
                tracing::warn!(%error, "the snapshot of the data folder failed; it is tried again later");
            }
        }
        self.disk = Some(disk);
    }
}

/// A convenience for callers that hold a `Value`.
pub(crate) fn put(key: Key, value: &Value, fields: Vec<Box<str>>, expect: Expect) -> Operation {
    Operation::Put { key, draft: Draft::new(value, fields), expect }
}

#[cfg(test)]
mod tests;
