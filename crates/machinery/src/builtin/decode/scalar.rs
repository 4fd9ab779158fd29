//! Texts, numbers and truth values, and the types that Go reads from them.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::{Timestamp, fmt::temporal::DateTimePrinter};
use serde_json::Value;

use super::{DecodeError, Place};
use crate::schema::{Format, Kind, Schema};

/// Checks a scalar and gives what is stored in its place, where that is written differently.
pub(super) fn read(value: &Value, schema: &Schema, place: Place<'_>) -> Result<Option<Value>, DecodeError> {
    let fits = match (schema.kind, value) {
        (Kind::String, Value::String(text)) => return read_text(text, value, schema, place),
        (Kind::Integer, Value::Number(number)) => match schema.format {
            Some(Format::Int32) => number.as_i64().is_some_and(|number| i32::try_from(number).is_ok()),
            _ => number.is_i64(),
        },
        (Kind::IntOrString, Value::String(text)) if schema.format == Some(Format::Quantity) => {
            return quantity(text, value, schema, place);
        }
        (Kind::IntOrString, Value::Number(number)) if schema.format == Some(Format::Quantity) => {
            let text = number.to_string();
            return quantity(&text, value, schema, place).map(|stored| stored.or(Some(Value::String(text))));
        }
        (Kind::IntOrString, Value::Number(number)) => {
            number.as_i64().is_some_and(|number| i32::try_from(number).is_ok())
        }
        (Kind::IntOrString, Value::String(_))
        | (Kind::Number, Value::Number(_))
        | (Kind::Boolean, Value::Bool(_)) => true,
        _ => false,
    };
    if fits { Ok(None) } else { Err(place.wrong_type(value, schema)) }
}

fn read_text(
    text: &str,
    value: &Value,
    schema: &Schema,
    place: Place<'_>,
) -> Result<Option<Value>, DecodeError> {
    match schema.format {
        Some(Format::Byte) => match STANDARD.decode(text) {
            Ok(_) => Ok(None),
            Err(error) => Err(place.malformed(value, schema, format!("illegal base64 data: {error}"))),
        },
        Some(Format::DateTime) => time(text, 0, value, schema, place),
        Some(Format::MicroTime) => time(text, 6, value, schema, place),
        _ => Ok(None),
    }
}

/// A time as the server writes it: in UTC, with exactly as many digits as its type keeps.
fn time(
    text: &str,
    digits: u8,
    value: &Value,
    schema: &Schema,
    place: Place<'_>,
) -> Result<Option<Value>, DecodeError> {
    if is_stored_form(text, digits) {
        return Ok(None);
    }
    let malformed = || {
        let message = format!("parsing time {value}: it must look like \"2006-01-02T15:04:05Z\"");
        place.malformed(value, schema, message)
    };
    if !Format::DateTime.accepts(value) {
        return Err(malformed());
    }
    let timestamp: Timestamp = text.parse().map_err(|_| malformed())?;
    let mut stored = String::with_capacity(28);
    DateTimePrinter::new()
        .precision(Some(digits))
        .print_timestamp(&timestamp, &mut stored)
        .map_err(|_| malformed())?;
    Ok(Some(Value::String(stored)))
}

/// Whether a time needs no rewriting: the common case, told by its bytes.
fn is_stored_form(text: &str, digits: u8) -> bool {
    let bytes = text.as_bytes();
    let want = if digits == 0 { 20 } else { 21 + usize::from(digits) };
    bytes.len() == want
        && bytes.last() == Some(&b'Z')
        && bytes.iter().take(want - 1).enumerate().all(|(index, byte)| match index {
            4 | 7 => *byte == b'-',
            10 => *byte == b'T',
            13 | 16 => *byte == b':',
            19 => *byte == b'.',
            _ => byte.is_ascii_digit(),
        })
        && text.parse::<Timestamp>().is_ok()
}

fn quantity(
    _text: &str,
    _value: &Value,
    _schema: &Schema,
    _place: Place<'_>,
) -> Result<Option<Value>, DecodeError> {
    Ok(None)
}
