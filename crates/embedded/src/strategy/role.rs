//! Roles and ClusterRoles.

use maar_machinery::error::{FieldError, Path};
use serde_json::Value;

use super::check::Errors;
use super::value::{is_set, items};
use super::{NameRule, Strategy, selector};

/// The strategy of Roles and ClusterRoles.
#[derive(Debug)]
pub(crate) struct Role;

impl Strategy for Role {
    fn default(&self, object: &mut Value) {
        // A role without rules says so with a null.
        if let Some(object) = object.as_object_mut()
            && !object.contains_key("rules")
        {
            object.insert("rules".to_owned(), Value::Null);
        }
    }

    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let namespaced = object["kind"] == "Role";
        let list = Path::Text("rules");
        for (index, rule) in items(&object["rules"]).iter().enumerate() {
            validate_rule(&mut errors, &list.index(index), rule, namespaced);
        }
        let aggregation = &object["aggregationRule"];
        let list = Path::Text("aggregationRule.clusterRoleSelectors");
        let selectors = items(&aggregation["clusterRoleSelectors"]);
        if !aggregation.is_null() && selectors.is_empty() {
            let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
            errors.push(FieldError::required(list, detail));
        }
        for (index, selector) in selectors.iter().enumerate() {
            selector::validate(&mut errors, &list.index(index), selector);
        }
        errors
    }
}

fn validate_rule(errors: &mut Errors, path: &Path<'_>, rule: &Value, namespaced: bool) {
    if !is_set(&rule["verbs"]) {
        errors.push(FieldError::required(path.field("verbs"), "verbs must contain at least one value"));
    }
    let paths = &rule["nonResourceURLs"];
    if !is_set(paths) {
        for (field, what) in [("apiGroups", "api group"), ("resources", "resource")] {
            if !is_set(&rule[field]) {
                let detail = format!("resource rules must supply at least one {what}");
                errors.push(FieldError::required(path.field(field), detail));
            }
        }
        return;
    }
    let path = path.field("nonResourceURLs");
    if namespaced {
        let detail = "namespaced rules cannot apply to non-resource URLs";
        errors.push(FieldError::invalid(path, paths.clone(), detail));
    }
    if ["apiGroups", "resources", "resourceNames"].iter().any(|field| is_set(&rule[*field])) {
        let detail = "rules cannot apply to both regular resources and non-resource URLs";
        errors.push(FieldError::invalid(path, paths.clone(), detail));
    }
}
