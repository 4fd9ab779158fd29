//! One step of a path: a field, an item by key, an item by value, an item by place.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde_json::{Number, Value};

/// One step of a path through an object.
#[derive(Clone, Debug)]
pub enum Element {
    /// A field of a struct or a key of a map.
    Field(Arc<str>),
    /// The item of a list whose keys have these values, sorted by key.
    Key(Box<[(Arc<str>, Value)]>),
    /// The item of a list that is this value.
    Value(Box<Value>),
    /// The item of a list at this place.
    Index(i64),
}

impl Element {
    /// The step into a field.
    pub fn field(name: impl Into<Arc<str>>) -> Self {
        Self::Field(name.into())
    }

    /// The step to the item with these keys.
    pub fn key<N: Into<Arc<str>>, V: Into<Value>>(keys: impl IntoIterator<Item = (N, V)>) -> Self {
        let mut keys: Vec<_> = keys.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        keys.sort_by(|a, b| a.0.cmp(&b.0));
        Self::Key(keys.into())
    }

    /// The step to the item that is this value.
    pub fn value(value: impl Into<Value>) -> Self {
        Self::Value(Box::new(value.into()))
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl PartialEq for Element {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => Arc::ptr_eq(a, b) || a == b,
            _ => self.cmp(other) == Ordering::Equal,
        }
    }
}

impl Eq for Element {}

impl PartialOrd for Element {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Element {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Key(a), Self::Key(b)) => compare_keys(a, b),
            (Self::Value(a), Self::Value(b)) => compare_values(a, b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

fn compare_keys(left: &[(Arc<str>, Value)], right: &[(Arc<str>, Value)]) -> Ordering {
    left.iter()
        .zip(right)
        .map(|((a, x), (b, y))| a.cmp(b).then_with(|| compare_values(x, y)))
        .find(|order| order.is_ne())
        .unwrap_or_else(|| left.len().cmp(&right.len()))
}

/// A total order over JSON values: numbers, text, booleans, lists, objects, null.
pub(crate) fn compare_values(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let items = a.iter().zip(b).map(|(x, y)| compare_values(x, y));
            items.into_iter().find(|order| order.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => {
            let items = a.iter().zip(b).map(|((k, x), (l, y))| k.cmp(l).then_with(|| compare_values(x, y)));
            items.into_iter().find(|order| order.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        _ => kind_rank(left).cmp(&kind_rank(right)),
    }
}

fn compare_numbers(left: &Number, right: &Number) -> Ordering {
    match (left.as_i64(), right.as_i64()) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => left.as_f64().partial_cmp(&right.as_f64()).unwrap_or(Ordering::Equal),
    }
}

fn kind_rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

/// As people read it: `.spec`, `[name="a",protocol="TCP"]`, `[="a"]`, `[0]`.
impl fmt::Display for Element {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(out, ".{name}"),
            Self::Index(place) => write!(out, "[{place}]"),
            Self::Value(value) => write!(out, "[={value}]"),
            Self::Key(keys) => {
                for (index, (name, value)) in keys.iter().enumerate() {
                    write!(out, "{}{name}={value}", if index == 0 { '[' } else { ',' })?;
                }
                out.write_str("]")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn steps_read_as_people_write_them() {
        for (element, want) in [
            (Element::field("spec"), ".spec"),
            (Element::key([("protocol", json!("TCP")), ("port", json!(80))]), "[port=80,protocol=\"TCP\"]"),
            (Element::value("a"), "[=\"a\"]"),
            (Element::Index(3), "[3]"),
        ] {
            assert_eq!(element.to_string(), want);
        }
    }

    #[test]
    fn fields_come_before_keys_before_values_before_places() {
        let mut elements = [
            Element::Index(0),
            Element::value(2),
            Element::value(10),
            Element::key([("port", json!(443))]),
            Element::key([("port", json!(80))]),
            Element::field("b"),
            Element::field("a"),
        ];
        elements.sort();
        let text: Vec<String> = elements.iter().map(ToString::to_string).collect();
        assert_eq!(text, [".a", ".b", "[port=80]", "[port=443]", "[=2]", "[=10]", "[0]"]);
    }
}
