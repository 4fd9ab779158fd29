//! Which types of values operators and functions take, as far as it can be told.
//!
//! Where the type of one of the values is not known, everything passes: what is refused here is refused by a real server, too.

use kube_cel::cel::common::ast::operators;

use super::Known;
use crate::schema::{Format, Kind, Schema};

/// Types that are either the same or not; none of the others is among them.
const SIMPLE: [&str; 10] =
    ["bool", "bytes", "double", "duration", "int", "list", "map", "string", "timestamp", "uint"];
const NUMBERS: [&str; 3] = ["int", "uint", "double"];

/// The functions of a value and what follows the value: `string`, or `list|string` where there are several.
const METHODS: &[(&str, &str, &[&str])] = &[
    ("charAt", "string", &["int"]),
    ("contains", "string", &["string"]),
    ("distinct", "list", &[]),
    ("endsWith", "string", &["string"]),
    ("find", "string", &["string"]),
    ("findAll", "string", &["string", "int"]),
    ("first", "list", &[]),
    ("format", "string", &["list"]),
    ("getDate", "timestamp", &["string"]),
    ("getDayOfMonth", "timestamp", &["string"]),
    ("getDayOfWeek", "timestamp", &["string"]),
    ("getDayOfYear", "timestamp", &["string"]),
    ("getFullYear", "timestamp", &["string"]),
    ("getHours", "timestamp|duration", &["string"]),
    ("getMilliseconds", "timestamp|duration", &["string"]),
    ("getMinutes", "timestamp|duration", &["string"]),
    ("getMonth", "timestamp", &["string"]),
    ("getSeconds", "timestamp|duration", &["string"]),
    ("isSorted", "list", &[]),
    ("join", "list", &["string"]),
    ("last", "list", &[]),
    ("lowerAscii", "string", &[]),
    ("matches", "string", &["string"]),
    ("max", "list", &[]),
    ("min", "list", &[]),
    ("replace", "string", &["string", "string", "int"]),
    ("reverse", "list", &[]),
    ("size", "string|bytes|list|map", &[]),
    ("slice", "list", &["int", "int"]),
    ("sort", "list", &[]),
    ("split", "string", &["string", "int"]),
    ("startsWith", "string", &["string"]),
    ("substring", "string", &["int", "int"]),
    ("sum", "list", &[]),
    ("trim", "string", &[]),
    ("upperAscii", "string", &[]),
];

/// The functions that stand alone.
const FUNCTIONS: &[(&str, &[&str])] = &[
    ("bool", &["bool|string"]),
    ("bytes", &["bytes|string"]),
    ("cidr", &["string"]),
    ("double", &["double|int|uint|string"]),
    ("duration", &["duration|string"]),
    ("int", &["int|uint|double|string|timestamp|duration"]),
    ("ip", &["string"]),
    ("ip.isCanonical", &["string"]),
    ("isCIDR", &["string"]),
    ("isIP", &["string"]),
    ("isQuantity", &["string"]),
    ("isSemver", &["string", "bool"]),
    ("isURL", &["string"]),
    ("lists.range", &["int"]),
    ("matches", &["string", "string"]),
    ("quantity", &["string"]),
    ("semver", &["string", "bool"]),
    ("sets.contains", &["list", "list"]),
    ("sets.equivalent", &["list", "list"]),
    ("sets.intersects", &["list", "list"]),
    ("size", &["string|bytes|list|map"]),
    ("string", &["string|bool|int|uint|double|bytes|timestamp|duration"]),
    ("timestamp", &["timestamp|string|int"]),
    ("uint", &["uint|int|double|string"]),
    ("url", &["string"]),
];

/// The type of a value, where it is known.
pub(super) fn of(known: Known<'_>) -> Option<&'static str> {
    match known {
        Known::Truth => Some("bool"),
        Known::Other("sum") | Known::Dynamic => None,
        Known::Other(word) => Some(word),
        Known::Metadata => Some("object"),
        Known::Schema(schema) => of_schema(schema),
    }
}

fn of_schema(schema: &Schema) -> Option<&'static str> {
    Some(match (schema.kind, schema.format) {
        (Kind::String, Some(Format::DateTime | Format::Date)) => "timestamp",
        (Kind::String, Some(Format::Duration)) => "duration",
        (Kind::String, Some(Format::Byte)) => "bytes",
        (Kind::Any | Kind::IntOrString, _) => return None,
        _ => super::type_word(schema),
    })
}

/// Whether two types cannot be those of one thing.
pub(super) fn differ(left: Option<&str>, right: Option<&str>) -> bool {
    let (Some(left), Some(right)) = (left, right) else { return false };
    SIMPLE.contains(&left) && SIMPLE.contains(&right) && left != right
}

