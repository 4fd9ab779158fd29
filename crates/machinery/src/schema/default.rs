//! Filling in what was not given.

use serde_json::{Map, Value};

use super::{Additional, Schema};

/// Fills missing fields from the schema's defaults.
///
/// A `null` that is no value here counts as missing: it becomes the default, or goes where there is none.
/// A field without a default of its own is not created in order to hold defaults of its children.
pub fn default(value: &mut Value, schema: &Schema) {
    match value {
        Value::Object(map) => default_object(map, schema),
        Value::Array(items) => {
            let Some(schema) = schema.items.as_deref() else { return };
            for item in items {
                replace_null(item, schema);
                default(item, schema);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn default_object(map: &mut Map<String, Value>, schema: &Schema) {
    drop_nulls(map, schema);
    if schema.has_defaults {
        for (name, property) in schema.properties.iter() {
            let Some(default) = &property.default else { continue };
            match map.get_mut(name) {
                None => {
                    map.insert(name.to_owned(), default.clone());
                }
                Some(value) => replace_null(value, property),
            }
        }
    }
    for (name, value) in map.iter_mut() {
        if let Some(property) = schema.properties.get(name) {
            default(value, property);
        } else if let Additional::Schema(entry) = &schema.additional {
            replace_null(value, entry);
            default(value, entry);
        }
    }
}

/// Removes entries that are `null`, may not be, and have no default to become.
fn drop_nulls(map: &mut Map<String, Value>, schema: &Schema) {
    if map.values().any(Value::is_null) {
        map.retain(|name, value| {
            !value.is_null()
                || schema.field(name).is_none_or(|field| field.nullable || field.default.is_some())
        });
    }
}

fn replace_null(value: &mut Value, schema: &Schema) {
    if value.is_null()
        && !schema.nullable
        && let Some(default) = &schema.default
    {
        *value = default.clone();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::compile;

    #[test]
    fn defaults_fill_what_is_missing() {
        let schema = compile(&json!({
            "type": "object",
            "properties": {
                "replicas": {"type": "integer", "default": 1},
                "nullable": {"type": "string", "nullable": true, "default": "x"},
                "plain": {"type": "string"},
                "outer": {"type": "object", "properties": {"inner": {"type": "string", "default": "i"}}},
                "made": {
                    "type": "object", "default": {},
                    "properties": {"inner": {"type": "string", "default": "i"}},
                },
                "map": {"type": "object", "additionalProperties": {
                    "type": "object", "properties": {"a": {"type": "integer", "default": 5}},
                }},
                "list": {"type": "array", "items": {"type": "integer", "default": 7}},
            },
        }))
        .unwrap();
        let table = [
            ("nothing given", json!({}), json!({"replicas": 1, "nullable": "x", "made": {"inner": "i"}})),
            (
                "values stay",
                json!({"replicas": 2, "nullable": "y", "made": {"inner": "j"}}),
                json!({"replicas": 2, "nullable": "y", "made": {"inner": "j"}}),
            ),
            (
                "null is missing unless it is a value",
                json!({"replicas": null, "nullable": null, "plain": null, "made": null}),
                json!({"replicas": 1, "nullable": null, "made": {"inner": "i"}}),
            ),
            (
                "children of what is given",
                json!({"replicas": 1, "nullable": "", "made": {}, "outer": {}, "map": {"k": {}}, "list": [null, 1]}),
                json!({
                    "replicas": 1, "nullable": "", "made": {"inner": "i"}, "outer": {"inner": "i"},
                    "map": {"k": {"a": 5}}, "list": [7, 1],
                }),
            ),
        ];
        for (name, mut value, want) in table {
            default(&mut value, &schema);
            assert_eq!(value, want, "{name}");
        }
    }
}
