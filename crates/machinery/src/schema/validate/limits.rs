//! Limits on texts, numbers, lists and objects.

use serde_json::{Map, Number, Value};

use super::{Walk, is_integer, same};
use crate::{
    error::{FieldError, FieldErrorKind, Path},
    schema::{Checks, Kind, Limit, Schema, format::whole},
};

impl Walk {
    /// Length, then pattern: the first that fails is reported. The format counts on its own.
    pub(super) fn text(&mut self, text: &str, schema: &Schema, path: &Path<'_>) {
        if let Some(checks) = &schema.checks {
            self.errors.extend(text_limits(text, checks, path));
        }
        if let Some(format) = schema.format
            && !format.accepts(&Value::from(text))
        {
            let detail = format!("{path} in body must be of type {}: {}", format.name(), Value::from(text));
            self.errors.push(FieldError::type_invalid(path, text, detail));
        }
    }

    pub(super) fn number(&mut self, number: &Number, schema: &Schema, path: &Path<'_>) {
        self.range(number, schema, path);
        let Some(checks) = &schema.checks else { return };
        let value = Value::Number(number.clone());
        let mut complain = |rule: String| {
            let detail = format!("{path} in body should be {rule}");
            self.errors.push(FieldError::invalid(path, value.clone(), detail));
        };
        if let Some(factor) = checks.multiple_of
            && !is_multiple(number, factor)
        {
            complain(format!("a multiple of {factor}"));
        }
        if let Some(limit) = checks.minimum
            && !above(number, limit)
        {
            let rule = if limit.exclusive { "greater than" } else { "greater than or equal to" };
            complain(format!("{rule} {}", limit.value));
        }
        if let Some(limit) = checks.maximum
            && !below(number, limit)
        {
            let rule = if limit.exclusive { "less than" } else { "less than or equal to" };
            complain(format!("{rule} {}", limit.value));
        }
    }

    /// Whether the number fits the width of its type. The real server names no field for this, only the text does.
    fn range(&mut self, number: &Number, schema: &Schema, path: &Path<'_>) {
        let (kind, fits) = match (schema.kind, schema.format) {
            (Kind::Integer, Some(format)) => ("integer", format.accepts(&Value::Number(number.clone()))),
            (Kind::Integer, None) => ("integer", is_integer(number)),
            (Kind::Number, Some(format)) => ("number", format.accepts(&Value::Number(number.clone()))),
            _ => return,
        };
        if !fits {
            let format = schema
                .format
                .map_or("(default format)".to_owned(), |format| format!("with format {}", format.name()));
            let detail = format!("Checked value must be of type {kind} {format} in {path}");
            self.errors.push(FieldError::invalid("", "", detail));
        }
    }

    pub(super) fn array_size(&mut self, items: &[Value], schema: &Schema, path: &Path<'_>) {
        let Some(checks) = &schema.checks else { return };
        let count = items.len() as u64;
        if let Some(least) = checks.min_items
            && count < least
        {
            let detail = format!("{path} in body should have at least {least} items");
            self.errors.push(FieldError::invalid(path, count, detail));
        }
        if let Some(most) = checks.max_items
            && count > most
        {
            self.errors.push(FieldError::too_many(path, count, most));
        }
        let repeats =
            |(index, item): (usize, &Value)| items[..index].iter().any(|earlier| same(earlier, item));
        if checks.unique_items && items.iter().enumerate().any(repeats) {
            let detail = format!("{path} in body shouldn't contain duplicates");
            self.errors.push(FieldError::invalid(path, "", detail));
        }
    }

    pub(super) fn object_size(&mut self, map: &Map<String, Value>, schema: &Schema, path: &Path<'_>) {
        let Some(checks) = &schema.checks else { return };
        let count = map.len() as u64;
        if let Some(least) = checks.min_properties
            && count < least
        {
            let detail = format!("{path} in body should have at least {least} properties");
            self.errors.push(FieldError::invalid(path, count, detail));
        }
        if let Some(most) = checks.max_properties
            && count > most
        {
            self.errors.push(FieldError::too_many(path, count, most));
        }
    }
}

fn text_limits(text: &str, checks: &Checks, path: &Path<'_>) -> Option<FieldError> {
    let length = || text.chars().count() as u64;
    if let Some(most) = checks.max_length
        && length() > most
    {
        return Some(FieldError::too_long(path, most));
    }
    if let Some(least) = checks.min_length
        && length() < least
    {
        let detail = format!("{path} in body should be at least {least} chars long");
        return Some(FieldError::invalid(path, text, detail));
    }
    let pattern = checks.pattern.as_ref().filter(|pattern| !pattern.is_match(text))?;
    let detail = format!("{path} in body should match '{}'", pattern.source());
    Some(FieldError::new(FieldErrorKind::Invalid, path, Some(text.into()), detail))
}

/// Whole numbers compare as such: a `f64` cannot tell large ones apart.
fn above(number: &Number, limit: Limit) -> bool {
    match (whole(number), whole_limit(limit)) {
        (Some(number), Some(value)) => number > value || (!limit.exclusive && number == value),
        _ => number
            .as_f64()
            .is_some_and(|number| number > limit.value || (!limit.exclusive && number >= limit.value)),
    }
}

fn below(number: &Number, limit: Limit) -> bool {
    match (whole(number), whole_limit(limit)) {
        (Some(number), Some(value)) => number < value || (!limit.exclusive && number == value),
        _ => number
            .as_f64()
            .is_some_and(|number| number < limit.value || (!limit.exclusive && number <= limit.value)),
    }
}

fn whole_limit(limit: Limit) -> Option<i128> {
    whole(&Number::from_f64(limit.value)?)
}

fn is_multiple(number: &Number, factor: f64) -> bool {
    if factor <= 0.0 {
        return false;
    }
    if let (Some(number), Some(factor)) = (whole(number), Number::from_f64(factor).as_ref().and_then(whole)) {
        return number % factor == 0;
    }
    let quotient = number.as_f64().unwrap_or(f64::NAN) / factor;
    (quotient - quotient.round()).abs() <= f64::EPSILON * quotient.abs().max(1.0)
}
