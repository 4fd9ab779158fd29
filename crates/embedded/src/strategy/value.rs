//! Reading and filling JSON by field name.
//!
//! Nothing here fails on a value of the wrong type: readers see nothing there, writers leave it alone. Whether the
//! types are right is the schema's question, not ours.

use serde_json::{Map, Value};

/// A JSON object.
pub(super) type Object = Map<String, Value>;

/// The items of a list, none when it is absent.
pub(super) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The items of the list in a field, to be changed.
pub(super) fn items_mut<'a>(parent: &'a mut Object, field: &str) -> impl Iterator<Item = &'a mut Object> {
    parent.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

/// The entries of an object, none when it is absent.
pub(super) fn entries(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value))
}

/// A text, empty when absent.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A whole number, if it is one.
pub(super) fn integer(value: &Value) -> Option<i64> {
    value.as_i64()
}

/// A flag, false when absent.
pub(super) fn flag(value: &Value) -> bool {
    value.as_bool().unwrap_or_default()
}

/// Whether there is anything there: not absent, not an empty text, list or object.
pub(super) fn is_set(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

/// The object in a field, if there is one.
pub(super) fn child<'a>(parent: &'a mut Object, field: &str) -> Option<&'a mut Object> {
    parent.get_mut(field).and_then(Value::as_object_mut)
}

/// The object in a field, made if absent; none if something else is there.
pub(super) fn make_child<'a>(parent: &'a mut Object, field: &str) -> Option<&'a mut Object> {
    if parent.get(field).is_none_or(Value::is_null) {
        parent.insert(field.to_owned(), Value::Object(Object::new()));
    }
    child(parent, field)
}

/// The object in a field of the root, made if absent.
pub(super) fn make_root_child<'a>(root: &'a mut Value, field: &str) -> Option<&'a mut Object> {
    make_child(root.as_object_mut()?, field)
}

/// Fills a field that is absent.
pub(super) fn fill(object: &mut Object, field: &str, value: impl Into<Value>) {
    if object.get(field).is_none_or(Value::is_null) {
        object.insert(field.to_owned(), value.into());
    }
}

/// Fills a text that is absent or empty.
pub(super) fn fill_text(object: &mut Object, field: &str, value: &str) {
    if object.get(field).is_none_or(|present| present.is_null() || present == "") {
        object.insert(field.to_owned(), value.into());
    }
}

/// Fills a number that is absent or zero.
pub(super) fn fill_number(object: &mut Object, field: &str, value: i64) {
    if object.get(field).is_none_or(|present| present.is_null() || present == 0) {
        object.insert(field.to_owned(), value.into());
    }
}

/// Copies a field of `old` into `new`, or removes it there.
pub(super) fn restore(new: &mut Value, old: &Value, field: &str) {
    let Some(new) = new.as_object_mut() else { return };
    match old.get(field) {
        Some(value) => {
            new.insert(field.to_owned(), value.clone());
        }
        None => {
            new.remove(field);
        }
    }
}

/// Replaces the status, whatever the client sent.
pub(super) fn set_status(object: &mut Value, status: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert("status".to_owned(), status);
    }
}

/// The texts that do not equal their previous value, absent and empty being the same.
pub(super) fn differs(new: &Value, old: &Value) -> bool {
    new != old && (is_set(new) || is_set(old))
}
