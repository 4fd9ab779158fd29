//! What is checked about a Job's specification, which CronJobs have too.

use maar_machinery::error::{FieldError, Path};
use maar_machinery::selector::LabelSelector;
use serde_json::{Value, json};

use super::super::check::{self, Errors};
use super::super::value::{flag, integer, text};
use super::super::{name, pod_spec};
use super::{CONTROLLER_UID, NAME_LABELS, UID_LABELS, policy};

const MOST_PARALLEL: i64 = 100_000;
const MOST_FAILED: i64 = 100_000;
const MANY_COMPLETIONS: i64 = 100_000;
const MOST_PARALLEL_OF_MANY: i64 = 10_000;
const MOST_FAILED_OF_MANY: i64 = 10_000;

const COUNTS: [&str; 7] = [
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
];

/// Checks the specification of a Job, whether it is a Job's own or a CronJob's template.
pub(in super::super) fn validate_spec(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    for count in COUNTS {
        check::non_negative(errors, &path.field(count), &spec[count]);
    }
    if !spec["maxFailedIndexes"].is_null() && spec["backoffLimitPerIndex"].is_null() {
        let detail = "when maxFailedIndexes is specified";
        errors.push(FieldError::required(path.field("backoffLimitPerIndex"), detail));
    }
    managed_by(errors, &path.field("managedBy"), &spec["managedBy"]);
    let modes = ["NonIndexed", "Indexed"];
    check::one_of(errors, &path.field("completionMode"), &spec["completionMode"], &modes);
    if spec["completionMode"] == "Indexed" {
        indexed(errors, path, spec);
    } else {
        for field in ["backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"] {
            if !spec[field].is_null() {
                let detail = "requires indexed completion mode";
                errors.push(FieldError::invalid(path.field(field), spec[field].clone(), detail));
            }
        }
    }
    policy::validate(errors, path, spec);
    let template = path.field("template");
    pod_spec::validate_template(errors, &template, &spec["template"]);
    restart_policy(errors, &template.field("spec").field("restartPolicy"), spec);
}

fn managed_by(errors: &mut Errors, path: &Path<'_>, manager: &Value) {
    let Some(manager) = manager.as_str() else { return };
    let well_formed = manager
        .split_once('/')
        .is_some_and(|(domain, rest)| name::subdomain(domain).is_empty() && !rest.is_empty());
    if !well_formed {
        let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        errors.push(FieldError::invalid(path, manager, detail));
    }
    if manager.len() > 63 {
        errors.push(FieldError::too_long(path, 63));
    }
}

fn indexed(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let completions = integer(&spec["completions"]);
    let parallelism = integer(&spec["parallelism"]).unwrap_or_default();
    let failed = integer(&spec["maxFailedIndexes"]);
    if completions.is_none() {
        errors.push(FieldError::required(path.field("completions"), "when completion mode is Indexed"));
    }
    let mut at_most = |field: &str, value: i64, most: i64, when: &str| {
        if value > most {
            let detail = format!("must be less than or equal to {most}{when}");
            errors.push(FieldError::invalid(path.field(field), value, detail));
        }
    };
    at_most("parallelism", parallelism, MOST_PARALLEL, " when completion mode is Indexed");
    let completions = completions.unwrap_or_default();
    if let Some(failed) = failed {
        at_most("maxFailedIndexes", failed, MOST_FAILED, "");
    }
    let of_many = completions > MANY_COMPLETIONS && !spec["backoffLimitPerIndex"].is_null();
    if of_many {
        let when = " when completions are above 100000 and used with backoff limit per index";
        at_most("parallelism", parallelism, MOST_PARALLEL_OF_MANY, when);
        at_most("maxFailedIndexes", failed.unwrap_or_default(), MOST_FAILED_OF_MANY, when);
    }
    if of_many && failed.is_none() {
        let detail = format!("must be specified when completions is above {MANY_COMPLETIONS}");
        errors.push(FieldError::required(path.field("maxFailedIndexes"), detail));
    }
    if failed.is_some_and(|failed| failed > completions) && !spec["completions"].is_null() {
        let detail = "must be less than or equal to completions";
        errors.push(FieldError::invalid(
            path.field("maxFailedIndexes"),
            spec["maxFailedIndexes"].clone(),
            detail,
        ));
    }
}

fn restart_policy(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    match text(&spec["template"]["spec"]["restartPolicy"]) {
        "" | "Always" => {
            errors.push(FieldError::required(path, "valid values: \"OnFailure\", \"Never\""));
        }
        "OnFailure" if !spec["podFailurePolicy"].is_null() => {
            let detail = "only \"Never\" is supported when podFailurePolicy is specified";
            errors.push(FieldError::invalid(path, "OnFailure", detail));
        }
        "OnFailure" | "Never" => {}
        other => errors.push(FieldError::not_supported(path, other, ["OnFailure", "Never"])),
    }
}

/// Checks that a Job selects its own Pods.
pub(super) fn selector(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let selector = &spec["selector"];
    if selector.is_null() {
        errors.push(FieldError::required(path.field("selector"), ""));
        return;
    }
    super::super::selector::validate(errors, &path.field("selector"), selector);
    let labels = &spec["template"]["metadata"]["labels"];
    if LabelSelector::from_object(selector).is_ok_and(|selector| !selector.matches(labels)) {
        let template = path.field("template");
        let metadata = template.field("metadata");
        let detail = "`selector` does not match template `labels`";
        errors.push(FieldError::invalid(metadata.field("labels"), labels.clone(), detail));
    }
}

/// Checks that a client who left the selector to the server did not choose labels that contradict it.
pub(super) fn generated_selector(errors: &mut Errors, object: &Value) {
    let spec = &object["spec"];
    if flag(&spec["manualSelector"]) || spec["selector"].is_null() {
        return;
    }
    let labels = &spec["template"]["metadata"]["labels"];
    let path = Path::Text("spec.template.metadata.labels");
    let mut expected = json!({});
    for (keys, wanted) in
        [(UID_LABELS, &object["metadata"]["uid"]), (NAME_LABELS, &object["metadata"]["name"])]
    {
        for key in keys {
            expected[key] = wanted.clone();
            match labels.get(key) {
                None => {
                    let detail = format!("must be '{}'", text(wanted));
                    errors.push(FieldError::required(path.key(key), detail));
                }
                Some(given) if given != wanted => {
                    let detail = format!("must be '{}'", text(wanted));
                    errors.push(FieldError::invalid(path.key(key), labels.clone(), detail));
                }
                Some(_) => {}
            }
        }
    }
    if LabelSelector::from_object(&spec["selector"]).is_ok_and(|selector| !selector.matches(&expected)) {
        let detail = format!("`selector` not auto-generated: it must select {CONTROLLER_UID}");
        errors.push(FieldError::invalid("spec.selector", spec["selector"].clone(), detail));
    }
}

/// Pods of an indexed Job are named after it and their index.
pub(super) fn host_names(errors: &mut Errors, object: &Value) {
    let completions = integer(&object["spec"]["completions"]).unwrap_or_default();
    if object["spec"]["completionMode"] != "Indexed" || completions <= 0 {
        return;
    }
    let name = text(&object["metadata"]["name"]);
    let last = format!("{name}-{}", completions - 1);
    if !name::label(&last).is_empty() {
        let detail = format!("will not able to create pod with invalid DNS label: {last}");
        errors.push(FieldError::invalid("metadata.name", name, detail));
    }
}
