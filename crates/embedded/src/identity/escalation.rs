//! Nobody gives away what they do not have: the check on writes of roles and bindings.

use serde_json::Value;

use super::policy::{GROUP, MASTERS, RoleRef};
use super::rbac::{self, Ask, Rule, quoted};
use crate::resource::Resource;
use crate::server::{Caller, Server, UserInfo};
use crate::status::ApiError;
use crate::store::Key;

impl Server {
    /// Refuses a role or binding that would give more than its writer has.
    pub(super) fn check_escalation(
        &self,
        caller: &Caller,
        resource: &Resource,
        key: &Key,
        new: &Value,
        old: Option<&Value>,
    ) -> Result<(), ApiError> {
        if resource.group != GROUP || caller.user.groups.iter().any(|group| group == MASTERS) {
            return Ok(());
        }
        if old.is_some_and(|old| without_lifecycle(old) == without_lifecycle(new)) {
            return Ok(());
        }
        match resource.plural.as_str() {
            "roles" | "clusterroles" => self.check_role(&caller.user, resource, key, new, old),
            "rolebindings" | "clusterrolebindings" => self.check_binding(&caller.user, resource, key, new),
            _ => Ok(()),
        }
    }

    fn check_role(
        &self,
        user: &UserInfo,
        resource: &Resource,
        key: &Key,
        new: &Value,
        old: Option<&Value>,
    ) -> Result<(), ApiError> {
        let escalate = Ask::object("escalate", GROUP, &resource.plural, key.namespace(), key.name());
        if self.policy().allows(user, &escalate).is_some() {
            return Ok(());
        }
        let wanted: Vec<Rule> = read(&new["rules"])?;
        self.check_covered(user, resource, key, &wanted)?;
        // What it will collect is not known yet, and who stops it from collecting keeps others from narrowing it: both
        // are only for somebody who has everything.
        if (collects(new) || old.is_some_and(collects))
            && self.check_covered(user, resource, key, &everything()).is_err()
        {
            let why = "must have cluster-admin privileges to use the aggregationRule";
            return Err(ApiError::forbidden(resource, key.name(), why));
        }
        Ok(())
    }

    fn check_binding(
        &self,
        user: &UserInfo,
        resource: &Resource,
        key: &Key,
        new: &Value,
    ) -> Result<(), ApiError> {
        let role: RoleRef = read(&new["roleRef"])?;
        let policy = self.policy();
        let cluster_role = role.kind == "ClusterRole";
        let plural = if cluster_role { "clusterroles" } else { "roles" };
        let bind = Ask::object("bind", GROUP, plural, key.namespace(), &role.name);
        if policy.allows(user, &bind).is_some() {
            return Ok(());
        }
        let Some(rules) = policy.rules_of(&role, key.namespace()) else {
            // Of the role, but in the name of the binding, as the real server says it.
            return Err(ApiError::not_found(resource, &role.name));
        };
        self.check_covered(user, resource, key, &rules)
    }

    fn check_covered(
        &self,
        user: &UserInfo,
        resource: &Resource,
        key: &Key,
        wanted: &[Rule],
    ) -> Result<(), ApiError> {
        let missing = rbac::missing(&self.policy().rules(user, key.namespace()), wanted);
        if missing.is_empty() {
            return Ok(());
        }
        let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
        let why = format!(
            "user {:?} (groups=[{}]) is attempting to grant RBAC permissions not currently held:\n{}",
            user.username,
            quoted(&user.groups),
            missing.join("\n")
        );
        Err(ApiError::forbidden(resource, key.name(), why))
    }
}

/// The object without what the end of its life needs, which gives nobody anything. All else counts, also labels: by
/// them aggregated roles collect.
fn without_lifecycle(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for member in ["ownerReferences", "finalizers", "managedFields", "resourceVersion"] {
            metadata.remove(member);
        }
    }
    object
}

fn collects(role: &Value) -> bool {
    role["aggregationRule"]["clusterRoleSelectors"].as_array().is_some_and(|selectors| !selectors.is_empty())
}

fn everything() -> Vec<Rule> {
    let any = || vec!["*".to_owned()];
    vec![
        Rule { verbs: any(), api_groups: any(), resources: any(), ..Rule::default() },
        Rule { verbs: any(), paths: any(), ..Rule::default() },
    ]
}

fn read<T: serde::de::DeserializeOwned + Default>(value: &Value) -> Result<T, ApiError> {
    if value.is_null() {
        return Ok(T::default());
    }
    serde_json::from_value(value.clone())
        .map_err(|error| ApiError::bad_request(format!("the role cannot be read: {error}")))
}
