//! Mutating and validating webhook configurations.

use maar_machinery::error::{FieldError, Path};
use maar_machinery::schema::Condition;
use serde_json::Value;

use super::check::{self, Errors};
use super::value::{Object, child, fill, is_set, items, items_mut, text};
use super::{Strategy, name, selector};
use crate::admission::CONDITION_NAMES;

/// The versions of reviews that the server can send.
const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];

/// The strategy of both kinds of webhook configurations.
#[derive(Debug)]
pub(crate) struct WebhookConfiguration;

impl Strategy for WebhookConfiguration {
    fn takes_any_finalizer(&self) -> bool {
        true
    }

    fn default(&self, object: &mut Value) {
        let mutating = object["kind"] == "MutatingWebhookConfiguration";
        let Some(object) = object.as_object_mut() else { return };
        for webhook in items_mut(object, "webhooks") {
            default_webhook(webhook);
            if mutating {
                fill(webhook, "reinvocationPolicy", "Never");
            }
        }
    }

    fn changes_generation(&self, new: &Value, old: &Value) -> bool {
        new["webhooks"] != old["webhooks"]
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let list = Path::Text("webhooks");
        let webhooks = items(&object["webhooks"]);
        for (index, webhook) in webhooks.iter().enumerate() {
            let path = list.index(index);
            validate_webhook(&mut errors, &path, webhook);
            if webhooks[..index].iter().any(|other| other["name"] == webhook["name"]) {
                errors.push(FieldError::duplicate(path.field("name"), webhook["name"].clone()));
            }
        }
        errors
    }
}

fn default_webhook(webhook: &mut Object) {
    fill(webhook, "failurePolicy", "Fail");
    fill(webhook, "matchPolicy", "Equivalent");
    fill(webhook, "namespaceSelector", Object::new());
    fill(webhook, "objectSelector", Object::new());
    fill(webhook, "timeoutSeconds", 10);
    for rule in items_mut(webhook, "rules") {
        fill(rule, "scope", "*");
    }
    if let Some(client) = child(webhook, "clientConfig")
        && let Some(service) = child(client, "service")
    {
        fill(service, "port", 443);
    }
}

fn validate_webhook(errors: &mut Errors, path: &Path<'_>, webhook: &Value) {
    qualified_name(errors, &path.field("name"), text(&webhook["name"]));
    let list = path.field("rules");
    for (index, rule) in items(&webhook["rules"]).iter().enumerate() {
        validate_rule(errors, &list.index(index), rule);
    }
    check::one_of(errors, &path.field("failurePolicy"), &webhook["failurePolicy"], &["Fail", "Ignore"]);
    check::one_of(errors, &path.field("matchPolicy"), &webhook["matchPolicy"], &["Equivalent", "Exact"]);
    let effects = ["None", "NoneOnDryRun"];
    if webhook["sideEffects"].is_null() {
        errors
            .push(FieldError::required(path.field("sideEffects"), "must specify one of None, NoneOnDryRun"));
    }
    check::one_of(errors, &path.field("sideEffects"), &webhook["sideEffects"], &effects);
    check::between(errors, &path.field("timeoutSeconds"), &webhook["timeoutSeconds"], 1, 30);
    for field in ["namespaceSelector", "objectSelector"] {
        selector::validate(errors, &path.field(field), &webhook[field]);
    }
    let policies = ["IfNeeded", "Never"];
    check::one_of(errors, &path.field("reinvocationPolicy"), &webhook["reinvocationPolicy"], &policies);
    client(errors, &path.field("clientConfig"), &webhook["clientConfig"]);
    versions(errors, &path.field("admissionReviewVersions"), items(&webhook["admissionReviewVersions"]));
    conditions(errors, &path.field("matchConditions"), items(&webhook["matchConditions"]));
}

/// A name with at least three labels, so that nobody takes another's.
fn qualified_name(errors: &mut Errors, path: &Path<'_>, name: &str) {
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    check::text_follows(errors, path, name, name::subdomain);
    if name.split('.').count() < 3 {
        let detail = "should be a domain with at least three segments separated by dots";
        errors.push(FieldError::invalid(path, name, detail));
    }
}

