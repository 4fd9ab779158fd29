//! When a Job fails, succeeds early or replaces its Pods.

use maar_machinery::error::{FieldError, Path};
use serde_json::Value;

use super::super::check::{self, Errors};
use super::super::name;
use super::super::value::{integer, items, text};
use super::indexes;

const MOST_RULES: usize = 20;
const MOST_CODES: usize = 255;

pub(super) fn validate(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    if !spec["podFailurePolicy"].is_null() {
        failure(errors, &path.field("podFailurePolicy").field("rules"), spec);
    }
    if !spec["successPolicy"].is_null() && spec["completionMode"] == "Indexed" {
        success(errors, &path.field("successPolicy").field("rules"), spec);
    }
    let replacement = &spec["podReplacementPolicy"];
    let choices: &[&str] =
        if spec["podFailurePolicy"].is_null() { &["Failed", "TerminatingOrFailed"] } else { &["Failed"] };
    check::one_of(errors, &path.field("podReplacementPolicy"), replacement, choices);
}

fn failure(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let rules = items(&spec["podFailurePolicy"]["rules"]);
    if rules.len() > MOST_RULES {
        errors.push(FieldError::too_many(path, rules.len() as u64, MOST_RULES as u64));
    }
    for (index, rule) in rules.iter().enumerate() {
        let path = path.index(index);
        let actions = ["Count", "FailIndex", "FailJob", "Ignore"];
        check::required_one_of(errors, &path.field("action"), &rule["action"], &actions);
        if rule["action"] == "FailIndex" && spec["backoffLimitPerIndex"].is_null() {
            let detail = "requires the backoffLimitPerIndex to be set";
            errors.push(FieldError::invalid(path.field("action"), "FailIndex", detail));
        }
        let (codes, conditions) = (&rule["onExitCodes"], items(&rule["onPodConditions"]));
        if !codes.is_null() {
            exit_codes(errors, &path.field("onExitCodes"), codes, spec);
        }
        pod_conditions(errors, &path.field("onPodConditions"), conditions);
        let detail = match (codes.is_null(), conditions.is_empty()) {
            (false, false) => "specifying both OnExitCodes and OnPodConditions is not supported",
            (true, true) => "specifying one of OnExitCodes and OnPodConditions is required",
            _ => continue,
        };
        errors.push(FieldError::invalid(path, rule.clone(), detail));
    }
}

fn exit_codes(errors: &mut Errors, path: &Path<'_>, codes: &Value, spec: &Value) {
    check::required_one_of(errors, &path.field("operator"), &codes["operator"], &["In", "NotIn"]);
    let container = &codes["containerName"];
    let pod = &spec["template"]["spec"];
    let exists = ["containers", "initContainers"]
        .iter()
        .any(|list| items(&pod[*list]).iter().any(|other| other["name"] == *container));
    if !container.is_null() && !exists {
        let detail = "must be one of the container or initContainer names in the pod template";
        errors.push(FieldError::invalid(path.field("containerName"), container.clone(), detail));
    }
    let list = path.field("values");
    let values = items(&codes["values"]);
    if values.is_empty() {
        errors.push(FieldError::invalid(list, codes["values"].clone(), "at least one value is required"));
    } else if values.len() > MOST_CODES {
        errors.push(FieldError::too_many(list, values.len() as u64, MOST_CODES as u64));
    }
    for (index, value) in values.iter().enumerate() {
        if codes["operator"] == "In" && integer(value) == Some(0) {
            errors.push(FieldError::invalid(list.index(index), 0, "must not be 0 for the In operator"));
        }
        if values[..index].contains(value) {
            errors.push(FieldError::duplicate(list.index(index), value.clone()));
        }
    }
    if !values.is_sorted_by_key(integer) {
        errors.push(FieldError::invalid(list, codes["values"].clone(), "must be ordered"));
    }
}

fn pod_conditions(errors: &mut Errors, path: &Path<'_>, patterns: &[Value]) {
    if patterns.len() > MOST_RULES {
        errors.push(FieldError::too_many(path, patterns.len() as u64, MOST_RULES as u64));
    }
    for (index, pattern) in patterns.iter().enumerate() {
        let path = path.index(index);
        check::text_follows(errors, &path.field("type"), text(&pattern["type"]), name::qualified);
        let statuses = ["False", "True", "Unknown"];
        check::required_one_of(errors, &path.field("status"), &pattern["status"], &statuses);
    }
}

fn success(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let rules = items(&spec["successPolicy"]["rules"]);
    let completions = integer(&spec["completions"]).unwrap_or_default();
    if rules.is_empty() {
        let detail = "at least one rules must be specified when the successPolicy is specified";
        errors.push(FieldError::required(path, detail));
    }
    if rules.len() > MOST_RULES {
        errors.push(FieldError::too_many(path, rules.len() as u64, MOST_RULES as u64));
    }
    for (index, rule) in rules.iter().enumerate() {
        let path = path.index(index);
        let (count, list) = (&rule["succeededCount"], &rule["succeededIndexes"]);
        if count.is_null() && list.is_null() {
            let detail = "at least one of succeededCount or succeededIndexes must be specified";
            errors.push(FieldError::required(path, detail));
        }
        let mut most = completions;
        match indexes::parse(text(list), completions) {
            Ok(ranges) if !list.is_null() => most = indexes::count(&ranges),
            Ok(_) => {}
            Err(complaint) => {
                let detail = format!("error parsing succeededIndexes: {complaint}");
                errors.push(FieldError::invalid(path.field("succeededIndexes"), list.clone(), detail));
            }
        }
        check::non_negative(errors, &path.field("succeededCount"), count);
        if integer(count).is_some_and(|count| count > most) {
            let detail = format!("must be less than or equal to {most} (the number of specified indexes)");
            errors.push(FieldError::invalid(path.field("succeededCount"), count.clone(), detail));
        }
    }
}
