//! Update and patch: read, change, check, store if nobody was quicker.

use std::sync::Arc;

use maar_machinery::apply::keep_times_of_no_change;
use serde_json::Value;

use super::owners::{Found, drop_duplicates};
use super::prepare::{check_depth, count_generation, decode_object, meta_text, metadata};
use super::{ATTEMPTS, Written};
use crate::admission::{Action, Attributes, Charge, Options};
use crate::hooks::{from_storage, to_storage};
use crate::request::WriteOptions;
use crate::resource::{Resource, Subresource};
use crate::server::{Caller, Server};
use crate::status::ApiError;
use crate::store::{self, CommitError, Entry, Expect, Key};
use crate::strategy;

/// What a change makes of the stored object.
pub(crate) struct Changed {
    pub(crate) object: Value,
    /// Warnings found while making it.
    pub(crate) warnings: Vec<String>,
    /// Whether managed fields are settled already, as server-side apply does.
    pub(crate) fields_settled: bool,
}

/// Makes the new object from the stored one; may be called again if the stored one moved on.
pub(crate) type Change<'a> = dyn Fn(&Value) -> Result<Changed, ApiError> + Send + Sync + 'a;

/// One attempt's inputs, to keep the argument lists short.
struct Attempt<'a> {
    caller: &'a Caller,
    resource: &'a Resource,
    key: &'a Key,
    subresource: Option<Subresource>,
    options: &'a WriteOptions,
}

impl<'a> Attempt<'a> {
    fn attributes(&self) -> Attributes<'a> {
        let Self { caller, resource, key, subresource, options } = *self;
        Attributes {
            caller,
            resource,
            namespace: key.namespace(),
            name: key.name(),
            subresource,
            action: Action::Update,
            dry_run: options.dry_run,
            options: Options::Write(options),
            generated: false,
        }
    }
}

enum Outcome {
    Done(Written),
    /// Somebody else wrote first.
    Raced,
}

impl Server {
    /// Replaces the object by `object`, whole or only the part a subresource stands for.
    pub(crate) async fn update(
        &self,
        caller: &Caller,
        resource: &Resource,
        key: &Key,
        subresource: Option<Subresource>,
        mut object: Value,
        options: &WriteOptions,
    ) -> Result<Written, ApiError> {
        let mut warnings = decode_object(resource, &mut object, options.field_validation)?;
        warnings.extend(drop_duplicates(&mut object, Found::Given));
        let given = meta_text(&object, "name").unwrap_or_default();
        if given != key.name() {
            return Err(ApiError::bad_request(format!(
                "the name of the object ({given}) does not match the name on the URL ({})",
                key.name()
            )));
        }
        if !resource.allows_unconditional_update()
            && meta_text(&object, "resourceVersion").is_none_or(|version| matches!(version, "" | "0"))
            && self.store.get(key).is_some()
        {
            return Err(ApiError::unconditional_update(resource, key.name()));
        }
        if subresource.is_none() && resource.creates_on_update() && self.store.get(key).is_none() {
            match self.create_by_update(caller, resource, key, object.clone(), options).await {
                // Somebody created it meanwhile: update that.
                Err(error) if error.is_already_exists() && self.store.get(key).is_some() => {}
                result => return result,
            }
        }
        let change = |_: &Value| {
            Ok(Changed { object: object.clone(), warnings: warnings.clone(), fields_settled: false })
        };
        self.modify(caller, resource, key, subresource, &change, options).await
    }

