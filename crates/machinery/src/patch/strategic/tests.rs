#![expect(clippy::needless_pass_by_value, reason = "tables of JSON literals read better without borrows")]

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::fields::sample;

fn patched(document: &Value, patch: &Value, ty: &Type) -> Value {
    apply(document.clone(), patch, ty).unwrap()
}

/// The patch of a Pod's spec, by one field of it.
fn spec(field: &str, had: Value, patch: Value) -> Value {
    let document = json!({"spec": {field: had}});
    let mut patch = patch;
    if patch.is_array() {
        patch = json!({field: patch});
    }
    patched(&document, &json!({"spec": patch}), &sample::pod())["spec"][field].take()
}

#[test]
fn containers_merge_by_name_and_new_ones_come_first_as_the_patch_has_them() {
    let had = json!([{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]);
    assert_eq!(
        spec("containers", had.clone(), json!([{"name": "b", "image": "2"}])),
        json!([{"name": "a", "image": "1"}, {"name": "b", "image": "2"}])
    );
    assert_eq!(
        spec("containers", had, json!([{"name": "c", "image": "3"}])),
        json!([{"name": "c", "image": "3"}, {"name": "a", "image": "1"}, {"name": "b", "image": "1"}])
    );
}

#[test]
fn lists_merge_deep_inside_of_merged_lists() {
    let had = json!([{"name": "a", "env": [{"name": "X", "value": "1"}], "ports": [
        {"containerPort": 80, "protocol": "TCP"},
    ]}]);
    let patch = json!([{"name": "a", "env": [{"name": "Y", "value": "2"}], "ports": [
        {"containerPort": 80, "name": "web"},
    ]}]);
    assert_eq!(
        spec("containers", had, patch),
        json!([{
            "name": "a",
            "env": [{"name": "Y", "value": "2"}, {"name": "X", "value": "1"}],
            "ports": [{"containerPort": 80, "protocol": "TCP", "name": "web"}],
        }])
    );
}

#[test]
fn items_are_deleted_and_lists_replaced_by_directive() {
    let had = json!([{"name": "a"}, {"name": "b"}]);
    assert_eq!(
        spec("containers", had.clone(), json!([{"name": "a", "$patch": "delete"}])),
        json!([{"name": "b"}])
    );
    assert_eq!(
        spec("containers", had, json!([{"$patch": "replace"}, {"name": "z"}])),
        json!([{"name": "z"}])
    );
}

#[test]
fn lists_without_a_strategy_are_replaced() {
    let had = json!([{"key": "a"}]);
    assert_eq!(spec("tolerations", had, json!([{"key": "b"}])), json!([{"key": "b"}]));
}

#[test]
fn objects_are_replaced_or_emptied_by_directive() {
    let document = json!({"metadata": {"labels": {"a": "1", "b": "2"}}});
    let ty = sample::pod();
    let replaced = patched(&document, &json!({"metadata": {"labels": {"$patch": "replace", "c": "3"}}}), &ty);
    assert_eq!(replaced, json!({"metadata": {"labels": {"c": "3"}}}));
    let emptied = patched(&document, &json!({"metadata": {"labels": {"$patch": "delete"}}}), &ty);
    assert_eq!(emptied, json!({"metadata": {"labels": {}}}));
}

#[test]
fn null_deletes_and_is_not_kept_in_what_is_new() {
    let document = json!({"metadata": {"labels": {"a": "1"}}});
    let patch = json!({"metadata": {"labels": {"a": null}, "annotations": {"b": null, "c": "1"}}});
    assert_eq!(
        patched(&document, &patch, &sample::pod()),
        json!({"metadata": {"labels": {}, "annotations": {"c": "1"}}})
    );
}

#[test]
fn retained_keys_push_out_the_rest() {
    let document = json!({"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}});
    let patch = json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}});
    assert_eq!(
        patched(&document, &patch, &sample::deployment()),
        json!({"spec": {"strategy": {"type": "Recreate"}}})
    );
    let wrong = json!({"spec": {"strategy": {"$retainKeys": ["type"], "rollingUpdate": {}}}});
    assert_eq!(apply(document, &wrong, &sample::deployment()).unwrap_err().code(), 400);
}

#[test]
fn volumes_change_their_source_when_keys_are_retained() {
    let had = json!([{"name": "v", "emptyDir": {}}]);
    let patch = json!([{"name": "v", "configMap": {"name": "c"}, "$retainKeys": ["name", "configMap"]}]);
    assert_eq!(spec("volumes", had, patch), json!([{"name": "v", "configMap": {"name": "c"}}]));
}

#[test]
fn primitive_lists_merge_as_sets() {
    let document = json!({"metadata": {"finalizers": ["a", "b"]}});
    let ty = sample::pod();
    let added = patched(&document, &json!({"metadata": {"finalizers": ["b", "c"]}}), &ty);
    assert_eq!(added["metadata"]["finalizers"], json!(["a", "b", "c"]));
    let gone = patched(&document, &json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}), &ty);
    assert_eq!(gone["metadata"]["finalizers"], json!(["b"]));
}

