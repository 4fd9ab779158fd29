//! `format()`: values written into a text.

mod number;

use std::fmt::Write as _;

use kube_cel::cel::{Value, objects::Key};

use super::{convert::string, type_name};
use crate::schema::rules::{
    evaluate::{Answer, text_value},
    unordered::items,
};
use number::{fixed, hexadecimal, scientific, whole};

/// The most digits that may be asked for behind a point.
const MOST_DIGITS: usize = 10_000;

/// One place of a pattern that a value is written to.
pub(in crate::schema::rules) struct Place {
    pub(in crate::schema::rules) verb: char,
    pub(in crate::schema::rules) precision: Option<usize>,
}

/// A pattern taken apart: texts, and places between them.
pub(in crate::schema::rules) enum Piece<'a> {
    Text(&'a str),
    Place(Place),
}

pub(super) fn format(pattern: &str, list: &Value) -> Option<Answer> {
    let mut values = items(list)?.iter().enumerate();
    let pieces = match pieces(pattern) {
        Ok(pieces) => pieces,
        Err(problem) => return Some(Err(problem)),
    };
    let count = items(list)?.len();
    let mut out = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Place(place) => match values.next() {
                Some((_, value)) => match written(&place, value) {
                    Ok(text) => out.push_str(&text),
                    Err(problem) => return Some(Err(format!("error during formatting: {problem}"))),
                },
                None => return Some(Err(format!("index {count} out of range"))),
            },
        }
    }
    Some(Ok(text_value(out)))
}

/// Takes a pattern apart, or says why that cannot be done.
pub(in crate::schema::rules) fn pieces(pattern: &str) -> Result<Vec<Piece<'_>>, String> {
    let problem = |why: &str| format!("could not parse formatting clause: {why}");
    let mut pieces = Vec::new();
    let mut rest = pattern;
    while let Some((text, after)) = rest.split_once('%') {
        pieces.push(Piece::Text(text));
        if let Some(after) = after.strip_prefix('%') {
            pieces.push(Piece::Text("%"));
            rest = after;
            continue;
        }
        let (precision, after) = match after.strip_prefix('.') {
            Some(after) => {
                let end = after.find(|digit: char| !digit.is_ascii_digit());
                let end = end.ok_or_else(|| problem("could not find end of precision specifier"))?;
                let precision = after[..end].parse().ok();
                let precision = precision.ok_or_else(|| problem("error while parsing precision"))?;
                (Some(precision), &after[end..])
            }
            None => (None, after),
        };
        let verb = after.chars().next().ok_or("unexpected end of string")?;
        if !"sdfebxXo".contains(verb) {
            return Err(problem(&format!("unrecognized formatting clause \"{verb}\"")));
        }
        pieces.push(Piece::Place(Place { verb, precision }));
        rest = &after[verb.len_utf8()..];
    }
    pieces.push(Piece::Text(rest));
    Ok(pieces)
}

fn written(place: &Place, value: &Value) -> Result<String, String> {
    let digits = place.precision.unwrap_or(6);
    if digits > MOST_DIGITS {
        return Err(format!("more than {MOST_DIGITS} digits"));
    }
    let text = match (place.verb, value) {
        ('s', value) => return plain(value),
        ('d', Value::Int(number)) => Some(number.to_string()),
        ('d', Value::UInt(number)) => Some(number.to_string()),
        ('f' | 'e', value) => double(value)
            .map(|number| if place.verb == 'f' { fixed(number, digits) } else { scientific(number, digits) }),
        ('b', Value::Bool(truth)) => Some(u8::from(*truth).to_string()),
        ('x' | 'X', value) => hexadecimal(value, place.verb == 'X'),
        (verb, value) => whole(value, verb),
    };
    text.ok_or_else(|| format!("%{} cannot be used on {}", place.verb, type_name(value)))
}

/// A number, or a text that stands for one that has no digits.
fn double(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number) => Some(*number),
        Value::String(text) => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

/// What `%s` writes.
fn plain(value: &Value) -> Result<String, String> {
    match (value, items(value)) {
        (_, Some(items)) => {
            let items = items.iter().map(literal).collect::<Result<Vec<_>, _>>()?;
            Ok(format!("[{}]", items.join(", ")))
        }
        (Value::Map(map), _) => {
            let mut entries = Vec::with_capacity(map.map.len());
            for (key, value) in map.map.iter() {
                let key = match key {
                    Key::String(key) => quoted(key),
                    key => plain(&Value::from(key.clone()))?,
                };
                entries.push((key, literal(value)?));
            }
            entries.sort();
            let entries = entries.into_iter().map(|(key, value)| format!("{key}:{value}"));
            Ok(format!("{{{}}}", entries.collect::<Vec<_>>().join(", ")))
        }
        (Value::Null, _) => Ok("null".to_owned()),
        (value, _) => match string(value) {
            Ok(Value::String(text)) => Ok(text.trim_start_matches("\u{0}type ").to_owned()),
            Err(problem) if matches!(value, Value::Bytes(_)) => Err(problem),
            _ => Err(format!("%s cannot be used on {}", type_name(value))),
        },
    }
}

/// A value inside of a list or map, as it is written in an expression.
fn literal(value: &Value) -> Result<String, String> {
    let text = plain(value)?;
    Ok(match value {
        Value::String(text) if text.starts_with("\u{0}type ") => plain(value)?,
        Value::Bytes(_) => format!("b{}", quoted(&text)),
        Value::Timestamp(_) => format!("timestamp({})", quoted(&text)),
        Value::Duration(_) => format!("duration({})", quoted(&text)),
        Value::Float(number) if number.is_finite() => format!("{number:.6}"),
        Value::String(_) | Value::Float(_) => quoted(&text),
        _ => text,
    })
}

/// A text in quotes, as Go writes it.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        // Writing to a text does not fail.
        let _ = match character {
            '"' | '\\' => write!(out, "\\{character}"),
            '\u{7}' => write!(out, "\\a"),
            '\u{8}' => write!(out, "\\b"),
            '\u{c}' => write!(out, "\\f"),
            '\n' => write!(out, "\\n"),
            '\r' => write!(out, "\\r"),
            '\t' => write!(out, "\\t"),
            '\u{b}' => write!(out, "\\v"),
            control if control.is_ascii_control() => write!(out, "\\x{:02x}", u32::from(control)),
            control if control.is_control() => write!(out, "\\u{:04x}", u32::from(control)),
            other => write!(out, "{other}"),
        };
    }
    out.push('"');
    out
}
