//! Deployments: move from one template to the next without losing availability.

mod plan;
mod sets;
mod status;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus, ReplicaSet};
use k8s_openapi::api::core::v1::{ObjectReference, Pod};
use plan::{Observed, Plan};

use super::base::{self, Base, Owner, Workload, workload_selector};
use super::owners::controller_reference;
use super::recorder::{Recorder, reference};
use super::view::PodView;
use super::{Again, Controller};
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Event, Key};
use crate::verbs::{DeleteOptions, Propagation};

#[derive(Debug)]
pub(crate) struct DeploymentController {
    base: Base,
    workload: Workload,
    sets: Arc<str>,
}

impl DeploymentController {
    pub(crate) fn new(server: &Arc<Server>) -> Self {
        let base = Base::new(server, "deployment-controller");
        let table = Arc::clone(&base.local.resource::<Deployment>().table);
        let sets = Arc::clone(&base.local.resource::<ReplicaSet>().table);
        Self { base, workload: Workload { table, kind: "Deployment", group: "apps" }, sets }
    }

    async fn sync(&self, namespace: &str, name: &str) -> Result<Again, ApiError> {
        let Some(deployment) = self.base.local.get::<Deployment>(namespace, name) else { return Ok(None) };
        let Some(spec) = &deployment.spec else { return Ok(None) };
        let selector = workload_selector(&spec.selector);
        let claims = Owner {
            namespace,
            reference: &controller_reference(&deployment),
            deleting: deployment.metadata.deletion_timestamp.is_some(),
            selector: &selector,
        };
        let entries = self.base.claim::<ReplicaSet>(&claims, |_| true).await?;
        let sets: Vec<ReplicaSet> = entries.iter().filter_map(|entry| entry.typed()).collect();
        let old_pods_run = self.old_pods_run(&deployment, &sets);
        let before = sets.clone();
        let plan = plan::plan(Observed { deployment: &deployment, sets, old_pods_run });
        let about = reference(&deployment);
        let (status, again) = status::status(&deployment, &plan, self.base.now());
        self.apply(&deployment, &about, &before, &plan, &status).await?;
        self.record_revision(&deployment, &plan).await?;
        if deployment.status.as_ref() != Some(&status) {
            let change = |deployment: &mut Deployment| deployment.status = Some(status.clone());
            self.base.local.modify_status(namespace, name, change).await?;
        }
        Ok(again)
    }

    /// Whether Pods of earlier templates run. Only the Recreate strategy waits for their end.
    fn old_pods_run(&self, deployment: &Deployment, sets: &[ReplicaSet]) -> bool {
        if sets::Bounds::of(deployment).rolling {
            return false;
        }
        let template = deployment.spec.as_ref().map(|spec| &spec.template);
        let is_new = |set: &&ReplicaSet| {
            let own = set.spec.as_ref().and_then(|spec| spec.template.as_ref());
            own.zip(template).is_some_and(|(one, other)| sets::same_template(one, other))
        };
        let old = sets.iter().filter(|set| !is_new(set));
        let uids = old.filter_map(|set| set.metadata.uid.as_deref());
        uids.flat_map(|uid| self.base.owned_entries::<Pod>(uid))
            .filter_map(|entry| entry.view::<PodView>())
            .any(|pod| !pod.is_terminal())
    }

    async fn apply(
        &self,
        deployment: &Deployment,
        about: &ObjectReference,
        before: &[ReplicaSet],
        plan: &Plan,
        status: &DeploymentStatus,
    ) -> Result<(), ApiError> {
        for set in &plan.sets {
            match before.iter().find(|old| old.metadata.uid == set.metadata.uid && set.metadata.uid.is_some())
            {
                Some(old) => self.change(about, old, set).await?,
                None => self.create(deployment, about, set, status).await?,
            }
        }
        let namespace = deployment.metadata.namespace.as_deref().unwrap_or_default();
        for name in &plan.remove {
            let options = DeleteOptions::default().propagation(Propagation::Background);
            self.base.local.delete::<ReplicaSet>(namespace, name, &options).await?;
        }
        Ok(())
    }

    async fn change(
        &self,
        about: &ObjectReference,
        old: &ReplicaSet,
        new: &ReplicaSet,
    ) -> Result<(), ApiError> {
        if old == new {
            return Ok(());
        }
        let namespace = new.metadata.namespace.as_deref().unwrap_or_default();
        let change = |set: &mut ReplicaSet| {
            if let (Some(spec), Some(wanted)) = (&mut set.spec, &new.spec) {
                spec.replicas = wanted.replicas;
                spec.min_ready_seconds = wanted.min_ready_seconds;
            }
            let annotations = new.metadata.annotations.clone().unwrap_or_default();
            set.metadata.annotations.get_or_insert_default().extend(annotations);
        };
        self.base.local.modify(namespace, sets::name(new), change).await?;
        self.note_scaling(about, new, sets::wanted(old)).await;
        Ok(())
    }

