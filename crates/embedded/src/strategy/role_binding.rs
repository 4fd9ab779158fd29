//! RoleBindings and ClusterRoleBindings.

use serde_json::Value;

use super::Strategy;
use super::value::{fill_text, items_mut, make_child};

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
}
