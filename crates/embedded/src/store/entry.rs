//! One stored object: the bytes it is served as, and what the server asks about it without parsing them.

use std::any::Any;
use std::io::Write as _;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use maar_machinery::selector::Labels;
use serde::Deserialize;
use serde_json::{Map, Value};

/// A stored object at one revision.
#[derive(Debug)]
pub struct Entry {
    /// The revision of the last change.
    pub revision: u64,
    /// The whole object. Starts with `apiVersion`, `kind` and `metadata.resourceVersion`, in this order.
    pub json: Bytes,
    /// Offset of the first byte after `"kind":"…",`, so that list items can be cut out without their type.
    pub(crate) body_at: u32,
    version_at: u32,
    version_end: u32,
    /// What selectors and garbage collection ask for.
    pub meta: Meta,
    /// The first typed view somebody asked for, so that controllers that look at it often read it once.
    view: OnceLock<Arc<dyn Any + Send + Sync>>,
}

/// The facts about an object that are needed without parsing it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// `metadata.namespace`, empty for cluster-scoped objects.
    pub namespace: Box<str>,
    /// `metadata.name`.
    pub name: Box<str>,
    /// `metadata.uid`.
    pub uid: Box<str>,
    /// `metadata.labels`, sorted by key.
    pub labels: Box<[(Box<str>, Box<str>)]>,
    /// `metadata.ownerReferences`.
    pub owners: Box<[Owner]>,
    /// Whether `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// The values of the resource's selectable fields, in the order the resource names them.
    pub fields: Box<[Box<str>]>,
}

impl Labels for Meta {
    fn label(&self, key: &str) -> Option<&str> {
        let found = self.labels.binary_search_by(|(name, _)| (**name).cmp(key)).ok()?;
        Some(&self.labels[found].1)
    }
}

impl Meta {
    /// The owner that manages this object.
    pub fn controller(&self) -> Option<&Owner> {
        self.owners.iter().find(|owner| owner.controller)
    }
}

/// One owner reference.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    /// The owner's apiVersion.
    pub api_version: Box<str>,
    /// The owner's kind.
    pub kind: Box<str>,
    /// The owner's name.
    pub name: Box<str>,
    /// The owner's uid.
    pub uid: Box<str>,
    /// Whether it manages the object.
    #[serde(default)]
    pub controller: bool,
    /// Whether foreground deletion of the owner waits for the object.
    #[serde(default)]
    pub block_owner_deletion: bool,
}

impl Entry {
    /// The object as a value.
    pub fn value(&self) -> Value {
        serde_json::from_slice(&self.json).expect("stored bytes were serialised by Draft::new")
    }

    /// The object as a Rust type; `None` if it does not have that shape.
    pub fn typed<T: serde::de::DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.json).ok()
    }

    /// The object as a Rust type, kept with the entry. Meant for one small type per kind: a second type is read
    /// anew each time.
    pub(crate) fn view<T>(&self) -> Option<Arc<T>>
    where
        T: serde::de::DeserializeOwned + Send + Sync + 'static,
    {
        if let Some(kept) = self.view.get() {
            return match Arc::clone(kept).downcast::<T>() {
                Ok(view) => Some(view),
                Err(_) => self.typed().map(Arc::new),
            };
        }
        let view: Arc<T> = Arc::new(self.typed()?);
        // Somebody else may have been quicker; then both have the same.
        let _ = self.view.set(Arc::clone(&view) as Arc<dyn Any + Send + Sync>);
        Some(view)
    }

    /// Whether a field of that name may be anywhere in the object, found without reading it: for those who are shown
    /// every object and care for few. A string of that content is taken for one.
    pub(crate) fn mentions(&self, field: &str) -> bool {
        let quoted = |at: usize| {
            at.checked_sub(1).is_some_and(|before| self.json[before] == b'"')
                && self.json.get(at + field.len()) == Some(&b'"')
        };
        memchr::memmem::find_iter(&self.json, field).any(quoted)
    }

    /// The object without `apiVersion` and `kind`, after its opening brace.
    pub(crate) fn body(&self) -> Bytes {
        self.json.slice(self.body_at as usize..)
    }

    /// The same object with another resourceVersion.
    pub(crate) fn at_revision(&self, revision: u64) -> Self {
        let mut json = Vec::with_capacity(self.json.len() + 4);
        json.extend_from_slice(&self.json[..self.version_at as usize]);
        let version_end = write_number(&mut json, revision);
        json.extend_from_slice(&self.json[self.version_end as usize..]);
        Self {
            revision,
            json: json.into(),
            body_at: self.body_at,
            version_at: self.version_at,
            version_end,
            meta: self.meta.clone(),
            view: self.view.clone(),
        }
    }

    /// An entry read back from disk.
    pub(crate) fn restore(
        json: &[u8],
        revision: u64,
        fields: impl FnOnce(&Value) -> Vec<Box<str>>,
    ) -> Result<Self, serde_json::Error> {
        let value: Value = serde_json::from_slice(json)?;
        let fields = fields(&value);
        Ok(Draft::new(&value, fields).finish(revision))
    }
}

