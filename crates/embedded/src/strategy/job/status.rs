//! What may be said about a Job: an end is an end.

use maar_machinery::error::{FieldError, Path};
use serde_json::Value;

use super::super::check::{self, Errors};
use super::super::value::{flag, integer, items, text};
use super::indexes;

const COUNTS: [&str; 5] = ["active", "succeeded", "failed", "ready", "terminating"];

/// Whether a condition holds.
pub(super) fn is_true(status: &Value, condition: &str) -> bool {
    items(&status["conditions"]).iter().any(|other| other["type"] == condition && other["status"] == "True")
}

fn is_finished(status: &Value) -> bool {
    is_true(status, "Complete") || is_true(status, "Failed")
}

pub(super) fn validate(errors: &mut Errors, new: &Value, old: &Value) {
    let path = Path::Text("status");
    let (now, before) = (&new["status"], &old["status"]);
    for count in COUNTS {
        check::non_negative(errors, &path.field(count), &now[count]);
    }
    conditions(errors, &path.field("conditions"), now, before);
    counters(errors, &path, new, old);
    times(errors, &path, new, old);
    if is_finished(now) && !is_finished(before) {
        finished(errors, &path, new);
    }
    index_lists(errors, &path, new);
}

fn conditions(errors: &mut Errors, path: &Path<'_>, now: &Value, before: &Value) {
    let mut refuse =
        |detail: String| errors.push(FieldError::invalid(path, now["conditions"].clone(), detail));
    for terminal in ["Failed", "Complete", "FailureTarget", "SuccessCriteriaMet"] {
        if is_true(before, terminal) && !is_true(now, terminal) {
            refuse(format!("cannot disable the terminal {terminal}=True condition"));
        }
    }
    for (one, other) in [
        ("Complete", "Failed"),
        ("Complete", "FailureTarget"),
        ("SuccessCriteriaMet", "Failed"),
        ("SuccessCriteriaMet", "FailureTarget"),
    ] {
        if is_true(now, one) && is_true(now, other) {
            refuse(format!("cannot set {one}=True and {other}=true conditions"));
        }
    }
    for (end, cause) in [("Failed", "FailureTarget"), ("Complete", "SuccessCriteriaMet")] {
        if is_true(now, end) && !is_true(before, end) && !is_true(now, cause) {
            refuse(format!("cannot set {end}=True condition without the {cause}=true condition"));
        }
    }
}

fn counters(errors: &mut Errors, path: &Path<'_>, new: &Value, old: &Value) {
    let count = |object: &Value, field: &str| integer(&object["status"][field]).unwrap_or_default();
    let elastic = new["spec"]["completionMode"] == "Indexed"
        && new["spec"]["completions"] == new["spec"]["parallelism"];
    for field in ["failed", "succeeded"] {
        if count(new, field) < count(old, field) && !(elastic && field == "succeeded") {
            let detail = format!("cannot decrease the {field} counter");
            errors.push(FieldError::invalid(path.field(field), count(new, field), detail));
        }
    }
    if count(new, "ready") > count(new, "active") {
        let detail = "cannot set more ready pods than active";
        errors.push(FieldError::invalid(path.field("ready"), count(new, "ready"), detail));
    }
}

fn times(errors: &mut Errors, path: &Path<'_>, new: &Value, old: &Value) {
    let (now, before) = (&new["status"], &old["status"]);
    let (start, end) = (&now["startTime"], &now["completionTime"]);
    let end_path = path.field("completionTime");
    if !end.is_null() && !is_true(now, "Complete") {
        let detail = "cannot set completionTime when there is no Complete=True condition";
        errors.push(FieldError::invalid(end_path, end.clone(), detail));
    }
    if end.is_null() && is_true(now, "Complete") {
        errors.push(FieldError::required(end_path, "completionTime is required for Complete jobs"));
    }
    if !end.is_null() && !before["completionTime"].is_null() && *end != before["completionTime"] {
        errors.push(FieldError::invalid(end_path, end.clone(), "field is immutable"));
    }
    if !start.is_null() && !end.is_null() && text(end) < text(start) {
        errors.push(FieldError::invalid(end_path, end.clone(), "must be equal to or after `startTime`"));
    }
    let resumes = is_true(before, "Suspended") && !is_true(now, "Suspended");
    if !before["startTime"].is_null()
        && *start != before["startTime"]
        && !flag(&new["spec"]["suspend"])
        && !resumes
    {
        let detail = "field is immutable for unsuspended job once set";
        errors.push(FieldError::invalid(path.field("startTime"), start.clone(), detail));
    }
}

fn finished(errors: &mut Errors, path: &Path<'_>, new: &Value) {
    let status = &new["status"];
    for field in ["active", "terminating"] {
        if integer(&status[field]).unwrap_or_default() > 0 {
            let detail = format!("{field}>0 is invalid for finished job");
            errors.push(FieldError::invalid(path.field(field), status[field].clone(), detail));
        }
    }
    let never_ran = flag(&new["spec"]["suspend"]) && integer(&new["spec"]["completions"]) == Some(0);
    if status["startTime"].is_null() && !never_ran {
        errors.push(FieldError::required(path.field("startTime"), "startTime is required for finished job"));
    }
    let uncounted = &status["uncountedTerminatedPods"];
    if !items(&uncounted["failed"]).is_empty() || !items(&uncounted["succeeded"]).is_empty() {
        let detail = "must be empty for finished job";
        errors.push(FieldError::invalid(path.field("uncountedTerminatedPods"), uncounted.clone(), detail));
    }
}

fn index_lists(errors: &mut Errors, path: &Path<'_>, new: &Value) {
    let (spec, status) = (&new["spec"], &new["status"]);
    let Some(completions) = integer(&spec["completions"]) else { return };
    let mut lists = Vec::new();
    for field in ["completedIndexes", "failedIndexes"] {
        match indexes::parse(text(&status[field]), completions) {
            Ok(ranges) => lists.push(ranges),
            Err(complaint) => {
                let detail = format!("error parsing {field}: {complaint}");
                errors.push(FieldError::invalid(path.field(field), status[field].clone(), detail));
            }
        }
    }
    if let [completed, failed] = lists.as_slice()
        && indexes::overlap(completed, failed)
    {
        let detail = "failedIndexes and completedIndexes overlap";
        errors.push(FieldError::invalid(
            path.field("failedIndexes"),
            status["failedIndexes"].clone(),
            detail,
        ));
    }
    if spec["completionMode"] != "Indexed" && !text(&status["completedIndexes"]).is_empty() {
        let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
        errors.push(FieldError::invalid(
            path.field("completedIndexes"),
            status["completedIndexes"].clone(),
            detail,
        ));
    }
    if spec["backoffLimitPerIndex"].is_null() && !status["failedIndexes"].is_null() {
        let detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
        errors.push(FieldError::invalid(
            path.field("failedIndexes"),
            status["failedIndexes"].clone(),
            detail,
        ));
    }
}
