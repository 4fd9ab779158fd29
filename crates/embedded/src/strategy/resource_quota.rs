//! ResourceQuotas.

use maar_machinery::error::{FieldError, Path};
use serde_json::{Value, json};

use super::check::{self, Errors};
use super::value::{entries, is_set, items, make_root_child, restore, set_status, text};
use super::{Strategy, name, resources};
use crate::resource::Subresource;
use crate::world::World;

const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
];

/// The resources of Pods, to which most scopes apply.
const OF_PODS: [&str; 10] = [
    "pods",
    "cpu",
    "memory",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "ephemeral-storage",
];

/// The strategy of ResourceQuotas.
#[derive(Debug)]
pub(crate) struct ResourceQuota;

impl Strategy for ResourceQuota {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = make_root_child(object, "spec") {
            resources::normalize(spec.get_mut("hard"));
        }
        if let Some(status) = make_root_child(object, "status") {
            resources::normalize(status.get_mut("hard"));
            resources::normalize(status.get_mut("used"));
        }
    }

    fn prepare_create(&self, object: &mut Value, _world: &World) {
        set_status(object, json!({}));
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        restore(new, old, "status");
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = Path::Text("spec");
        let spec = &object["spec"];
        amounts(&mut errors, &path.field("hard"), &spec["hard"]);
        let scopes: Vec<&str> = items(&spec["scopes"]).iter().map(text).collect();
        for scope in &scopes {
            validate_scope(&mut errors, &path.field("scopes"), scope, spec);
        }
        conflicting(&mut errors, &path.field("scopes"), &scopes, spec);
        selector(&mut errors, &path.field("scopeSelector").field("matchExpressions"), spec);
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let scopes = |object: &Value| {
            let mut scopes: Vec<String> =
                items(&object["spec"]["scopes"]).iter().map(|scope| text(scope).to_owned()).collect();
            scopes.sort();
            scopes.dedup();
            scopes
        };
        if scopes(new) == scopes(old) {
            return Vec::new();
        }
        vec![FieldError::invalid("spec.scopes", new["spec"]["scopes"].clone(), "field is immutable")]
    }

    fn validate_subresource(&self, _subresource: Subresource, new: &Value, _old: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = Path::Text("status");
        for list in ["hard", "used"] {
            amounts(&mut errors, &path.field(list), &new["status"][list]);
        }
        errors
    }
}

fn amounts(errors: &mut Errors, path: &Path<'_>, list: &Value) {
    for (resource, amount) in entries(list) {
        let path = path.key(resource);
        check::text_follows(errors, &path, resource, name::qualified);
        if !resource.contains('/') && (!resources::is_standard(resource) || resource == "storage") {
            if resource != "storage" {
                let detail = "must be a standard resource type or fully qualified";
                errors.push(FieldError::invalid(path, resource, detail));
            }
            errors.push(FieldError::invalid(path, resource, "must be a standard resource for quota"));
        }
        resources::validate_amount(errors, &path, resource, amount);
    }
}

fn validate_scope(errors: &mut Errors, path: &Path<'_>, scope: &str, spec: &Value) {
    if !SCOPES.contains(&scope) {
        errors.push(FieldError::invalid(path, spec["scopes"].clone(), "unsupported scope"));
    }
    let applies = |resource: &str| match scope {
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => resource == "persistentvolumeclaims" || resource == "requests.storage",
        _ if SCOPES.contains(&scope) => OF_PODS.contains(&resource),
        _ => true,
    };
    if entries(&spec["hard"]).any(|(resource, _)| resources::is_standard(resource) && !applies(resource)) {
        errors.push(FieldError::invalid(
            path,
            spec["scopes"].clone(),
            "unsupported scope applied to resource",
        ));
    }
}

fn conflicting(errors: &mut Errors, path: &Path<'_>, scopes: &[&str], spec: &Value) {
    for (one, other) in [("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating")] {
        if scopes.contains(&one) && scopes.contains(&other) {
            errors.push(FieldError::invalid(path, spec["scopes"].clone(), "conflicting scopes"));
        }
    }
}

fn selector(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let mut scopes: Vec<&str> = Vec::new();
    for expression in items(&spec["scopeSelector"]["matchExpressions"]) {
        let scope = text(&expression["scopeName"]);
        validate_scope(errors, path, scope, spec);
        scopes.push(scope);
        let operator = text(&expression["operator"]);
        if !matches!(scope, "PriorityClass" | "VolumeAttributesClass") && operator != "Exists" {
            let detail = format!("must be 'Exists' when scope is {scope}");
            errors.push(FieldError::invalid(path.field("operator"), operator, detail));
        }
        let values = is_set(&expression["values"]);
        match operator {
            "In" | "NotIn" if !values => {
                let detail =
                    "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                errors.push(FieldError::required(path.field("values"), detail));
            }
            "Exists" | "DoesNotExist" if values => {
                let detail =
                    "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
                errors.push(FieldError::invalid(path.field("values"), expression["values"].clone(), detail));
            }
            _ => check::one_of(
                errors,
                &path.field("operator"),
                &expression["operator"],
                &["In", "NotIn", "Exists", "DoesNotExist"],
            ),
        }
    }
    conflicting(errors, path, &scopes, spec);
}
