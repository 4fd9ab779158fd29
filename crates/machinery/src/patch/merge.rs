//! JSON merge patch (RFC 7396), with the API server's one deviation: where an object or list is new, nulls inside
//! of lists are dropped too.

use serde_json::{Map, Value};

use super::PatchError;

/// Merges a patch into a document: objects key by key, null deletes, everything else replaces.
pub fn apply(document: Value, patch: &Value) -> Result<Value, PatchError> {
    let (Value::Object(mut object), Value::Object(patch)) = (document, patch) else {
        return Err(PatchError::BadRequest(
            "error decoding patch: a merge patch is a JSON object".to_owned(),
        ));
    };
    merge_objects(&mut object, patch);
    Ok(Value::Object(object))
}

fn merge_objects(object: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (key, change) in patch {
        if change.is_null() {
            object.remove(key);
            continue;
        }
        match (object.get_mut(key), change) {
            (Some(Value::Object(inner)), Value::Object(change)) => merge_objects(inner, change),
            (Some(slot @ Value::Object(_)), change) => *slot = change.clone(),
            (Some(slot), change) => *slot = without_nulls(change),
            (None, change) => {
                object.insert(key.clone(), without_nulls(change));
            }
        }
    }
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let kept = object.iter().filter(|(_, value)| !value.is_null());
            kept.map(|(key, value)| (key.clone(), without_nulls(value))).collect()
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        scalar => scalar.clone(),
    }
}

/// The merge patch that turns one document into another, as clients make it.
///
/// A null inside of `to` cannot be said in this format and comes out as an absence.
pub fn diff(from: &Value, to: &Value) -> Value {
    let (Value::Object(from), Value::Object(to)) = (from, to) else {
        return to.clone();
    };
    let mut patch = Map::new();
    for key in from.keys().filter(|key| !to.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, wanted) in to {
        match from.get(key) {
            Some(had) if had == wanted => {}
            Some(had @ Value::Object(_)) if wanted.is_object() => {
                patch.insert(key.clone(), diff(had, wanted));
            }
            _ => {
                patch.insert(key.clone(), wanted.clone());
            }
        }
    }
    Value::Object(patch)
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_examples_of_the_rfc_that_start_and_end_as_objects_hold() {
        for (document, patch, want) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
            (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        ] {
            assert_eq!(apply(document, &patch).unwrap(), want, "{patch}");
        }
    }

    #[test]
    fn nulls_in_new_lists_of_objects_are_dropped_and_over_an_object_kept() {
        let patch = json!({"a": [{"b": null, "c": 1}, null]});
        assert_eq!(apply(json!({}), &patch).unwrap(), json!({"a": [{"c": 1}, null]}));
        assert_eq!(apply(json!({"a": {}}), &patch).unwrap(), patch);
    }

    #[test]
    fn what_is_no_object_is_no_merge_patch() {
        for patch in [json!([1]), json!(null), json!("a")] {
            assert_eq!(apply(json!({}), &patch).unwrap_err().code(), 400);
        }
    }

    /// Any JSON object, a few levels deep, with few enough keys that two of them meet.
    pub(crate) fn any_object() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..3i64).prop_map(Value::from),
            "[ab]{0,2}".prop_map(Value::from),
        ];
        let any = leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[abc]", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        });
        prop::collection::btree_map("[abc]", any, 0..4)
            .prop_map(|map| Value::Object(map.into_iter().collect()))
    }

    fn pruned(value: &Value) -> Value {
        without_nulls(value)
    }

    proptest! {
        #[test]
        fn merging_twice_is_merging_once(document in any_object(), patch in any_object()) {
            let once = apply(document, &patch).unwrap();
            // Nulls that stand in a list over a former object are not touched by the first merge.
            let again = apply(once.clone(), &patch).unwrap();
            prop_assert_eq!(pruned(&again), pruned(&once));
        }

        #[test]
        fn a_difference_leads_from_one_document_to_the_other(from in any_object(), to in any_object()) {
            let (from, to) = (pruned(&from), pruned(&to));
            prop_assert_eq!(apply(from.clone(), &diff(&from, &to)).unwrap(), to);
        }
    }
}
