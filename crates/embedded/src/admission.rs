//! What stands between a valid request and the store: rules that look beyond the object itself.
//!
//! `admit_*` may change the object and runs before validation; `charge_*` answers the changes to quotas that are
//! stored in the same transaction as the object, which is why a quota is never exceeded.

use serde_json::Value;

use crate::request::WriteOptions;
use crate::resource::{Resource, Subresource};
use crate::server::{Caller, Server};
use crate::status::ApiError;
use crate::store::{Key, Operation};

/// What admission adds to the answer.
#[derive(Debug, Default)]
pub(crate) struct Admitted {
    pub(crate) warnings: Vec<String>,
}

impl Server {
    pub(crate) async fn admit_create(
        &self,
        _caller: &Caller,
        resource: &Resource,
        key: &Key,
        _object: &mut Value,
        _options: &WriteOptions,
    ) -> Result<Admitted, ApiError> {
        self.check_namespace(resource, key)?;
        Ok(Admitted::default())
    }

    #[expect(clippy::too_many_arguments, reason = "the facts of an update that admission rules ask for")]
    pub(crate) async fn admit_update(
        &self,
        _caller: &Caller,
        _resource: &Resource,
        _key: &Key,
        _subresource: Option<Subresource>,
        _new: &mut Value,
        _old: &Value,
        _options: &WriteOptions,
    ) -> Result<Admitted, ApiError> {
        Ok(Admitted::default())
    }

    pub(crate) async fn admit_delete(
        &self,
        _caller: &Caller,
        _resource: &Resource,
        _key: &Key,
        _old: &Value,
        _dry_run: bool,
    ) -> Result<Admitted, ApiError> {
        Ok(Admitted::default())
    }

    /// The quota changes of a creation, or a refusal.
    pub(crate) fn charge_create(
        &self,
        _caller: &Caller,
        _resource: &Resource,
        _key: &Key,
        _object: &Value,
    ) -> Result<Vec<Operation>, ApiError> {
        Ok(Vec::new())
    }

    /// The quota changes of an update, or a refusal.
    pub(crate) fn charge_update(
        &self,
        _caller: &Caller,
        _resource: &Resource,
        _key: &Key,
        _new: &Value,
        _old: &Value,
    ) -> Result<Vec<Operation>, ApiError> {
        Ok(Vec::new())
    }

    fn check_namespace(&self, resource: &Resource, key: &Key) -> Result<(), ApiError> {
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
