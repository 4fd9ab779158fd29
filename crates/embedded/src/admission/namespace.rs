//! Objects are made only in namespaces that are there and will stay; some namespaces always stay.

use serde_json::json;

use super::{Action, Attributes};
use crate::server::Server;
use crate::status::ApiError;

/// The namespaces that cannot be deleted.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

impl Server {
    /// Refuses a new object where its namespace is missing or on its way out.
    pub(super) fn check_namespace(&self, attributes: &Attributes<'_>) -> Result<(), ApiError> {
        let Attributes { resource, namespace, action, subresource, .. } = *attributes;
        if !resource.namespaced || action != Action::Create || subresource.is_some() {
            return Ok(());
        }
        let Some(entry) = self.stored("namespaces", "", namespace) else {
            return Err(ApiError::not_found(&*self.resource("", "v1", "namespaces")?, namespace));
        };
        if !entry.meta.deleting {
            return Ok(());
        }
        let why =
            format!("unable to create new content in namespace {namespace} because it is being terminated");
        let mut error = attributes.forbidden(why);
        if let Some(details) = &mut error.details {
            details["causes"] = json!([{
                "reason": "NamespaceTerminating",
                "message": format!("namespace {namespace} is being terminated"),
                "field": "metadata.namespace",
            }]);
        }
        Err(error)
    }
}

pub(super) fn check_deletion(attributes: &Attributes<'_>) -> Result<(), ApiError> {
    if IMMORTAL.contains(&attributes.name) {
        return Err(attributes.forbidden("this namespace may not be deleted"));
    }
    Ok(())
}
