//! Environment variables and where their values come from.

use maar_machinery::error::{FieldError, Path};
use serde_json::Value;

use super::super::check::{self, Errors};
use super::super::name;
use super::super::value::{is_set, items, text};

const SOURCES: [&str; 5] = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];

const FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

pub(super) fn validate(errors: &mut Errors, path: &Path<'_>, container: &Value) {
    let list = path.field("env");
    for (index, variable) in items(&container["env"]).iter().enumerate() {
        let path = list.index(index);
        check::requires(errors, &path.field("name"), &variable["name"], name::variable);
        if !variable["valueFrom"].is_null() {
            source(errors, &path.field("valueFrom"), variable);
        }
    }
    let list = path.field("envFrom");
    for (index, from) in items(&container["envFrom"]).iter().enumerate() {
        whole_object(errors, &list, index, from);
    }
}

fn source(errors: &mut Errors, path: &Path<'_>, variable: &Value) {
    let from = &variable["valueFrom"];
    if !from["fieldRef"].is_null() {
        field_reference(errors, &path.field("fieldRef"), &from["fieldRef"], &FIELDS);
    }
    if !from["resourceFieldRef"].is_null() {
        resource_reference(errors, &path.field("resourceFieldRef"), &from["resourceFieldRef"], false);
    }
    for kind in ["configMapKeyRef", "secretKeyRef"] {
        if !from[kind].is_null() {
            let path = path.field(kind);
            check::text_follows(errors, &path.field("name"), text(&from[kind]["name"]), name::subdomain);
            check::requires(errors, &path.field("key"), &from[kind]["key"], name::data_key);
        }
    }
    if !from["fileKeyRef"].is_null() {
        file_reference(errors, &path.field("fileKeyRef"), &from["fileKeyRef"]);
    }
    let complaint = match SOURCES.iter().filter(|kind| !from[**kind].is_null()).count() {
        0 => {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        }
        _ if is_set(&variable["value"]) => "may not be specified when `value` is not empty",
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    errors.push(FieldError::invalid(path, "", complaint));
}

fn file_reference(errors: &mut Errors, path: &Path<'_>, reference: &Value) {
    check::requires(errors, &path.field("key"), &reference["key"], name::variable);
    check::requires(errors, &path.field("volumeName"), &reference["volumeName"], name::label);
    if check::given(errors, &path.field("path"), &reference["path"]) {
        check::no_backsteps(errors, &path.field("path"), text(&reference["path"]));
    }
}

/// A reference to a field of the Pod, possibly to one label or annotation.
pub(super) fn field_reference(errors: &mut Errors, path: &Path<'_>, reference: &Value, fields: &[&str]) {
    let field = text(&reference["fieldPath"]);
    if text(&reference["apiVersion"]).is_empty() {
        errors.push(FieldError::required(path.field("apiVersion"), ""));
        return;
    }
    if field.is_empty() {
        errors.push(FieldError::required(path.field("fieldPath"), ""));
        return;
    }
    let subscript = field.strip_suffix("']").and_then(|field| field.split_once("['"));
    match subscript {
        Some(("metadata.annotations", key)) => {
            check::text_follows(errors, path, &key.to_ascii_lowercase(), name::qualified);
        }
        Some(("metadata.labels", key)) => check::text_follows(errors, path, key, name::qualified),
        Some((base, _)) => errors.push(FieldError::invalid(path, base, "does not support subscript")),
        None if fields.contains(&field) => {}
        None => errors.push(FieldError::not_supported(path.field("fieldPath"), field, fields)),
    }
}

/// A reference to an amount of a container.
pub(super) fn resource_reference(
    errors: &mut Errors,
    path: &Path<'_>,
    reference: &Value,
    needs_container: bool,
) {
    let resource = text(&reference["resource"]);
    let is_huge = resource.starts_with("limits.hugepages-") || resource.starts_with("requests.hugepages-");
    if needs_container && text(&reference["containerName"]).is_empty() {
        errors.push(FieldError::required(path.field("containerName"), ""));
    } else if resource.is_empty() {
        errors.push(FieldError::required(path.field("resource"), ""));
    } else if !is_huge && !RESOURCES.contains(&resource) {
        errors.push(FieldError::not_supported(path.field("resource"), resource, RESOURCES));
    }
    let divisor = text(&reference["divisor"]);
    let unset = divisor.is_empty() || divisor == "0";
    let is_processor = matches!(resource, "limits.cpu" | "requests.cpu");
    let fits = if is_processor { matches!(divisor, "1m" | "1") } else { is_power(divisor) };
    if !unset && !fits {
        let detail = if is_processor {
            "only divisor's values 1m and 1 are supported with the cpu resource"
        } else {
            "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported"
        };
        errors.push(FieldError::invalid(path.field("divisor"), resource, detail));
    }
}

fn is_power(divisor: &str) -> bool {
    let suffixes = ["", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    divisor.strip_prefix('1').is_some_and(|suffix| suffixes.contains(&suffix))
}

fn whole_object(errors: &mut Errors, list: &Path<'_>, index: usize, from: &Value) {
    let path = list.index(index);
    check::follows(errors, &path.field("prefix"), &from["prefix"], name::variable);
    let mut count = 0;
    for kind in ["configMapRef", "secretRef"] {
        if !from[kind].is_null() {
            count += 1;
            check::requires(errors, &path.field(kind).field("name"), &from[kind]["name"], name::subdomain);
        }
    }
    match count {
        0 => errors.push(FieldError::invalid(list, "", "must specify one of: `configMapRef` or `secretRef`")),
        1 => {}
        _ => {
            errors.push(FieldError::invalid(
                list,
                "",
                "may not have more than one field specified at a time",
            ));
        }
    }
}
