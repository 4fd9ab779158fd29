//! What every controller has: a client, a recorder of events, the time, and the Pods of an owner.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector as ObjectSelector, OwnerReference};
use maar_machinery::selector::LabelSelector;

use super::owners::{self, Claim};
use super::recorder::Recorder;
use super::view::PodView;
use crate::local::{Kind, Local};
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Entry, Event, Key, Store};
use crate::verbs::DeleteOptions;

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) local: Local,
    pub(crate) recorder: Recorder,
}

/// Who wants Pods, and which.
pub(crate) struct Owner<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) reference: &'a OwnerReference,
    pub(crate) deleting: bool,
    pub(crate) selector: &'a LabelSelector,
}

impl Base {
    pub(crate) fn new(server: &Arc<Server>, component: &str) -> Self {
        Self { local: Local::new(Arc::clone(server), component), recorder: Recorder::new(server, component) }
    }

    pub(crate) fn server(&self) -> &Arc<Server> {
        self.local.server()
    }

    pub(crate) fn store(&self) -> &Store {
        &self.local.server().store
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.local.server().world.clock.now()
    }

    /// The Pods an owner has, after taking in and letting go what the selector says.
    pub(crate) async fn claim_pods(&self, owner: &Owner<'_>) -> Result<Vec<Arc<PodView>>, ApiError> {
        let entries = self.claim::<Pod>(owner, |_| true).await?;
        Ok(entries.iter().filter_map(|entry| entry.view()).collect())
    }

    /// The objects of a kind that an owner has, in the order of their names. `may_adopt` narrows which orphans
    /// are taken in.
    pub(crate) async fn claim<K: Kind>(
        &self,
        owner: &Owner<'_>,
        may_adopt: impl Fn(&Entry) -> bool,
    ) -> Result<Vec<Arc<Entry>>, ApiError> {
        let uid = &owner.reference.uid;
        let mut kept = self.owned_entries::<K>(uid);
        let mut changed = false;
        for entry in std::mem::take(&mut kept) {
            match owners::claim(uid, owner.deleting, owner.selector, &entry.meta) {
                Claim::Keep => kept.push(entry),
                Claim::Release => self.release::<K>(owner.namespace, &entry.meta.name, uid).await?,
                Claim::Adopt | Claim::Ignore => {}
            }
        }
        for entry in self.local.entries::<K>(Some(owner.namespace)) {
            let orphan = entry.meta.controller().is_none();
            if orphan
                && owners::claim(uid, owner.deleting, owner.selector, &entry.meta) == Claim::Adopt
                && may_adopt(&entry)
            {
                let adopted = self.adopt::<K>(owner, &entry.meta.name).await?;
                changed |= adopted.is_some();
                kept.extend(adopted);
            }
        }
        if changed {
            kept.sort_by(|one, other| one.meta.name.cmp(&other.meta.name));
        }
        Ok(kept)
    }

    /// The objects of a kind that name an owner.
    pub(crate) fn owned_entries<K: Kind>(&self, uid: &str) -> Vec<Arc<Entry>> {
        let table = &self.local.resource::<K>().table;
        let keys = self.store().children(uid);
        keys.iter().filter(|key| key.table == *table).filter_map(|key| self.store().get(key)).collect()
    }

