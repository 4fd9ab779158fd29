//! Whether a caller may, and the words of a refusal.

use http::Method;
use serde_json::json;

use super::rbac::Ask;
use crate::request::{Query, Target};
use crate::server::{Caller, Server, UserInfo};
use crate::status::{ApiError, subject};

impl Server {
    /// Whether the caller may do this.
    pub(crate) fn authorize(
        &self,
        caller: &Caller,
        verb: &str,
        target: &Target,
        query: &Query,
    ) -> Result<(), ApiError> {
        let Target { group, resource, subresource, .. } = target;
        // A namespace is in itself, so that whoever may do everything in it may also read it.
        let is_namespace = group.is_empty() && resource == "namespaces";
        let namespace = if is_namespace { &target.name } else { &target.namespace };
        // To create is to name an object in the body, which nobody has read yet.
        let selects = matches!(verb, "list" | "watch" | "deletecollection");
        let selected = if selects { selected_name(query) } else { String::new() };
        let name = if target.name.is_empty() { selected.as_str() } else { &target.name };
        self.may(&caller.user, &Ask::Resource { verb, group, resource, subresource, namespace, name })
    }

    /// Whether the caller may use this path, which is not a resource.
    pub(crate) fn authorize_path(
        &self,
        caller: &Caller,
        method: &Method,
        path: &str,
    ) -> Result<(), ApiError> {
        let verb = method.as_str().to_ascii_lowercase();
        let path = if path.is_empty() { "/" } else { path };
        self.may(&caller.user, &Ask::Path { verb: &verb, path })
    }

    /// Whether a user may do something, or the refusal.
    pub(crate) fn may(&self, user: &UserInfo, ask: &Ask<'_>) -> Result<(), ApiError> {
        if user.groups.iter().any(|group| group == super::policy::MASTERS) {
            return Ok(());
        }
        self.policy().allows(user, ask).map(|_| ()).ok_or_else(|| refusal(user, ask))
    }
}

/// A list of the one object of a name is about that object.
fn selected_name(query: &Query) -> String {
    let fields = query.text("fieldSelector").unwrap_or_default();
    let name = fields.split(',').find_map(|term| term.trim().strip_prefix("metadata.name="));
    name.map(|name| name.trim_start_matches('=').to_owned()).unwrap_or_default()
}

/// 403, in Kubernetes' words.
fn refusal(user: &UserInfo, ask: &Ask<'_>) -> ApiError {
    let username = &user.username;
    match *ask {
        Ask::Path { verb, path } => {
            let mut error = ApiError::new(
                403,
                "Forbidden",
                format!("forbidden: User {username:?} cannot {verb} path {path:?}"),
            );
            error.details = Some(json!({}));
            error
        }
        Ask::Resource { verb, group, resource, subresource, namespace, name } => {
            let qualified =
                if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") };
            let what = if name.is_empty() { qualified } else { format!("{qualified} {name:?}") };
            let full = if subresource.is_empty() {
                resource.to_owned()
            } else {
                format!("{resource}/{subresource}")
            };
            let place = if namespace.is_empty() {
                "at the cluster scope".to_owned()
            } else {
                format!("in the namespace {namespace:?}")
            };
            let message = format!(
                "{what} is forbidden: User {username:?} cannot {verb} resource {full:?} in API group {group:?} {place}"
            );
            let mut error = ApiError::new(403, "Forbidden", message);
            error.details = Some(subject(name, group, resource));
            error
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_worded_as_kubernetes_words_them() {
        let user = UserInfo { username: "jane".into(), ..UserInfo::default() };
        let list = Ask::object("list", "", "pods", "default", "");
        assert_eq!(
            refusal(&user, &list).message,
            r#"pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default""#
        );
        let scale = Ask::Resource {
            verb: "update",
            group: "apps",
            resource: "deployments",
            subresource: "scale",
            namespace: "",
            name: "web",
        };
        assert_eq!(
            refusal(&user, &scale).message,
            r#"deployments.apps "web" is forbidden: User "jane" cannot update resource "deployments/scale" in API group "apps" at the cluster scope"#
        );
        let path = Ask::Path { verb: "get", path: "/metrics" };
        assert_eq!(refusal(&user, &path).message, r#"forbidden: User "jane" cannot get path "/metrics""#);
    }

    #[test]
    fn a_list_of_one_name_is_about_that_object() {
        let name = |query: &str| selected_name(&Query::parse(Some(query)));
        assert_eq!(name("fieldSelector=metadata.name%3Da"), "a");
        assert_eq!(name("fieldSelector=status.phase%3DRunning,metadata.name%3D%3Da"), "a");
        assert_eq!(name("fieldSelector=metadata.name!%3Da"), "");
        assert_eq!(name("watch=1"), "");
    }
}
