//! Dropping what a schema does not know.

use serde_json::{Map, Value};

use super::{Additional, Schema};
use crate::error::Path;

/// Removes every field that `schema` does not know and says which ones went, sorted, as `spec.containers[0].foo`.
///
/// Fields below `preserve_unknown` stay, except inside of parts that are known again.
pub fn prune(value: &mut Value, schema: &Schema) -> Vec<String> {
    let mut unknown = Vec::new();
    prune_value(value, Some(schema), &Path::Root, &mut unknown);
    unknown.sort_unstable();
    unknown
}

fn prune_value(value: &mut Value, schema: Option<&Schema>, path: &Path<'_>, unknown: &mut Vec<String>) {
    let open = schema.is_some_and(|schema| schema.preserve_unknown);
    walk(value, schema, open, path, unknown);
}

/// `open` says that unknown fields stay: by the schema itself, or by that of the list an item is in.
fn walk(value: &mut Value, schema: Option<&Schema>, open: bool, path: &Path<'_>, unknown: &mut Vec<String>) {
    match value {
        Value::Object(map) => walk_object(map, schema, open, path, unknown),
        Value::Array(items) => {
            let schema = schema.and_then(|schema| schema.items.as_deref());
            if open && schema.is_none() {
                return;
            }
            let open = open || schema.is_some_and(|schema| schema.preserve_unknown);
            for (index, item) in items.iter_mut().enumerate() {
                walk(item, schema, open, &path.index(index), unknown);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn walk_object(
    map: &mut Map<String, Value>,
    schema: Option<&Schema>,
    open: bool,
    path: &Path<'_>,
    unknown: &mut Vec<String>,
) {
    let mut dropped: Vec<String> = Vec::new();
    for (name, value) in map.iter_mut() {
        match below(schema, name) {
            Below::Known(schema) => prune_value(value, Some(schema), &path.field(name), unknown),
            // Nothing is known of the value, so no field of it survives; the real server does the same.
            Below::Opaque => prune_value(value, None, &path.field(name), unknown),
            Below::Unknown if open => {}
            Below::Unknown => dropped.push(name.clone()),
        }
    }
    for name in dropped {
        map.remove(&name);
        unknown.push(path.field(&name).to_string());
    }
}

/// What a schema says of a field.
enum Below<'a> {
    Known(&'a Schema),
    Opaque,
    Unknown,
}

fn below<'a>(schema: Option<&'a Schema>, name: &str) -> Below<'a> {
    let Some(schema) = schema else { return Below::Unknown };
    match (schema.properties.get(name), &schema.additional) {
        (Some(property), _) => Below::Known(property),
        (None, Additional::Schema(child)) => Below::Known(child),
        (None, Additional::Any) => Below::Opaque,
        (None, Additional::None) => Below::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::compile;

    #[test]
    fn unknown_fields_go_and_are_named() {
        let schema = compile(&json!({"type": "object", "properties": {
            "known": {"type": "object", "properties": {"a": {"type": "string"}}},
            "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
            "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "string"}}}},
            "any": {"type": "object", "additionalProperties": true},
            "open": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                "properties": {"closed": {"type": "object", "properties": {"a": {"type": "string"}}}},
            },
            "open_list": {
                "type": "array", "x-kubernetes-preserve-unknown-fields": true, "items": {"type": "object"},
            },
        }}))
        .unwrap();
        let mut value = json!({
            "known": {"a": "1", "b": "2"}, "unknown": {"deep": [1]}, "list": [{"a": "1"}, {"b": "2"}],
            "map": {"k": {"a": "1", "b": "2"}}, "any": {"scalar": 1, "object": {"b": 1}},
            "open": {"free": {"b": 1}, "closed": {"a": "1", "b": 1}}, "open_list": [{"b": 1}],
        });
        assert_eq!(
            prune(&mut value, &schema),
            ["any.object.b", "known.b", "list[1].b", "map.k.b", "open.closed.b", "unknown"]
        );
        assert_eq!(
            value,
            json!({
                "known": {"a": "1"}, "list": [{"a": "1"}, {}], "map": {"k": {"a": "1"}},
                "any": {"scalar": 1, "object": {}}, "open": {"free": {"b": 1}, "closed": {"a": "1"}},
                "open_list": [{"b": 1}],
            })
        );
    }
}
