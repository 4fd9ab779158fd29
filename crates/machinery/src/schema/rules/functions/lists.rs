//! Functions on lists, and those that macros expand to.

use std::{cmp::Ordering, sync::Arc};

use kube_cel::cel::{
    Value,
    objects::{Key, Map},
};

use crate::schema::rules::{
    evaluate::{Answer, add, key, no_such_overload},
    unordered::items,
};

pub(super) fn without_target(name: &str, value: &Value) -> Option<Answer> {
    match (name, value) {
        ("@pairs", value) => Some(pairs(value)),
        ("lists.range", Value::Int(..=0)) => Some(Ok(Value::List(Arc::default()))),
        _ => None,
    }
}

pub(super) fn internal(name: &str, one: &Value, two: &Value) -> Option<Answer> {
    (name == "@sorted").then(|| sorted(one, two))
}

/// The sum of items. That of nothing is left to the engine.
pub(super) fn sum(list: &Value) -> Option<Answer> {
    let (first, rest) = items(list)?.split_first()?;
    match first {
        Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::Duration(_) => {
            Some(rest.iter().try_fold(first.clone(), |sum, item| add(&sum, item)))
        }
        _ => Some(no_such_overload()),
    }
}

/// Index and value of each item, or key and value of each entry.
fn pairs(value: &Value) -> Answer {
    let pair = |left: Value, right: &Value| Value::List(Arc::new(vec![left, right.clone()]));
    match (value, items(value)) {
        (_, Some(items)) => {
            let pairs = items
                .iter()
                .enumerate()
                .map(|(index, item)| pair(Value::Int(i64::try_from(index).unwrap_or(i64::MAX)), item));
            Ok(Value::List(Arc::new(pairs.collect())))
        }
        (Value::Map(map), None) => {
            let mut entries: Vec<(&Key, &Value)> = map.map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let pairs = entries.into_iter().map(|(key, value)| pair(key.clone().into(), value));
            Ok(Value::List(Arc::new(pairs.collect())))
        }
        _ => no_such_overload(),
    }
}

pub(super) fn insert(map: &Value, at: Value, value: &Value) -> Answer {
    let Value::Map(map) = map else { return no_such_overload() };
    let mut entries = (*map.map).clone();
    entries.insert(key(at)?, value.clone());
    Ok(Value::Map(Map { map: Arc::new(entries) }))
}

fn sorted(list: &Value, keys: &Value) -> Answer {
    let (Some(items), Some(keys)) = (items(list), items(keys)) else { return no_such_overload() };
    let mut pairs: Vec<(&Value, &Value)> = keys.iter().zip(items).collect();
    let mut comparable = true;
    pairs.sort_by(|(left, _), (right, _)| {
        left.partial_cmp(right).unwrap_or_else(|| {
            comparable = false;
            Ordering::Equal
        })
    });
    if !comparable {
        return no_such_overload();
    }
    Ok(Value::List(Arc::new(pairs.into_iter().map(|(_, item)| item.clone()).collect())))
}
