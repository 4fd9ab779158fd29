//! EndpointSlices for Endpoints that somebody wrote, which most readers of slices would not see otherwise.
//!
//! Only for Services without a selector: those with one have slices made from their Pods. A mirrored slice belongs to
//! its Endpoints, says the same, and goes when they go, when their Service goes or gets a selector, or when they ask
//! for it by a label.

mod plan;

use std::sync::Arc;

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{Endpoints, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use maar_machinery::selector::Labels as _;

use super::ServiceView;
use super::slices::{Change, MANAGED_BY, SERVICE_NAME};
use crate::controllers::base::{self, Base};
use crate::controllers::recorder::{Recorder, reference};
use crate::controllers::{Again, Controller, WORKLOAD_WORKERS};
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Entry, Event, Key};
use crate::verbs::DeleteOptions;

#[derive(Debug)]
pub(crate) struct EndpointsMirror {
    base: Base,
    table: Arc<str>,
}

impl EndpointsMirror {
    pub(crate) fn new(server: &Arc<Server>) -> Self {
        let base = Base::new(server, "endpoint-slice-mirroring-controller");
        let table = Arc::clone(&base.local.resource::<Endpoints>().table);
        Self { base, table }
    }

    async fn sync(&self, namespace: &str, name: &str) -> Result<Again, ApiError> {
        let existing = self.mirrored(namespace, name);
        let Some(endpoints) = self.wanted(namespace, name) else {
            for slice in existing {
                self.delete(namespace, &slice.meta.name).await?;
            }
            return Ok(None);
        };
        let existing = existing.iter().filter_map(|entry| entry.typed()).collect();
        let plan = plan::plan(&endpoints, existing);
        if plan.skipped > 0 && !plan.changes.is_empty() {
            let message = format!(
                "A max of {} addresses can be mirrored to EndpointSlices per Endpoints subset. {} addresses were skipped",
                plan::CAPACITY,
                plan.skipped
            );
            self.base.recorder.warning(&reference(&endpoints), "TooManyAddressesToMirror", message).await;
        }
        for change in plan.changes {
            match self.write(namespace, change).await {
                Err(error) if base::is_namespace_going(&error) => return Ok(None),
                result => result?,
            }
        }
        Ok(None)
    }

    /// The Endpoints, if they are to be mirrored.
    fn wanted(&self, namespace: &str, name: &str) -> Option<Endpoints> {
        let service = self.base.local.entry::<Service>(namespace, name)?;
        if !service.view::<ServiceView>()?.spec.selector.is_empty() {
            return None;
        }
        self.base.local.get::<Endpoints>(namespace, name).filter(plan::is_wanted)
    }

    fn mirrored(&self, namespace: &str, name: &str) -> Vec<Arc<Entry>> {
        let mut slices = self.base.local.entries::<EndpointSlice>(Some(namespace));
        slices.retain(|slice| is_ours(slice) && slice.meta.label(SERVICE_NAME) == Some(name));
        slices
    }

    async fn write(&self, namespace: &str, change: Change) -> Result<(), ApiError> {
        match change {
            Change::Create(slice) => self.base.local.create(&*slice).await.map(|_| ()),
            Change::Update(wanted) => {
                let name = wanted.metadata.name.as_deref().unwrap_or_default();
                let change = |slice: &mut EndpointSlice| {
                    slice.endpoints.clone_from(&wanted.endpoints);
                    slice.ports.clone_from(&wanted.ports);
                    slice.metadata.labels.clone_from(&wanted.metadata.labels);
                    slice.metadata.annotations.clone_from(&wanted.metadata.annotations);
                    slice.metadata.owner_references.clone_from(&wanted.metadata.owner_references);
                };
                self.base.local.modify(namespace, name, change).await.map(|_| ())
            }
            Change::Delete(name) => self.delete(namespace, &name).await,
        }
    }

    async fn delete(&self, namespace: &str, name: &str) -> Result<(), ApiError> {
        self.base.local.delete::<EndpointSlice>(namespace, name, &DeleteOptions::default()).await
    }

    /// The Endpoints a slice was mirrored from, before and after a change.
    fn sources(&self, event: &Event) -> Vec<Key> {
        let mut keys = Vec::new();
        for slice in [Some(&event.entry), event.previous.as_ref()].into_iter().flatten() {
            let name = slice.meta.label(SERVICE_NAME).filter(|_| is_ours(slice));
            let key = name.map(|name| Key::new(&self.table, &slice.meta.namespace, name));
            keys.extend(key.filter(|key| !keys.contains(key)));
        }
        keys
    }
}

fn is_ours(slice: &Entry) -> bool {
    slice.meta.label(MANAGED_BY) == Some(plan::MANAGER)
}

impl Controller for EndpointsMirror {
    fn name(&self) -> &'static str {
        "endpoint-slice-mirroring-controller"
    }

    fn tables(&self) -> Vec<&'static str> {
        vec!["endpoints", "services", "endpointslices.discovery.k8s.io"]
    }

    fn workers(&self) -> usize {
        WORKLOAD_WORKERS
    }

    fn recorder(&self) -> Option<&Recorder> {
        Some(&self.base.recorder)
    }

    fn keys(&self, table: &str, event: &Event) -> Vec<Key> {
        match table {
            // Both have the name of the Endpoints.
            "endpoints" | "services" => vec![base::own_key(&self.table, event)],
            _ => self.sources(event),
        }
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        Box::pin(self.sync(key.namespace(), key.name()))
    }
}
