//! Garbage collection: what belongs to an owner goes with it.
//!
//! An object none of whose owners exists (by uid) is deleted. An owner that is deleted in the foreground waits for
//! the dependents that block it; one that is deleted as an orphan maker lets go of all dependents first. `plan`
//! decides about one object; the controller follows every table there is.

mod plan;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use plan::{Dependent, OwnerState, Step};
use serde_json::{Value, json};

use super::base::{self, Base};
use super::{Again, Controller};
use crate::resource::{Registry, Resource};
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Entry, Event, Key, Owner};
use crate::verbs::{DeleteOptions, FOREGROUND, ORPHAN, Propagation};

/// How many vanished owners are remembered.
const REMEMBERED: usize = 1000;

#[derive(Debug)]
pub(crate) struct GarbageCollector {
    base: Base,
    /// The uids of owners that were seen to go. Their kind may go with them, and then could no longer be looked up.
    gone: Mutex<VecDeque<Box<str>>>,
}

fn finalizers(object: &Value) -> Vec<String> {
    let list = object["metadata"]["finalizers"].as_array().into_iter().flatten();
    list.filter_map(Value::as_str).map(ToOwned::to_owned).collect()
}

/// Whether an object is being deleted in the foreground.
fn waits_for_dependents(entry: &Entry) -> bool {
    entry.meta.deleting && finalizers(&entry.value()).iter().any(|one| one == FOREGROUND)
}

/// Where an owner is, seen from its dependent; `None` if its kind is not known or cannot own this object.
fn owner_key(registry: &Registry, owner: &Owner, namespace: &str) -> Option<Key> {
    let (group, version) = owner.api_version.split_once('/').unwrap_or(("", &owner.api_version));
    let resource = registry.by_kind(group, version, &owner.kind)?;
    if resource.namespaced && namespace.is_empty() {
        return None;
    }
    let namespace = if resource.namespaced { namespace } else { "" };
    Some(Key::new(&resource.table, namespace, &owner.name))
}

impl GarbageCollector {
    pub(crate) fn new(server: &Arc<Server>) -> Self {
        Self { base: Base::new(server, "generic-garbage-collector"), gone: Mutex::default() }
    }

    fn remember(&self, uid: &str) {
        let mut gone = self.gone.lock();
        if gone.len() == REMEMBERED {
            gone.pop_front();
        }
        gone.push_back(uid.into());
    }

    async fn sync(&self, key: &Key) -> Result<Again, ApiError> {
        let registry = self.base.server().registry();
        let (Some(entry), Some(resource)) = (self.base.store().get(key), registry.by_table(&key.table))
        else {
            return Ok(None);
        };
        if entry.meta.deleting {
            self.finish_deletion(&registry, resource, key, &entry).await?;
            return Ok(None);
        }
        self.collect(&registry, resource, key, &entry).await?;
        Ok(None)
    }

    /// Decides about an object that is not being deleted.
    async fn collect(
        &self,
        registry: &Registry,
        resource: &Resource,
        key: &Key,
        entry: &Entry,
    ) -> Result<(), ApiError> {
        let states: Vec<OwnerState> = entry
            .meta
            .owners
            .iter()
            .map(|owner| self.owner_state(registry, owner, key.namespace()))
            .collect();
        let has_dependents = !self.base.store().children(&entry.meta.uid).is_empty();
        match plan::step(&states, has_dependents) {
            Step::Keep => Ok(()),
            Step::DropOwners(gone) => {
                let uids: BTreeSet<&str> = gone.iter().map(|index| &*entry.meta.owners[*index].uid).collect();
                self.drop_owners(resource, key, entry, &uids).await
            }
            Step::Delete { foreground } => {
                // Owners in a circle would wait for each other.
                let mut dependents = self.dependents(&entry.meta.uid).into_iter();
                if foreground && dependents.any(|(_, child)| waits_for_dependents(&child)) {
                    self.unblock_owners(resource, key, entry).await?;
                }
                let own = finalizers(&entry.value());
                let propagation = if own.iter().any(|one| one == ORPHAN) {
                    Propagation::Orphan
                } else if foreground || own.iter().any(|one| one == FOREGROUND) {
                    Propagation::Foreground
                } else {
                    Propagation::Background
                };
                let options = DeleteOptions::of_uid(&entry.meta.uid).propagation(propagation);
                match self.base.local.delete_key(resource, key, &options).await {
                    // Another object has taken the name: that one is looked at on its own account.
                    Err(error) if error.is_conflict() => Ok(()),
                    result => result,
                }
            }
        }
    }

    fn owner_state(&self, registry: &Registry, owner: &Owner, namespace: &str) -> OwnerState {
        if self.gone.lock().contains(&owner.uid) {
            return OwnerState::Gone;
        }
        // A kind that is not served may come back; nothing is deleted on a guess.
        let Some(key) = owner_key(registry, owner, namespace) else { return OwnerState::Solid };
        match self.base.store().get(&key).filter(|entry| entry.meta.uid == owner.uid) {
            None => OwnerState::Gone,
            Some(entry) if waits_for_dependents(&entry) => OwnerState::Waiting,
            Some(_) => OwnerState::Solid,
        }
    }

