//! Custom resources: a definition checked and compiled into what a server needs to serve it.
//!
//! [`compile`] is the way in. It answers with every complaint that the real server would have about a new definition, or with
//! a [`CompiledCrd`] that holds one [`Version`] per version: schema, subresources, columns. [`validate_update`] adds what must
//! not change. Conversion by webhook is not supported and is refused.

mod column;
mod defaults;
mod embedded;
pub mod jsonpath;
mod keywords;
mod openapi;
mod spec;
mod structural;
mod version;

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::{
    error::{FieldError, Path},
    names::metadata::Scope,
};

pub use column::PrinterColumn;
pub use openapi::{definition_name, openapi_definitions};
pub use version::{FieldPath, Scale, SelectableField, Version};

/// A definition ready to be served.
#[derive(Clone, Debug)]
pub struct CompiledCrd {
    /// The group.
    pub group: String,
    /// What the kind is called.
    pub names: Names,
    /// Whether objects live in a namespace.
    pub scope: Scope,
    /// Every version, in the order of the definition.
    pub versions: Vec<Arc<Version>>,
    /// What whoever wrote the definition should be told.
    pub warnings: Vec<String>,
}

/// What a kind is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// The resource in paths.
    pub plural: String,
    /// The resource in the singular, for command lines.
    pub singular: String,
    /// The kind.
    pub kind: String,
    /// The kind of a list.
    pub list_kind: String,
    /// Abbreviations for command lines.
    pub short_names: Vec<String>,
    /// Groups of kinds that command lines know by one word.
    pub categories: Vec<String>,
}

impl CompiledCrd {
    /// The version of this name.
    pub fn version(&self, name: &str) -> Option<&Arc<Version>> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// The rules that could cost too much; versions that are alike have one schema.
    pub fn costs(&self) -> Vec<FieldError> {
        let mut costs: Vec<FieldError> = Vec::new();
        for cost in self.versions.iter().flat_map(|version| &version.costs) {
            if !costs.contains(cost) {
                costs.push(cost.clone());
            }
        }
        costs
    }

    /// The version in which objects are stored.
    pub fn storage(&self) -> &Arc<Version> {
        self.versions.iter().find(|version| version.storage).expect("compile refuses definitions without one")
    }
}

/// Fills in what a definition may leave out: `singular`, `listKind` and the conversion strategy.
pub fn default(definition: &mut Value) {
    let Some(spec) = definition.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) {
        let kind = text(names, "kind").to_owned();
        if text(names, "singular").is_empty() && !kind.is_empty() {
            names.insert("singular".to_owned(), kind.to_lowercase().into());
        }
        if text(names, "listKind").is_empty() && !kind.is_empty() {
            names.insert("listKind".to_owned(), format!("{kind}List").into());
        }
    }
    if spec.get("conversion").is_none_or(Value::is_null) {
        spec.insert("conversion".to_owned(), serde_json::json!({"strategy": "None"}));
    }
}