    async fn create_by_update(
        &self,
        caller: &Caller,
        resource: &Resource,
        key: &Key,
        mut object: Value,
        options: &WriteOptions,
    ) -> Result<Written, ApiError> {
        self.may_create(caller, resource, key)?;
        // Whoever names a uid means an object that there was.
        if let Some(uid) = meta_text(&object, "uid").filter(|uid| !uid.is_empty()) {
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: /registry/{}/{}/{}, ResourceVersion: 0, \
                 AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: ",
                resource.plural,
                key.namespace(),
                key.name()
            );
            return Err(ApiError::conflict(resource, key.name(), why));
        }
        metadata(&mut object).remove("resourceVersion");
        self.create_new(caller, resource, key.namespace(), object, options, false).await
    }

    /// Changes a stored object. If the new object names a resourceVersion, it must be the stored one's;
    /// otherwise the change is made again on whatever is stored then.
    pub(crate) async fn modify(
        &self,
        caller: &Caller,
        resource: &Resource,
        key: &Key,
        subresource: Option<Subresource>,
        change: &Change<'_>,
        options: &WriteOptions,
    ) -> Result<Written, ApiError> {
        let attempt = Attempt { caller, resource, key, subresource, options };
        for _ in 0..ATTEMPTS {
            match self.try_modify(&attempt, change).await? {
                Outcome::Done(written) => return Ok(written),
                Outcome::Raced => {}
            }
        }
        Err(ApiError::modified(resource, key.name()))
    }

    async fn try_modify(&self, attempt: &Attempt<'_>, change: &Change<'_>) -> Result<Outcome, ApiError> {
        let Attempt { resource, key, .. } = *attempt;
        let current = self.store.get(key).ok_or_else(|| ApiError::not_found(resource, key.name()))?;
        let old = from_storage(resource, current.value());
        let Changed { object: new, warnings, fields_settled } = change(&old)?;
        match self.try_changed(attempt, current, &old, new, fields_settled).await {
            Ok(Outcome::Done(mut written)) => {
                written.warnings.splice(0..0, warnings);
                Ok(Outcome::Done(written))
            }
            Ok(Outcome::Raced) => Ok(Outcome::Raced),
            Err(error) => Err(error.warned(warnings)),
        }
    }

    async fn try_changed(
        &self,
        attempt: &Attempt<'_>,
        current: Arc<Entry>,
        old: &Value,
        mut new: Value,
        fields_settled: bool,
    ) -> Result<Outcome, ApiError> {
        let Attempt { resource, key, subresource, options, caller } = *attempt;
        check_revision(resource, key, &new, &current)?;
        Self::carry_identity(resource, key.namespace(), &mut new, old)?;
        Self::default(resource, &mut new);
        self.prepare_change(attempt, &mut new, old);
        // Before admission: what the cluster adds is nobody's.
        if !fields_settled {
            self.own_fields(caller, resource, Some(old), &mut new, subresource, options);
        }
        let attributes = attempt.attributes();
        let mutated = self.mutate(&attributes, &mut new, Some(old)).await?;
        let mut warnings = mutated.warnings;
        warnings.extend(drop_duplicates(&mut new, Found::AfterAdmission));
        if mutated.rewritten {
            self.prepare_change(attempt, &mut new, old);
        }
        self.identity_on_update(caller, resource, key, subresource, &new, old)?;
        if subresource != Some(Subresource::Status) {
            count_generation(resource, &mut new, old);
        }
        warnings.extend(Self::validate(resource, &new, Some(old), subresource)?);
        if subresource.is_none() {
            warnings.extend(strategy::warnings(resource, &new, Some(old)));
        }
        warnings.extend(self.review(&attributes, &new, Some(old)).await?);
        if keep_times_of_no_change(old, &mut new) {
            return Ok(Outcome::Done(Written { entry: current, created: false, warnings }));
        }
        self.store_change(attempt, &current, new, old, warnings)
    }

    /// Puts back what this write may not change.
    fn prepare_change(&self, attempt: &Attempt<'_>, new: &mut Value, old: &Value) {
        let Attempt { resource, subresource, .. } = *attempt;
        if subresource == Some(Subresource::Approval) {
            keep_all_but_status(resource, new, old);
            strategy::prepare_approval(new, old, &self.world);
        } else if subresource == Some(Subresource::Status) {
            keep_all_but_status(resource, new, old);
            resource.strategy().prepare_status(new, old, &self.world);
        } else {
            Self::prepare_object_update(resource, subresource, new, old);
        }
    }

    fn store_change(
        &self,
        attempt: &Attempt<'_>,
        current: &Arc<Entry>,
        new: Value,
        old: &Value,
        warnings: Vec<String>,
    ) -> Result<Outcome, ApiError> {
        let Attempt { resource, key, options, .. } = *attempt;
        let expect = Expect::Revision(current.revision);
        let finished = deletion_is_finished(&new);
        check_depth(&new)?;
        let mut stored = to_storage(resource, new);
        let _addresses = resource.is("services").then(|| self.addresses.lock());
        self.allocate(resource, &mut stored, Some(old))?;
        let charge = if finished {
            Charge::default()
        } else {
            self.charge(&attempt.attributes(), &stored, Some(old))?
        };
        if options.dry_run {
            let entry = store::decode(&stored, current.revision).into();
            return Ok(Outcome::Done(Written { entry, created: false, warnings }));
        }
        let operation = if finished {
            store::Operation::Delete { key: key.clone(), expect }
        } else {
            store::put(key.clone(), &stored, resource.fields_of(&stored), expect)
        };
        match self.commit(resource, charge.with(operation)) {
            Ok(mut entries) => {
                let mut entry = entries.swap_remove(0);
                if finished {
                    // The client sees what it wrote, although that was never stored.
                    entry = store::decode(&stored, entry.revision).into();
                }
                Ok(Outcome::Done(Written { entry, created: false, warnings }))
            }
            Err(CommitError::Stale(_)) => Ok(Outcome::Raced),
            Err(error @ CommitError::Disk(_)) => Err(ApiError::internal(error)),
        }
    }

    fn prepare_object_update(
        resource: &Resource,
        subresource: Option<Subresource>,
        new: &mut Value,
        old: &Value,
    ) {
        if resource.has(Subresource::Status) {
            copy_member(new, old, "status");
        }
        match subresource {
            None => resource.strategy().prepare_update(new, old),
            Some(part) => resource.strategy().prepare_part(part, new, old),
        }
    }

    /// A custom kind with a status subresource starts without a status.
    pub(super) fn prepare_custom_create(resource: &Resource, object: &mut Value) {
        if resource.is_custom()
            && resource.has(Subresource::Status)
            && let Some(map) = object.as_object_mut()
        {
            map.remove("status");
        }
    }
}

