//! Conversions from one type to another, as Go reads and writes them.

use std::{fmt::Write, sync::Arc};

use kube_cel::cel::Value;

use super::time;
use crate::schema::rules::evaluate::{Answer, no_such_overload, text_value};

/// The answer of a conversion; `None` where the name is another function's, or the value of a type that the engine knows better.
pub(super) fn convert(name: &str, value: &Value) -> Option<Answer> {
    if let Value::Opaque(_) = value {
        return None;
    }
    let problem = |error: &dyn std::fmt::Display| format!("type conversion error: {error}");
    Some(match (name, value) {
        ("string", value) => string(value),
        ("bool", Value::Bool(_))
        | ("bytes", Value::Bytes(_))
        | ("int", Value::Int(_))
        | ("uint", Value::UInt(_))
        | ("double", Value::Float(_))
        | ("timestamp", Value::Timestamp(_))
        | ("duration", Value::Duration(_)) => Ok(value.clone()),
        ("bool", Value::String(text)) => match text.as_str() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            _ => Err("type conversion error from 'string' to 'bool'".to_owned()),
        },
        ("bytes", Value::String(text)) => Ok(Value::Bytes(Arc::new(text.as_bytes().to_vec()))),
        ("int", Value::Timestamp(time)) => Ok(Value::Int(time.timestamp())),
        ("int", Value::Duration(span)) => {
            span.num_nanoseconds().map(Value::Int).ok_or_else(|| "integer overflow".to_owned())
        }
        ("int", Value::String(text)) => text.parse().map(Value::Int).map_err(|error| problem(&error)),
        ("int", Value::Float(number)) => whole(*number),
        ("double", Value::String(text)) => double(text),
        ("timestamp", Value::Int(seconds)) => time::from_seconds(*seconds),
        ("timestamp", Value::String(text)) => time::timestamp(text),
        ("duration", Value::String(text)) => time::duration(text),
        ("bool" | "bytes" | "timestamp" | "duration", _) => no_such_overload(),
        _ => return None,
    })
}

pub(super) fn string(value: &Value) -> Answer {
    match value {
        Value::String(_) => Ok(value.clone()),
        Value::Bool(truth) => Ok(text_value(truth.to_string())),
        Value::Int(number) => Ok(text_value(number.to_string())),
        Value::UInt(number) => Ok(text_value(number.to_string())),
        Value::Float(number) => Ok(text_value(float(*number))),
        Value::Timestamp(time) => Ok(text_value(time::written(&time.to_rfc3339()))),
        Value::Duration(span) => Ok(text_value(time::seconds(span.num_nanoseconds().unwrap_or_default()))),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text_value(text)),
            Err(_) => Err("invalid UTF-8 in bytes, cannot convert to string".to_owned()),
        },
        _ => no_such_overload(),
    }
}

/// A number as `%g` writes it: with an exponent where that is less than -4 or more than 5.
fn float(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if number == 0.0 || (-4..6).contains(&exponent) {
        return format!("{number}");
    }
    let mut text = digits.to_owned();
    let sign = if exponent < 0 { '-' } else { '+' };
    // Writing to a text does not fail.
    let _ = write!(text, "e{sign}{:02}", exponent.abs());
    text
}

#[expect(clippy::cast_possible_truncation, reason = "what does not fit is refused before")]
fn whole(number: f64) -> Answer {
    // The ends themselves are refused, because numbers next to them are rounded to them.
    if number > -9_223_372_036_854_775_808.0 && number < 9_223_372_036_854_775_808.0 {
        Ok(Value::Int(number as i64))
    } else {
        Err("integer overflow".to_owned())
    }
}

fn double(text: &str) -> Answer {
    let number = text.parse().map(Value::Float);
    number.map_err(|_| "type conversion error from 'string' to 'double'".to_owned())
}