    async fn note_scaling(&self, about: &ObjectReference, set: &ReplicaSet, from: i32) {
        let to = sets::wanted(set);
        if from == to {
            return;
        }
        let direction = if from < to { "up" } else { "down" };
        let message = format!("Scaled {direction} replica set {} from {from} to {to}", sets::name(set));
        self.base.recorder.normal(about, "ScalingReplicaSet", message).await;
    }

    async fn create(
        &self,
        deployment: &Deployment,
        about: &ObjectReference,
        set: &ReplicaSet,
        status: &DeploymentStatus,
    ) -> Result<(), ApiError> {
        match self.base.local.create(set).await {
            Ok(_) => {
                self.note_scaling(about, set, 0).await;
                Ok(())
            }
            Err(error) if base::is_namespace_going(&error) => Ok(()),
            Err(error) if error.is_already_exists() => {
                self.count_collision(deployment).await?;
                Err(error)
            }
            Err(error) => {
                let message = format!("Failed to create new replica set {:?}: {error}", sets::name(set));
                let mut failed = status.clone();
                status::creation_failed(&mut failed, message.clone(), self.base.now());
                self.write_conditions(deployment, &failed).await?;
                self.base.recorder.warning(about, "ReplicaSetCreateError", message).await;
                Err(error)
            }
        }
    }

    /// The name is taken by a ReplicaSet of another template or owner: the next try takes another one.
    async fn count_collision(&self, deployment: &Deployment) -> Result<(), ApiError> {
        let (namespace, name) = names(deployment);
        let change = |deployment: &mut Deployment| {
            let status = deployment.status.get_or_insert_default();
            status.collision_count = Some(status.collision_count.unwrap_or(0).saturating_add(1));
        };
        self.base.local.modify_status(namespace, name, change).await.map(|_: Deployment| ())
    }

    async fn write_conditions(
        &self,
        deployment: &Deployment,
        failed: &DeploymentStatus,
    ) -> Result<(), ApiError> {
        let (namespace, name) = names(deployment);
        let change = |deployment: &mut Deployment| {
            deployment.status.get_or_insert_default().conditions.clone_from(&failed.conditions);
        };
        self.base.local.modify_status(namespace, name, change).await.map(|_: Deployment| ())
    }

    /// Copies the revision of the newest ReplicaSet to the Deployment, where `kubectl rollout` reads it.
    async fn record_revision(&self, deployment: &Deployment, plan: &Plan) -> Result<(), ApiError> {
        let revision = plan.new_set().and_then(|set| sets::annotation(&set.metadata, sets::REVISION));
        let Some(revision) = revision else { return Ok(()) };
        if sets::annotation(&deployment.metadata, sets::REVISION) == Some(revision) {
            return Ok(());
        }
        let (namespace, name) = names(deployment);
        let change = |deployment: &mut Deployment| {
            let annotations = deployment.metadata.annotations.get_or_insert_default();
            annotations.insert(sets::REVISION.into(), revision.to_owned());
        };
        // With the status: by itself, a changed annotation would count as a new generation.
        self.base.local.modify_status(namespace, name, change).await.map(|_: Deployment| ())
    }

    /// A Pod's end matters to a Deployment that waits for old Pods to be gone.
    fn deployment_of_pod(&self, event: &Event) -> Vec<Key> {
        // Asked first, because most Pods belong to nobody here and need not be read for it.
        let Some(set) = base::controller_key(&self.sets, "ReplicaSet", "apps", &event.entry) else {
            return Vec::new();
        };
        let ended = event.deleted || event.entry.view::<PodView>().is_some_and(|pod| pod.is_terminal());
        if !ended {
            return Vec::new();
        }
        let set = self.base.store().get(&set);
        let key = set.and_then(|set| base::controller_key(&self.workload.table, "Deployment", "apps", &set));
        key.into_iter().collect()
    }
}

fn names(deployment: &Deployment) -> (&str, &str) {
    let metadata = &deployment.metadata;
    (metadata.namespace.as_deref().unwrap_or_default(), metadata.name.as_deref().unwrap_or_default())
}

impl Controller for DeploymentController {
    fn name(&self) -> &'static str {
        "deployment-controller"
    }

    fn workers(&self) -> usize {
        super::WORKLOAD_WORKERS
    }

    fn recorder(&self) -> Option<&Recorder> {
        Some(&self.base.recorder)
    }

    fn tables(&self) -> Vec<&'static str> {
        vec!["deployments.apps", "replicasets.apps", "pods"]
    }

    fn pace(&self) -> Duration {
        super::WORKLOAD_PACE
    }

    fn keys(&self, table: &str, event: &Event) -> Vec<Key> {
        match table {
            "pods" => self.deployment_of_pod(event),
            "replicasets.apps" => self.workload.keys(self.base.store(), event),
            _ => vec![base::own_key(table, event)],
        }
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        Box::pin(self.sync(key.namespace(), key.name()))
    }
}
