//! Changing lists inside an object without leaving empty fields behind.

use serde_json::Value;

/// The items of a list in a field, none when it is absent.
pub(super) fn items<'a>(parent: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    parent.get(field).and_then(Value::as_array).into_iter().flatten()
}

/// The same, to be changed.
pub(super) fn items_mut<'a>(parent: &'a mut Value, field: &str) -> impl Iterator<Item = &'a mut Value> {
    parent.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten()
}

/// Appends to the list in a field, which is made if absent.
pub(super) fn push(parent: &mut Value, field: &str, item: Value) {
    match parent.get_mut(field).and_then(Value::as_array_mut) {
        Some(list) => list.push(item),
        // Not by `json!`, which would copy the item through its serialisation.
        None => parent[field] = Value::Array(vec![item]),
    }
}
