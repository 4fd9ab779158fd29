//! RoleBindings and ClusterRoleBindings.

use maar_machinery::error::{FieldError, Path};
use serde_json::Value;

use super::check::{self, Errors};
use super::value::{fill_text, is_set, items, items_mut, make_child, text};
use super::{NameRule, Strategy, name};

const GROUP: &str = "rbac.authorization.k8s.io";

/// The strategy of RoleBindings and ClusterRoleBindings.
#[derive(Debug)]
pub(crate) struct RoleBinding;

impl Strategy for RoleBinding {
    fn default(&self, object: &mut Value) {
        let Some(object) = object.as_object_mut() else { return };
        if let Some(role) = make_child(object, "roleRef") {
            fill_text(role, "apiGroup", GROUP);
        }
        for subject in items_mut(object, "subjects") {
            if subject.get("kind").is_some_and(|kind| kind == "User" || kind == "Group") {
                fill_text(subject, "apiGroup", GROUP);
            }
        }
    }

    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let namespaced = object["kind"] == "RoleBinding";
        let role = &object["roleRef"];
        let path = Path::Text("roleRef");
        check::one_of(&mut errors, &path.field("apiGroup"), &role["apiGroup"], &[GROUP]);
        let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
        if !kinds.contains(&text(&role["kind"])) {
            errors.push(FieldError::not_supported(path.field("kind"), text(&role["kind"]), kinds));
        }
        check::requires(&mut errors, &path.field("name"), &role["name"], name::path_segment);
        let list = Path::Text("subjects");
        for (index, subject) in items(&object["subjects"]).iter().enumerate() {
            validate_subject(&mut errors, &list.index(index), subject, namespaced);
        }
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        if new["roleRef"] == old["roleRef"] {
            return Vec::new();
        }
        vec![FieldError::invalid("roleRef", new["roleRef"].clone(), "cannot change roleRef")]
    }
}

fn validate_subject(errors: &mut Errors, path: &Path<'_>, subject: &Value, namespaced: bool) {
    check::given(errors, &path.field("name"), &subject["name"]);
    let group = text(&subject["apiGroup"]);
    match text(&subject["kind"]) {
        "ServiceAccount" => {
            check::follows(errors, &path.field("name"), &subject["name"], name::subdomain);
            if !group.is_empty() {
                errors.push(FieldError::not_supported(path.field("apiGroup"), group, [""]));
            }
            if !namespaced && !is_set(&subject["namespace"]) {
                errors.push(FieldError::required(path.field("namespace"), ""));
            }
        }
        "User" | "Group" if group == GROUP => {}
        "User" | "Group" => errors.push(FieldError::not_supported(path.field("apiGroup"), group, [GROUP])),
        other => {
            let kinds = ["ServiceAccount", "User", "Group"];
            errors.push(FieldError::not_supported(path.field("kind"), other, kinds));
        }
    }
}
