//! What whoever makes an object owns of it, written straight as FieldsV1.
//!
//! It is what a [comparison](super::Comparison) with an empty object finds, without building the sets. Every create walks
//! this way, most objects are never applied to, and the sets were a quarter of what a create costs.

use serde_json::{Map, Value};

use super::json::{write_element, write_field};
use super::{List, ListKind, Object, Type, element_of};

/// The paths of an object that was not there before, as FieldsV1.
pub(crate) fn fields_of_new(object: &Value, ty: &Type) -> Map<String, Value> {
    added(object, ty, true).1
}

/// Whether the place itself counts, and what is below it. Where the struct that a field belongs to `stood` before, empty,
/// so did those of its fields that are always written.
fn added(value: &Value, ty: &Type, stood: bool) -> (bool, Map<String, Value>) {
    let object = match ty {
        Type::Object(object) if !object.is_atomic() => Some(&**object),
        Type::Untyped => None,
        Type::List(list) if list.kind != ListKind::Atomic => {
            let filled = value.as_array().is_some_and(|items| !items.is_empty());
            return (!stood || !filled && !value.is_null(), items(value, list));
        }
        // Before stood an empty struct, or else null.
        Type::Object(_) => {
            return (!stood || value.as_object().is_none_or(|map| !map.is_empty()), Map::new());
        }
        Type::Scalar | Type::List(_) => return (!stood || !value.is_null(), Map::new()),
    };
    let before_was_null = object.is_none();
    match value {
        Value::Object(map) if !map.is_empty() => (!stood, fields(map, object, stood && !before_was_null)),
        Value::Object(_) => (!stood || before_was_null, Map::new()),
        Value::Null => (!stood || !before_was_null, Map::new()),
        _ => (true, Map::new()),
    }
}

fn fields(map: &Map<String, Value>, object: Option<&Object>, stood: bool) -> Map<String, Value> {
    let mut found = Map::new();
    for (key, value) in map {
        let known = object.and_then(|object| object.find(key));
        let rest = || object.and_then(Object::rest).unwrap_or(&Type::Untyped);
        let ty = known.map_or_else(rest, |field| &field.ty);
        let (member, below) = added(value, ty, stood && known.is_some_and(|field| field.always));
        if member || !below.is_empty() {
            found.insert(write_field(key), Value::Object(marked(member, below)));
        }
    }
    found
}

fn items(value: &Value, list: &List) -> Map<String, Value> {
    let mut found = Map::new();
    for item in value.as_array().into_iter().flatten() {
        let Ok(element) = element_of(list, item) else { continue };
        let below = marked(true, added(item, &list.element, false).1);
        let double = found.insert(write_element(&element), Value::Object(below)).is_some();
        // Items that cannot be told apart are owned as one.
        if double {
            found.insert(write_element(&element), Value::Object(Map::new()));
        }
    }
    found
}

/// What is below a path, with the mark of a path that counts itself.
fn marked(member: bool, mut below: Map<String, Value>) -> Map<String, Value> {
    if member && !below.is_empty() {
        below.insert(".".to_owned(), Value::Object(Map::new()));
    }
    below
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::{Comparison, sample};
    use super::*;
    use crate::patch::merge::tests::any_object;

    fn compared(object: &Value, ty: &Type) -> Value {
        let comparison = Comparison::of(&json!({}), object, ty);
        comparison.modified.union(comparison.added).to_fields_v1()
    }

    #[test]
    fn a_new_pod_is_owned_as_if_it_were_compared_with_nothing() {
        let pod = json!({
            "apiVersion": "v1",
            "metadata": {
                "creationTimestamp": null,
                "labels": {"app": "web"},
                "annotations": {},
                "finalizers": ["b", "a"],
                "ownerReferences": [{"uid": "1", "name": "x"}],
            },
            "spec": {
                "nodeSelector": {"a": "b"},
                "tolerations": [{"key": "x"}],
                "volumes": [],
                "containers": [
                    {"name": "c", "args": ["-v"], "resources": {}, "ports": [{"containerPort": 80}], "env": []},
                    {"name": "d", "env": [{"name": "X", "value": "1"}, {"name": "X"}, {"name": "X"}, {"name": "Y"}]},
                    "nonsense",
                ],
                "unknown": {"a": [1]},
            },
            "status": {},
        });
        for ty in [sample::pod(), sample::deployment(), sample::config_map(), Type::Untyped] {
            assert_eq!(Value::Object(fields_of_new(&pod, &ty)), compared(&pod, &ty));
        }
    }

    proptest! {
        #[test]
        fn any_new_object_is_owned_as_if_it_were_compared_with_nothing(
            object in any_object(), spec in any_object(), item in any_object(),
        ) {
            let nested = json!({
                "metadata": object,
                "data": item,
                "spec": {"containers": [{"name": "c", "env": [item]}, object], "strategy": spec, "template": {"spec": spec}},
            });
            for ty in [sample::pod(), sample::deployment(), sample::config_map(), Type::Untyped] {
                for object in [&object, &nested] {
                    prop_assert_eq!(Value::Object(fields_of_new(object, &ty)), compared(object, &ty));
                }
            }
        }
    }
}
