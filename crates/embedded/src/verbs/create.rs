//! Create.

use serde_json::Value;

use super::prepare::{check_depth, decode_object, meta_text};
use super::{ATTEMPTS, Written};
use crate::admission::{Action, Attributes, Charge, Options};
use crate::hooks::to_storage;
use crate::request::WriteOptions;
use crate::resource::Resource;
use crate::server::{Caller, Server};
use crate::status::ApiError;
use crate::store::{self, CommitError, Expect, Key};
use crate::strategy;

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
        match self.create_decoded(caller, resource, namespace, object, options, fields_settled).await {
            Ok(mut written) => {
                written.warnings.splice(0..0, warnings);
                Ok(written)
            }
            Err(error) => Err(error.warned(warnings)),
        }
    }

    async fn create_decoded(
        &self,
        caller: &Caller,
        resource: &Resource,
        namespace: &str,
        mut object: Value,
        options: &WriteOptions,
        fields_settled: bool,
    ) -> Result<Written, ApiError> {
        let given = given_name(&object);
        let name = self.identify(resource, namespace, &mut object)?;
        Self::default(resource, &mut object);
        // Before admission: what the cluster adds is nobody's.
        if !fields_settled {
            self.own_fields(caller, resource, None, &mut object, None, options);
        }
        let namespace = if resource.namespaced { namespace } else { "" };
        let mut attributes = Attributes {
            caller,
            resource,
            namespace,
            name: &given,
            subresource: None,
            action: Action::Create,
            dry_run: options.dry_run,
            options: Options::Write(options),
            generated: given != name,
        };
        let mut warnings = self.mutate(&attributes, &mut object, None).await?.warnings;
        (attributes.name, attributes.generated) = (&name, false);
        resource.strategy().prepare_create(&mut object, &self.world);
        Self::prepare_custom_create(resource, &mut object);
        let key = Key::new(&resource.table, namespace, &name);
        self.identity_on_create(caller, resource, &key, &mut object)?;
        warnings.extend(Self::validate(resource, &object, None, None)?);
        warnings.extend(strategy::warnings(resource, &object, None));
        warnings.extend(self.review(&attributes, &object, None).await?);
        self.store_new(&attributes, &key, object, warnings)
    }

    fn store_new(
        &self,
        attributes: &Attributes<'_>,
        key: &Key,
        object: Value,
        warnings: Vec<String>,
    ) -> Result<Written, ApiError> {
        let resource = attributes.resource;
        check_depth(&object)?;
        let mut stored = to_storage(resource, object);
        let _addresses = resource.is("services").then(|| self.addresses.lock());
        self.allocate(resource, &mut stored, None)?;
        for _ in 0..ATTEMPTS {
            let charge = self.charge(attributes, &stored, None)?;
            if self.store.get(key).is_some() {
                return Err(ApiError::already_exists(resource, key.name()));
            }
            if attributes.dry_run {
                let entry = store::decode(&stored, self.store.revision());
                return Ok(Written { entry: entry.into(), created: true, warnings });
            }
            let put = store::put(key.clone(), &stored, resource.fields_of(&stored), Expect::Absent);
            match self.commit(resource, charge.with(put)) {
                Ok(mut entries) => {
                    let entry = entries.swap_remove(0);
                    return Ok(Written { entry, created: true, warnings });
                }
                Err(CommitError::Stale(stale)) if Charge::concerns(&stale, key) => {}
                Err(CommitError::Stale(_)) => return Err(ApiError::already_exists(resource, key.name())),
                Err(error @ CommitError::Disk(_)) => return Err(ApiError::internal(error)),
            }
        }
        Err(ApiError::conflict(resource, key.name(), "its quota is being charged by too many others"))
    }
}

/// What a refusal calls an object that may not have its name yet.
fn given_name(object: &Value) -> String {
    let text = |field: &str| meta_text(object, field).filter(|name| !name.is_empty());
    text("name").or_else(|| text("generateName")).unwrap_or("Unknown").to_owned()
}
