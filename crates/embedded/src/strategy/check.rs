//! Small checks that add what they find to a list of errors.

use maar_machinery::error::{FieldError, Path};
use maar_machinery::names::metadata;
use serde_json::Value;

use super::name::{self, Rule};
use super::value::{integer, is_set, text};

/// What is wrong so far.
pub(super) type Errors = Vec<FieldError>;

/// A text that must follow a rule, where it is given.
pub(super) fn follows(errors: &mut Errors, path: &Path<'_>, value: &Value, rule: Rule) {
    if is_set(value) {
        text_follows(errors, path, text(value), rule);
    }
}

/// A text that must be given and follow a rule.
pub(super) fn requires(errors: &mut Errors, path: &Path<'_>, value: &Value, rule: Rule) {
    if given(errors, path, value) {
        text_follows(errors, path, text(value), rule);
    }
}

/// A text that must follow a rule, even if it is empty.
pub(super) fn text_follows(errors: &mut Errors, path: &Path<'_>, text: &str, rule: Rule) {
    errors.extend(rule(text).into_iter().map(|complaint| FieldError::invalid(path, text, complaint)));
}

/// A field that must be there; says whether it is.
pub(super) fn given(errors: &mut Errors, path: &Path<'_>, value: &Value) -> bool {
    let given = is_set(value);
    if !given {
        errors.push(FieldError::required(path, ""));
    }
    given
}

/// One of a few texts, where it is given.
pub(super) fn one_of(errors: &mut Errors, path: &Path<'_>, value: &Value, choices: &[&str]) {
    if !value.is_null() && !choices.contains(&text(value)) {
        errors.push(FieldError::not_supported(path, value.clone(), choices));
    }
}

/// One of a few texts, which must be given.
pub(super) fn required_one_of(errors: &mut Errors, path: &Path<'_>, value: &Value, choices: &[&str]) {
    if given(errors, path, value) {
        one_of(errors, path, value, choices);
    }
}

/// A number of at least zero, where it is given.
pub(super) fn non_negative(errors: &mut Errors, path: &Path<'_>, value: &Value) {
    at_least(errors, path, value, 0);
}

/// A number of at least `least`, where it is given.
pub(super) fn at_least(errors: &mut Errors, path: &Path<'_>, value: &Value, least: i64) {
    if integer(value).is_some_and(|number| number < least) {
        let detail = format!("must be greater than or equal to {least}");
        errors.push(FieldError::invalid(path, value.clone(), detail));
    }
}

/// A number within bounds, where it is given.
pub(super) fn between(errors: &mut Errors, path: &Path<'_>, value: &Value, least: i64, most: i64) {
    if integer(value).is_some_and(|number| number < least || number > most) {
        let detail = format!("must be between {least} and {most}, inclusive");
        errors.push(FieldError::invalid(path, value.clone(), detail));
    }
}

/// The number of a port, where it is given.
pub(super) fn port_number(errors: &mut Errors, path: &Path<'_>, value: &Value) {
    between(errors, path, value, 1, 65535);
}

/// The number or name of a port.
pub(super) fn port(errors: &mut Errors, path: &Path<'_>, value: &Value) {
    match value {
        Value::String(text) => text_follows(errors, path, text, name::port_name),
        Value::Null => errors.push(FieldError::required(path, "")),
        number => port_number(errors, path, number),
    }
}

/// A field that may not change.
pub(super) fn immutable(errors: &mut Errors, path: &Path<'_>, new: &Value, old: &Value) {
    if super::value::differs(new, old) {
        errors.push(FieldError::invalid(path, new.clone(), "field is immutable"));
    }
}

/// A count or a percentage, where it is given.
pub(super) fn count_or_percentage(errors: &mut Errors, path: &Path<'_>, value: &Value) {
    match value {
        Value::String(text) if percentage(text).is_none() => errors.push(FieldError::invalid(
            path,
            text.as_str(),
            "a valid percent string must be a numeric string followed by an ending '%'",
        )),
        Value::Number(_) => non_negative(errors, path, value),
        _ => {}
    }
}

/// The number in `25%`.
pub(super) fn percentage(text: &str) -> Option<i64> {
    let digits = text.strip_suffix('%')?;
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.parse().ok())?
}

/// A map of labels.
pub(super) fn labels(errors: &mut Errors, path: &Path<'_>, labels: &Value) {
    if let Some(labels) = labels.as_object() {
        metadata::validate_labels(labels, path, errors);
    }
}

/// A path below some root: relative and without `..`.
pub(super) fn descending_path(errors: &mut Errors, path: &Path<'_>, target: &str) {
    if target.starts_with('/') {
        errors.push(FieldError::invalid(path, target, "must be a relative path"));
    }
    no_backsteps(errors, path, target);
}

/// A path without `..`.
pub(super) fn no_backsteps(errors: &mut Errors, path: &Path<'_>, target: &str) {
    if target.split('/').any(|part| part == "..") {
        errors.push(FieldError::invalid(path, target, "must not contain '..'"));
    }
}
