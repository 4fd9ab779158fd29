//! Operators on values: numbers of different types are equal where they are the same number.

use std::{cmp::Ordering, sync::Arc};

use kube_cel::cel::{
    Value,
    common::ast::operators,
    objects::{Key, Map},
};

use super::{Answer, no_such_overload, optional, optional_of};
use crate::schema::rules::{
    engine::describe,
    functions::incomparable,
    unordered::{Unordered, items},
};

/// The answer of an operator; `None` where the name is that of a function.
pub(super) fn operate(name: &str, arguments: &[Value]) -> Option<Answer> {
    let truth = |truth: bool| Ok(Value::Bool(truth));
    let ordered = |left, right, test: fn(Ordering) -> bool| compare(left, right).map(test).map(Value::Bool);
    Some(match (name, arguments) {
        (operators::EQUALS, [left, right]) if incomparable(left, right) => no_such_overload(),
        (operators::NOT_EQUALS, [left, right]) if incomparable(left, right) => truth(true),
        (operators::EQUALS, [left, right]) => truth(equal(left, right)),
        (operators::NOT_EQUALS, [left, right]) => truth(!equal(left, right)),
        (operators::LESS, [left, right]) => ordered(left, right, Ordering::is_lt),
        (operators::LESS_EQUALS, [left, right]) => ordered(left, right, Ordering::is_le),
        (operators::GREATER, [left, right]) => ordered(left, right, Ordering::is_gt),
        (operators::GREATER_EQUALS, [left, right]) => ordered(left, right, Ordering::is_ge),
        (operators::ADD, [left, right]) => add(left, right),
        (operators::SUBSTRACT, [left, right]) => told(left.clone() - right.clone()),
        (operators::MULTIPLY, [left, right]) => told(left.clone() * right.clone()),
        (operators::DIVIDE, [left, right]) => told(left.clone() / right.clone()),
        (operators::MODULO, [left, right]) => told(left.clone() % right.clone()),
        (operators::LOGICAL_NOT, [Value::Bool(one)]) => truth(!one),
        (operators::NEGATE, [Value::Int(number)]) => {
            number.checked_neg().map(Value::Int).ok_or_else(|| "integer overflow".to_owned())
        }
        (operators::NEGATE, [Value::Float(number)]) => Ok(Value::Float(-number)),
        (operators::LOGICAL_NOT | operators::NEGATE, _) => no_such_overload(),
        (operators::IN, [item, container]) => contains(container, item),
        (operators::INDEX, [container, at]) => match optional(container) {
            Some(held) => Ok(optional_of(held.and_then(|held| index(held, at).ok()))),
            None => index(container, at),
        },
        (operators::OPT_INDEX, [container, at]) => {
            let held = optional(container).unwrap_or(Some(container));
            Ok(optional_of(held.and_then(|held| index(held, at).ok())))
        }
        _ => return None,
    })
}

fn told(result: Result<Value, kube_cel::cel::ExecutionError>) -> Answer {
    result.map_err(|error| describe(&error))
}

/// Whether two values are the same. What is on the left decides whether an order counts.
pub(in crate::schema::rules) fn equal(left: &Value, right: &Value) -> bool {
    if let (Some(left), Some(right)) = (optional(left), optional(right)) {
        return match (left, right) {
            (Some(left), Some(right)) => equal(left, right),
            (left, right) => left.is_none() && right.is_none(),
        };
    }
    if let (Some(left), Some(right)) = (Unordered::of(left), items(right)) {
        return left.is_same(right);
    }
    match (left, right, items(left), items(right)) {
        (_, _, Some(left), Some(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Map(left), Value::Map(right), ..) => {
            left.map.len() == right.map.len()
                && left.map.iter().all(|(key, value)| {
                    find(right, &Value::from(key)).is_some_and(|other| equal(value, other))
                })
        }
        _ => left == right,
    }
}

fn compare(left: &Value, right: &Value) -> Result<Ordering, String> {
    let not_a_number = |value: &Value| matches!(value, Value::Float(number) if number.is_nan());
    match (left, right) {
        (Value::Bytes(left), Value::Bytes(right)) => Ok(left.cmp(right)),
        (Value::Null, Value::Null) => no_such_overload(),
        _ if not_a_number(left) || not_a_number(right) => Err("NaN values cannot be ordered".to_owned()),
        _ => left.partial_cmp(right).map_or_else(no_such_overload, Ok),
    }
}

/// The sum of numbers or times, and what texts, bytes or lists make together.
pub(in crate::schema::rules) fn add(left: &Value, right: &Value) -> Answer {
    if let (Some(left), Some(right)) = (Unordered::of(left), items(right)) {
        return Ok(left.with(right).into());
    }
    match (left, right, items(left), items(right)) {
        (_, _, Some(left), Some(right)) => {
            Ok(Value::List(Arc::new(left.iter().chain(right).cloned().collect())))
        }
        (Value::Bytes(left), Value::Bytes(right), ..) => {
            Ok(Value::Bytes(Arc::new([left.as_slice(), right.as_slice()].concat())))
        }
        _ => told(left.clone() + right.clone()),
    }
}

fn contains(container: &Value, item: &Value) -> Answer {
    match (container, items(container)) {
        (_, Some(items)) => {
            Ok(Value::Bool(items.iter().any(|one| !incomparable(item, one) && equal(one, item))))
        }
        (Value::Map(map), None) => Ok(Value::Bool(find(map, item).is_some())),
        _ => no_such_overload(),
    }
}

fn index(container: &Value, at: &Value) -> Answer {
    match (container, items(container)) {
        (_, Some(items)) => {
            let Some(at) = whole(at) else { return no_such_overload() };
            let item = usize::try_from(at).ok().and_then(|at| items.get(at));
            item.cloned().ok_or_else(|| format!("index out of bounds: {at}"))
        }
        (Value::Map(map), None) => {
            let missing = || match at {
                Value::String(key) => format!("no such key: {key}"),
                other => format!("no such key: {}", whole(other).unwrap_or_default()),
            };
            find(map, at).cloned().ok_or_else(missing)
        }
        _ => no_such_overload(),
    }
}

/// The value of a key; keys that are the same number are the same key.
fn find<'a>(map: &'a Map, key: &Value) -> Option<&'a Value> {
    match key {
        Value::String(key) => map.map.get(&Key::String(key.clone())),
        Value::Bool(key) => map.map.get(&Key::Bool(*key)),
        other => {
            let key = whole(other)?;
            let signed = i64::try_from(key).ok().and_then(|key| map.map.get(&Key::Int(key)));
            signed.or_else(|| map.map.get(&Key::Uint(u64::try_from(key).ok()?)))
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "only of what has no fraction")]
fn whole(number: &Value) -> Option<i128> {
    match number {
        Value::Int(number) => Some(i128::from(*number)),
        Value::UInt(number) => Some(i128::from(*number)),
        Value::Float(number) if number.fract() == 0.0 => Some(*number as i128),
        _ => None,
    }
}
