//! Probes and lifecycle hooks.

use maar_machinery::error::{FieldError, Path};
use serde_json::Value;

use super::super::check::{self, Errors};
use super::super::name;
use super::super::value::{integer, items, text};

const COUNTS: [&str; 5] =
    ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"];

pub(super) fn validate_all(
    errors: &mut Errors,
    path: &Path<'_>,
    container: &Value,
    grace_period: Option<i64>,
) {
    for hook in ["postStart", "preStop"] {
        let handler = &container["lifecycle"][hook];
        if !handler.is_null() {
            let lifecycle = path.field("lifecycle");
            validate_handler(errors, &lifecycle.field(hook), handler, grace_period);
        }
    }
    for field in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if !container[field].is_null() {
            validate_probe(errors, &path.field(field), &container[field], field == "readinessProbe");
        }
    }
}

fn validate_probe(errors: &mut Errors, path: &Path<'_>, probe: &Value, is_readiness: bool) {
    validate_handler(errors, path, probe, None);
    for count in COUNTS {
        check::non_negative(errors, &path.field(count), &probe[count]);
    }
    let grace = &probe["terminationGracePeriodSeconds"];
    let grace_path = path.field("terminationGracePeriodSeconds");
    if integer(grace).is_some_and(|seconds| seconds <= 0) {
        errors.push(FieldError::invalid(grace_path, grace.clone(), "must be greater than 0"));
    }
    if is_readiness && !grace.is_null() {
        errors.push(FieldError::invalid(grace_path, grace.clone(), "must not be set for readinessProbes"));
    }
    let threshold = &probe["successThreshold"];
    if !is_readiness && integer(threshold) != Some(1) {
        errors.push(FieldError::invalid(path.field("successThreshold"), threshold.clone(), "must be 1"));
    }
}

fn validate_handler(errors: &mut Errors, path: &Path<'_>, handler: &Value, grace_period: Option<i64>) {
    let mut found = false;
    for kind in ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] {
        let action = &handler[kind];
        if action.is_null() {
            continue;
        }
        let path = path.field(kind);
        if found {
            errors.push(FieldError::forbidden(path, "may not specify more than 1 handler type"));
            continue;
        }
        found = true;
        validate_action(errors, &path, kind, action, grace_period);
    }
    if !found {
        errors.push(FieldError::required(path, "must specify a handler type"));
    }
}

fn validate_action(
    errors: &mut Errors,
    path: &Path<'_>,
    kind: &str,
    action: &Value,
    grace_period: Option<i64>,
) {
    match kind {
        "exec" => {
            check::given(errors, &path.field("command"), &action["command"]);
        }
        "httpGet" => {
            check::given(errors, &path.field("path"), &action["path"]);
            check::port(errors, &path.field("port"), &action["port"]);
            check::required_one_of(errors, &path.field("scheme"), &action["scheme"], &["HTTP", "HTTPS"]);
            for header in items(&action["httpHeaders"]) {
                check::text_follows(errors, &path.field("httpHeaders"), text(&header["name"]), name::header);
            }
        }
        "sleep" => {
            let seconds = integer(&action["seconds"]).unwrap_or_default();
            if let Some(grace) = grace_period
                && (seconds < 0 || seconds > grace)
            {
                let detail =
                    format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
                errors.push(FieldError::invalid(path, seconds, detail));
            }
        }
        _ => check::port(errors, &path.field("port"), &action["port"]),
    }
}