/// Checks a definition, defaults filled in, and compiles it.
pub fn compile(definition: &Value) -> Result<CompiledCrd, Vec<FieldError>> {
    let empty = Map::new();
    let spec = definition.get("spec").and_then(Value::as_object).unwrap_or(&empty);
    let path = Path::Text("spec");
    let mut errors = Vec::new();
    spec::check(spec, &path, &mut errors);
    let versions = versions(spec, &path, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    let namespaced = text(spec, "scope") == "Namespaced";
    let mut warnings: Vec<String> =
        versions.iter().flat_map(|version| keywords::unknown_formats(&version.document)).collect();
    warnings.sort_unstable();
    warnings.dedup();
    Ok(CompiledCrd {
        warnings,
        group: text(spec, "group").to_owned(),
        names: spec.get("names").and_then(Value::as_object).map(names).unwrap_or_default(),
        scope: if namespaced { Scope::Namespaced } else { Scope::Cluster },
        versions,
    })
}

/// What is wrong with a definition that is new: its name, and groups that only the Kubernetes project gives away.
pub fn validate_create(definition: &Value) -> Vec<FieldError> {
    let empty = Map::new();
    let spec = definition.get("spec").and_then(Value::as_object).unwrap_or(&empty);
    let mut errors = Vec::new();
    let name = definition.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    spec::check_name(name, spec, &mut errors);
    spec::check_approval(definition, text(spec, "group"), &mut errors);
    errors
}

/// What is wrong with the versions that objects are said to be stored in.
pub fn validate_stored_versions(definition: &Value) -> Vec<FieldError> {
    let list =
        |pointer: &str| definition.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default();
    let versions = list("/spec/versions");
    let stored = list("/status/storedVersions");
    if stored.is_empty() {
        let detail = "must have at least one stored version";
        return vec![FieldError::invalid("status.storedVersions", Value::from(stored), detail)];
    }
    let is_known = |name: &Value| versions.iter().any(|version| version.get("name") == Some(name));
    let unknown = stored.iter().enumerate().filter(|(_, name)| !is_known(name));
    unknown
        .map(|(index, name)| {
            let detail = "missing from spec.versions; objects may still be stored in it";
            FieldError::invalid(format!("status.storedVersions[{index}]"), name.clone(), detail)
        })
        .collect()
}

/// What must not change from one state of a definition to the next; [`compile`] says the rest.
///
/// `established` is whether the old definition was being served already, from when on its kind and scope are fixed.
pub fn validate_update(definition: &Value, old: &Value, established: bool) -> Vec<FieldError> {
    let always = ["/spec/group", "/spec/names/plural"].as_slice();
    let served = ["/spec/scope", "/spec/names/kind"].as_slice();
    let fixed = always.iter().chain(if established { served } else { &[] });
    fixed
        .filter_map(|pointer| {
            let value = definition.pointer(pointer).unwrap_or(&Value::Null);
            let changed = value != old.pointer(pointer).unwrap_or(&Value::Null);
            let path = pointer.trim_start_matches('/').replace('/', ".");
            changed.then(|| FieldError::invalid(path, value.clone(), "field is immutable"))
        })
        .collect()
}

fn versions(spec: &Map<String, Value>, path: &Path<'_>, errors: &mut Vec<FieldError>) -> Vec<Arc<Version>> {
    let versions_path = path.field("versions");
    let group = text(spec, "group");
    let kind =
        spec.get("names").and_then(|names| names.get("kind")).and_then(Value::as_str).unwrap_or_default();
    let documents = spec.get("versions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    documents
        .iter()
        .enumerate()
        .filter_map(|(index, document)| {
            let document = document.as_object()?;
            let version_path = versions_path.index(index);
            let place = version::Place::new(documents, path, &version_path);
            let mut found = Vec::new();
            let version = version::compile(document, group, kind, &place, &mut found);
            // What all versions share is complained about once.
            found.retain(|error| !errors.contains(error));
            errors.extend(found);
            version.map(Arc::new)
        })
        .collect()
}

fn names(document: &Map<String, Value>) -> Names {
    Names {
        plural: text(document, "plural").to_owned(),
        singular: text(document, "singular").to_owned(),
        kind: text(document, "kind").to_owned(),
        list_kind: text(document, "listKind").to_owned(),
        short_names: texts(document, "shortNames").map(str::to_owned).collect(),
        categories: texts(document, "categories").map(str::to_owned).collect(),
    }
}

fn text<'a>(document: &'a Map<String, Value>, name: &str) -> &'a str {
    document.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn texts<'a>(document: &'a Map<String, Value>, name: &str) -> impl Iterator<Item = &'a str> {
    document.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn flag(document: &Map<String, Value>, name: &str) -> bool {
    document.get(name) == Some(&Value::Bool(true))
}

#[cfg(test)]
mod tests;
