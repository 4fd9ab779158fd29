//! Sets without doubles and lists of type map without two items of the same keys.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{Additional, ListType, Schema};
use crate::error::{FieldError, Path};

/// Names every item that repeats an earlier one where the list's type forbids it.
pub fn check_lists(value: &Value, schema: &Schema) -> Vec<FieldError> {
    let mut errors = Vec::new();
    check(value, schema, &Path::Root, &mut errors);
    errors
}

fn check(value: &Value, schema: &Schema, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                if let Some(property) = schema.properties.get(name) {
                    check(value, property, &path.field(name), errors);
                } else if let Additional::Schema(entry) = &schema.additional {
                    check(value, entry, &path.key(name), errors);
                }
            }
        }
        Value::Array(items) => {
            check_items(items, schema, path, errors);
            if let Some(schema) = schema.items.as_deref() {
                for (index, item) in items.iter().enumerate() {
                    check(item, schema, &path.index(index), errors);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn check_items(items: &[Value], schema: &Schema, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    match schema.list_type {
        ListType::Atomic => {}
        ListType::Set => repeated(items.iter().map(Value::to_string))
            .for_each(|index| errors.push(FieldError::duplicate(path.index(index), items[index].clone()))),
        ListType::Map => {
            let wrong = items.iter().enumerate().find(|(_, item)| !item.is_object() && !item.is_null());
            if let Some((index, item)) = wrong {
                let detail = "must be an object for an array of list-type map";
                errors.push(FieldError::invalid(path.index(index), item.clone(), detail));
                return;
            }
            let keys: Vec<Value> = items.iter().map(|item| keys_of(item, schema)).collect();
            repeated(keys.iter().map(Value::to_string))
                .for_each(|index| errors.push(FieldError::duplicate(path.index(index), keys[index].clone())));
        }
    }
}

/// The part of an item that identifies it in a list of type map.
pub(crate) fn keys_of(item: &Value, schema: &Schema) -> Value {
    let keys =
        schema.list_map_keys.iter().filter_map(|key| Some((key.to_string(), item.get(&**key)?.clone())));
    Value::Object(keys.collect::<Map<_, _>>())
}

/// Where a text is seen for the second time; further times are not repeated.
fn repeated(texts: impl Iterator<Item = String>) -> impl Iterator<Item = usize> {
    let mut seen: HashMap<String, u32> = HashMap::new();
    let mut indices = Vec::new();
    for (index, text) in texts.enumerate() {
        let times = seen.entry(text).or_default();
        *times += 1;
        if *times == 2 {
            indices.push(index);
        }
    }
    indices.into_iter()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::compile;

    #[test]
    fn doubles_are_named_once() {
        let schema = compile(&json!({"type": "object", "properties": {
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "one": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "properties": {"name": {"type": "string"}}},
            },
            "two": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
                "items": {"type": "object"},
            },
            "free": {"type": "array", "items": {"type": "string"}},
            "map": {"type": "object", "additionalProperties": {
                "type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"},
            }},
        }}))
        .unwrap();
        let value = json!({
            "set": ["a", "b", "a", "a"],
            "one": [{"name": "x"}, {}, {"name": "x", "v": 1}, {}],
            "two": [{"port": 1}, {"port": 1, "protocol": "TCP"}, {"port": 1, "protocol": "TCP"}],
            "free": ["a", "a"],
            "map": {"k": [1, 1]},
        });
        let errors: Vec<String> = check_lists(&value, &schema).iter().map(ToString::to_string).collect();
        assert_eq!(
            errors,
            [
                "map[k][1]: Duplicate value: 1",
                r#"one[2]: Duplicate value: {"name":"x"}"#,
                "one[3]: Duplicate value: {}",
                r#"set[2]: Duplicate value: "a""#,
                r#"two[2]: Duplicate value: {"port":1,"protocol":"TCP"}"#,
            ]
        );
        let wrong = check_lists(&json!({"one": ["x"]}), &schema);
        assert_eq!(
            wrong[0].to_string(),
            "one[0]: Invalid value: \"x\": must be an object for an array of list-type map"
        );
    }
}
