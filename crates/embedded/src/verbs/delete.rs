//! Delete and deletecollection: at once, gracefully, or held by finalizers.

use std::sync::Arc;

use jiff::SignedDuration;
use maar_machinery::error::FieldError;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::prepare::metadata;
use super::{ATTEMPTS, ListOptions};
use crate::admission::{Action, Attributes, Options};
use crate::hooks::DEFINITIONS;
use crate::resource::Resource;
use crate::server::{Caller, Server};
use crate::status::ApiError;
use crate::store::{self, CommitError, Entry, Expect, Key, Operation};
use crate::world::seconds_text;

/// The finalizer by which an owner waits for its dependents.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer by which an owner lets its dependents go.
pub(crate) const ORPHAN: &str = "orphan";

/// The finalizer by which a CRD waits for its objects.
pub(crate) const DEFINITION_CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// What happens to dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) enum Propagation {
    Orphan,
    Background,
    Foreground,
}

/// What must be true of the object.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Preconditions {
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
}

/// The options of a delete request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeleteOptions {
    pub(crate) grace_period_seconds: Option<i64>,
    #[serde(default)]
    pub(crate) preconditions: Option<Preconditions>,
    pub(crate) propagation_policy: Option<Propagation>,
    pub(crate) orphan_dependents: Option<bool>,
    #[serde(default)]
    pub(crate) dry_run: Vec<String>,
}

impl DeleteOptions {
    /// The object with this uid and no other, as controllers delete.
    pub(crate) fn of_uid(uid: &str) -> Self {
        let preconditions = Preconditions { uid: Some(uid.to_owned()), resource_version: None };
        Self { preconditions: Some(preconditions), ..Self::default() }
    }

    pub(crate) fn propagation(mut self, propagation: Propagation) -> Self {
        self.propagation_policy = Some(propagation);
        self
    }

    /// Whether the object is the one that was meant.
    pub(crate) fn check(
        &self,
        resource: &Resource,
        key: &Key,
        uid: &str,
        revision: &str,
    ) -> Result<(), ApiError> {
        let Some(wanted) = &self.preconditions else { return Ok(()) };
        let failed = |what: &str, wanted: &str, found: &str, cause: &str| {
            let why = format!(
                "the {what} in the precondition ({wanted}) does not match the {what} in record ({found}). \
                 The object might have been {cause}"
            );
            Err(ApiError::conflict_of_kind(resource, key.name(), why))
        };
        if let Some(wanted) = wanted.uid.as_deref().filter(|wanted| *wanted != uid) {
            return failed("UID", wanted, uid, "deleted and then recreated");
        }
        if let Some(wanted) = wanted.resource_version.as_deref().filter(|wanted| *wanted != revision) {
            return failed("ResourceVersion", wanted, revision, "modified");
        }
        Ok(())
    }

    pub(crate) fn validate(&self) -> Result<(), ApiError> {
        if self.propagation_policy.is_some() && self.orphan_dependents.is_some() {
            let why = "orphanDependents and propagationPolicy may not both be set";
            return Err(invalid_option(&FieldError::invalid("propagationPolicy", Value::Null, why)));
        }
        match self.dry_run.as_slice() {
            [] => Ok(()),
            [all] if all == "All" => Ok(()),
            other => Err(invalid_option(&FieldError::not_supported("dryRun", json!(other), ["All"]))),
        }
    }

    fn effective_propagation(&self) -> Option<Propagation> {
        self.propagation_policy.or(match self.orphan_dependents {
            Some(true) => Some(Propagation::Orphan),
            Some(false) => Some(Propagation::Background),
            None => None,
        })
    }
}

/// The object as the deletion left it.
#[derive(Debug)]
pub(crate) struct Deleted {
    pub(crate) entry: Arc<Entry>,
    /// Whether it is gone; otherwise it waits for its grace period or finalizers.
    pub(crate) gone: bool,
    /// What the client should know, sent as `Warning` headers.
    pub(crate) warnings: Vec<String>,
}

/// What a deletion does to the object now.
enum Step {
    /// With how it is seen for the last time, if that is not how it is.
    Remove(Option<Value>),
    Mark(Value),
    Nothing,
}