/// Refuses a call whose values are of types that it does not take.
pub(super) fn check(name: &str, target: Option<Known<'_>>, arguments: &[Known<'_>]) -> Result<(), String> {
    let types: Vec<Option<&str>> = arguments.iter().map(|argument| of(*argument)).collect();
    let target = target.map(of);
    let fits = match (target, types.as_slice()) {
        (Some(target), arguments) => method(name, target, arguments),
        (None, [left, right]) if is_operator(name) => operator(name, *left, *right),
        (None, [one]) if is_operator(name) => match name {
            operators::LOGICAL_NOT => is_one_of(*one, "bool"),
            operators::NEGATE => is_one_of(*one, "int|double"),
            _ => true,
        },
        (None, [test, then, other]) if name == operators::CONDITIONAL => {
            is_one_of(*test, "bool") && !differ(*then, *other)
        }
        (None, arguments) => {
            FUNCTIONS.iter().find(|row| row.0 == name).is_none_or(|row| fit(row.1, arguments))
        }
    };
    if fits {
        return Ok(());
    }
    let words: Vec<&str> = types.iter().map(|word| word.unwrap_or("dyn")).collect();
    let target = target.map_or_else(String::new, |target| format!("{}.", target.unwrap_or("dyn")));
    Err(format!("found no matching overload for '{name}' applied to '{target}({})'", words.join(", ")))
}

fn is_operator(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_ascii_alphabetic())
}

fn method(name: &str, target: Option<&str>, arguments: &[Option<&str>]) -> bool {
    let Some((_, targets, wanted)) = METHODS.iter().find(|row| row.0 == name) else {
        // These are of texts and of lists.
        return !matches!(name, "indexOf" | "lastIndexOf") || is_one_of(target, "string|list");
    };
    is_one_of(target, targets) && fit(wanted, arguments)
}

/// Whether these types are among those wanted. How many there are is not looked at.
fn fit(wanted: &[&str], types: &[Option<&str>]) -> bool {
    types.iter().zip(wanted).all(|(found, wanted)| is_one_of(*found, wanted))
}

fn is_one_of(found: Option<&str>, wanted: &str) -> bool {
    found.is_none_or(|found| {
        let known = SIMPLE.contains(&found) || matches!(found, "object" | "null" | "type");
        !known || wanted.split('|').any(|word| word == found)
    })
}

fn operator(name: &str, left: Option<&str>, right: Option<&str>) -> bool {
    if matches!(name, operators::LOGICAL_AND | operators::LOGICAL_OR) {
        return is_one_of(left, "bool") && is_one_of(right, "bool");
    }
    let (Some(left), Some(right)) = (left, right) else { return true };
    let simple = |word: &str| SIMPLE.contains(&word);
    match name {
        operators::EQUALS | operators::NOT_EQUALS => {
            let not_null = |word: &str| simple(word) && !matches!(word, "timestamp" | "duration");
            let null = left == "null" && not_null(right) || right == "null" && not_null(left);
            let object = left == "object" && simple(right) || right == "object" && simple(left);
            !null && !object && !differ(Some(left), Some(right))
        }
        operators::INDEX if left == "object" => false,
        operators::IN if right == "object" => false,
        _ if !simple(left) || !simple(right) => true,
        operators::LESS | operators::LESS_EQUALS | operators::GREATER | operators::GREATER_EQUALS => {
            let numbers = NUMBERS.contains(&left) && NUMBERS.contains(&right);
            numbers || left == right && !matches!(left, "list" | "map")
        }
        operators::ADD
        | operators::SUBSTRACT
        | operators::MULTIPLY
        | operators::DIVIDE
        | operators::MODULO => sum(name, left, right).is_some(),
        operators::IN => matches!(right, "list" | "map"),
        operators::INDEX => match left {
            "list" => right == "int",
            "map" => true,
            _ => false,
        },
        _ => true,
    }
}

/// The type of what an operator makes of two values.
pub(super) fn sum(name: &str, left: &str, right: &str) -> Option<&'static str> {
    let number = NUMBERS.iter().find(|word| **word == left && left == right).copied();
    match (name, left, right) {
        (operators::MODULO, ..) => number.filter(|number| *number != "double"),
        (operators::ADD, "string", "string") => Some("string"),
        (operators::ADD, "bytes", "bytes") => Some("bytes"),
        (operators::ADD, "list", "list") => Some("list"),
        (operators::ADD, "timestamp", "duration") | (operators::ADD, "duration", "timestamp") => {
            Some("timestamp")
        }
        (operators::SUBSTRACT, "timestamp", "duration") => Some("timestamp"),
        (operators::SUBSTRACT, "timestamp", "timestamp")
        | (operators::ADD | operators::SUBSTRACT, "duration", "duration") => Some("duration"),
        _ => number,
    }
}
