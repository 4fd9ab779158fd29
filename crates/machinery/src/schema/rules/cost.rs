//! What the rules of a definition could cost at most. A server estimates that before it takes the definition, from the limits
//! of its schema: a rule that might run for a second is refused, and so are rules that together might.
//!
//! The numbers are those of kube-apiserver: what is taken here is to be taken there. Only the most that something costs
//! matters, so that this follows the longer way through every expression. Functions whose result there is no estimate of count
//! as short, because to refuse what a real server takes would be worse than to take what it refuses.

mod call;
mod estimate;
mod size;

use estimate::most;
use size::occurrences;

use crate::{
    error::{FieldError, Path},
    schema::{Additional, Kind, Schema},
};

/// The most that one rule may cost, over all values it applies to.
const RULE: u64 = 10_000_000;
/// The most that all rules of a schema may cost together.
const TOGETHER: u64 = 100_000_000;
/// How many of the dearest rules are named when they cost too much together.
const NAMED: usize = 4;

/// The rules of `schema`, which stands at `path`, that could cost too much.
pub fn check_costs(schema: &Schema, path: &Path<'_>) -> Vec<FieldError> {
    let mut bill = Bill::default();
    bill.node(schema, Some(1), path);
    bill.sum(path)
}

#[derive(Default)]
struct Bill {
    total: u64,
    dear: Vec<(u64, String)>,
    errors: Vec<FieldError>,
}

impl Bill {
    /// A part of the schema that there are at most `times` values of, where that is limited.
    fn node(&mut self, schema: &Schema, times: Option<u64>, path: &Path<'_>) {
        if !schema.has_rules {
            return;
        }
        let own = path.field("x-kubernetes-validations");
        for (index, rule) in schema.rules.iter().enumerate() {
            let path = own.index(index);
            let times = times.unwrap_or_else(|| occurrences(schema));
            let cost = most(&rule.expression, schema, rule.optional_old_self).saturating_mul(times);
            self.add("estimated rule cost", cost, &path.field("rule"));
            if let Some(message) = &rule.message_expression {
                let cost = most(message, schema, rule.optional_old_self);
                self.add("estimated messageExpression cost", cost, &path.field("messageExpression"));
            }
        }
        let below = times.and_then(|times| Some(times.saturating_mul(values(schema)?)));
        for (name, property) in schema.properties.iter() {
            self.node(property, below, &path.field("properties").key(name));
        }
        if let Additional::Schema(entry) = &schema.additional {
            self.node(entry, below, &path.field("additionalProperties"));
        }
        if let Some(items) = &schema.items {
            self.node(items, below, &path.field("items"));
        }
    }

    fn add(&mut self, what: &str, cost: u64, path: &Path<'_>) {
        if cost > RULE {
            self.errors.push(FieldError::forbidden(path, too_much(what, cost, RULE)));
        }
        self.total = self.total.saturating_add(cost);
        // What is less than a hundredth does not make the difference.
        if cost >= TOGETHER / 100 {
            self.dear.push((cost, path.to_string()));
        }
    }

    fn sum(mut self, path: &Path<'_>) -> Vec<FieldError> {
        if self.total > TOGETHER {
            self.dear.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
            for (_, path) in self.dear.iter().take(NAMED) {
                let why = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
                self.errors.push(FieldError::forbidden(path, why));
            }
            let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
            self.errors.push(FieldError::forbidden(path, too_much(what, self.total, TOGETHER)));
        }
        self.errors
    }
}

/// How many values stand at most below one of a schema, where that is limited.
fn values(schema: &Schema) -> Option<u64> {
    let checks = schema.checks.as_deref();
    match schema.kind {
        Kind::Array => checks.and_then(|checks| checks.max_items),
        Kind::Object if schema.additional.is_map() => checks.and_then(|checks| checks.max_properties),
        _ => Some(1),
    }
}

#[expect(clippy::cast_precision_loss, reason = "how many times too much, for people")]
fn too_much(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 { "more than 100x".to_owned() } else { format!("{factor:.1}x") };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}

#[cfg(test)]
mod tests;
