//! EndpointSlices and Endpoints: where the Pods behind a Service can be reached.

mod legacy;
mod mirror;
mod plan;
mod slices;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{Endpoints, Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use maar_machinery::selector::LabelSelector;
use maar_machinery::selector::Labels as _;
pub(crate) use mirror::EndpointsMirror;
use plan::Target;
use serde::Deserialize;
use slices::Change;

use super::base::{self, Base};
use super::view::PodView;
use super::{Again, Controller};
use crate::local::Kind;
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Entry, Event, Key};
use crate::verbs::DeleteOptions;

/// How soon after each other the endpoints of a Service are worked out.
const PACE: Duration = Duration::from_millis(50);

const TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";

#[derive(Debug)]
pub(crate) struct EndpointsController {
    base: Base,
    table: Arc<str>,
}

/// The part of a Service that says which Pods are behind it.
#[derive(Debug, Default, Deserialize)]
struct ServiceView {
    #[serde(default)]
    spec: ServiceSpecView,
}

#[derive(Debug, Default, Deserialize)]
struct ServiceSpecView {
    #[serde(default)]
    selector: std::collections::BTreeMap<String, String>,
}

impl EndpointsController {
    pub(crate) fn new(server: &Arc<Server>) -> Self {
        let base = Base::new(server, "endpointslice-controller");
        let table = Arc::clone(&base.local.resource::<Service>().table);
        Self { base, table }
    }

    async fn sync(&self, namespace: &str, name: &str) -> Result<Again, ApiError> {
        let Some(service) = self.base.local.get::<Service>(namespace, name) else {
            return self.remove_legacy(namespace, name).await.map(|()| None);
        };
        let spec = service.spec.clone().unwrap_or_default();
        let selector = spec.selector.clone().unwrap_or_default();
        // Without a selector somebody else says where the Service leads.
        if selector.is_empty() || spec.type_.as_deref() == Some("ExternalName") {
            return Ok(None);
        }
        let targets = self.targets(&service, &LabelSelector::from_labels(selector));
        self.write_slices(&service, &targets).await?;
        self.write_legacy(&service, &targets).await?;
        Ok(None)
    }

    fn targets(&self, service: &Service, selector: &LabelSelector) -> Vec<Target> {
        let namespace = service.metadata.namespace.as_deref().unwrap_or_default();
        let entries = self.base.local.entries::<Pod>(Some(namespace));
        let matching = entries.iter().filter(|entry| selector.matches(&entry.meta));
        let pods = matching.filter_map(|entry| entry.view::<PodView>());
        let zone = |node: &str| {
            let entry = self.base.local.entry::<Node>("", node)?;
            entry.meta.label("topology.kubernetes.io/zone").map(ToOwned::to_owned)
        };
        pods.filter_map(|pod| plan::target(service, &pod, zone(&pod.spec.node_name))).collect()
    }

    async fn write_slices(&self, service: &Service, targets: &[Target]) -> Result<(), ApiError> {
        let namespace = service.metadata.namespace.as_deref().unwrap_or_default();
        let uid = service.metadata.uid.as_deref().unwrap_or_default();
        let existing: Vec<EndpointSlice> =
            self.base.owned_entries::<EndpointSlice>(uid).iter().filter_map(|entry| entry.typed()).collect();
        let now = self.base.server().world.now_text();
        for change in slices::changes(service, targets, existing) {
            match change {
                Change::Create(mut slice) => match self.base.local.create(stamped(&mut *slice, &now)).await {
                    Err(error) if base::is_namespace_going(&error) => return Ok(()),
                    result => result.map(|_| ())?,
                },
                Change::Update(wanted) => {
                    let change = |slice: &mut EndpointSlice| {
                        slice.endpoints.clone_from(&wanted.endpoints);
                        slice.ports.clone_from(&wanted.ports);
                        slice.metadata.labels.clone_from(&wanted.metadata.labels);
                        stamped(slice, &now);
                    };
                    let name = wanted.metadata.name.as_deref().unwrap_or_default();
                    self.base.local.modify(namespace, name, change).await?;
                }
                Change::Delete(name) => {
                    self.base
                        .local
                        .delete::<EndpointSlice>(namespace, &name, &DeleteOptions::default())
                        .await?;
                }
            }
        }
        Ok(())
    }

