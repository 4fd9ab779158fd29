//! Delete and deletecollection: at once, gracefully, or held by finalizers. `step` decides which.

mod step;

use std::sync::Arc;

use maar_machinery::error::FieldError;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::step::{Step, orphans_by_default, step};
use super::{ATTEMPTS, ListOptions};
use crate::admission::{Action, Attributes, Options};
use crate::resource::Resource;
use crate::server::{Caller, Server};
use crate::status::ApiError;
use crate::store::{self, CommitError, Entry, Expect, Key, Operation};

/// The finalizer by which an owner waits for its dependents.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer by which an owner lets its dependents go.
pub(crate) const ORPHAN: &str = "orphan";

/// The finalizer by which a CRD waits for its objects.
pub(crate) const DEFINITION_CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

const JOB_WARNING: &str = "child pods are preserved by default when jobs are deleted; \
    set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning";

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

    /// What whoever sends these should know, be there such an object or not.
    pub(crate) fn warnings(&self, resource: &Resource) -> Vec<String> {
        let silent = self.effective_propagation().is_none() && orphans_by_default(resource);
        silent.then(|| JOB_WARNING.to_owned()).into_iter().collect()
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
        let (operations, gone) = match step(resource, object, options, self.world.clock.now()) {
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
}

fn invalid_option(error: &FieldError) -> ApiError {
    ApiError::invalid_options("DeleteOptions", std::slice::from_ref(error))
}