    async fn adopt<K: Kind>(&self, owner: &Owner<'_>, name: &str) -> Result<Option<Arc<Entry>>, ApiError> {
        let change = |object: &mut K| owners::adopt(object.meta_mut(), owner.reference);
        match self.local.modify::<K>(owner.namespace, name, change).await {
            Ok(_) => Ok(self.local.entry::<K>(owner.namespace, name).filter(|entry| {
                entry.meta.controller().is_some_and(|controller| *controller.uid == *owner.reference.uid)
            })),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn release<K: Kind>(&self, namespace: &str, name: &str, uid: &str) -> Result<(), ApiError> {
        let change = |object: &mut K| owners::release(object.meta_mut(), uid);
        match self.local.modify::<K>(namespace, name, change).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    /// Deletes a Pod, and no other of the same name.
    pub(crate) async fn delete_pod(&self, pod: &PodView) -> Result<(), ApiError> {
        let options = DeleteOptions::of_uid(&pod.metadata.uid);
        match self.local.delete::<Pod>(&pod.metadata.namespace, &pod.metadata.name, &options).await {
            // Another Pod of that name means this one is gone.
            Err(error) if error.is_conflict() => Ok(()),
            result => result,
        }
    }

    /// A stored Pod.
    pub(crate) fn pod(&self, namespace: &str, name: &str) -> Option<Arc<PodView>> {
        self.local.entry::<Pod>(namespace, name)?.view()
    }
}

/// The selector of a workload. One that cannot be read selects nothing, as does an empty one: it would take in
/// every Pod of the namespace.
pub(crate) fn workload_selector(selector: &ObjectSelector) -> LabelSelector {
    match LabelSelector::try_from(selector) {
        Ok(selector) if !selector.is_empty() => selector,
        _ => LabelSelector::nothing(),
    }
}

/// The key of the object that controls another one, if it is of the kind whose table is given.
pub(crate) fn controller_key(table: &Arc<str>, kind: &str, group: &str, entry: &Entry) -> Option<Key> {
    let controller = entry.meta.controller()?;
    let owner_group = controller.api_version.split_once('/').map_or("", |(group, _)| group);
    (&*controller.kind == kind && owner_group == group)
        .then(|| Key::new(table, &entry.meta.namespace, &controller.name))
}

/// A kind of object that manages Pods by a selector.
#[derive(Clone, Debug)]
pub(crate) struct Workload {
    pub(crate) table: Arc<str>,
    pub(crate) kind: &'static str,
    pub(crate) group: &'static str,
}

/// The part of a workload that says which Pods it may take in.
#[derive(Debug, serde::Deserialize)]
pub(crate) struct SelectorView {
    spec: SelectorSpecView,
}

#[derive(Debug, serde::Deserialize)]
struct SelectorSpecView {
    selector: Option<ObjectSelector>,
}

impl SelectorView {
    pub(crate) fn selector(&self) -> LabelSelector {
        self.spec.selector.as_ref().map_or_else(LabelSelector::nothing, workload_selector)
    }
}

impl Workload {
    /// The workloads to look at because an object they manage (or may want to) changed.
    pub(crate) fn keys(&self, store: &Store, event: &Event) -> Vec<Key> {
        let mut keys = Vec::new();
        for entry in [Some(&event.entry), event.previous.as_ref()].into_iter().flatten() {
            if let Some(key) = controller_key(&self.table, self.kind, self.group, entry)
                && !keys.contains(&key)
            {
                keys.push(key);
            }
        }
        let now = &event.entry.meta;
        let changed = event
            .previous
            .as_ref()
            .is_none_or(|before| before.meta.labels != now.labels || before.meta.owners != now.owners);
        if !event.deleted && changed && now.controller().is_none() {
            keys.extend(self.matching(store, event));
        }
        keys
    }

    fn matching(&self, store: &Store, event: &Event) -> Vec<Key> {
        let orphan = &event.entry.meta;
        let workloads = store.list(&self.table, Some(&orphan.namespace)).rows;
        let wants = |entry: &&Arc<Entry>| {
            let view: Option<Arc<SelectorView>> = entry.view();
            view.is_some_and(|view| view.selector().matches(orphan))
        };
        workloads
            .iter()
            .filter(wants)
            .map(|entry| Key::new(&self.table, &orphan.namespace, &entry.meta.name))
            .collect()
    }
}

/// The key of the object an event is about.
pub(crate) fn own_key(table: &str, event: &Event) -> Key {
    Key::new(&table.into(), &event.entry.meta.namespace, &event.entry.meta.name)
}

/// A count as Kubernetes writes it: zero is left out.
pub(crate) fn count(number: usize) -> Option<i32> {
    i32::try_from(number).ok().filter(|number| *number != 0)
}

/// Whether a creation failed only because its namespace is on its way out, which no retry can change.
pub(crate) fn is_namespace_going(error: &ApiError) -> bool {
    (error.reason == "Forbidden" && error.message.contains("because it is being terminated"))
        || (error.is_not_found() && error.message.starts_with("namespaces "))
}
