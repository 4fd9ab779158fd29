//! Roles and ClusterRoles.

use serde_json::Value;

use super::Strategy;

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
}
