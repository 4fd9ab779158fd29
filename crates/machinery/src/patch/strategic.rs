//! Strategic merge patch: a merge patch in which lists of known fields merge item by item.
//!
//! The patch may carry directives: `$patch: replace|delete` in an object or as an item of a list, `$retainKeys`,
//! `$deleteFromPrimitiveList/<field>` and `$setElementOrder/<field>`. Which lists merge, and by which key, is in the
//! [`PatchStrategy`] of each field of the [`Type`]. Custom resources have no such knowledge: [`unsupported`].

mod diff;
mod list;
mod order;

use serde_json::{Map, Value};

use super::PatchError;
use crate::fields::{PatchStrategy, Type};

pub use diff::diff;

pub(super) const PATCH: &str = "$patch";
pub(super) const RETAIN_KEYS: &str = "$retainKeys";
pub(super) const DELETE_FROM_PRIMITIVES: &str = "$deleteFromPrimitiveList";
pub(super) const SET_ELEMENT_ORDER: &str = "$setElementOrder";

/// Merges a patch into an object of a built-in type.
pub fn apply(document: Value, patch: &Value, ty: &Type) -> Result<Value, PatchError> {
    let (Value::Object(document), Value::Object(patch)) = (document, patch) else {
        return Err(PatchError::BadRequest("invalid JSON document".to_owned()));
    };
    merge_objects(document, patch.clone(), ty).map(Value::Object)
}

/// What the API server answers to a strategic merge patch of a custom resource.
pub fn unsupported() -> PatchError {
    PatchError::UnsupportedMediaType(
        "the body of the request was in an unknown format - accepted media types include: \
         application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
            .to_owned(),
    )
}

pub(super) fn merge_objects(
    mut original: Map<String, Value>,
    mut patch: Map<String, Value>,
    ty: &Type,
) -> Result<Map<String, Value>, PatchError> {
    match patch.remove(PATCH) {
        None => {}
        Some(Value::String(word)) if word == "replace" => return Ok(cleaned_object(patch)),
        Some(Value::String(word)) if word == "delete" => return Ok(Map::new()),
        Some(other) => return Err(unknown_directive(&other)),
    }
    retain_keys(&mut original, &mut patch)?;
    order::set_orders(&mut original, &mut patch, ty)?;
    for (key, change) in patch {
        if let Some(field) = parallel_field(&key, DELETE_FROM_PRIMITIVES)? {
            delete_primitives(&mut original, field, change)?;
            continue;
        }
        if change.is_null() {
            original.remove(&key);
            continue;
        }
        let merged = match (original.remove(&key), change) {
            (Some(Value::Object(had)), Value::Object(change)) => {
                merge_field(had, change, strategy_of(ty, &key), ty.field(&key))?
            }
            (Some(Value::Array(had)), Value::Array(change)) => {
                let element = ty.field(&key).and_then(Type::element).unwrap_or(&Type::Untyped);
                Some(Value::Array(list::merge_field(had, change, strategy_of(ty, &key), element)?))
            }
            (_, change) => cleaned(change),
        };
        if let Some(merged) = merged {
            original.insert(key, merged);
        }
    }
    Ok(original)
}

fn merge_field(
    had: Map<String, Value>,
    change: Map<String, Value>,
    strategy: &PatchStrategy,
    ty: Option<&Type>,
) -> Result<Option<Value>, PatchError> {
    if strategy.replace {
        return Ok(cleaned(Value::Object(change)));
    }
    merge_objects(had, change, ty.unwrap_or(&Type::Untyped)).map(|merged| Some(Value::Object(merged)))
}

/// What a field of a type says about patching it.
pub(super) fn strategy_of<'a>(ty: &'a Type, field: &str) -> &'a PatchStrategy {
    static PLAIN: PatchStrategy =
        PatchStrategy { merge: false, replace: false, retain_keys: false, merge_key: None };
    match ty {
        Type::Object(object) => object.find(field).map_or(&PLAIN, |field| &field.patch),
        Type::Scalar | Type::Untyped | Type::List(_) => &PLAIN,
    }
}

/// The field that `$directive/field` is about.
pub(super) fn parallel_field<'a>(key: &'a str, directive: &str) -> Result<Option<&'a str>, PatchError> {
    let Some(rest) = key.strip_prefix(directive) else { return Ok(None) };
    match rest.strip_prefix('/') {
        Some(field) => Ok(Some(field)),
        None => Err(bad_format(directive)),
    }
}

pub(super) fn bad_format(directive: &str) -> PatchError {
    PatchError::BadRequest(match directive {
        DELETE_FROM_PRIMITIVES => "invalid patch format of primitive list".to_owned(),
        SET_ELEMENT_ORDER => "invalid patch format of setElementOrder list".to_owned(),
        _ => "invalid patch format of retainKeys".to_owned(),
    })
}

pub(super) fn unknown_directive(directive: &Value) -> PatchError {
    PatchError::Internal(format!("unknown patch type: {directive}"))
}

fn retain_keys(original: &mut Map<String, Value>, patch: &mut Map<String, Value>) -> Result<(), PatchError> {
    let Some(retained) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let Value::Array(retained) = retained else { return Err(bad_format(RETAIN_KEYS)) };
    let kept = |key: &str| retained.iter().any(|name| name.as_str() == Some(key));
    let directive = |key: &str| key.starts_with(DELETE_FROM_PRIMITIVES) || key.starts_with(SET_ELEMENT_ORDER);
    if patch.iter().any(|(key, value)| !value.is_null() && !directive(key) && !kept(key)) {
        return Err(bad_format(RETAIN_KEYS));
    }
    original.retain(|key, _| kept(key));
    Ok(())
}

fn delete_primitives(original: &mut Map<String, Value>, field: &str, gone: Value) -> Result<(), PatchError> {
    match (original.get_mut(field), gone) {
        (Some(Value::Array(items)), Value::Array(gone)) => {
            if list::kind_of(items, &gone)?.is_some_and(list::Kind::is_object) {
                return Err(bad_format(DELETE_FROM_PRIMITIVES));
            }
            items.retain(|item| !gone.contains(item));
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The value as it may stand in an object: without nulls and without anything a directive marks.
pub(super) fn cleaned(value: Value) -> Option<Value> {
    match value {
        Value::Object(object) if object.contains_key(PATCH) => None,
        Value::Object(object) => Some(Value::Object(cleaned_object(object))),
        Value::Array(items) => Some(items.into_iter().filter_map(cleaned).collect()),
        scalar => Some(scalar),
    }
}

fn cleaned_object(object: Map<String, Value>) -> Map<String, Value> {
    let kept = object.into_iter().filter(|(key, value)| !value.is_null() && !is_directive(key));
    kept.filter_map(|(key, value)| cleaned(value).map(|value| (key, value))).collect()
}

fn is_directive(key: &str) -> bool {
    key == RETAIN_KEYS || key.starts_with(DELETE_FROM_PRIMITIVES) || key.starts_with(SET_ELEMENT_ORDER)
}

#[cfg(test)]
mod tests;
