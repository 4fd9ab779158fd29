//! Semantic versions. What they were built from does not count.

use std::{cmp::Ordering, sync::Arc};

use kube_cel::cel::{Value, objects::Opaque};

use super::held;
use crate::schema::rules::evaluate::{Answer, no_such_overload};

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    numbers: [u64; 3],
    before: Release,
}

/// What stands before a release, which itself comes after all of it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Release {
    Before(Vec<Part>),
    Done,
}

/// Numbers come before words.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Number(u64),
    Word(String),
}

/// The answer of a function of versions; `None` where it is another function.
pub(super) fn call(name: &str, target: Option<&Value>, arguments: &[Value]) -> Option<Answer> {
    match (name, target, arguments) {
        ("semver", None, [Value::String(text)]) => Some(parse(text).map(Into::into)),
        ("semver", None, [Value::String(text), Value::Bool(normalize)]) => {
            Some(lenient(text, *normalize).map(Into::into))
        }
        ("isSemver", None, [Value::String(text)]) => Some(Ok(Value::Bool(parse(text).is_ok()))),
        ("isSemver", None, [Value::String(text), Value::Bool(normalize)]) => {
            Some(Ok(Value::Bool(lenient(text, *normalize).is_ok())))
        }
        (_, Some(target), arguments) => held(target).and_then(|one| method(name, one, arguments)),
        _ => None,
    }
}

fn method(name: &str, one: &Version, arguments: &[Value]) -> Option<Answer> {
    let [major, minor, patch] = one.numbers;
    Some(match (name, arguments) {
        ("major", []) => Ok(Value::Int(major.cast_signed())),
        ("minor", []) => Ok(Value::Int(minor.cast_signed())),
        ("patch", []) => Ok(Value::Int(patch.cast_signed())),
        ("isGreaterThan" | "isLessThan" | "compareTo", [other]) => {
            let Some(other) = held::<Version>(other) else { return Some(no_such_overload()) };
            let order: Ordering = one.cmp(other);
            Ok(match name {
                "isGreaterThan" => Value::Bool(order.is_gt()),
                "isLessThan" => Value::Bool(order.is_lt()),
                _ => Value::Int(order as i64),
            })
        }
        _ => return None,
    })
}

/// Reads a version; where `normalize` says so, also one with a `v`, with noughts in front or with fewer than three numbers.
fn lenient(text: &str, normalize: bool) -> Result<Version, String> {
    if !normalize {
        return parse(text);
    }
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text.splitn(3, '.').map(without_noughts).collect();
    if parts.len() < 3 && parts.last().is_some_and(|last| last.contains(['+', '-'])) {
        return Err("short version cannot contain PreRelease/Build meta data".to_owned());
    }
    parts.resize(3, "0".to_owned());
    parse(&parts.join("."))
}

fn without_noughts(part: &str) -> String {
    if part.len() < 2 {
        return part.to_owned();
    }
    let rest = part.trim_start_matches('0');
    if rest.starts_with(|first: char| first.is_ascii_digit()) { rest.to_owned() } else { format!("0{rest}") }
}

fn parse(text: &str) -> Result<Version, String> {
    let mut parts = text.splitn(3, '.');
    let (Some(major), Some(minor), Some(patch)) = (parts.next(), parts.next(), parts.next()) else {
        return Err("No Major.Minor.Patch elements found".to_owned());
    };
    let (patch, built) = patch.split_once('+').map_or((patch, None), |(patch, built)| (patch, Some(built)));
    let (patch, before) =
        patch.split_once('-').map_or((patch, None), |(patch, before)| (patch, Some(before)));
    let numbers = [number(major)?, number(minor)?, number(patch)?];
    let before = match before {
        Some(before) => Release::Before(before.split('.').map(part).collect::<Result<_, _>>()?),
        None => Release::Done,
    };
    if let Some(bad) = built.into_iter().flat_map(|built| built.split('.')).find(|part| !is_word(part)) {
        return Err(format!("Invalid character(s) found in build meta data {bad:?}"));
    }
    Ok(Version { numbers, before })
}

fn part(text: &str) -> Result<Part, String> {
    match text {
        _ if !is_word(text) => Err(format!("Invalid character(s) found in prerelease {text:?}")),
        _ if text.bytes().all(|digit| digit.is_ascii_digit()) => number(text).map(Part::Number),
        _ => Ok(Part::Word(text.to_owned())),
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|letter| letter.is_ascii_alphanumeric() || letter == b'-')
}

fn number(text: &str) -> Result<u64, String> {
    let plain =
        text.bytes().all(|digit| digit.is_ascii_digit()) && (text.len() < 2 || !text.starts_with('0'));
    let number = plain.then(|| text.parse().ok()).flatten();
    number.ok_or_else(|| format!("Invalid number in version: {text:?}"))
}

impl Opaque for Version {
    fn runtime_type_name(&self) -> &'static str {
        "kubernetes.Semver"
    }
}

impl From<Version> for Value {
    fn from(version: Version) -> Self {
        Value::Opaque(Arc::new(version))
    }
}
