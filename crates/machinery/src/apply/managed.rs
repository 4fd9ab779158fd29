//! `metadata.managedFields`: who owns which paths, since when.

use std::cmp::Ordering;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::conflict::Conflict;
use crate::fields::{Comparison, Set};

/// How a manager came to own fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// By server-side apply: what it stops applying goes away.
    Apply,
    /// By any other write.
    Update,
}

impl Operation {
    /// The word in `operation`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// What tells one entry from another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Identity {
    pub(crate) manager: String,
    pub(crate) operation: Operation,
    pub(crate) api_version: String,
    pub(crate) subresource: String,
}

impl Identity {
    /// Whether an entry as written is of this identity.
    pub(crate) fn is_of(&self, entry: &Value) -> bool {
        text(entry, "manager") == self.manager
            && text(entry, "operation") == self.operation.as_str()
            && text(entry, "subresource") == self.subresource
            && (self.operation == Operation::Apply || text(entry, "apiVersion") == self.api_version)
    }

    /// A manager that applies is the same one whatever version it applies in.
    fn is(&self, other: &Self) -> bool {
        self.manager == other.manager
            && self.operation == other.operation
            && self.subresource == other.subresource
            && (self.operation == Operation::Apply || self.api_version == other.api_version)
    }
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manager {
    pub(crate) identity: Identity,
    /// When the set of fields last changed by this manager's own write.
    pub time: Option<Timestamp>,
    /// What it owns.
    pub fields: Set,
}

impl Manager {
    /// The manager's name.
    pub fn name(&self) -> &str {
        &self.identity.manager
    }

    /// How it writes.
    pub fn operation(&self) -> Operation {
        self.identity.operation
    }

    /// In which version it wrote.
    pub fn api_version(&self) -> &str {
        &self.identity.api_version
    }

    /// The subresource it wrote through, or empty.
    pub fn subresource(&self) -> &str {
        &self.identity.subresource
    }
}

/// Why managed fields could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManagedError {
    /// `operation` is neither of the two.
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    /// `apiVersion` is missing.
    #[error("apiVersion must not be empty")]
    ApiVersion,
    /// `fieldsType` is something else than `FieldsV1`.
    #[error("invalid fieldsType {kind:?} in managed fields entry {index}")]
    FieldsType {
        /// What stood there.
        kind: String,
        /// In which entry.
        index: usize,
    },
    /// `time` is no time.
    #[error("invalid time in managed fields entry {0}")]
    Time(usize),
    /// The fields themselves are no FieldsV1.
    #[error("error decoding set: {0}")]
    Fields(#[from] crate::fields::FieldsError),
    /// The list is no list of objects.
    #[error("managedFields must be a list of objects")]
    Shape,
}

/// Updates from more managers than this are merged, oldest first.
pub(crate) const MAX_UPDATE_MANAGERS: usize = 10;
const OLD_UPDATES: &str = "ancient-changes";

/// All entries of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManagedFields {
    entries: Vec<Manager>,
}

impl ManagedFields {
    /// Reads the list.
    pub fn decode(list: &Value) -> Result<Self, ManagedError> {
        let Value::Array(items) = list else { return Err(ManagedError::Shape) };
        let mut managed = Self::default();
        for (index, item) in items.iter().enumerate() {
            let entry = decode_entry(index, item)?;
            match managed.place(&entry.identity) {
                Some(at) => managed.entries[at] = entry,
                None => managed.entries.push(entry),
            }
        }
        Ok(managed)
    }

    /// The list as it stands in an object, in the API server's order.
    pub fn encode(&self) -> Value {
        self.encode_among(Vec::new())
    }

    /// The list together with entries that stayed as they were written.
    pub(crate) fn encode_among(&self, mut list: Vec<Value>) -> Value {
        list.extend(
            self.entries
                .iter()
                .map(|entry| encode_entry(&entry.identity, entry.time, entry.fields.to_fields_v1())),
        );
        list.sort_by(order);
        Value::Array(list)
    }

