//! Laws that hold for every kind and any object.

use proptest::prelude::*;
use serde_json::{Map, Value};

use super::{Kind, create, objects, update, update_status};

/// Field names that the hooks look at, so that random objects reach far into them.
fn words() -> Vec<String> {
    let mut words = std::collections::BTreeSet::new();
    for kind in objects::all() {
        collect(&create(&kind, kind.object.clone()).0, &mut words);
    }
    for extra in [
        "volumes",
        "env",
        "valueFrom",
        "affinity",
        "nodeAffinity",
        "livenessProbe",
        "tolerations",
        "limits",
        "rollingUpdate",
    ] {
        words.insert(extra.to_owned());
    }
    words.into_iter().collect()
}

fn collect(value: &Value, words: &mut std::collections::BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                words.insert(name.clone());
                collect(value, words);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, words)),
        Value::String(text) => {
            words.insert(text.clone());
        }
        _ => {}
    }
}

fn any_json() -> impl proptest::strategy::Strategy<Value = Value> {
    let words = proptest::sample::select(words());
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-3i64..3).prop_map(Value::from),
        words.clone().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((words.clone(), inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<String, Value>>())),
        ]
    })
}

fn any_kind() -> impl proptest::strategy::Strategy<Value = Kind> {
    proptest::sample::select(objects::all())
}

/// A good object with one of its parts replaced by anything.
fn damaged(kind: &Kind, at: usize, by: Value) -> Value {
    let mut object = create(kind, kind.object.clone()).0;
    let mut places = Vec::new();
    pointers(&object, String::new(), &mut places);
    let place = places[at % places.len()].clone();
    *object.pointer_mut(&place).expect("the pointer was just collected") = by;
    object
}

fn pointers(value: &Value, here: String, places: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                pointers(value, format!("{here}/{name}"), places);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                pointers(value, format!("{here}/{index}"), places);
            }
        }
        _ => {}
    }
    places.push(here);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn filling_twice_is_filling_once(kind in any_kind(), at in any::<usize>(), by in any_json()) {
        let mut once = damaged(&kind, at, by);
        kind.strategy.default(&mut once);
        let mut twice = once.clone();
        kind.strategy.default(&mut twice);
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn nothing_makes_a_hook_panic(kind in any_kind(), at in any::<usize>(), by in any_json(), other in any_json()) {
        let good = create(&kind, kind.object.clone()).0;
        let bad = damaged(&kind, at, by.clone());
        for object in [bad, by, other] {
            create(&kind, object.clone());
            update(&kind, &good, object.clone());
            update(&kind, &object, good.clone());
            update_status(&kind, &good, object.clone());
            update_status(&kind, &object, good.clone());
        }
    }

    #[test]
    fn writing_a_stored_object_back_changes_nothing(kind in any_kind()) {
        let good = create(&kind, kind.object.clone()).0;
        let (again, errors) = update(&kind, &good, good.clone());
        prop_assert_eq!(errors, Vec::new());
        prop_assert!(!kind.strategy.changes_generation(&again, &good));
        prop_assert_eq!(again, good);
    }
}
