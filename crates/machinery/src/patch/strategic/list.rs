//! Merging lists: objects by their merge key, scalars as sets that keep an order.

use serde_json::{Map, Value};

use super::super::PatchError;
use super::{PATCH, cleaned, merge_objects, order, unknown_directive};
use crate::fields::{PatchStrategy, Type};

/// The kind all items of a mergeable list share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Bool,
    Integer,
    Float,
    Text,
    Object,
}

impl Kind {
    pub(super) fn is_object(self) -> bool {
        self == Self::Object
    }
}

pub(super) fn merge_field(
    had: Vec<Value>,
    change: Vec<Value>,
    strategy: &PatchStrategy,
    element: &Type,
) -> Result<Vec<Value>, PatchError> {
    if !strategy.merge {
        // A list that is replaced has no directives: what looks like one is a field that nobody knows.
        return Ok(change);
    }
    match kind_of(&had, &change)? {
        None => Ok(had),
        Some(Kind::Object) => {
            let key = strategy.merge_key.as_deref().ok_or_else(|| {
                PatchError::Internal("cannot merge lists of objects without a merge key".to_owned())
            })?;
            merge_by_key(had, change, key, element)
        }
        Some(_) => {
            let added: Vec<Value> = change.iter().filter(|item| !had.contains(item)).cloned().collect();
            let merged = had.iter().cloned().chain(added).collect();
            order::interleave(merged, &change, &had, None)
        }
    }
}

fn merge_by_key(
    had: Vec<Value>,
    change: Vec<Value>,
    key: &str,
    element: &Type,
) -> Result<Vec<Value>, PatchError> {
    let (mut had, change) = run_directives(had, change, key)?;
    let server_order = had.clone();
    let patch_order = change.clone();
    for item in change {
        let wanted = key_value(&item, key)?;
        match had.iter().position(|other| other.get(key) == Some(wanted)) {
            Some(at) => {
                let merged = merge_objects(take_object(&mut had[at]), into_object(item)?, element)?;
                had[at] = Value::Object(merged);
            }
            None => had.extend(cleaned(item)),
        }
    }
    order::interleave(had, &patch_order, &server_order, Some(key))
}

/// Carries out `$patch` items and gives what is left of both lists.
fn run_directives(
    mut had: Vec<Value>,
    change: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let mut replace = false;
    let mut plain = Vec::with_capacity(change.len());
    for item in change {
        let Some(directive) = item.get(PATCH) else {
            plain.push(item);
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                let gone = key_value(&item, key)?;
                had.retain(|other| other.get(key) != Some(gone));
            }
            Some("replace") => replace = true,
            Some("merge") => {
                let why = "merging lists cannot yet be specified in the patch";
                return Err(PatchError::Internal(why.to_owned()));
            }
            _ => return Err(unknown_directive(directive)),
        }
    }
    if replace { Ok((plain.into_iter().filter_map(cleaned).collect(), Vec::new())) } else { Ok((had, plain)) }
}

pub(super) fn key_value<'a>(item: &'a Value, key: &str) -> Result<&'a Value, PatchError> {
    item.get(key).ok_or_else(|| {
        PatchError::Internal(format!("map: {item} does not contain declared merge key: {key}"))
    })
}

fn take_object(slot: &mut Value) -> Map<String, Value> {
    slot.as_object_mut().map(std::mem::take).unwrap_or_default()
}

fn into_object(item: Value) -> Result<Map<String, Value>, PatchError> {
    match item {
        Value::Object(object) => Ok(object),
        other => Err(PatchError::Internal(format!("expected an object, but received {other}"))),
    }
}

/// The one kind of all items of two lists, or `None` if both are empty.
pub(super) fn kind_of(left: &[Value], right: &[Value]) -> Result<Option<Kind>, PatchError> {
    let mut shared = None;
    for item in left.iter().chain(right) {
        let kind = match item {
            Value::Null => Kind::Null,
            Value::Bool(_) => Kind::Bool,
            Value::Number(number) if number.is_f64() => Kind::Float,
            Value::Number(_) => Kind::Integer,
            Value::String(_) => Kind::Text,
            Value::Object(_) => Kind::Object,
            Value::Array(_) => return Err(PatchError::unprocessable("lists of lists are not supported")),
        };
        if shared.is_some_and(|other| other != kind) {
            return Err(PatchError::Internal("list element types are not identical".to_owned()));
        }
        shared = Some(kind);
    }
    Ok(shared)
}
