//! Which paths a value has: what somebody who applies it owns.

use serde_json::{Map, Value};

use super::set::Node;
use super::{Element, List, ListKind, Object, Set, Type};

impl Set {
    /// The paths of a value: every leaf, every item of a list, every key of a map. Fields of a struct are members only
    /// as leaves, so that two managers may share one struct.
    pub fn from_value(value: &Value, ty: &Type) -> Self {
        collect(value, ty).1
    }
}

/// Whether the place itself is a member, and what is below it.
fn collect(value: &Value, ty: &Type) -> (bool, Set) {
    match (ty, value) {
        (Type::Object(object), Value::Object(map)) if !object.is_atomic() => {
            (false, collect_object(map, Some(object)))
        }
        (Type::Untyped, Value::Object(map)) => (false, collect_object(map, None)),
        (Type::List(list), _) if list.kind == ListKind::Atomic => (true, Set::new()),
        (Type::List(list), Value::Array(items)) => (false, collect_list(items, list)),
        (Type::Object(object), _) => (object.is_atomic(), Set::new()),
        (Type::List(_), _) => (false, Set::new()),
        (Type::Scalar | Type::Untyped, _) => (true, Set::new()),
    }
}

fn collect_object(map: &Map<String, Value>, object: Option<&Object>) -> Set {
    let mut nodes = Vec::with_capacity(map.len());
    for (key, value) in map {
        let known = object.and_then(|object| object.find(key));
        let (name, below) = match (known, object) {
            (Some(field), _) => (field.name.clone(), &field.ty),
            (None, Some(object)) => (key.as_str().into(), object.rest().unwrap_or(&Type::Untyped)),
            (None, None) => (key.as_str().into(), &Type::Untyped),
        };
        let (leaf, children) = collect(value, below);
        let member = leaf || known.is_none() || is_empty(value);
        nodes.push(Node::new(Element::Field(name), member, children));
    }
    Set::from_nodes(nodes)
}

/// Null and the empty object have nothing below that could be owned in their stead.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

fn collect_list(items: &[Value], list: &List) -> Set {
    let mut named: Vec<(Element, &Value)> =
        items.iter().filter_map(|item| Some((element_of(list, item).ok()?, item))).collect();
    named.sort_by(|a, b| a.0.cmp(&b.0));
    let mut nodes: Vec<Node> = Vec::with_capacity(named.len());
    for (element, item) in named {
        match nodes.last_mut() {
            // Items that cannot be told apart are owned together, as one.
            Some(before) if before.element == element => before.children = Set::new(),
            _ => nodes.push(Node::new(element, true, collect(item, &list.element).1)),
        }
    }
    Set::from_nodes(nodes)
}

/// Why an item has no identity in its list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ItemError {
    #[error("associative list with keys may not have a null element")]
    NullItem,
    #[error("associative list with keys may not have non-map elements")]
    NoObject,
    #[error(
        "associative list with keys has an element that omits all key fields {0} \
         (and doesn't have default values for any key fields)"
    )]
    NoKeys(String),
    #[error("associative list without keys has an element that's a map type")]
    ObjectInSet,
    #[error("not supported: associative list with lists as elements")]
    ListInSet,
    #[error("associative list without keys has an element that's an explicit null")]
    NullInSet,
    #[error("invalid indexing of non-associative list")]
    Atomic,
}

/// What identifies an item of a list.
pub(crate) fn element_of(list: &List, item: &Value) -> Result<Element, ItemError> {
    match (&list.kind, item) {
        (ListKind::Atomic, _) => Err(ItemError::Atomic),
        (ListKind::Set, Value::Object(_)) => Err(ItemError::ObjectInSet),
        (ListKind::Set, Value::Array(_)) => Err(ItemError::ListInSet),
        (ListKind::Set, Value::Null) => Err(ItemError::NullInSet),
        (ListKind::Set, scalar) => Ok(Element::value(scalar.clone())),
        (ListKind::Map(keys), Value::Object(map)) => {
            let mut found = Vec::with_capacity(keys.len());
            for key in keys {
                if let Some(value) = map.get(&*key.name).or(key.default.as_ref()) {
                    found.push((key.name.clone(), value.clone()));
                }
            }
            if found.is_empty() && !keys.is_empty() {
                let names: Vec<_> = keys.iter().map(|key| format!("{:?}", key.name)).collect();
                return Err(ItemError::NoKeys(format!("[{}]", names.join(" "))));
            }
            found.sort_by(|a, b| a.0.cmp(&b.0));
            Ok(Element::Key(found.into()))
        }
        (ListKind::Map(_), Value::Null) => Err(ItemError::NullItem),
        (ListKind::Map(_), _) => Err(ItemError::NoObject),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Field, Key, sample};
    use super::*;

    #[test]
    fn a_pod_is_owned_leaf_by_leaf_and_item_by_item() {
        let pod = json!({
            "metadata": {
                "labels": {"app": "web"},
                "finalizers": ["b", "a"],
                "ownerReferences": [{"uid": "1", "name": "x"}],
            },
            "spec": {
                "nodeSelector": {"a": "b"},
                "tolerations": [{"key": "x"}],
                "containers": [{
                    "name": "c",
                    "args": ["-v"],
                    "resources": {},
                    "ports": [{"containerPort": 80}],
                    "env": [],
                }],
            },
        });
        let want = json!({
            "f:metadata": {
                "f:labels": {"f:app": {}},
                "f:finalizers": {"v:\"a\"": {}, "v:\"b\"": {}},
                "f:ownerReferences": {"k:{\"uid\":\"1\"}": {}},
            },
            "f:spec": {
                "f:nodeSelector": {},
                "f:tolerations": {},
                "f:containers": {"k:{\"name\":\"c\"}": {
                    ".": {},
                    "f:name": {},
                    "f:args": {},
                    "f:resources": {},
                    "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}},
                }},
            },
        });
        assert_eq!(Set::from_value(&pod, &sample::pod()).to_fields_v1(), want);
    }

    #[test]
    fn without_a_schema_objects_are_owned_key_by_key_and_lists_whole() {
        let value = json!({"a": {"b": [1, {"c": 2}], "d": null}, "e": {}});
        assert_eq!(Set::from_value(&value, &Type::Untyped).paths(), [".a", ".e", ".a.b", ".a.d"]);
    }

    #[test]
    fn items_that_cannot_be_told_apart_are_owned_as_one() {
        let element = Type::object([Field::new("name", Type::Scalar), Field::new("value", Type::Scalar)]);
        let ty = Type::object([Field::new("env", Type::map_list(element, [Key::new("name")]))]);
        let value = json!({"env": [{"name": "a", "value": 1}, {"name": "b"}, {"name": "a", "value": 2}]});
        assert_eq!(
            Set::from_value(&value, &ty).paths(),
            [".env[name=\"a\"]", ".env[name=\"b\"]", ".env[name=\"b\"].name"]
        );
    }
}
