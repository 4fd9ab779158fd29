//! `x-kubernetes-validations`: rules in CEL, compiled with the schema and run after everything else has been found valid.
//!
//! Expressions are read by kube-cel and run by [`evaluate`]; which value a rule sees, which old value belongs to it and what becomes of its answer is
//! decided here. Rules that use `oldSelf` run where there is an old value; other rules that fail on a part that has not
//! changed are tolerated, as [`super::validate_update`] tolerates the rest.
//! What the engine cannot do is refused when the schema is compiled, not when an object arrives.

mod check;
mod condition;
mod cost;
mod engine;
mod escape;
mod evaluate;
mod expand;
mod functions;
mod literal;
mod path;
mod rule;
mod unordered;
mod value;

use serde_json::Value;

use super::{Additional, Schema, validate::correlated};
use crate::error::{FieldError, Path};

pub use condition::Condition;
pub use cost::check_costs;
pub use rule::Rule;
pub(super) use rule::compile;

/// What the rules of `schema` say about `value`, which replaces `old`.
pub fn validate_rules(value: &Value, old: Option<&Value>, schema: &Schema) -> Vec<FieldError> {
    validate_rules_at(value, old, schema, &Path::Root)
}

/// The same for a part of an object, which stands at `path`.
pub fn validate_rules_at(
    value: &Value,
    old: Option<&Value>,
    schema: &Schema,
    path: &Path<'_>,
) -> Vec<FieldError> {
    judge_rules(value, old, schema, path).broken
}

/// What rules say.
#[derive(Debug, Default)]
pub struct Judgement {
    /// Broken by this change.
    pub broken: Vec<FieldError>,
    /// Broken by parts that are as they were: to be told, and no reason to refuse.
    pub tolerated: Vec<FieldError>,
}

/// The same, with what is tolerated.
pub fn judge_rules(value: &Value, old: Option<&Value>, schema: &Schema, path: &Path<'_>) -> Judgement {
    let mut judgement = Judgement::default();
    if schema.has_rules {
        let place = Place { value, old, parent: None };
        node(schema, place, path, &mut judgement);
    }
    judgement
}

/// A value and what was there before; the chain upwards tells whether an ancestor has changed.
#[derive(Clone, Copy)]
struct Place<'a> {
    value: &'a Value,
    old: Option<&'a Value>,
    parent: Option<&'a Place<'a>>,
}

impl<'a> Place<'a> {
    fn child(&'a self, value: &'a Value, old: Option<&'a Value>) -> Place<'a> {
        Place { value, old, parent: Some(self) }
    }

    /// Whether the nearest part that has an old value equals it.
    fn is_unchanged(&self) -> bool {
        match (self.old, self.parent) {
            (Some(old), _) => old == self.value,
            (None, Some(parent)) => parent.is_unchanged(),
            (None, None) => false,
        }
    }
}

fn node(schema: &Schema, place: Place<'_>, path: &Path<'_>, judgement: &mut Judgement) {
    if !schema.has_rules || place.value.is_null() {
        return;
    }
    let old = place.old.filter(|old| !old.is_null());
    if !schema.rules.is_empty() {
        run(schema, place, old, path, judgement);
    }
    match place.value {
        Value::Object(map) => {
            for (name, value) in map {
                let old = old.and_then(|old| old.get(name));
                if let Some(property) = schema.properties.get(name) {
                    node(property, place.child(value, old), &path.field(name), judgement);
                } else if let Additional::Schema(entry) = &schema.additional {
                    node(entry, place.child(value, old), &path.key(name), judgement);
                }
            }
        }
        Value::Array(items) => {
            let Some(item_schema) = schema.items.as_deref() else { return };
            for (index, item) in items.iter().enumerate() {
                let old = correlated(item, old, schema);
                node(item_schema, place.child(item, old), &path.index(index), judgement);
            }
        }
        _ => {}
    }
}

fn run(schema: &Schema, place: Place<'_>, old: Option<&Value>, path: &Path<'_>, judgement: &mut Judgement) {
    let variables = engine::Variables::new(place.value, old, schema);
    for rule in &schema.rules {
        if rule.uses_old_self && old.is_none() && !rule.optional_old_self {
            continue;
        }
        match rule.holds(&variables) {
            Ok(true) => {}
            Ok(false) => {
                let complaint = rule.complaint(place.value, schema, &variables, path);
                if rule.uses_old_self || !place.is_unchanged() {
                    judgement.broken.push(complaint);
                } else {
                    judgement.tolerated.push(complaint);
                }
            }
            Err(problem) => {
                let detail = if problem == evaluate::NO_SUCH_OVERLOAD {
                    format!(
                        "'{problem}': call arguments did not match a supported operator, function or macro signature for \
                         rule: {}",
                        rule.title()
                    )
                } else {
                    format!("{problem} evaluating rule: {}", rule.title())
                };
                judgement.broken.push(FieldError::invalid(path, schema.kind_name(), detail));
            }
        }
    }
}

#[cfg(test)]
mod tests;