impl Server {
    pub(crate) async fn delete(
        &self,
        caller: &Caller,
        resource: &Resource,
        key: &Key,
        options: &DeleteOptions,
    ) -> Result<Deleted, ApiError> {
        options.validate()?;
        let attributes = Attributes {
            caller,
            resource,
            namespace: key.namespace(),
            name: key.name(),
            subresource: None,
            action: Action::Delete,
            dry_run: !options.dry_run.is_empty(),
            options: Options::Delete(options),
            generated: false,
        };
        for _ in 0..ATTEMPTS {
            let current = self.store.get(key).ok_or_else(|| ApiError::not_found(resource, key.name()))?;
            options.check(resource, key, &current.meta.uid, &current.revision.to_string())?;
            let object = current.value();
            let mut warnings = self.admit_deletion(&attributes, &object).await?;
            if let Some(mut deleted) = self.try_remove(resource, &current, &object, options)? {
                deleted.warnings.append(&mut warnings);
                return Ok(deleted);
            }
        }
        Err(ApiError::modified(resource, key.name()))
    }

    /// The same without asking anybody, for what was admitted under another name.
    pub(crate) fn remove(
        &self,
        resource: &Resource,
        key: &Key,
        options: &DeleteOptions,
    ) -> Result<Deleted, ApiError> {
        options.validate()?;
        for _ in 0..ATTEMPTS {
            let current = self.store.get(key).ok_or_else(|| ApiError::not_found(resource, key.name()))?;
            options.check(resource, key, &current.meta.uid, &current.revision.to_string())?;
            if let Some(deleted) = self.try_remove(resource, &current, &current.value(), options)? {
                return Ok(deleted);
            }
        }
        Err(ApiError::modified(resource, key.name()))
    }

    /// Deletes an object as it was read; nothing if somebody else was quicker.
    fn try_remove(
        &self,
        resource: &Resource,
        current: &Arc<Entry>,
        object: &Value,
        options: &DeleteOptions,
    ) -> Result<Option<Deleted>, ApiError> {
        let key = Key::new(&resource.table, &current.meta.namespace, &current.meta.name);
        let expect = Expect::Revision(current.revision);
        let unchanged = |gone| Ok(Some(Deleted { entry: Arc::clone(current), gone, warnings: Vec::new() }));
        let put = |marked: &Value| store::put(key.clone(), marked, resource.fields_of(marked), expect);
        let (operations, gone) = match self.deletion_step(resource, object, options) {
            Step::Nothing => return unchanged(false),
            // Shown as it would be, and left as it is.
            Step::Mark(marked) if !options.dry_run.is_empty() => {
                let entry = store::decode(&marked, current.revision).into();
                return Ok(Some(Deleted { entry, gone: false, warnings: Vec::new() }));
            }
            Step::Remove(last) => {
                let last = last.as_ref().map(put);
                (last.into_iter().chain([Operation::Delete { key: key.clone(), expect }]).collect(), true)
            }
            Step::Mark(marked) => (vec![put(&marked)], false),
        };
        if !options.dry_run.is_empty() {
            return unchanged(gone);
        }
        match self.commit(resource, operations) {
            Ok(entries) => {
                let entry = entries.into_iter().next_back().expect("an entry for each operation");
                Ok(Some(Deleted { entry, gone, warnings: Vec::new() }))
            }
            Err(CommitError::Stale(_)) => Ok(None),
            Err(error @ CommitError::Disk(_)) => Err(ApiError::internal(error)),
        }
    }