fn check_revision(resource: &Resource, key: &Key, new: &Value, current: &Entry) -> Result<(), ApiError> {
    match meta_text(new, "resourceVersion").unwrap_or_default() {
        "" => Ok(()),
        // Nought is any revision, for those who need not name one.
        "0" if resource.allows_unconditional_update() => Ok(()),
        "0" => Err(ApiError::unconditional_update(resource, key.name())),
        given if given == current.revision.to_string() => Ok(()),
        given if given.parse::<u64>().is_err() => {
            Err(ApiError::unclassified(format!("resourceVersion: {given:?} is not a valid revision")))
        }
        _ => Err(ApiError::modified(resource, key.name())),
    }
}

fn copy_member(new: &mut Value, old: &Value, member: &str) {
    let Some(map) = new.as_object_mut() else { return };
    match old.get(member) {
        Some(value) => map.insert(member.to_owned(), value.clone()),
        None => map.remove(member),
    };
}

/// A write to the status changes the status and whose fields they are. Built-in kinds also take labels, annotations
/// and the like from it, as the real server does; their strategies say where not.
fn keep_all_but_status(resource: &Resource, new: &mut Value, old: &Value) {
    let status = new.get("status").cloned();
    let given = new.get("metadata").cloned().unwrap_or_default();
    *new = old.clone();
    if let Some(map) = new.as_object_mut() {
        match status {
            Some(status) => map.insert("status".into(), status),
            None => map.remove("status"),
        };
    }
    if !resource.is_custom() {
        new["metadata"] = given;
        return;
    }
    match given.get("managedFields") {
        Some(managed) => metadata(new).insert("managedFields".into(), managed.clone()),
        None => metadata(new).remove("managedFields"),
    };
}

/// Whether nothing holds a deleted object any more.
fn deletion_is_finished(object: &Value) -> bool {
    let Some(metadata) = object.get("metadata") else { return false };
    let has_finalizers =
        metadata.get("finalizers").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    let held_namespace = object["kind"] == "Namespace"
        && object["apiVersion"] == "v1"
        && object["spec"]["finalizers"].as_array().is_some_and(|list| !list.is_empty());
    let grace = metadata.get("deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(0);
    metadata.get("deletionTimestamp").is_some() && !has_finalizers && !held_namespace && grace == 0
}