    async fn write_legacy(&self, service: &Service, targets: &[Target]) -> Result<(), ApiError> {
        let mut wanted = legacy::endpoints(service, targets);
        let now = self.base.server().world.now_text();
        let (namespace, name) = (
            service.metadata.namespace.as_deref().unwrap_or_default(),
            service.metadata.name.as_deref().unwrap_or_default(),
        );
        let Some(existing) = self.base.local.get::<Endpoints>(namespace, name) else {
            return match self.base.local.create(stamped(&mut wanted, &now)).await {
                Err(error) if base::is_namespace_going(&error) => Ok(()),
                result => result.map(|_| ()),
            };
        };
        if existing.subsets == wanted.subsets && existing.metadata.labels == wanted.metadata.labels {
            return Ok(());
        }
        let change = |endpoints: &mut Endpoints| {
            endpoints.subsets.clone_from(&wanted.subsets);
            endpoints.metadata.labels.clone_from(&wanted.metadata.labels);
            stamped(endpoints, &now);
        };
        self.base.local.modify(namespace, name, change).await.map(|_| ())
    }

    /// The Endpoints of a Service that is gone, whoever wrote them.
    async fn remove_legacy(&self, namespace: &str, name: &str) -> Result<(), ApiError> {
        let Some(entry) = self.base.local.entry::<Endpoints>(namespace, name) else { return Ok(()) };
        let options = DeleteOptions::of_uid(&entry.meta.uid);
        self.base.local.delete::<Endpoints>(namespace, name, &options).await
    }

    fn services_of(&self, event: &Event) -> Vec<Key> {
        let namespace = &event.entry.meta.namespace;
        let services = self.base.store().list(&self.table, Some(namespace)).rows;
        let concerns = |service: &&Arc<Entry>| {
            let Some(view) = service.view::<ServiceView>() else { return false };
            let selector = &view.spec.selector;
            let has =
                |entry: &Entry| selector.iter().all(|(key, value)| entry.meta.label(key) == Some(value));
            !selector.is_empty()
                && (has(&event.entry) || event.previous.as_ref().is_some_and(|before| has(before)))
        };
        services
            .iter()
            .filter(concerns)
            .map(|entry| Key::new(&self.table, namespace, &entry.meta.name))
            .collect()
    }
}

/// Notes when the endpoints were last worked out anew, by which others measure how fast changes spread.
fn stamped<'a, K: Kind>(object: &'a mut K, now: &str) -> &'a K {
    let annotations = object.meta_mut().annotations.get_or_insert_default();
    annotations.insert(TRIGGER_TIME.to_owned(), now.to_owned());
    object
}

impl Controller for EndpointsController {
    fn name(&self) -> &'static str {
        "endpointslice-controller"
    }

    fn tables(&self) -> Vec<&'static str> {
        vec!["services", "pods", "endpointslices.discovery.k8s.io"]
    }

    fn pace(&self) -> Duration {
        PACE
    }

    fn keys(&self, table: &str, event: &Event) -> Vec<Key> {
        match table {
            "services" => vec![base::own_key(table, event)],
            "pods" => self.services_of(event),
            // Somebody changed or removed a slice: put it right. Not if it went after its Service did: that was told,
            // and somebody may have written Endpoints of that name since.
            _ => base::controller_key(&self.table, "Service", "", &event.entry)
                .into_iter()
                .filter(|key| self.base.store().get(key).is_some())
                .collect(),
        }
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        Box::pin(self.sync(key.namespace(), key.name()))
    }
}
