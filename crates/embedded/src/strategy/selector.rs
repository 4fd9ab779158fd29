//! Selectors over labels, as objects carry them.

use maar_machinery::error::{FieldError, Path};
use maar_machinery::selector::LabelSelector;
use serde_json::Value;

use super::check::{self, Errors};
use super::name;
use super::value::{is_set, items, text};

/// Checks a label selector, where it is given.
pub(super) fn validate(errors: &mut Errors, path: &Path<'_>, selector: &Value) {
    check::labels(errors, &path.field("matchLabels"), &selector["matchLabels"]);
    let list = path.field("matchExpressions");
    for (index, expression) in items(&selector["matchExpressions"]).iter().enumerate() {
        validate_expression(errors, &list.index(index), expression);
    }
}

fn validate_expression(errors: &mut Errors, path: &Path<'_>, expression: &Value) {
    let values = items(&expression["values"]);
    match text(&expression["operator"]) {
        "In" | "NotIn" if values.is_empty() => errors.push(FieldError::required(
            path.field("values"),
            "must be specified when `operator` is 'In' or 'NotIn'",
        )),
        "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(FieldError::forbidden(
            path.field("values"),
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )),
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        other => {
            errors.push(FieldError::invalid(path.field("operator"), other, "not a valid selector operator"));
        }
    }
    check::text_follows(errors, &path.field("key"), text(&expression["key"]), name::qualified);
    let list = path.field("values");
    for (index, value) in values.iter().enumerate() {
        check::text_follows(errors, &list.index(index), text(value), name::label_value);
    }
}

/// Checks that a controller selects the Pods of its template. DaemonSets are asked less strictly.
pub(super) fn validate_for_template(errors: &mut Errors, spec: &Value, lenient: bool) {
    let root = Path::Text("spec");
    let path = root.field("selector");
    let selector = &spec["selector"];
    if selector.is_null() && !lenient {
        errors.push(FieldError::required(path, ""));
    }
    validate(errors, &path, selector);
    if selector.is_object() && !is_set(&selector["matchLabels"]) && !is_set(&selector["matchExpressions"]) {
        errors.push(FieldError::invalid(
            path,
            selector.clone(),
            "an empty selector would select every Pod and is not allowed",
        ));
    }
    let labels = &spec["template"]["metadata"]["labels"];
    match LabelSelector::from_object(selector) {
        Ok(selector) if selector.matches(labels) => {}
        Ok(_) => errors.push(FieldError::invalid(
            Path::Text("spec.template.metadata.labels"),
            labels.clone(),
            "`selector` does not match template `labels`",
        )),
        Err(_) if lenient => {}
        Err(error) => errors.push(FieldError::invalid(path, selector.clone(), error.to_string())),
    }
}
