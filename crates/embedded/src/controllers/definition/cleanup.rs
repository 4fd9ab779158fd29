//! The end of CRDs: all their objects are deleted before the definition goes.

use std::sync::Arc;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::controllers::base::{self, Base};
use crate::controllers::{Again, Controller};
use crate::hooks::DEFINITIONS;
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Entry, Event, Key};
use crate::verbs::{DEFINITION_CLEANUP as FINALIZER, DeleteOptions, Propagation};

#[derive(Debug)]
pub(crate) struct DefinitionCleanup {
    base: Base,
    /// Tables of definitions that wait for their objects to go; a definition is named like its table.
    going: Mutex<std::collections::BTreeSet<Box<str>>>,
}

impl DefinitionCleanup {
    pub(crate) fn new(server: &Arc<Server>) -> Self {
        Self { base: Base::new(server, "customresourcedefinition-finalizer"), going: Mutex::default() }
    }

    async fn sync(&self, key: &Key) -> Result<Again, ApiError> {
        let entry = self.base.store().get(key);
        let Some(entry) = entry.filter(|entry| entry.meta.deleting && is_held(&entry.value())) else {
            self.going.lock().remove(key.name());
            return Ok(None);
        };
        self.going.lock().insert(entry.meta.name.clone());
        let (left, first_error) = self.delete_objects(&entry.meta.name).await;
        let (status, reason, message) = if left == 0 {
            ("False", "InstanceDeletionCompleted", "removed all instances".to_owned())
        } else {
            ("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress".to_owned())
        };
        let stored = self.report(key, &entry, status, reason, &message).await?;
        if let Some(error) = first_error {
            return Err(error);
        }
        if left == 0 {
            self.let_go(key, &stored).await?;
            self.going.lock().remove(key.name());
        }
        Ok(None)
    }

    /// How many objects are left, and the first thing that went wrong.
    async fn delete_objects(&self, table: &str) -> (usize, Option<ApiError>) {
        let registry = self.base.server().registry();
        let Some(resource) = registry.by_table(table) else {
            return (0, None);
        };
        let mut first_error = None;
        for entry in self.base.store().list(table, None).rows.iter().filter(|entry| !entry.meta.deleting) {
            let key = Key::new(&resource.table, &entry.meta.namespace, &entry.meta.name);
            let options = DeleteOptions::of_uid(&entry.meta.uid).propagation(Propagation::Background);
            if let Err(error) = self.base.local.delete_key(resource, &key, &options).await {
                first_error = first_error.or(Some(error));
            }
        }
        (self.base.store().count(table), first_error)
    }

    async fn report(
        &self,
        key: &Key,
        entry: &Arc<Entry>,
        status: &str,
        reason: &str,
        message: &str,
    ) -> Result<Arc<Entry>, ApiError> {
        let object = entry.value();
        let mut conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let known = conditions.iter().find(|one| one["type"] == "Terminating").cloned();
        if known.as_ref().is_some_and(|known| known["status"] == status && known["reason"] == reason) {
            return Ok(Arc::clone(entry));
        }
        conditions.retain(|one| one["type"] != "Terminating");
        conditions
            .push(json!({"type": "Terminating", "status": status, "reason": reason, "message": message,
            "lastTransitionTime": self.base.server().world.now_text()}));
        let resource =
            self.base.server().resource("apiextensions.k8s.io", "v1", "customresourcedefinitions")?;
        let patch = json!({"status": {"conditions": conditions}});
        self.base.local.merge(&resource, key, Some(crate::resource::Subresource::Status), patch).await
    }

    async fn let_go(&self, key: &Key, entry: &Entry) -> Result<(), ApiError> {
        let object = entry.value();
        let mut kept = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        kept.retain(|one| one != FINALIZER);
        let kept = if kept.is_empty() { Value::Null } else { Value::from(kept) };
        let resource =
            self.base.server().resource("apiextensions.k8s.io", "v1", "customresourcedefinitions")?;
        let patch = json!({"metadata": {"resourceVersion": entry.revision.to_string(), "finalizers": kept}});
        self.base.local.merge(&resource, key, None, patch).await.map(|_| ())
    }
}

fn is_held(definition: &Value) -> bool {
    definition["metadata"]["finalizers"]
        .as_array()
        .is_some_and(|list| list.iter().any(|one| one == FINALIZER))
}

impl Controller for DefinitionCleanup {
    fn name(&self) -> &'static str {
        "customresourcedefinition-finalizer"
    }

    fn tables(&self) -> Vec<&'static str> {
        Vec::new()
    }

    fn every_table(&self) -> bool {
        true
    }

    fn keys(&self, table: &str, event: &Event) -> Vec<Key> {
        if table == DEFINITIONS {
            return if event.entry.meta.deleting { vec![base::own_key(table, event)] } else { Vec::new() };
        }
        if event.deleted && self.going.lock().contains(table) {
            return vec![Key { table: DEFINITIONS.into(), row: table.into() }];
        }
        Vec::new()
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        Box::pin(self.sync(key))
    }
}
