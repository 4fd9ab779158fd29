//! ReplicaSets: keep so many Pods of a template.

mod plan;
mod status;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::{ObjectReference, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use plan::Plan;
pub(crate) use status::REPLICA_FAILURE;

use super::base::{self, Base, Owner, Workload, workload_selector};
use super::owners::controller_reference;
use super::recorder::{Recorder, reference};
use super::template::pod_from;
use super::view::{PodView, next_available};
use super::{Again, Controller};
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Event, Key};

#[derive(Debug)]
pub(crate) struct ReplicaSetController {
    base: Base,
    workload: Workload,
}

impl ReplicaSetController {
    pub(crate) fn new(server: &Arc<Server>) -> Self {
        let base = Base::new(server, "replicaset-controller");
        let table = Arc::clone(&base.local.resource::<ReplicaSet>().table);
        Self { base, workload: Workload { table, kind: "ReplicaSet", group: "apps" } }
    }

    async fn sync(&self, namespace: &str, name: &str) -> Result<Again, ApiError> {
        let Some(set) = self.base.local.get::<ReplicaSet>(namespace, name) else { return Ok(None) };
        let Some(spec) = &set.spec else { return Ok(None) };
        let owner = controller_reference(&set);
        let deleting = set.metadata.deletion_timestamp.is_some();
        let selector = workload_selector(&spec.selector);
        let claims = Owner { namespace, reference: &owner, deleting, selector: &selector };
        let pods = self.base.claim_pods(&claims).await?;
        let terminating = pods.iter().filter(|pod| pod.is_terminating()).count();
        let active: Vec<Arc<PodView>> = pods.into_iter().filter(|pod| pod.is_active()).collect();
        let plan =
            if deleting { Plan::Nothing } else { plan::plan(active.len(), spec.replicas.unwrap_or(1)) };
        let more = matches!(plan, Plan::Create(count) | Plan::Delete(count) if count == plan::BURST);
        let managed = self.manage(&set, &owner, plan, &active).await;
        let failure = managed.as_ref().err().map(|error| error.message.as_str());
        let now = self.base.now();
        let status = status::status(&set, &active, terminating, failure, now);
        if set.status.as_ref() != Some(&status) {
            let change = |set: &mut ReplicaSet| set.status = Some(status.clone());
            self.base.local.modify_status(namespace, name, change).await?;
        }
        managed?;
        if more {
            return Ok(Some(Duration::ZERO));
        }
        Ok(next_available(active.iter().map(AsRef::as_ref), spec.min_ready_seconds.unwrap_or(0), now))
    }

    /// Makes or deletes Pods; those made now are counted when they are seen.
    async fn manage(
        &self,
        set: &ReplicaSet,
        owner: &OwnerReference,
        plan: Plan,
        active: &[Arc<PodView>],
    ) -> Result<(), ApiError> {
        let about = reference(set);
        match plan {
            Plan::Nothing => Ok(()),
            Plan::Create(count) => self.create_pods(set, owner, &about, count).await,
            Plan::Delete(count) => {
                let related = self.related(set);
                for pod in plan::choose(active.to_vec(), &related, count, self.base.now()) {
                    self.delete(&about, &pod).await?;
                }
                Ok(())
            }
        }
    }

    async fn create_pods(
        &self,
        set: &ReplicaSet,
        owner: &OwnerReference,
        about: &ObjectReference,
        count: usize,
    ) -> Result<(), ApiError> {
        let namespace = set.metadata.namespace.as_deref().unwrap_or_default();
        let template = set.spec.as_ref().and_then(|spec| spec.template.clone()).unwrap_or_default();
        let pod = pod_from(&template, namespace, owner);
        for _ in 0..count {
            match self.base.local.create::<Pod>(&pod).await {
                Ok(created) => {
                    let name = created.metadata.name.unwrap_or_default();
                    self.base
                        .recorder
                        .normal(about, "SuccessfulCreate", format!("Created pod: {name}"))
                        .await;
                }
                Err(error) if base::is_namespace_going(&error) => return Ok(()),
                Err(error) => {
                    let message = format!("Error creating: {error}");
                    self.base.recorder.warning(about, "FailedCreate", message).await;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    async fn delete(&self, about: &ObjectReference, pod: &PodView) -> Result<(), ApiError> {
        match self.base.delete_pod(pod).await {
            Ok(()) => {
                let message = format!("Deleted pod: {}", pod.name());
                self.base.recorder.normal(about, "SuccessfulDelete", message).await;
                Ok(())
            }
            Err(error) => {
                self.base.recorder.warning(about, "FailedDelete", format!("Error deleting: {error}")).await;
                Err(error)
            }
        }
    }

    /// The Pods of all ReplicaSets with the same controller as this one, its own included.
    fn related(&self, set: &ReplicaSet) -> Vec<Arc<PodView>> {
        let owners = set.metadata.owner_references.iter().flatten();
        let siblings: Vec<String> = match owners.into_iter().find(|owner| owner.controller == Some(true)) {
            Some(controller) => self
                .base
                .owned_entries::<ReplicaSet>(&controller.uid)
                .iter()
                .map(|entry| entry.meta.uid.to_string())
                .collect(),
            None => set.metadata.uid.clone().into_iter().collect(),
        };
        let entries = siblings.iter().flat_map(|uid| self.base.owned_entries::<Pod>(uid));
        entries.filter_map(|entry| entry.view()).collect()
    }
}

impl Controller for ReplicaSetController {
    fn name(&self) -> &'static str {
        "replicaset-controller"
    }

    fn workers(&self) -> usize {
        super::WORKLOAD_WORKERS
    }

    fn recorder(&self) -> Option<&Recorder> {
        Some(&self.base.recorder)
    }

    fn tables(&self) -> Vec<&'static str> {
        vec!["replicasets.apps", "pods"]
    }

    fn pace(&self) -> Duration {
        super::WORKLOAD_PACE
    }

    fn keys(&self, table: &str, event: &Event) -> Vec<Key> {
        if table == "pods" {
            self.workload.keys(self.base.store(), event)
        } else {
            vec![base::own_key(table, event)]
        }
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        Box::pin(self.sync(key.namespace(), key.name()))
    }
}
