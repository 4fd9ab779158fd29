//! IngressClasses.

use maar_machinery::error::{FieldError, Path};
use serde_json::Value;

use super::check::{self, Errors};
use super::value::{child, fill, is_set, make_root_child, text};
use super::{Strategy, name};

/// The strategy of IngressClasses.
#[derive(Debug)]
pub(crate) struct IngressClass;

impl Strategy for IngressClass {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = make_root_child(object, "spec")
            && let Some(parameters) = child(spec, "parameters")
        {
            fill(parameters, "scope", "Cluster");
        }
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = Path::Text("spec");
        let controller = text(&object["spec"]["controller"]);
        let prefixed = controller
            .split_once('/')
            .is_some_and(|(domain, rest)| name::subdomain(domain).is_empty() && !rest.is_empty());
        if controller.len() > 250 {
            errors.push(FieldError::too_long(path.field("controller"), 250));
        }
        if !controller.is_empty() && !prefixed {
            let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
            errors.push(FieldError::invalid(path.field("controller"), controller, detail));
        }
        parameters(&mut errors, &path.field("parameters"), &object["spec"]["parameters"]);
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let path = Path::Text("spec.controller");
        check::immutable(&mut errors, &path, &new["spec"]["controller"], &old["spec"]["controller"]);
        errors
    }
}

fn parameters(errors: &mut Errors, path: &Path<'_>, parameters: &Value) {
    if parameters.is_null() {
        return;
    }
    for field in ["kind", "name"] {
        check::given(errors, &path.field(field), &parameters[field]);
    }
    check::follows(errors, &path.field("apiGroup"), &parameters["apiGroup"], name::subdomain);
    check::one_of(errors, &path.field("scope"), &parameters["scope"], &["Cluster", "Namespace"]);
    let namespace = &parameters["namespace"];
    let path = path.field("namespace");
    match (parameters["scope"] == "Namespace", is_set(namespace)) {
        (true, false) => {
            errors.push(FieldError::required(path, "`parameters.scope` is set to 'Namespace'"));
        }
        (true, true) => check::follows(errors, &path, namespace, name::label),
        (false, true) => {
            errors.push(FieldError::forbidden(path, "`parameters.scope` is set to 'Cluster'"));
        }
        (false, false) => {}
    }
}
