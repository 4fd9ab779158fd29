//! `x-kubernetes-list-type`, `x-kubernetes-list-map-keys`, `x-kubernetes-map-type`.

use serde_json::{Map, Value};

use crate::{
    crd::{flag, text, texts},
    error::{FieldError, Path},
};

const LIST_TYPE: &str = "x-kubernetes-list-type";
const MAP_TYPE: &str = "x-kubernetes-map-type";
const MAP_KEYS: &str = "x-kubernetes-list-map-keys";

pub(super) fn check(schema: &Map<String, Value>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    needs_type(schema, MAP_TYPE, "object", &["atomic", "granular"], path, errors);
    needs_type(schema, LIST_TYPE, "array", &["atomic", "set", "map"], path, errors);
    let list_type = text(schema, LIST_TYPE);
    let keys: Vec<&str> = texts(schema, MAP_KEYS).collect();
    if !keys.is_empty() && list_type != "map" {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        errors.push(match list_type {
            "" => FieldError::required(path.field(LIST_TYPE), detail),
            other => FieldError::invalid(path.field(LIST_TYPE), other, detail),
        });
    }
    let items = schema.get("items").and_then(Value::as_object);
    if let Some(items) = items
        && matches!(list_type, "set" | "map")
        && flag(items, "nullable")
    {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(FieldError::forbidden(path.field("items").field("nullable"), detail));
    }
    match (list_type, items) {
        ("set", Some(items)) => check_set(items, &path.field("items"), errors),
        ("map", None) => {
            let detail = "must have a schema if x-kubernetes-list-type is map";
            errors.push(FieldError::required(path.field("items"), detail));
        }
        ("map", Some(items)) => check_map(items, &keys, path, errors),
        _ => {}
    }
    if list_type == "map" && keys.is_empty() {
        let detail = "must not be empty if x-kubernetes-list-type is map";
        errors.push(FieldError::required(path.field(MAP_KEYS), detail));
    }
}

fn needs_type(
    schema: &Map<String, Value>,
    keyword: &str,
    kind: &str,
    allowed: &[&str],
    path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    let value = text(schema, keyword);
    if value.is_empty() {
        return;
    }
    let detail = format!("must be {kind} if {keyword} is specified");
    match text(schema, "type") {
        "" => errors.push(FieldError::required(path.field("type"), detail)),
        other if other != kind => errors.push(FieldError::invalid(path.field("type"), other, detail)),
        _ => {}
    }
    if !allowed.contains(&value) {
        errors.push(FieldError::not_supported(path.field(keyword), value, allowed));
    }
}

/// Items of a set are compared as a whole, so they must be one value to a merge as well.
fn check_set(items: &Map<String, Value>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let keyword = match text(items, "type") {
        "array" if !matches!(text(items, LIST_TYPE), "" | "atomic") => LIST_TYPE,
        "object" if text(items, MAP_TYPE) != "atomic" => MAP_TYPE,
        _ => return,
    };
    let value = items.get(keyword).cloned().unwrap_or(Value::Null);
    errors.push(FieldError::invalid(path.field(keyword), value, detail));
}

fn check_map(items: &Map<String, Value>, keys: &[&str], path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let items_path = path.field("items");
    if text(items, "type") != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(items_path.field("type"), text(items, "type"), detail));
        return;
    }
    let keys_path = path.field(MAP_KEYS);
    for (index, key) in keys.iter().enumerate() {
        let property = items.get("properties").and_then(|all| all.get(*key)).and_then(Value::as_object);
        if let Some(property) = property {
            check_key(key, property, items, &items_path, errors);
        } else {
            let detail = "entries must all be names of item properties";
            errors.push(FieldError::invalid(keys_path, keys.to_vec(), detail));
        }
        if keys[..index].contains(key) {
            errors.push(FieldError::invalid(keys_path, keys.to_vec(), "must not contain duplicate entries"));
        }
    }
}

fn check_key(
    key: &str,
    property: &Map<String, Value>,
    items: &Map<String, Value>,
    path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    let path = path.field("properties");
    let path = path.key(key);
    if matches!(text(property, "type"), "array" | "object") {
        let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(path.field("type"), text(property, "type"), detail));
    }
    let has_default = property.get("default").is_some_and(|default| !default.is_null());
    if !has_default && !texts(items, "required").any(|required| required == key) {
        let detail = "a property in x-kubernetes-list-map-keys must be required or have a default";
        errors.push(FieldError::required(path.field("default"), detail));
    }
    if flag(property, "nullable") {
        let detail = "a property in x-kubernetes-list-map-keys cannot be nullable";
        errors.push(FieldError::forbidden(path.field("nullable"), detail));
    }
}
