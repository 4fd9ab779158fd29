//! What is wrong with a value, by its schema alone: types, limits, required fields, nested alternatives.
//!
//! [`validate_update`] tolerates what was wrong before and has not changed (ratcheting): without that, tightening a schema
//! would make every existing object unwritable. Lists correlate by their keys, where they have any.

mod branches;
mod limits;

use serde_json::{Map, Number, Value};

use super::{Kind, ListType, Schema, lists::keys_of, type_name};
use crate::error::{FieldError, Path, quote};

/// What is wrong with `value`, in the order in which it is met.
pub fn validate(value: &Value, schema: &Schema) -> Vec<FieldError> {
    validate_at(value, None, schema, &Path::Root)
}

/// What is wrong with `value` and was not so in `old` already.
pub fn validate_update(value: &Value, old: &Value, schema: &Schema) -> Vec<FieldError> {
    validate_at(value, Some(old), schema, &Path::Root)
}

/// The same for a part of an object, which stands at `path`.
pub fn validate_at(value: &Value, old: Option<&Value>, schema: &Schema, path: &Path<'_>) -> Vec<FieldError> {
    let mut walk = Walk { errors: Vec::new() };
    walk.node(value, old, schema, path);
    walk.errors
}

struct Walk {
    errors: Vec<FieldError>,
}

impl Walk {
    fn node(&mut self, value: &Value, old: Option<&Value>, schema: &Schema, path: &Path<'_>) {
        let before = self.errors.len();
        self.type_of(value, schema, path);
        if let Some(checks) = &schema.checks
            && !value.is_null()
        {
            self.branches(value, checks, path);
        }
        match value {
            Value::String(text) => self.text(text, schema, path),
            Value::Number(number) => self.number(number, schema, path),
            Value::Array(items) => self.array(items, old, schema, path),
            Value::Null | Value::Bool(_) | Value::Object(_) => {}
        }
        self.enumeration(value, schema, path);
        if let Value::Object(map) = value {
            self.object(map, old, schema, path);
        }
        if self.errors.len() > before && old == Some(value) {
            self.errors.truncate(before);
        }
    }

    fn type_of(&mut self, value: &Value, schema: &Schema, path: &Path<'_>) {
        let fits = match (schema.kind, value) {
            (Kind::Any, _)
            | (Kind::Object, Value::Object(_))
            | (Kind::Array, Value::Array(_))
            | (Kind::String | Kind::IntOrString, Value::String(_))
            | (Kind::Number, Value::Number(_))
            | (Kind::Boolean, Value::Bool(_)) => true,
            (Kind::Integer | Kind::IntOrString, Value::Number(number)) => is_integer(number),
            (_, Value::Null) => schema.nullable,
            _ => false,
        };
        if fits {
            return;
        }
        // A number of the wrong kind is measured against the format, where there is one.
        let (want, found) = match (value, schema.format) {
            (Value::Number(_), Some(format)) => (format.name(), "float64"),
            _ => (schema.kind_name(), type_name(value)),
        };
        let detail = format!("{path} in body must be of type {want}: {}", quote(found));
        self.errors.push(FieldError::type_invalid(path, found, detail));
    }

    fn enumeration(&mut self, value: &Value, schema: &Schema, path: &Path<'_>) {
        let Some(allowed) = schema.checks.as_deref().and_then(|checks| checks.enumeration.as_deref()) else {
            return;
        };
        if allowed.is_empty() || allowed.iter().any(|one| !value.is_null() && same(one, value)) {
            return;
        }
        let supported = allowed.iter().map(|one| match one {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        self.errors.push(FieldError::not_supported(path, value.clone(), supported));
    }

    fn object(&mut self, map: &Map<String, Value>, old: Option<&Value>, schema: &Schema, path: &Path<'_>) {
        self.object_size(map, schema, path);
        for (name, value) in map {
            let Some(field) = schema.field(name) else { continue };
            self.node(value, old.and_then(|old| old.get(name)), field, &path.field(name));
        }
        for required in &schema.required {
            if !map.contains_key(&**required) {
                self.errors.push(FieldError::required(path.field(required), ""));
            }
        }
    }

    fn array(&mut self, items: &[Value], old: Option<&Value>, schema: &Schema, path: &Path<'_>) {
        if let Some(item_schema) = schema.items.as_deref() {
            for (index, item) in items.iter().enumerate() {
                self.node(item, correlated(item, old, schema), item_schema, &path.index(index));
            }
        }
        self.array_size(items, schema, path);
    }
}

/// The old item that a new item of a list stands for; only lists of type map can tell.
pub(super) fn correlated<'a>(item: &Value, old: Option<&'a Value>, schema: &Schema) -> Option<&'a Value> {
    if schema.list_type != ListType::Map || !item.is_object() {
        return None;
    }
    let keys = keys_of(item, schema);
    old?.as_array()?.iter().find(|old| keys_of(old, schema) == keys)
}

/// Whether a number is whole and exact; beyond 64 bits it is not.
pub(super) fn is_integer(number: &Number) -> bool {
    const EXACT: f64 = 9_007_199_254_740_991.0;
    number.is_i64()
        || (number.is_f64()
            && number.as_f64().is_some_and(|float| float.fract() == 0.0 && float.abs() <= EXACT))
}

/// Equal, where `1` and `1.0` are the same number.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        _ => left == right,
    }
}

#[cfg(test)]
mod tests;
