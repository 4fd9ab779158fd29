//! Texts, numbers and truth values, and the types that Go reads from them.

use base64::{
    DecodeError as DecodeError64, Engine as _, alphabet,
    engine::{GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD},
};
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
            return quantity(&number.to_string(), value, schema, place);
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
        Some(Format::Byte) => bytes(text, value, schema, place),
        Some(Format::DateTime) => time(text, 0, value, schema, place),
        Some(Format::MicroTime) => time(text, 6, value, schema, place),
        _ => Ok(None),
    }
}

/// Bytes as the server writes them: without the line breaks and stray bits that reading tolerates.
fn bytes(text: &str, value: &Value, schema: &Schema, place: Place<'_>) -> Result<Option<Value>, DecodeError> {
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &alphabet::STANDARD,
        GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
    );
    if STANDARD.decode(text).is_ok() {
        return Ok(None);
    }
    let joined: String = text.chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
    match LENIENT.decode(&joined) {
        Ok(decoded) => Ok(Some(Value::String(STANDARD.encode(decoded)))),
        Err(error) => {
            let offset = match error {
                DecodeError64::InvalidByte(offset, _) | DecodeError64::InvalidLastSymbol(offset, _) => offset,
                DecodeError64::InvalidLength(_) | DecodeError64::InvalidPadding => joined.len(),
            };
            let message = format!("illegal base64 data at input byte {offset}");
            Err(place.malformed(value, schema, message))
        }
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
    let layout = if digits == 0 { "2006-01-02T15:04:05Z07:00" } else { "2006-01-02T15:04:05.000000Z07:00" };
    let malformed = || {
        let message = format!("parsing time {value} as \"{layout}\": it looks different");
        place.malformed(value, schema, message)
    };
    // Times to the microsecond are read as strictly as they are written; letters are upper case in both.
    let fraction = text.get(19..).unwrap_or_default().strip_prefix('.').unwrap_or_default();
    let fraction_digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    let exact = digits == 0 || fraction_digits == usize::from(digits);
    if !exact || text.contains(['t', 'z']) || !Format::DateTime.accepts(value) {
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
    if bytes.len() != want || bytes[want - 1] != b'Z' {
        return false;
    }
    let shaped = bytes[..want - 1].iter().enumerate().all(|(index, byte)| match index {
        4 | 7 => *byte == b'-',
        10 => *byte == b'T',
        13 | 16 => *byte == b':',
        19 => *byte == b'.',
        _ => byte.is_ascii_digit(),
    });
    let two = |at: usize| (bytes[at] - b'0') * 10 + (bytes[at + 1] - b'0');
    // Days past the 28th depend on the month; those are left to the slow way.
    shaped
        && (1..=12).contains(&two(5))
        && (1..=28).contains(&two(8))
        && two(11) < 24
        && two(14) < 60
        && two(17) < 60
}

/// A quantity as the server writes it; the number stays a text, whatever it was given as.
fn quantity(
    text: &str,
    value: &Value,
    schema: &Schema,
    place: Place<'_>,
) -> Result<Option<Value>, DecodeError> {
    let stored = maar_quantities::quantity::stored_text(text)
        .map_err(|error| place.malformed(value, schema, format!("{}: {error}", place.path)))?;
    let unchanged = value.as_str() == Some(stored.as_str());
    Ok((!unchanged).then_some(Value::String(stored)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::builtin::{self, decode};

    #[test]
    fn scalars_take_the_form_in_which_they_are_stored() {
        let table = [
            (
                "",
                "ResourceQuota",
                json!({"spec": {"hard": {"cpu": 1.5, "memory": "1024Mi", "pods": 3, "x": null}}}),
                json!({"spec": {"hard": {"cpu": "1500m", "memory": "1Gi", "pods": "3", "x": "0"}}}),
            ),
            (
                "",
                "Pod",
                json!({"metadata": {"creationTimestamp": "2024-01-02T03:04:05.678+02:00"}}),
                json!({"metadata": {"creationTimestamp": "2024-01-02T01:04:05Z"}}),
            ),
            (
                "coordination.k8s.io",
                "Lease",
                json!({"spec": {"renewTime": "2024-01-02T03:04:05.123456+01:00"}}),
                json!({"spec": {"renewTime": "2024-01-02T02:04:05.123456Z"}}),
            ),
            (
                "",
                "Secret",
                json!({"data": {"a": null, "b": "aGl=", "c": "aG\nk="}}),
                json!({"data": {"a": "", "b": "aGk=", "c": "aGk="}}),
            ),
            (
                "",
                "Service",
                json!({"spec": {"ports": [{"targetPort": "web"}, {"targetPort": 80}]}}),
                json!({"spec": {"ports": [{"targetPort": "web"}, {"targetPort": 80}]}}),
            ),
        ];
        for (group, kind, mut value, want) in table {
            let schema = builtin::schema(group, "v1", kind).unwrap();
            decode(&mut value, &schema).unwrap();
            assert_eq!(value, want);
        }
    }

    #[test]
    fn malformed_scalars_are_refused_with_their_path() {
        let table = [
            ("ResourceQuota", json!({"spec": {"hard": {"cpu": "a lot"}}}), "spec.hard.cpu"),
            ("Pod", json!({"metadata": {"creationTimestamp": "yesterday"}}), "metadata.creationTimestamp"),
            (
                "Pod",
                json!({"metadata": {"creationTimestamp": "2024-13-02T03:04:05Z"}}),
                "metadata.creationTimestamp",
            ),
            ("Secret", json!({"data": {"a": "not base64!"}}), "data.a"),
            ("Event", json!({"eventTime": "2024-01-02T03:04:05Z"}), "eventTime"),
            ("Event", json!({"eventTime": "2024-01-02T03:04:05.1234567Z"}), "eventTime"),
            ("Event", json!({"lastTimestamp": "2024-01-02t03:04:05z"}), "lastTimestamp"),
            ("Service", json!({"spec": {"ports": [{"targetPort": true}]}}), "spec.ports[0].targetPort"),
        ];
        for (kind, value, path) in table {
            let schema = builtin::schema("", "v1", kind).unwrap();
            let error = builtin::decode_check(&value, &schema).expect_err(path);
            assert_eq!(error.path, path, "{error}");
        }
    }
}