    /// Does what an owner that is being deleted waits for.
    async fn finish_deletion(
        &self,
        registry: &Registry,
        resource: &Resource,
        key: &Key,
        entry: &Entry,
    ) -> Result<(), ApiError> {
        let held = finalizers(&entry.value());
        let dependents = self.dependents(&entry.meta.uid);
        if held.iter().any(|one| one == ORPHAN) {
            for (child, child_entry) in &dependents {
                if let Some(kind) = registry.by_table(&child.table) {
                    self.drop_owners(kind, child, child_entry, &BTreeSet::from([&*entry.meta.uid])).await?;
                }
            }
            self.remove_finalizer(resource, key, entry, ORPHAN).await?;
        } else if held.iter().any(|one| one == FOREGROUND) {
            let facts: Vec<Dependent> =
                dependents.iter().map(|(_, child)| Dependent::of(child, &entry.meta.uid)).collect();
            if plan::is_unblocked(&facts) {
                return self.remove_finalizer(resource, key, entry, FOREGROUND).await;
            }
            for (child, child_entry) in dependents.iter().filter(|(_, child)| !child.meta.deleting) {
                if let Some(kind) = registry.by_table(&child.table) {
                    self.collect(registry, kind, child, child_entry).await?;
                }
            }
        }
        Ok(())
    }

    fn dependents(&self, uid: &str) -> Vec<(Key, Arc<Entry>)> {
        let keys = self.base.store().children(uid);
        keys.into_iter().filter_map(|key| self.base.store().get(&key).map(|entry| (key, entry))).collect()
    }

    async fn drop_owners(
        &self,
        resource: &Resource,
        key: &Key,
        entry: &Entry,
        uids: &BTreeSet<&str>,
    ) -> Result<(), ApiError> {
        let object = entry.value();
        let owners = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
        let kept: Vec<Value> = owners
            .into_iter()
            .filter(|owner| !owner["uid"].as_str().is_some_and(|uid| uids.contains(uid)))
            .collect();
        let kept = if kept.is_empty() { Value::Null } else { Value::from(kept) };
        self.patch(resource, key, entry, "ownerReferences", kept).await
    }

    /// Makes the object one that none of its owners waits for.
    async fn unblock_owners(&self, resource: &Resource, key: &Key, entry: &Entry) -> Result<(), ApiError> {
        let object = entry.value();
        let mut owners = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
        for owner in owners.iter_mut().filter(|owner| owner["blockOwnerDeletion"] == true) {
            owner["blockOwnerDeletion"] = false.into();
        }
        self.patch(resource, key, entry, "ownerReferences", owners.into()).await
    }

    async fn remove_finalizer(
        &self,
        resource: &Resource,
        key: &Key,
        entry: &Entry,
        finalizer: &str,
    ) -> Result<(), ApiError> {
        let mut kept = finalizers(&entry.value());
        kept.retain(|one| one != finalizer);
        let kept = if kept.is_empty() { Value::Null } else { json!(kept) };
        self.patch(resource, key, entry, "finalizers", kept).await
    }

    /// Changes a member of the metadata of just this version of the object; if it moved on, it is looked at again.
    async fn patch(
        &self,
        resource: &Resource,
        key: &Key,
        entry: &Entry,
        member: &str,
        value: Value,
    ) -> Result<(), ApiError> {
        let patch = json!({"metadata": {"resourceVersion": entry.revision.to_string(), member: value}});
        match self.base.local.merge(resource, key, None, patch).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }
}

impl Controller for GarbageCollector {
    fn name(&self) -> &'static str {
        "generic-garbage-collector"
    }

    fn tables(&self) -> Vec<&'static str> {
        Vec::new()
    }

    fn every_table(&self) -> bool {
        true
    }

    fn keys(&self, table: &str, event: &Event) -> Vec<Key> {
        let now = &event.entry.meta;
        let before = event.previous.as_ref().map(|entry| &entry.meta);
        if event.deleted {
            // Dependents have lost an owner, owners may have waited for this.
            let mut keys = self.base.store().children(&now.uid);
            if !keys.is_empty() {
                self.remember(&now.uid);
            }
            let registry = self.base.server().registry();
            keys.extend(now.owners.iter().filter_map(|owner| owner_key(&registry, owner, &now.namespace)));
            return keys;
        }
        let mut keys = Vec::new();
        let newly_owned = !now.owners.is_empty() && before.is_none_or(|before| before.owners != now.owners);
        // While it is being deleted, any change may be the one that lets it go.
        if newly_owned || now.deleting {
            keys.push(base::own_key(table, event));
        }
        if let Some(before) = before.filter(|before| before.owners != now.owners) {
            let registry = self.base.server().registry();
            let freed = plan::unblocked_owners(&before.owners, &now.owners);
            keys.extend(freed.filter_map(|owner| owner_key(&registry, owner, &now.namespace)));
        }
        keys
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        Box::pin(self.sync(key))
    }
}