#[test]
fn the_order_of_items_follows_the_directive_and_keeps_what_the_server_added() {
    let had = json!([{"name": "a"}, {"name": "server"}, {"name": "b"}, {"name": "c"}]);
    let patch = json!({
        "$setElementOrder/initContainers": [{"name": "c"}, {"name": "a"}, {"name": "new"}],
        "initContainers": [{"name": "new"}, {"name": "b", "$patch": "delete"}],
    });
    assert_eq!(
        spec("initContainers", had, patch),
        json!([{"name": "server"}, {"name": "c"}, {"name": "a"}, {"name": "new"}])
    );
}

#[test]
fn an_order_that_contradicts_the_patch_is_refused() {
    let document = json!({"spec": {"containers": [{"name": "a"}]}});
    let patch = json!({"spec": {
        "$setElementOrder/containers": [{"name": "a"}],
        "containers": [{"name": "b"}],
    }});
    assert!(apply(document.clone(), &patch, &sample::pod()).is_err());
    let misspelt = json!({"spec": {"$setElementOrder": []}});
    assert_eq!(apply(document, &misspelt, &sample::pod()).unwrap_err().code(), 400);
}

#[test]
fn conditions_merge_by_type_and_owners_by_uid() {
    let document = json!({
        "metadata": {"ownerReferences": [{"uid": "1", "name": "a"}]},
        "status": {"conditions": [{"type": "Ready", "status": "False"}, {"type": "Other", "status": "True"}]},
    });
    let patch = json!({
        "metadata": {"ownerReferences": [{"uid": "2", "name": "b"}, {"$patch": "delete", "uid": "1"}]},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    });
    assert_eq!(
        patched(&document, &patch, &sample::pod()),
        json!({
            "metadata": {"ownerReferences": [{"uid": "2", "name": "b"}]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "True"}]},
        })
    );
}

#[test]
fn items_without_their_key_and_unknown_directives_are_errors() {
    let document = json!({"spec": {"containers": [{"name": "a"}]}});
    for patch in [
        json!({"spec": {"containers": [{"image": "x"}]}}),
        json!({"spec": {"containers": [{"$patch": "shuffle", "name": "a"}]}}),
        json!({"spec": {"containers": ["x"]}}),
        json!({"spec": {"$patch": "merge"}}),
    ] {
        assert_eq!(apply(document.clone(), &patch, &sample::pod()).unwrap_err().code(), 500, "{patch}");
    }
    assert_eq!(apply(document, &json!([1]), &sample::pod()).unwrap_err().code(), 400);
}

fn containers() -> impl Strategy<Value = Value> {
    let variables = prop::collection::btree_map("[AB]", "[xy]", 0..3).prop_map(|all| {
        all.into_iter().map(|(name, value)| json!({"name": name, "value": value})).collect::<Value>()
    });
    let container = ("[12]", variables).prop_map(|(image, env)| json!({"image": image, "env": env}));
    prop::collection::btree_map("[abcd]", container, 0..4).prop_flat_map(|all| {
        let named: Vec<Value> = all
            .into_iter()
            .map(|(name, mut container)| {
                container["name"] = name.into();
                container
            })
            .collect();
        Just(named).prop_shuffle().prop_map(Value::from)
    })
}

fn volumes() -> impl Strategy<Value = Value> {
    let source = prop_oneof![Just(json!({"emptyDir": {}})), Just(json!({"configMap": {"name": "c"}}))];
    prop::collection::btree_map("[vw]", source, 0..3).prop_map(|all| {
        all.into_iter()
            .map(|(name, mut volume)| {
                volume["name"] = name.into();
                volume
            })
            .collect()
    })
}

fn pods() -> impl Strategy<Value = Value> {
    let finalizers = prop::sample::subsequence(vec!["a", "b", "c"], 0..=3).prop_shuffle();
    let labels = prop::collection::btree_map("[ab]", "[12]", 0..3);
    (finalizers, labels, containers(), volumes()).prop_map(|(finalizers, labels, containers, volumes)| {
        json!({
            "metadata": {"finalizers": finalizers, "labels": labels},
            "spec": {"containers": containers, "volumes": volumes, "tolerations": [labels]},
        })
    })
}

proptest! {
    #[test]
    fn a_difference_leads_from_one_pod_to_the_other(from in pods(), to in pods()) {
        let ty = sample::pod();
        let patch = diff(&from, &to, &ty);
        prop_assert_eq!(apply(from, &patch, &ty).unwrap(), to);
    }

    #[test]
    fn merging_a_pod_twice_is_merging_it_once(from in pods(), patch in pods()) {
        let ty = sample::pod();
        let once = apply(from, &patch, &ty).unwrap();
        prop_assert_eq!(apply(once.clone(), &patch, &ty).unwrap(), once);
    }
}
