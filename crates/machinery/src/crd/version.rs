//! One version of a custom resource: its schema, subresources, columns, and what is done to an object of it.

mod compile;

use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use super::{PrinterColumn, embedded};
use crate::{
    builtin::{self, DecodeError},
    error::{FieldError, FieldErrorKind, Path},
    fields::Type,
    schema::{self, Judgement, Schema},
};

pub(super) use compile::{Place, compile};

/// A compiled version.
#[derive(Debug)]
pub struct Version {
    /// The version's name.
    pub name: String,
    /// Whether clients may use it.
    pub served: bool,
    /// Whether objects are stored in it.
    pub storage: bool,
    /// What clients that use it are warned of, where it is deprecated.
    pub deprecation: Option<String>,
    /// The schema of whole objects, `metadata` included.
    pub schema: Arc<Schema>,
    /// The schema as it was given, for publishing.
    pub document: Value,
    /// Whether `status` is a subresource.
    pub status: bool,
    /// The scale subresource.
    pub scale: Option<Scale>,
    /// Columns of tables beside the name.
    pub columns: Vec<PrinterColumn>,
    /// Fields that lists may be filtered by.
    pub selectable_fields: Vec<SelectableField>,
    /// Rules that could cost too much: no reason not to serve what is there, but not to be taken anew.
    pub costs: Vec<FieldError>,
    /// What objects of this version must say they are.
    identity: Identity,
    merge_type: OnceLock<Arc<Type>>,
}

#[derive(Debug)]
struct Identity {
    api_version: String,
    kind: String,
}

/// Where a scale subresource finds its numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scale {
    /// The replicas that are wanted.
    pub spec_replicas: FieldPath,
    /// The replicas that there are.
    pub status_replicas: FieldPath,
    /// The selector of the pods, as text.
    pub label_selector: Option<FieldPath>,
}

/// A field that lists may be filtered by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectableField {
    /// The name in field selectors: the path without its first dot.
    pub name: String,
    /// Where the value is found.
    pub path: FieldPath,
}

/// A plain path of field names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPath(Vec<String>);

impl FieldPath {
    /// A path written as `.spec.replicas`.
    pub fn new(path: &str) -> Self {
        Self(path.trim_start_matches('.').split('.').map(str::to_owned).collect())
    }

    /// The value at the path.
    pub fn get<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        self.0.iter().try_fold(object, |value, name| value.get(name))
    }

    /// Sets the value at the path; objects on the way are made. `false` if something else stands in the way.
    pub fn set(&self, object: &mut Value, value: Value) -> bool {
        let mut place = object;
        for name in &self.0 {
            let Value::Object(map) = place else { return false };
            place = map.entry(name.as_str()).or_insert_with(|| json!({}));
        }
        *place = value;
        true
    }
}

impl std::fmt::Display for FieldPath {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for name in &self.0 {
            write!(formatter, ".{name}")?;
        }
        Ok(())
    }
}

impl SelectableField {
    /// The field's value as selectors compare it; empty where there is none.
    pub fn value(&self, object: &Value) -> String {
        match self.path.get(object) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        }
    }
}

impl Version {
    /// Reads an object: metadata as built-in kinds do, the rest pruned. Names the unknown fields that went.
    pub fn decode(&self, object: &mut Value) -> Result<Vec<String>, DecodeError> {
        let mut unknown = Vec::new();
        if let Some(metadata) = object.get_mut("metadata") {
            unknown = builtin::decode_at(metadata, &builtin::object_meta(), "metadata")?;
        }
        if self.schema.has_embedded {
            embedded::decode(object, &self.schema, &mut unknown)?;
        }
        unknown.extend(schema::prune(object, &self.schema));
        unknown.sort_unstable();
        Ok(unknown)
    }

    /// Drops what the schema does not know, of an object that was read before.
    pub fn prune(&self, object: &mut Value) {
        schema::prune(object, &self.schema);
    }

    /// Fills in defaults.
    pub fn default(&self, object: &mut Value) {
        schema::default(object, &self.schema);
    }

    /// What is wrong with a new object. Its metadata is judged by [`crate::names::metadata`].
    pub fn validate(&self, object: &Value) -> Vec<FieldError> {
        self.judge(object, None).broken
    }

    /// What is wrong with a changed object and was not so before.
    pub fn validate_update(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        self.judge(object, Some(old)).broken
    }

    /// What is wrong with an object, and which of its rules it breaks where it has not changed.
    pub fn judge(&self, object: &Value, old: Option<&Value>) -> Judgement {
        let mut tolerated = Vec::new();
        let broken = self.errors(object, old, &mut tolerated);
        Judgement { broken, tolerated }
    }

    /// The shape for merging and server-side apply.
    pub fn merge_type(&self) -> Arc<Type> {
        Arc::clone(self.merge_type.get_or_init(|| Arc::new(schema::to_type(&self.schema))))
    }

    fn errors(
        &self,
        object: &Value,
        old: Option<&Value>,
        tolerated: &mut Vec<FieldError>,
    ) -> Vec<FieldError> {
        let mut errors = self.identity_errors(object);
        if !errors.is_empty() {
            return errors;
        }
        errors.extend(schema::validate_at(object, old, &self.schema, &Path::Root));
        if let Some(scale) = &self.scale {
            errors.extend(scale.errors(object));
        }
        errors.extend(embedded::check(object, &self.schema));
        // A list that held doubles before the schema forbade them may go on doing so.
        if old.is_none_or(|old| schema::check_lists(old, &self.schema).is_empty()) {
            errors.extend(schema::check_lists(object, &self.schema));
        }
        if self.schema.has_rules {
            if errors.iter().any(is_blocking) {
                let detail = "some validation rules were not checked because the object was invalid; correct the \
                              existing errors to complete validation";
                errors.push(FieldError::invalid("", Value::Null, detail));
            } else {
                let mut judgement = schema::judge_rules(object, old, &self.schema, &Path::Root);
                tolerated.append(&mut judgement.tolerated);
                errors.append(&mut judgement.broken);
            }
        }
        errors
    }

    fn identity_errors(&self, object: &Value) -> Vec<FieldError> {
        [("kind", &self.identity.kind), ("apiVersion", &self.identity.api_version)]
            .into_iter()
            .filter_map(|(name, want)| {
                let value = object.get(name).and_then(Value::as_str).unwrap_or_default();
                (value != want).then(|| FieldError::invalid(name, value, format!("must be {want}")))
            })
            .collect()
    }
}

impl Scale {
    fn errors(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        for path in [&self.spec_replicas, &self.status_replicas] {
            let Some(value) = path.get(object) else { continue };
            let detail = match value.as_i64() {
                None => "must be an integer".to_owned(),
                Some(replicas) if replicas < 0 => "should be a non-negative integer".to_owned(),
                Some(replicas) if replicas > i64::from(i32::MAX) => {
                    format!("should be less than or equal to {}", i32::MAX)
                }
                Some(_) => continue,
            };
            errors.push(FieldError::invalid(path, value.clone(), detail));
        }
        if let Some(path) = &self.label_selector
            && let Some(value) = path.get(object)
            && !value.is_string()
        {
            errors.push(FieldError::invalid(path, value.clone(), "must be a string"));
        }
        errors
    }
}

/// Whether an error leaves rules unchecked, since they could not make sense of the object.
fn is_blocking(error: &FieldError) -> bool {
    matches!(
        error.kind,
        FieldErrorKind::NotSupported
            | FieldErrorKind::Required
            | FieldErrorKind::TooLong
            | FieldErrorKind::TooMany
            | FieldErrorKind::TypeInvalid
    )
}