fn write_number(json: &mut Vec<u8>, number: u64) -> u32 {
    // Writing to a Vec cannot fail.
    let _ = write!(json, "{number}");
    offset(json)
}

fn offset(json: &[u8]) -> u32 {
    u32::try_from(json.len()).expect("request bodies are limited to far less than 4 GiB")
}

/// An object that is ready to be stored but has no revision yet.
#[derive(Debug)]
pub(crate) struct Draft {
    json: Vec<u8>,
    body_at: u32,
    version_at: u32,
    meta: Meta,
}

impl Draft {
    pub(crate) fn new(value: &Value, fields: Vec<Box<str>>) -> Self {
        let empty = Map::new();
        let object = value.as_object().unwrap_or(&empty);
        let metadata = object.get("metadata").and_then(Value::as_object).unwrap_or(&empty);
        let mut json = Vec::with_capacity(4096);
        json.push(b'{');
        for key in ["apiVersion", "kind"] {
            write_string(&mut json, key);
            json.push(b':');
            write_string(&mut json, object.get(key).and_then(Value::as_str).unwrap_or_default());
            json.push(b',');
        }
        let body_at = offset(&json);
        json.extend_from_slice(br#""metadata":{"resourceVersion":""#);
        let version_at = offset(&json);
        json.push(b'"');
        write_members(&mut json, metadata, &["resourceVersion"]);
        json.push(b'}');
        write_members(&mut json, object, &["apiVersion", "kind", "metadata"]);
        json.push(b'}');
        Self { json, body_at, version_at, meta: meta(metadata, fields) }
    }

    pub(crate) fn finish(self, revision: u64) -> Entry {
        let at = self.version_at as usize;
        let mut json = Vec::with_capacity(self.json.len() + 20);
        json.extend_from_slice(&self.json[..at]);
        let version_end = write_number(&mut json, revision);
        json.extend_from_slice(&self.json[at..]);
        Entry {
            revision,
            json: json.into(),
            body_at: self.body_at,
            version_at: self.version_at,
            version_end,
            meta: self.meta,
            view: OnceLock::new(),
        }
    }
}

fn write_members(json: &mut Vec<u8>, object: &Map<String, Value>, except: &[&str]) {
    for (key, value) in object {
        if except.contains(&key.as_str()) {
            continue;
        }
        json.push(b',');
        write_string(json, key);
        json.push(b':');
        serde_json::to_writer(&mut *json, value).expect("a JSON value always serialises into memory");
    }
}

fn write_string(json: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(json, text).expect("a string always serialises into memory");
}

fn meta(metadata: &Map<String, Value>, fields: Vec<Box<str>>) -> Meta {
    let mut labels: Vec<(Box<str>, Box<str>)> = metadata
        .get("labels")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.as_str().into(), value.as_str()?.into())))
        .collect();
    // serde_json's map may keep insertion order if a dependency turns that on.
    labels.sort_unstable();
    let owners = metadata
        .get("ownerReferences")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|owner| Owner::deserialize(owner).ok())
        .collect();
    let text = |field: &str| metadata.get(field).and_then(Value::as_str).unwrap_or_default().into();
    Meta {
        namespace: text("namespace"),
        name: text("name"),
        uid: text("uid"),
        labels: labels.into(),
        owners,
        deleting: metadata.get("deletionTimestamp").is_some_and(|time| !time.is_null()),
        fields: fields.into(),
    }
}

/// The stored form of a value at a revision, for answers that are not stored (dry run).
pub(crate) fn decode(value: &Value, revision: u64) -> Entry {
    Draft::new(value, Vec::new()).finish(revision)
}
