//! What the controllers of Pods have in common: a selector, a template, and how fast to change.

use maar_machinery::error::{FieldError, Path};
use serde_json::Value;

use super::check::{self, Errors};
use super::value::{integer, text};
use super::{pod_spec, selector};

/// Checks the selector and the template of a controller whose Pods run forever.
pub(super) fn validate_template(errors: &mut Errors, spec: &Value, kind: &str) {
    selector::validate_for_template(errors, spec, kind == "DaemonSet");
    let path = Path::Text("spec.template");
    pod_spec::validate_template(errors, &path, &spec["template"]);
    runs_forever(errors, &spec["template"]["spec"], kind);
}

/// Checks that the Pods of a template have no end.
pub(super) fn runs_forever(errors: &mut Errors, pod: &Value, kind: &str) {
    let path = Path::Text("spec.template.spec");
    if pod["restartPolicy"] != "Always" {
        errors.push(FieldError::not_supported(
            path.field("restartPolicy"),
            pod["restartPolicy"].clone(),
            ["Always"],
        ));
    }
    if !pod["activeDeadlineSeconds"].is_null() {
        let detail = format!("activeDeadlineSeconds in {kind} is not Supported");
        errors.push(FieldError::forbidden(path.field("activeDeadlineSeconds"), detail));
    }
}

/// Checks that the selector stays as it is.
pub(super) fn validate_selector_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    check::immutable(
        &mut errors,
        &Path::Text("spec.selector"),
        &new["spec"]["selector"],
        &old["spec"]["selector"],
    );
    errors
}

/// Checks that the counts of a status are counts.
pub(super) fn validate_counts(status: &Value, counts: &[&str]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let path = Path::Text("status");
    for count in counts {
        check::non_negative(&mut errors, &path.field(count), &status[*count]);
    }
    errors
}

/// A count or the number of a percentage.
pub(super) fn amount(value: &Value) -> i64 {
    integer(value).or_else(|| check::percentage(text(value))).unwrap_or_default()
}

/// A percentage of at most a hundred.
pub(super) fn at_most_all(errors: &mut Errors, path: &Path<'_>, value: &Value) {
    if check::percentage(text(value)).is_some_and(|percentage| percentage > 100) {
        errors.push(FieldError::invalid(path, value.clone(), "must not be greater than 100%"));
    }
}
