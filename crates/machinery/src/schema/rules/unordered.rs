//! Lists whose order does not count: sets, and lists of which each item is found by its keys.

use std::sync::Arc;

use kube_cel::cel::{
    Value,
    objects::{Key, Opaque},
};

use super::evaluate::equal;

/// A list without order.
#[derive(Debug)]
pub(super) struct Unordered {
    items: Vec<Value>,
    /// The fields that tell items apart, by their names in rules; none for sets, whose items are told apart by themselves.
    keys: Box<[String]>,
}

impl Unordered {
    pub(super) fn new(items: Vec<Value>, keys: impl Iterator<Item = String>) -> Self {
        Self { items, keys: keys.collect() }
    }

    pub(super) fn of(value: &Value) -> Option<&Self> {
        let Value::Opaque(opaque) = value else { return None };
        opaque.downcast_ref()
    }

    /// Whether both hold the same items.
    pub(super) fn is_same(&self, other: &[Value]) -> bool {
        let held = |item| self.position(item).is_some_and(|at| equal(&self.items[at], item));
        self.items.len() == other.len() && other.iter().all(held)
    }

    /// These items and others, which replace those of the same keys.
    pub(super) fn with(&self, others: &[Value]) -> Self {
        let mut sum = Self { items: self.items.clone(), keys: self.keys.clone() };
        for other in others {
            match sum.position(other) {
                Some(at) => sum.items[at] = other.clone(),
                None => sum.items.push(other.clone()),
            }
        }
        sum
    }

    fn position(&self, sought: &Value) -> Option<usize> {
        self.items.iter().position(|item| {
            if self.keys.is_empty() {
                return equal(item, sought);
            }
            self.keys.iter().all(|key| match (field(item, key), field(sought, key)) {
                (Some(left), Some(right)) => equal(left, right),
                (left, right) => left.is_none() && right.is_none(),
            })
        })
    }
}

fn field<'a>(item: &'a Value, name: &str) -> Option<&'a Value> {
    let Value::Map(map) = item else { return None };
    map.map.get(&Key::String(Arc::new(name.to_owned())))
}

impl PartialEq for Unordered {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(&other.items)
    }
}

impl Eq for Unordered {}

impl Opaque for Unordered {
    fn runtime_type_name(&self) -> &'static str {
        "list"
    }
}

impl From<Unordered> for Value {
    fn from(list: Unordered) -> Self {
        Value::Opaque(Arc::new(list))
    }
}

/// The items of a list, be it ordered or not.
pub(super) fn items(value: &Value) -> Option<&[Value]> {
    match value {
        Value::List(items) => Some(items),
        other => Unordered::of(other).map(|list| list.items.as_slice()),
    }
}
