//! What the hooks of all kinds do, as tables: an object, a change of it, and what is refused.

mod defaults;
mod objects;
mod pods;
mod properties;
mod services;
mod small;
mod updates;
mod workloads;

use maar_machinery::error::FieldError;
use serde_json::Value;

use super::{Strategy, metadata};
use crate::resource::Subresource;
use crate::world::{Clock, World};

/// A kind under test and a good object of it.
#[derive(Clone, Debug)]
struct Kind {
    strategy: &'static dyn Strategy,
    namespaced: bool,
    object: Value,
}

/// One row of a table: what is changed about the good object, and the errors that must follow, each as
/// `Reason path`.
struct Row {
    what: &'static str,
    changes: Vec<(&'static str, Value)>,
    want: Vec<&'static str>,
}

fn row(what: &'static str) -> Row {
    Row { what, changes: Vec::new(), want: Vec::new() }
}

impl Row {
    /// Sets what a JSON pointer leads to, parents included; null removes it.
    fn set(mut self, pointer: &'static str, value: impl Into<Value>) -> Self {
        self.changes.push((pointer, value.into()));
        self
    }

    fn wants(mut self, want: &[&'static str]) -> Self {
        self.want = want.to_vec();
        self
    }

    fn applied(&self, object: &Value) -> Value {
        let mut object = object.clone();
        for (pointer, value) in &self.changes {
            set(&mut object, pointer, value.clone());
        }
        object
    }

    fn check(&self, errors: &[FieldError]) {
        let mut got: Vec<String> =
            errors.iter().map(|error| format!("{:?} {}", error.kind, error.path)).collect();
        let mut want: Vec<String> = self.want.iter().map(ToString::to_string).collect();
        got.sort();
        want.sort();
        assert_eq!(got, want, "{}: {errors:#?}", self.what);
    }
}

fn set(object: &mut Value, pointer: &str, value: Value) {
    let (parent, last) = pointer.rsplit_once('/').expect("a pointer starts with a slash");
    let mut place = object;
    for part in parent.split('/').skip(1).map(unescape) {
        place = match part.parse::<usize>() {
            Ok(index) if place.is_array() => &mut place[index],
            _ => &mut place[part],
        };
    }
    let last = unescape(last);
    match (last.parse::<usize>(), &mut *place, value) {
        (Ok(index), Value::Array(items), value) if index < items.len() => items[index] = value,
        (Ok(_), Value::Array(items), value) => items.push(value),
        (_, Value::Object(fields), Value::Null) => {
            fields.remove(&last);
        }
        (_, place, value) => place[last] = value,
    }
}

fn unescape(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

fn world() -> World {
    World::new(Clock::wall(), 7)
}

/// Takes an object through everything that happens to it when it is created.
fn create(kind: &Kind, mut object: Value) -> (Value, Vec<FieldError>) {
    kind.strategy.default(&mut object);
    kind.strategy.prepare_create(&mut object, &world());
    let mut errors = metadata::validate(&object, kind.namespaced, kind.strategy);
    errors.extend(kind.strategy.validate(&object));
    errors.extend(kind.strategy.validate_create(&object));
    (object, errors)
}

/// Takes a change of a stored object through everything that happens to it.
fn update(kind: &Kind, old: &Value, mut new: Value) -> (Value, Vec<FieldError>) {
    kind.strategy.default(&mut new);
    kind.strategy.prepare_update(&mut new, old);
    let mut errors = metadata::validate_update(&new, old, kind.strategy);
    errors.extend(kind.strategy.validate(&new));
    errors.extend(kind.strategy.validate_update(&new, old));
    (new, errors)
}

/// Takes a change of the status through everything that happens to it.
fn update_status(kind: &Kind, old: &Value, mut new: Value) -> (Value, Vec<FieldError>) {
    kind.strategy.default(&mut new);
    kind.strategy.prepare_status(&mut new, old, &world());
    let errors = kind.strategy.validate_subresource(Subresource::Status, &new, old);
    (new, errors)
}

/// The object as it is stored, which must be without fault.
fn stored(kind: &Kind) -> Value {
    let (object, errors) = create(kind, kind.object.clone());
    assert_eq!(errors, Vec::new());
    object
}

fn creates(kind: &Kind, rows: &[Row]) {
    for row in rows {
        row.check(&create(kind, row.applied(&kind.object)).1);
    }
}

fn changes(kind: &Kind, old: &Value, rows: &[Row]) {
    for row in rows {
        row.check(&update(kind, old, row.applied(old)).1);
    }
}

fn status_changes(kind: &Kind, old: &Value, rows: &[Row]) {
    for row in rows {
        row.check(&update_status(kind, old, row.applied(old)).1);
    }
}
