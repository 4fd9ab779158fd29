//! Create.

use serde_json::Value;

use super::owners::{Found, drop_duplicates};
use super::prepare::{check_depth, decode_object, meta_text};
use super::{ATTEMPTS, Written};
use crate::admission::{Action, Attributes, Charge, Options};
use crate::hooks::to_storage;
use crate::request::WriteOptions;
use crate::resource::Resource;
use crate::server::{Caller, Server};
use crate::status::ApiError;
use crate::store::{self, CommitError, Entry, Expect, Key};
use crate::strategy;

/// How often a name is generated: with a million objects of one prefix, one name in fourteen is taken.
const NAME_ATTEMPTS: usize = 8;

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
        let mut warnings = decode_object(resource, &mut object, options.field_validation)?;
        warnings.extend(drop_duplicates(&mut object, Found::Given));
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
        let mut name = self.identify(resource, namespace, &mut object)?;
        let generated = given != name;
        self.definition_stays(resource, if generated { "" } else { &name })?;
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
            generated,
        };
        let mut warnings = self.mutate(&attributes, &mut object, None).await?.warnings;
        warnings.extend(drop_duplicates(&mut object, Found::AfterAdmission));
        attributes.generated = false;
        let mut left = if generated { NAME_ATTEMPTS } else { 1 };
        loop {
            left -= 1;
            let attempt = if left == 0 { std::mem::take(&mut object) } else { object.clone() };
            let named = Attributes { name: &name, ..attributes };
            match self.create_named(&named, attempt, warnings.clone()).await {
                Err(error) if left > 0 && error.is_already_exists() && self.is_taken(&named) => {}
                result => return result,
            }
            name = self.generate_name(&mut object);
        }
    }

    /// Stores an object that has a name, if nobody objects.
    async fn create_named(
        &self,
        attributes: &Attributes<'_>,
        mut object: Value,
        mut warnings: Vec<String>,
    ) -> Result<Written, ApiError> {
        let Attributes { caller, resource, namespace, name, .. } = *attributes;
        resource.strategy().prepare_create(&mut object, &self.world);
        Self::prepare_custom_create(resource, &mut object);
        let key = Key::new(&resource.table, namespace, name);
        self.identity_on_create(caller, resource, &key, &mut object)?;
        warnings.extend(Self::validate(resource, &object, None, None)?);
        warnings.extend(strategy::warnings(resource, &object, None));
        warnings.extend(self.review(attributes, &object, None).await?);
        self.store_new(attributes, &key, object, warnings)
    }

    fn is_taken(&self, attributes: &Attributes<'_>) -> bool {
        let Attributes { resource, namespace, name, .. } = *attributes;
        self.store.get(&Key::new(&resource.table, namespace, name)).is_some()
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
            if let Some(current) = self.store.get(key) {
                return Err(taken(resource, &stored, &current));
            }
            if attributes.dry_run {
                let entry = store::decode(&stored, self.store.revision());
                return Ok(Written { entry: entry.into(), created: true, warnings });
            }
            let put = store::put(key.clone(), &stored, resource.fields_of(&stored), Expect::Absent);
            // Until it is stored, so that whoever counts the objects of a definition that goes has counted this one.
            let definition = self.definition_stays(resource, key.name())?;
            let result = self.commit(resource, charge.with(put));
            drop(definition);
            match result {
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

/// What is said of a name that is taken: it may be free soon, and another one may be generated.
fn taken(resource: &Resource, object: &Value, by: &Entry) -> ApiError {
    let mut error = ApiError::already_exists(resource, &by.meta.name);
    if meta_text(object, "generateName").is_some_and(|prefix| !prefix.is_empty()) {
        error = error.of_generated_name();
    }
    if by.meta.deleting {
        error.message = format!("object is being deleted: {}", error.message);
    }
    error
}

/// What a refusal calls an object that may not have its name yet.
fn given_name(object: &Value) -> String {
    let text = |field: &str| meta_text(object, field).filter(|name| !name.is_empty());
    text("name").or_else(|| text("generateName")).unwrap_or("Unknown").to_owned()
}
