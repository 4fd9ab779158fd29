//! Functions that the engine has otherwise than cel-go, or not at all. All others are the engine's.

mod convert;
mod format;
mod lists;
mod network;
mod quantity;
mod semver;
mod text;
pub(super) mod time;
mod url;

use std::sync::Arc;

use kube_cel::cel::{Value, objects::Opaque};

use super::{
    engine,
    evaluate::{Answer, no_such_overload, optional, optional_of},
    unordered::items,
};
pub(super) use format::{Piece, pieces};

/// The answer of a function; `None` where it is the engine's.
pub(super) fn call(name: &str, target: Option<&Value>, arguments: &[Value]) -> Option<Answer> {
    match (name, target, arguments) {
        ("size", Some(value), []) | ("size", None, [value]) => Some(size(value)),
        ("type", None, [value]) => Some(Ok(type_of(value))),
        ("dyn", None, [value]) => Some(Ok(value.clone())),
        ("optional.unwrap", None, [list]) | ("unwrapOpt", Some(list), []) => Some(unwrap(list)),
        ("format.named", None, arguments) => Some(named_format(arguments)),
        ("matches", Some(text), [pattern]) | ("matches", None, [text, pattern]) => {
            Some(text::matches(text, pattern))
        }
        (_, Some(Value::Opaque(_)), _) => of_kubernetes(name, target, arguments),
        (_, None, [Value::Opaque(_) | Value::String(_)] | [Value::String(_), Value::Bool(_)])
            if let Some(answer) = of_kubernetes(name, target, arguments) =>
        {
            Some(answer)
        }
        (_, None, [value]) => convert::convert(name, value).or_else(|| lists::without_target(name, value)),
        (_, Some(value @ (Value::Timestamp(_) | Value::Duration(_))), arguments) => {
            time::part(name, value, arguments)
        }
        ("format", Some(Value::String(pattern)), [list]) => format::format(pattern, list),
        (_, Some(Value::String(target)), arguments) => text::call(name, target, arguments),
        ("sum", Some(list), []) => lists::sum(list),
        (_, None, [one, two]) => lists::internal(name, one, two),
        (_, None, [one, two, three]) if name == "@insert" => Some(lists::insert(one, two.clone(), three)),
        _ => None,
    }
}

/// The answer of a function of a type that Kubernetes adds.
fn of_kubernetes(name: &str, target: Option<&Value>, arguments: &[Value]) -> Option<Answer> {
    quantity::call(name, target, arguments)
        .or_else(|| network::call(name, target, arguments))
        .or_else(|| semver::call(name, target, arguments))
        .or_else(|| url::call(name, target, arguments))
}

/// What an opaque value is inside.
fn held<T: Opaque>(value: &Value) -> Option<&T> {
    let Value::Opaque(opaque) = value else { return None };
    opaque.downcast_ref()
}

/// Whether the server knows no answer to the question whether these are equal: a value of a type that Kubernetes adds is compared
/// only with one of the same type, and does not know a quantity that has been calculated for one.
pub(super) fn incomparable(left: &Value, right: &Value) -> bool {
    let kubernetes = |value: &Value| {
        let Value::Opaque(opaque) = value else { return None };
        let name = opaque.runtime_type_name();
        (name.starts_with("kubernetes.") || name.starts_with("net.")).then(|| name.to_owned())
    };
    let Some(name) = kubernetes(left) else { return false };
    kubernetes(right) != Some(name) || held::<quantity::Quantity>(right).is_some_and(|right| right.made)
}

/// The size of a text is that of its characters, not of their bytes.
fn size(value: &Value) -> Answer {
    let size = match (value, items(value)) {
        (_, Some(items)) => items.len(),
        (Value::Map(map), _) => map.map.len(),
        (Value::String(text), _) => text.chars().count(),
        (Value::Bytes(bytes), _) => bytes.len(),
        _ => return no_such_overload(),
    };
    Ok(Value::Int(i64::try_from(size).unwrap_or(i64::MAX)))
}

/// A type as a value. The engine has none, so it is a text that no other text equals.
pub(super) fn type_named(name: &str) -> Value {
    Value::String(Arc::new(format!("\u{0}type {name}")))
}

fn type_of(value: &Value) -> Value {
    type_named(type_name(value))
}

fn type_name(value: &Value) -> &str {
    match value {
        Value::Bool(_) => "bool",
        Value::Bytes(_) => "bytes",
        Value::Float(_) => "double",
        Value::Int(_) => "int",
        Value::Map(_) => "map",
        Value::Null => "null_type",
        Value::String(_) => "string",
        Value::UInt(_) => "uint",
        Value::Timestamp(_) => "google.protobuf.Timestamp",
        Value::Duration(_) => "google.protobuf.Duration",
        other if items(other).is_some() => "list",
        Value::Opaque(opaque) => opaque.runtime_type_name(),
        _ => "other",
    }
}

/// The engine gives the format itself or null, where rules expect something optional.
fn named_format(arguments: &[Value]) -> Answer {
    match engine::library("format", "named", arguments)? {
        Value::Null => Ok(optional_of(None)),
        format => Ok(optional_of(Some(format))),
    }
}

fn unwrap(list: &Value) -> Answer {
    let Some(items) = items(list) else { return no_such_overload() };
    let mut held = Vec::with_capacity(items.len());
    for item in items {
        match optional(item) {
            Some(item) => held.extend(item.cloned()),
            None => return no_such_overload(),
        }
    }
    Ok(Value::List(Arc::new(held)))
}