fn validate_rule(errors: &mut Errors, path: &Path<'_>, rule: &Value) {
    let operations = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
    for field in ["operations", "apiGroups", "apiVersions", "resources"] {
        let values = items(&rule[field]);
        check::given(errors, &path.field(field), &rule[field]);
        if values.len() > 1 && values.iter().any(|value| value == "*") && field != "resources" {
            let detail = format!("if '*' is present, must not specify other {}", spaced(field));
            errors.push(FieldError::invalid(path.field(field), rule[field].clone(), detail));
        }
    }
    let list = path.field("operations");
    for (index, operation) in items(&rule["operations"]).iter().enumerate() {
        check::one_of(errors, &list.index(index), operation, &operations);
    }
    let list = path.field("apiVersions");
    for (index, version) in items(&rule["apiVersions"]).iter().enumerate() {
        check::given(errors, &list.index(index), version);
    }
    check::one_of(errors, &path.field("scope"), &rule["scope"], &["*", "Cluster", "Namespaced"]);
}

fn spaced(field: &str) -> &str {
    match field {
        "apiGroups" => "API groups",
        "apiVersions" => "API versions",
        other => other,
    }
}

fn client(errors: &mut Errors, path: &Path<'_>, client: &Value) {
    match (client["url"].is_null(), client["service"].is_null()) {
        (true, true) | (false, false) => {
            errors.push(FieldError::required(path, "exactly one of url or service is required"));
        }
        (false, true) => validate_url(errors, &path.field("url"), text(&client["url"])),
        (true, false) => {
            let path = path.field("service");
            let service = &client["service"];
            for field in ["name", "namespace"] {
                if !is_set(&service[field]) {
                    errors.push(FieldError::required(
                        path.field(field),
                        format!("service {field} is required"),
                    ));
                }
            }
            check::port_number(errors, &path.field("port"), &service["port"]);
            let target = &service["path"];
            if is_set(target) && !text(target).starts_with('/') {
                errors.push(FieldError::invalid(path.field("path"), target.clone(), "must start with a '/'"));
            }
        }
    }
}

fn validate_url(errors: &mut Errors, path: &Path<'_>, url: &str) {
    let Some(rest) = url.strip_prefix("https://") else {
        let detail = "'https' is the only allowed URL scheme; desired format: https://host[/path]";
        errors.push(FieldError::invalid(path, url, detail));
        return;
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let complaint = if host.is_empty() {
        "host must be specified; desired format: https://host[/path]"
    } else if host.contains('@') {
        "user information is not permitted in the URL"
    } else if rest.contains('#') {
        "fragments are not permitted in the URL"
    } else if rest.contains('?') {
        "query parameters are not permitted in the URL"
    } else {
        return;
    };
    errors.push(FieldError::invalid(path, url, complaint));
}

fn versions(errors: &mut Errors, path: &Path<'_>, versions: &[Value]) {
    if versions.is_empty() {
        let detail = "must specify one of v1, v1beta1";
        errors.push(FieldError::required(path, detail));
        return;
    }
    for (index, version) in versions.iter().enumerate() {
        check::text_follows(errors, &path.index(index), text(version), name::letter_label);
        if versions[..index].contains(version) {
            errors.push(FieldError::invalid(path.index(index), version.clone(), "duplicate version"));
        }
    }
    if !versions.iter().any(|version| REVIEW_VERSIONS.contains(&text(version))) {
        let detail = "must include at least one of v1, v1beta1";
        errors.push(FieldError::invalid(path, versions.to_vec(), detail));
    }
}

/// An expression must be one that can be judged here.
fn expression(errors: &mut Errors, path: &Path<'_>, source: &str) {
    if !source.is_empty()
        && let Err(why) = Condition::parse(source, &CONDITION_NAMES)
    {
        errors.push(FieldError::invalid(path, source, why));
    }
}

fn conditions(errors: &mut Errors, path: &Path<'_>, conditions: &[Value]) {
    if conditions.len() > 64 {
        errors.push(FieldError::too_many(path, conditions.len() as u64, 64));
    }
    for (index, condition) in conditions.iter().enumerate() {
        let path = path.index(index);
        check::given(errors, &path.field("expression"), &condition["expression"]);
        expression(errors, &path.field("expression"), text(&condition["expression"]));
        check::requires(errors, &path.field("name"), &condition["name"], name::qualified);
        if conditions[..index].iter().any(|other| other["name"] == condition["name"]) {
            errors.push(FieldError::duplicate(path.field("name"), condition["name"].clone()));
        }
    }
}
