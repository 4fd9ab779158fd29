//! The strategic merge patch that turns one object into another, as clients send it for a status.

use serde_json::{Map, Value, json};

use super::{DELETE_FROM_PRIMITIVES, PATCH, RETAIN_KEYS, SET_ELEMENT_ORDER, strategy_of};
use crate::fields::{PatchStrategy, Type};

/// The patch that leads from one object to another. Neither may contain nulls, and the items of a merged list must
/// be distinct, as validation demands of stored objects.
pub fn diff(from: &Value, to: &Value, ty: &Type) -> Value {
    match (from, to) {
        (Value::Object(from), Value::Object(to)) => Value::Object(diff_objects(from, to, ty)),
        (_, to) => to.clone(),
    }
}

fn diff_objects(from: &Map<String, Value>, to: &Map<String, Value>, ty: &Type) -> Map<String, Value> {
    let mut patch = Map::new();
    for field in from.keys().filter(|field| !to.contains_key(*field)) {
        patch.insert(field.clone(), Value::Null);
    }
    for (field, wanted) in to {
        let had = from.get(field);
        if had == Some(wanted) {
            continue;
        }
        let strategy = strategy_of(ty, field);
        let below = ty.field(field).unwrap_or(&Type::Untyped);
        match (had, wanted) {
            (Some(Value::Object(had)), Value::Object(wanted)) if !strategy.replace => {
                let mut change = diff_objects(had, wanted, below);
                if strategy.retain_keys {
                    retain_keys(&mut change, wanted);
                }
                patch.insert(field.clone(), Value::Object(change));
            }
            (Some(Value::Array(had)), Value::Array(wanted)) if strategy.merge => {
                let element = below.element().unwrap_or(&Type::Untyped);
                diff_lists(&mut patch, field, had, wanted, strategy, element);
            }
            _ => {
                patch.insert(field.clone(), wanted.clone());
            }
        }
    }
    patch
}

fn retain_keys(change: &mut Map<String, Value>, wanted: &Map<String, Value>) {
    change.insert(RETAIN_KEYS.to_owned(), wanted.keys().cloned().collect());
}

fn diff_lists(
    patch: &mut Map<String, Value>,
    field: &str,
    had: &[Value],
    wanted: &[Value],
    strategy: &PatchStrategy,
    element: &Type,
) {
    let order_name = format!("{SET_ELEMENT_ORDER}/{field}");
    if wanted.is_empty() {
        match strategy.merge_key {
            Some(_) => patch.insert(field.to_owned(), json!([{PATCH: "replace"}])),
            None => patch.insert(format!("{DELETE_FROM_PRIMITIVES}/{field}"), had.into()),
        };
        return;
    }
    let Some(key) = &strategy.merge_key else {
        let missing = |list: &[Value], from: &[Value]| -> Vec<Value> {
            list.iter().filter(|item| !from.contains(item)).cloned().collect()
        };
        let (added, gone) = (missing(wanted, had), missing(had, wanted));
        patch.insert(order_name, wanted.into());
        if !added.is_empty() {
            patch.insert(field.to_owned(), added.into());
        }
        if !gone.is_empty() {
            patch.insert(format!("{DELETE_FROM_PRIMITIVES}/{field}"), gone.into());
        }
        return;
    };
    let (order, changes) = diff_items(had, wanted, key, strategy, element);
    patch.insert(order_name, order);
    if !changes.is_empty() {
        patch.insert(field.to_owned(), changes.into());
    }
}

fn diff_items(
    had: &[Value],
    wanted: &[Value],
    key: &str,
    strategy: &PatchStrategy,
    element: &Type,
) -> (Value, Vec<Value>) {
    let same =
        |item: &Value, list: &[Value]| list.iter().find(|other| other.get(key) == item.get(key)).cloned();
    let order = wanted.iter().map(|item| json!({key: item.get(key)})).collect();
    let mut changes = Vec::new();
    for item in wanted {
        match same(item, had) {
            Some(before) if before == *item => {}
            Some(before) => {
                let mut change = diff(&before, item, element);
                if let (Some(change), Some(wanted)) = (change.as_object_mut(), item.as_object()) {
                    change.insert(key.to_owned(), item.get(key).cloned().unwrap_or_default());
                    if strategy.retain_keys {
                        retain_keys(change, wanted);
                    }
                }
                changes.push(change);
            }
            None => changes.push(item.clone()),
        }
    }
    for gone in had.iter().filter(|item| same(item, wanted).is_none()) {
        changes.push(json!({key: gone.get(key), PATCH: "delete"}));
    }
    (order, changes)
}