    /// Takes the entries out of an object; an object without has none.
    pub fn take(object: &mut Value) -> Result<Self, ManagedError> {
        match super::update::take_list(object) {
            None | Some(Value::Null) => Ok(Self::default()),
            Some(list) => Self::decode(&list),
        }
    }

    /// Puts the entries into an object; none leave no list.
    pub fn store(&self, object: &mut Value) {
        store_list(object, self.encode());
    }

    /// The entries, in no particular order.
    pub fn entries(&self) -> &[Manager] {
        &self.entries
    }

    /// Whether nobody owns anything.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn place(&self, identity: &Identity) -> Option<usize> {
        self.entries.iter().position(|entry| entry.identity.is(identity))
    }

    /// Sets what a manager owns and gives what it owned before.
    pub(crate) fn replace(&mut self, identity: Identity, fields: Set) -> Option<Manager> {
        let at = self.place(&identity);
        let time = at.and_then(|at| self.entries[at].time);
        let entry = Manager { identity, time, fields };
        if let Some(at) = at {
            return Some(std::mem::replace(&mut self.entries[at], entry));
        }
        self.entries.push(entry);
        None
    }

    /// Adds to what a manager owns, at a time.
    pub(crate) fn add(&mut self, identity: Identity, fields: Set, now: Timestamp) {
        let time = Some(now);
        match self.place(&identity) {
            Some(at) => {
                let entry = &mut self.entries[at];
                entry.fields = std::mem::take(&mut entry.fields).union(fields);
                entry.identity = identity;
                entry.time = time;
            }
            None => self.entries.push(Manager { identity, time, fields }),
        }
    }

    /// What others own of what changed.
    pub(crate) fn conflicts(&self, own: &Identity, comparison: &Comparison) -> Vec<Conflict> {
        let changed = comparison.modified.clone().union(comparison.added.clone());
        let mut others: Vec<&Manager> = self.entries.iter().filter(|entry| !entry.identity.is(own)).collect();
        others.sort_by(|a, b| a.identity.cmp(&b.identity));
        let mut conflicts = Vec::new();
        for entry in others {
            entry.fields.intersection(&changed).for_each(|path| {
                conflicts.push(Conflict { owner: entry.identity.clone(), path: path.to_vec() });
            });
        }
        conflicts
    }

    /// Everybody loses what changed, except for one; who then owns nothing is gone.
    pub(crate) fn give_up(&mut self, except: Option<&Identity>, comparison: &Comparison) {
        let spared = |entry: &Manager| except.is_some_and(|own| entry.identity.is(own));
        for entry in self.entries.iter_mut().filter(|entry| !spared(entry)) {
            entry.fields = std::mem::take(&mut entry.fields)
                .difference(&comparison.modified)
                .difference(&comparison.added)
                .difference(&comparison.removed);
        }
        self.entries.retain(|entry| !entry.fields.is_empty());
    }

    /// Takes from a manager what nobody can own.
    pub(crate) fn strip(&mut self, identity: &Identity) {
        if let Some(at) = self.place(identity) {
            let entry = &mut self.entries[at];
            entry.fields = std::mem::take(&mut entry.fields).difference(unowned());
            if entry.fields.is_empty() {
                self.entries.remove(at);
            }
        }
    }

    pub(crate) fn set_time(&mut self, identity: &Identity, now: Timestamp) {
        if let Some(at) = self.place(identity) {
            self.entries[at].time = Some(now);
        }
    }

    /// Merges the oldest updates of each version until there are few enough.
    pub(crate) fn cap(&mut self) {
        let is_update = |entry: &Manager| entry.operation() == Operation::Update;
        let mut count = self.entries.iter().filter(|entry| is_update(entry)).count();
        if count <= MAX_UPDATE_MANAGERS {
            return;
        }
        let is_old = |entry: &Manager| entry.name() == OLD_UPDATES && entry.subresource().is_empty();
        let (mut updates, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.entries).into_iter().partition(is_update);
        self.entries = others;
        updates.sort_by(|a, b| {
            let key = |entry: &Manager| (!is_old(entry), seconds(entry));
            key(a).cmp(&key(b)).then_with(|| a.identity.cmp(&b.identity))
        });
        let mut kept: Vec<Manager> = Vec::with_capacity(MAX_UPDATE_MANAGERS);
        for entry in updates {
            let bucket = kept.iter_mut().find(|bucket| bucket.api_version() == entry.api_version());
            match bucket {
                Some(bucket) if count > MAX_UPDATE_MANAGERS => {
                    bucket.swallow(entry);
                    count -= 1;
                }
                _ => kept.push(entry),
            }
        }
        self.entries.append(&mut kept);
    }
}

