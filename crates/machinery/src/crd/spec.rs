//! Checks of a definition outside of its schemas: group, names, scope, the set of versions, conversion.

use serde_json::{Map, Value};

use super::{flag, text, texts};
use crate::{
    error::{FieldError, Path},
    names::{dns_1035_label, dns_subdomain},
};

/// The object's own name is made of the plural and the group.
pub(super) fn check_name(name: &str, spec: &Map<String, Value>, errors: &mut Vec<FieldError>) {
    let plural =
        spec.get("names").and_then(|names| names.get("plural")).and_then(Value::as_str).unwrap_or_default();
    if name != format!("{plural}.{}", text(spec, "group")) {
        let detail = r#"must be spec.names.plural+"."+spec.group"#;
        errors.push(FieldError::invalid("metadata.name", name, detail));
    }
}

/// Groups of the Kubernetes project need its consent, which an annotation tells of.
pub(super) fn check_approval(definition: &Value, group: &str, errors: &mut Vec<FieldError>) {
    const ANNOTATION: &str = "api-approved.kubernetes.io";
    let reserved = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group == *domain || group.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')));
    let approved = definition.pointer("/metadata/annotations").and_then(|all| all.get(ANNOTATION));
    if reserved && approved.and_then(Value::as_str).is_none_or(str::is_empty) {
        let path = format!("metadata.annotations[{ANNOTATION}]");
        errors.push(FieldError::required(path, "protected groups need approval"));
    }
}

pub(super) fn check(spec: &Map<String, Value>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    check_group(text(spec, "group"), &path.field("group"), errors);
    one_of(text(spec, "scope"), &["Cluster", "Namespaced"], &path.field("scope"), errors);
    check_versions(spec, &path.field("versions"), errors);
    let empty = Map::new();
    let names = spec.get("names").and_then(Value::as_object).unwrap_or(&empty);
    check_names(names, &path.field("names"), errors);
    if let Some(conversion) = spec.get("conversion").and_then(Value::as_object) {
        check_conversion(conversion, &path.field("conversion"), errors);
    }
    if flag(spec, "preserveUnknownFields") {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                      spec.versions[*].schema instead";
        errors.push(FieldError::invalid(path.field("preserveUnknownFields"), true, detail));
    }
}

fn check_group(group: &str, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if group.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let complaints = dns_subdomain(group);
    if !complaints.is_empty() {
        errors.push(FieldError::invalid(path, group, complaints.join(",")));
    } else if !group.contains('.') {
        errors.push(FieldError::invalid(path, group, "should be a domain with at least one dot"));
    }
}

fn one_of(value: &str, allowed: &[&str], path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if value.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if !allowed.contains(&value) {
        errors.push(FieldError::not_supported(path, value, allowed));
    }
}

fn check_versions(spec: &Map<String, Value>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let versions = spec.get("versions").cloned().unwrap_or(Value::Array(Vec::new()));
    let documents: Vec<&Map<String, Value>> =
        versions.as_array().into_iter().flatten().filter_map(Value::as_object).collect();
    let mut names: Vec<&str> = Vec::new();
    for (index, version) in documents.iter().enumerate() {
        let name = text(version, "name");
        let complaints = dns_1035_label(name);
        if !complaints.is_empty() {
            let path = path.index(index);
            errors.push(FieldError::invalid(path.field("name"), name, complaints.join(",")));
            if index == 0 {
                // The first version's name counts twice: it is also that of the definition as a whole.
                errors.push(FieldError::invalid("spec.version", name, complaints.join(",")));
            }
        }
        names.push(name);
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    if names.len() != count {
        errors.push(FieldError::invalid(path, versions.clone(), "must contain unique version names"));
    }
    if documents.iter().filter(|version| flag(version, "storage")).count() != 1 {
        let detail = "must have exactly one version marked as storage version";
        errors.push(FieldError::invalid(path, versions.clone(), detail));
    }
}

fn check_names(names: &Map<String, Value>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    for name in ["plural", "singular", "kind", "listKind"] {
        let value = text(names, name);
        let path = path.field(name);
        if value.is_empty() {
            errors.push(FieldError::required(path, ""));
            continue;
        }
        let mixed = name.to_lowercase().ends_with("kind");
        let complaints =
            dns_1035_label(&if mixed { value.to_lowercase() } else { value.to_owned() }).join(",");
        if !complaints.is_empty() {
            let prefix = if mixed { "may have mixed case, but should otherwise match: " } else { "" };
            errors.push(FieldError::invalid(path, value, format!("{prefix}{complaints}")));
        }
    }
    for list in ["shortNames", "categories"] {
        let path = path.field(list);
        for (index, value) in texts(names, list).enumerate() {
            let complaints = dns_1035_label(value);
            if !complaints.is_empty() {
                errors.push(FieldError::invalid(path.index(index), value, complaints.join(",")));
            }
        }
    }
    let kind = text(names, "kind");
    if !kind.is_empty() && kind == text(names, "listKind") {
        errors.push(FieldError::invalid(
            path.field("listKind"),
            kind,
            "kind and listKind may not be the same",
        ));
    }
}

fn check_conversion(conversion: &Map<String, Value>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let strategy = text(conversion, "strategy");
    one_of(strategy, &["None", "Webhook"], &path.field("strategy"), errors);
    if strategy == "Webhook" {
        let detail = "conversion by webhook is not supported by this server, only None is";
        errors.push(FieldError::invalid(path.field("strategy"), strategy, detail));
    } else if let Some(webhook) = conversion.get("webhook").and_then(Value::as_object) {
        let detail = "should not be set when strategy is not set to Webhook";
        for (name, printed) in [
            ("clientConfig", "webhookClientConfig"),
            ("conversionReviewVersions", "conversionReviewVersions"),
        ] {
            if webhook.get(name).is_some_and(|value| !value.is_null()) {
                errors.push(FieldError::forbidden(path.field(printed), detail));
            }
        }
    }
}
