//! Create.

use serde_json::Value;

use super::Written;
use super::prepare::decode_object;
use crate::hooks::to_storage;
use crate::request::WriteOptions;
use crate::resource::Resource;
use crate::server::{Caller, Server};
use crate::status::ApiError;
use crate::store::{self, CommitError, Expect, Key};

impl Server {
    pub(crate) async fn create(
        &self,
        caller: &Caller,
        resource: &Resource,
        namespace: &str,
        object: Value,
        options: &WriteOptions,
    ) -> Result<Written, ApiError> {
        self.create_new(caller, resource, namespace, object, options, false).await
    }

    /// The same for an object whose managed fields may be settled already, as apply does.
    #[expect(clippy::unused_async, reason = "admission webhooks will be awaited here")]
    pub(super) async fn create_new(
        &self,
        caller: &Caller,
        resource: &Resource,
        namespace: &str,
        mut object: Value,
        options: &WriteOptions,
        fields_settled: bool,
    ) -> Result<Written, ApiError> {
        let warnings = decode_object(resource, &mut object, options.field_validation)?;
        let name = self.identify(resource, namespace, &mut object)?;
        Self::default(resource, &mut object);
        resource.strategy().prepare_create(&mut object, &self.world);
        Self::prepare_custom_create(resource, &mut object);
        let key = Key::new(&resource.table, if resource.namespaced { namespace } else { "" }, &name);
        self.identity_on_create(caller, resource, &key, &mut object)?;
        self.admit_create(resource, &key)?;
        Self::validate(resource, &object, None, None)?;
        if !fields_settled {
            self.own_fields(caller, resource, None, &mut object, None, options);
        }
        let mut stored = to_storage(resource, object);
        let _addresses = resource.is("services").then(|| self.addresses.lock());
        self.allocate(resource, &mut stored)?;
        let exists = || ApiError::already_exists(resource, &name);
        if self.store.get(&key).is_some() {
            return Err(exists());
        }
        if options.dry_run {
            let entry = store::decode(&stored, self.store.revision());
            return Ok(Written { entry: entry.into(), created: true, warnings });
        }
        let put = store::put(key.clone(), &stored, resource.fields_of(&stored), Expect::Absent);
        match self.store.commit(vec![put]) {
            Ok(mut entries) => {
                let entry = entries.swap_remove(0);
                self.after_write(resource, &entry);
                Ok(Written { entry, created: true, warnings })
            }
            Err(CommitError::Stale(_)) => Err(exists()),
            Err(error @ CommitError::Disk(_)) => Err(ApiError::internal(error)),
        }
    }
}
