//! What stands between a valid request and the store: rules that look beyond the object itself.
//!
//! So far one: objects are made only in namespaces that are there and will stay.

use crate::resource::Resource;
use crate::server::Server;
use crate::status::ApiError;
use crate::store::Key;

impl Server {
    /// Refuses a new object where its namespace is missing or on its way out.
    pub(crate) fn admit_create(&self, resource: &Resource, key: &Key) -> Result<(), ApiError> {
        if !resource.namespaced {
            return Ok(());
        }
        let namespaces = self.resource("", "v1", "namespaces")?;
        let namespace = Key::new(&namespaces.table, "", key.namespace());
        let entry =
            self.store.get(&namespace).ok_or_else(|| ApiError::not_found(&namespaces, key.namespace()))?;
        if entry.meta.deleting {
            let why = format!(
                "unable to create new content in namespace {} because it is being terminated",
                key.namespace()
            );
            return Err(ApiError::forbidden(resource, key.name(), why));
        }
        Ok(())
    }
}
