//! Whether a configuration fits its type well enough to be merged.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{ApplyError, Request};
use crate::fields::{Element, List, ListKind, Object, Type, element_of};

pub(super) fn check(applied: &Value, ty: &Type, request: &Request<'_>) -> Result<(), ApplyError> {
    let text = |name: &str| applied.get(name).and_then(Value::as_str).unwrap_or_default();
    let version = text("apiVersion");
    if version != request.api_version {
        return Err(ApplyError::BadRequest(format!(
            "Incorrect version specified in apply patch. Specified patch version: {version}, expected: {}",
            request.api_version
        )));
    }
    let metadata = |name: &str| applied.get("metadata").and_then(|metadata| metadata.get(name));
    if metadata("managedFields").is_some_and(|list| !list.is_null()) {
        return Err(ApplyError::BadRequest("metadata.managedFields must be nil".to_owned()));
    }
    let mut checker = Checker::default();
    checker.value(applied, ty);
    let faults = match checker.faults.as_slice() {
        [] => return Ok(()),
        [fault] => fault.clone(),
        all => format!("errors:\n  {}", all.join("\n  ")),
    };
    let name = |part: &str| metadata(part).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (group, version) = version.rsplit_once('/').unwrap_or(("", version));
    let subject = format!("{}/{}; {group}/{version}, Kind={}", name("namespace"), name("name"), text("kind"));
    Err(ApplyError::Internal(format!("failed to create typed patch object ({subject}): {faults}")))
}

#[derive(Default)]
struct Checker {
    path: Vec<Element>,
    faults: Vec<String>,
}

impl Checker {
    fn fault(&mut self, what: &str) {
        let path: String = self.path.iter().map(ToString::to_string).collect();
        self.faults.push(format!("{path}: {what}"));
    }

    fn value(&mut self, value: &Value, ty: &Type) {
        match (ty, value) {
            (_, Value::Null) | (Type::Untyped, _) => {}
            (Type::Scalar, _) => {
                if value.is_object() || value.is_array() {
                    self.fault(&format!("expected any scalar, got {value}"));
                }
            }
            (Type::Object(object), Value::Object(map)) => self.object(map, object),
            (Type::Object(_), other) => self.fault(&format!("expected map, got {other}")),
            (Type::List(list), Value::Array(items)) => self.list(items, list),
            (Type::List(_), other) => self.fault(&format!("expected list, got {other}")),
        }
    }

    fn object(&mut self, map: &Map<String, Value>, object: &Object) {
        for (key, value) in map {
            self.path.push(Element::field(key.as_str()));
            let below = object.get(key);
            match below {
                Some(below) => self.value(value, below),
                None => self.fault("field not declared in schema"),
            }
            self.path.pop();
            if below.is_none() {
                // As the API server does: one such field is enough said about an object.
                return;
            }
        }
    }

    fn list(&mut self, items: &[Value], list: &List) {
        let mut seen = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            let element = match element_of(list, item) {
                Ok(element) => element,
                Err(_) if list.kind == ListKind::Atomic => {
                    Element::Index(i64::try_from(index).unwrap_or(i64::MAX))
                }
                Err(fault) => return self.fault(&format!("element {index}: {fault}")),
            };
            if !seen.insert(element.clone()) {
                self.fault(&format!("duplicate entries for key {element}"));
            }
            self.path.push(element);
            self.value(item, &list.element);
            self.path.pop();
        }
    }
}