impl Manager {
    /// Becomes the entry of old updates, with those of a younger one.
    fn swallow(&mut self, younger: Self) {
        self.fields = std::mem::take(&mut self.fields).union(younger.fields);
        self.time = younger.time;
        OLD_UPDATES.clone_into(&mut self.identity.manager);
        self.identity.subresource.clear();
    }
}

/// Fields that identify an object or that the server alone sets.
pub(crate) fn unowned() -> &'static Set {
    static UNOWNED: std::sync::OnceLock<Set> = std::sync::OnceLock::new();
    UNOWNED.get_or_init(|| {
        Set::of_fields(&[
            &["apiVersion"],
            &["kind"],
            &["metadata"],
            &["metadata", "name"],
            &["metadata", "namespace"],
            &["metadata", "creationTimestamp"],
            &["metadata", "selfLink"],
            &["metadata", "uid"],
            &["metadata", "clusterName"],
            &["metadata", "generation"],
            &["metadata", "managedFields"],
            &["metadata", "resourceVersion"],
        ])
    })
}

pub(crate) fn metadata_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let metadata = object.as_object_mut()?.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    metadata.as_object_mut()
}

fn seconds(entry: &Manager) -> i64 {
    entry.time.map_or(0, Timestamp::as_second)
}

/// Times are all written in one format and zone, so that their text sorts as they do.
fn order(a: &Value, b: &Value) -> Ordering {
    ["operation", "time", "manager", "apiVersion", "subresource"]
        .into_iter()
        .map(|name| text(a, name).cmp(text(b, name)))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

pub(crate) fn store_list(object: &mut Value, list: Value) {
    let Some(metadata) = metadata_mut(object) else { return };
    if list.as_array().is_some_and(Vec::is_empty) {
        metadata.remove("managedFields");
    } else {
        metadata.insert("managedFields".to_owned(), list);
    }
}

fn text<'a>(entry: &'a Value, name: &str) -> &'a str {
    entry.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn decode_entry(index: usize, item: &Value) -> Result<Manager, ManagedError> {
    if !item.is_object() {
        return Err(ManagedError::Shape);
    }
    let text = |name: &str| text(item, name);
    let operation = match text("operation") {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err(ManagedError::Operation),
    };
    if text("apiVersion").is_empty() {
        return Err(ManagedError::ApiVersion);
    }
    if text("fieldsType") != "FieldsV1" {
        return Err(ManagedError::FieldsType { kind: text("fieldsType").to_owned(), index });
    }
    let time = match text("time") {
        "" => None,
        time => Some(time.parse().map_err(|_| ManagedError::Time(index))?),
    };
    let fields = match item.get("fieldsV1") {
        None | Some(Value::Null) => Set::new(),
        Some(fields) => Set::from_fields_v1(fields)?,
    };
    let identity = Identity {
        manager: text("manager").to_owned(),
        operation,
        api_version: text("apiVersion").to_owned(),
        subresource: text("subresource").to_owned(),
    };
    Ok(Manager { identity, time, fields })
}

pub(crate) fn encode_entry(identity: &Identity, time: Option<Timestamp>, fields: Value) -> Value {
    let mut map = Map::new();
    let mut text = |name: &str, value: &str| {
        if !value.is_empty() {
            map.insert(name.to_owned(), value.into());
        }
    };
    text("manager", &identity.manager);
    text("operation", identity.operation.as_str());
    text("apiVersion", &identity.api_version);
    text("subresource", &identity.subresource);
    text("fieldsType", "FieldsV1");
    if let Some(time) = time {
        text("time", &time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    }
    map.insert("fieldsV1".to_owned(), fields);
    Value::Object(map)
}