    /// Deletes what a list with the same options would show.
    pub(crate) async fn delete_collection(
        &self,
        caller: &Caller,
        resource: &Resource,
        namespace: Option<&str>,
        selection: &ListOptions,
        options: &DeleteOptions,
    ) -> Result<Vec<Arc<Entry>>, ApiError> {
        options.validate()?;
        let page = self.list(resource, namespace, selection)?;
        let mut deleted = Vec::with_capacity(page.rows.len());
        for entry in page.rows {
            let key = Key::new(&resource.table, &entry.meta.namespace, &entry.meta.name);
            match self.delete(caller, resource, &key, options).await {
                // As it was found, whether it is gone or waits.
                Ok(_) => deleted.push(entry),
                // Gone already is what was wanted.
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(deleted)
    }

    fn deletion_step(&self, resource: &Resource, object: &Value, options: &DeleteOptions) -> Step {
        let mut marked = object.clone();
        let grace = grace_seconds(resource, object, options);
        let already = object["metadata"]["deletionTimestamp"].is_string();
        set_propagation(&mut marked, options.effective_propagation());
        if resource.is(DEFINITIONS) && !already {
            hold_definition(&mut marked, &self.world.now_text());
        }
        let goes = grace == 0 && !is_held(resource, &marked);
        // A Pod goes because its time is up, be that none: whoever watches sees that first.
        if goes && !resource.is("pods") {
            return Step::Remove(None);
        }
        let metadata = metadata(&mut marked);
        let remaining = metadata.get("deletionGracePeriodSeconds").and_then(Value::as_i64);
        // A second deletion may only shorten the time that is left.
        if !already || remaining.is_some_and(|remaining| grace < remaining) {
            let deadline = self.world.clock.now() + SignedDuration::from_secs(grace);
            metadata.insert("deletionTimestamp".into(), seconds_text(deadline).into());
            // A namespace is not given time, it takes it.
            if !resource.is("namespaces") {
                metadata.insert("deletionGracePeriodSeconds".into(), grace.into());
            }
            if let Some(generation) = metadata.get("generation").and_then(Value::as_i64).filter(|_| !already)
            {
                metadata.insert("generation".into(), (generation + 1).into());
            }
        }
        if resource.is("namespaces") {
            marked["status"]["phase"] = json!("Terminating");
        }
        let changed = (&marked != object).then_some(marked);
        if goes { Step::Remove(changed) } else { changed.map_or(Step::Nothing, Step::Mark) }
    }
}

/// Only Pods that a kubelet may be running are given time.
fn grace_seconds(resource: &Resource, object: &Value, options: &DeleteOptions) -> i64 {
    if !resource.is("pods") {
        return 0;
    }
    let ended = matches!(object["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    let placed = object["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty());
    if ended || !placed {
        return 0;
    }
    let own = object["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(30);
    match options.grace_period_seconds.unwrap_or(own) {
        // Less than no time is as short as there is.
        negative if negative < 0 => 1,
        seconds => seconds,
    }
}

fn invalid_option(error: &FieldError) -> ApiError {
    ApiError::invalid_options("DeleteOptions", std::slice::from_ref(error))
}

fn set_propagation(object: &mut Value, propagation: Option<Propagation>) {
    let Some(propagation) = propagation else { return };
    let wanted = match propagation {
        Propagation::Foreground => Some(FOREGROUND),
        Propagation::Orphan => Some(ORPHAN),
        Propagation::Background => None,
    };
    let metadata = metadata(object);
    let mut finalizers: Vec<Value> =
        metadata.get("finalizers").and_then(Value::as_array).cloned().unwrap_or_default();
    finalizers.retain(|finalizer| finalizer != FOREGROUND && finalizer != ORPHAN);
    finalizers.extend(wanted.map(Value::from));
    if finalizers.is_empty() {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers".into(), finalizers.into());
    }
}

/// A CRD goes after its objects.
fn hold_definition(definition: &mut Value, now: &str) {
    let finalizers = metadata(definition).entry("finalizers").or_insert_with(|| json!([]));
    if let Some(finalizers) = finalizers.as_array_mut()
        && !finalizers.iter().any(|one| one == DEFINITION_CLEANUP)
    {
        finalizers.push(DEFINITION_CLEANUP.into());
    }
    let condition = json!({"type": "Terminating", "status": "True", "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        "lastTransitionTime": now});
    if let Some(conditions) = definition["status"]["conditions"].as_array_mut() {
        conditions.retain(|one| one["type"] != "Terminating");
        conditions.push(condition);
    }
}

fn is_held(resource: &Resource, object: &Value) -> bool {
    let non_empty = |list: &Value| list.as_array().is_some_and(|list| !list.is_empty());
    non_empty(&object["metadata"]["finalizers"])
        || (resource.is("namespaces") && non_empty(&object["spec"]["finalizers"]))
}
