//! Functions on texts.

use std::sync::Arc;

use kube_cel::cel::Value;

use crate::schema::{
    Pattern,
    rules::evaluate::{Answer, no_such_overload, text_value},
};

/// The answer of a function of a text; `None` where it is the engine's.
pub(super) fn call(name: &str, text: &Arc<String>, arguments: &[Value]) -> Option<Answer> {
    match (name, arguments) {
        ("find", [Value::String(pattern)]) => {
            let found =
                |pattern: &Pattern| text_value(pattern.regex().find(text).map_or("", |found| found.as_str()));
            Some(read(pattern).map(|pattern| found(&pattern)))
        }
        ("findAll", [Value::String(pattern)]) => Some(find_all(text, pattern, -1)),
        ("findAll", [Value::String(pattern), Value::Int(limit)]) => Some(find_all(text, pattern, *limit)),
        ("split", [Value::String(between)]) => Some(Ok(split(text, between, -1))),
        ("split", [Value::String(between), Value::Int(limit)]) => Some(Ok(split(text, between, *limit))),
        ("replace", [Value::String(old), Value::String(new), Value::Int(..=-1)]) => {
            Some(Ok(text_value(text.replace(old.as_str(), new))))
        }
        ("indexOf" | "lastIndexOf", [_, Value::Int(at @ ..=-1)]) => {
            Some(Err(format!("index out of range: {at}")))
        }
        _ => None,
    }
}

/// Whether a pattern, which is written in Go's way, occurs in a text.
pub(super) fn matches(text: &Value, pattern: &Value) -> Answer {
    match (text, pattern) {
        (Value::String(text), Value::String(pattern)) => {
            read(pattern).map(|pattern| Value::Bool(pattern.is_match(text)))
        }
        _ => no_such_overload(),
    }
}

fn read(pattern: &str) -> Result<Pattern, String> {
    Pattern::new(pattern).map_err(|error| error.to_string())
}

fn find_all(text: &str, pattern: &str, limit: i64) -> Answer {
    let pattern = read(pattern)?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let found = pattern.regex().find_iter(text).take(limit).map(|found| text_value(found.as_str()));
    Ok(Value::List(Arc::new(found.collect())))
}

/// The parts of a text; between nothing, its characters.
fn split(text: &str, between: &str, limit: i64) -> Value {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let parts: Vec<&str> =
        if between.is_empty() { characters(text, limit) } else { text.splitn(limit, between).collect() };
    Value::List(Arc::new(parts.into_iter().map(text_value).collect()))
}

fn characters(text: &str, limit: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while parts.len() < limit && !rest.is_empty() {
        let is_last = parts.len() + 1 == limit;
        let length = rest.chars().next().map_or(0, char::len_utf8);
        let (part, after) = rest.split_at(if is_last { rest.len() } else { length });
        parts.push(part);
        rest = after;
    }
    parts
}
