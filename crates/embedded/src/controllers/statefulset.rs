//! StatefulSets: Pods with numbers, names and volumes that outlive them.

mod identity;
mod plan;
mod retention;
mod revision;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use plan::{Action, Observed};
use retention::Policy;
use revision::Revisions;

use super::base::{self, Base, Owner, Workload, workload_selector};
use super::owners::controller_reference;
use super::recorder::{Recorder, reference};
use super::view::{PodView, next_available};
use super::{Again, Controller};
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Event, Key};

#[derive(Debug)]
pub(crate) struct StatefulSetController {
    base: Base,
    workload: Workload,
}

impl StatefulSetController {
    pub(crate) fn new(server: &Arc<Server>) -> Self {
        let base = Base::new(server, "statefulset-controller");
        let table = Arc::clone(&base.local.resource::<StatefulSet>().table);
        Self { base, workload: Workload { table, kind: "StatefulSet", group: "apps" } }
    }

    async fn sync(&self, namespace: &str, name: &str) -> Result<Again, ApiError> {
        let Some(set) = self.base.local.get::<StatefulSet>(namespace, name) else { return Ok(None) };
        let Some(spec) = &set.spec else { return Ok(None) };
        let selector = workload_selector(&spec.selector);
        let owner = controller_reference(&set);
        let deleting = set.metadata.deletion_timestamp.is_some();
        let claims = Owner { namespace, reference: &owner, deleting, selector: &selector };
        let is_member = |entry: &crate::store::Entry| {
            identity::parse(&entry.meta.name).is_some_and(|(parent, _)| parent == name)
        };
        let entries = self.base.claim::<Pod>(&claims, is_member).await?;
        let pods: Vec<Arc<PodView>> = entries.iter().filter_map(|entry| entry.view()).collect();
        let revisions = revision::ensure(&self.base, &set, &claims).await?;
        let now = self.base.now();
        let observed = Observed {
            set: &set,
            pods: &pods,
            current: &revisions.current_name,
            update: &revisions.update_name,
            now,
        };
        let done = self.apply(&set, &owner, &revisions, plan::plan(&observed)).await;
        let status = plan::status(&observed, revisions.collisions);
        if set.status.as_ref() != Some(&status) {
            let change = |set: &mut StatefulSet| set.status = Some(status.clone());
            self.base.local.modify_status(namespace, name, change).await?;
        }
        revision::truncate(&self.base, &set, &pods, &revisions).await?;
        done?;
        Ok(next_available(pods.iter().map(AsRef::as_ref), spec.min_ready_seconds.unwrap_or(0), now))
    }

    async fn apply(
        &self,
        set: &StatefulSet,
        owner: &OwnerReference,
        revisions: &Revisions,
        actions: Vec<Action>,
    ) -> Result<(), ApiError> {
        for action in actions {
            match action {
                Action::Create { ordinal, updated } => self.create(set, revisions, ordinal, updated).await?,
                Action::MakeClaims { ordinal } => {
                    self.make_claims(set, ordinal).await?;
                }
                Action::Fix(pod) => self.fix(set, owner, &pod).await?,
                Action::Delete(pod) => self.delete(set, &pod).await?,
            }
        }
        Ok(())
    }

    async fn create(
        &self,
        set: &StatefulSet,
        revisions: &Revisions,
        ordinal: i64,
        updated: bool,
    ) -> Result<(), ApiError> {
        if self.has_stale_claim(set, ordinal) {
            // The claim goes with an earlier Pod of this name; the next one waits for a fresh one.
            return Ok(());
        }
        self.make_claims(set, ordinal).await?;
        let (template, revision) = revisions.pick(updated);
        let pod = identity::make_pod(set, template, revision, ordinal);
        let name = identity::pod_name(set, ordinal);
        match self.base.local.create::<Pod>(&pod).await {
            Ok(_) => {
                self.note(
                    set,
                    "SuccessfulCreate",
                    format!("Create Pod {name} in StatefulSet {} successful", identity::name(set)),
                )
                .await;
                Ok(())
            }
            Err(error) if base::is_namespace_going(&error) || error.is_already_exists() => Ok(()),
            Err(error) => {
                let message =
                    format!("Create Pod {name} in StatefulSet {} failed error: {error}", identity::name(set));
                self.base.recorder.warning(&reference(set), "FailedCreate", message).await;
                Err(error)
            }
        }
    }

    async fn note(&self, set: &StatefulSet, reason: &'static str, message: String) {
        self.base.recorder.normal(&reference(set), reason, message).await;
    }

    fn claim(&self, set: &StatefulSet, name: &str) -> Option<PersistentVolumeClaim> {
        self.base.local.get(identity::namespace(set), name)
    }

    fn has_stale_claim(&self, set: &StatefulSet, ordinal: i64) -> bool {
        if !Policy::of(set).deletes_when_scaled() {
            return false;
        }
        let pod = identity::pod_name(set, ordinal);
        identity::claims(set, ordinal).iter().any(|(_, claim)| {
            let stored = self.claim(set, claim.metadata.name.as_deref().unwrap_or_default());
            let owners = stored.and_then(|claim| claim.metadata.owner_references).unwrap_or_default();
            owners.iter().any(|owner| owner.kind == "Pod" && owner.name == pod)
        })
    }

    async fn make_claims(&self, set: &StatefulSet, ordinal: i64) -> Result<(), ApiError> {
        for (_, claim) in identity::claims(set, ordinal) {
            let name = claim.metadata.name.clone().unwrap_or_default();
            match self.claim(set, &name) {
                Some(stored) if stored.metadata.deletion_timestamp.is_some() => {
                    let message = format!("the claim {name} of the pod is being deleted");
                    return Err(ApiError::new(409, "Conflict", message));
                }
                Some(_) => {}
                None => {
                    let mut claim = claim;
                    let owners = retention::owners(
                        Policy::of(set),
                        &controller_reference(set),
                        &pod_owner(set, ordinal, ""),
                        false,
                        &[],
                    );
                    claim.metadata.owner_references = owners;
                    self.base.local.create(&claim).await?;
                    let pod = identity::pod_name(set, ordinal);
                    let message = format!(
                        "Create Claim {name} Pod {pod} in StatefulSet {} success",
                        identity::name(set)
                    );
                    self.note(set, "SuccessfulCreate", message).await;
                }
            }
        }
        Ok(())
    }

    /// Brings labels and ownership of claims in order where they are not.
    async fn fix(&self, set: &StatefulSet, owner: &OwnerReference, pod: &PodView) -> Result<(), ApiError> {
        let in_range = identity::ordinal(pod).is_some_and(|number| identity::range(set).contains(&number));
        if in_range && !identity::identity_matches(set, pod) {
            self.base.local.modify(identity::namespace(set), pod.name(), identity::fix_identity).await?;
        }
        let Some(ordinal) = identity::ordinal(pod) else { return Ok(()) };
        let pod_owner = pod_owner(set, ordinal, &pod.metadata.uid);
        for (_, claim) in identity::claims(set, ordinal) {
            let name = claim.metadata.name.unwrap_or_default();
            let Some(stored) = self.claim(set, &name) else { continue };
            let existing = stored.metadata.owner_references.unwrap_or_default();
            if let Some(wanted) = retention::owners(Policy::of(set), owner, &pod_owner, !in_range, &existing)
            {
                let change = |claim: &mut PersistentVolumeClaim| {
                    claim.metadata.owner_references =
                        Some(wanted.clone()).filter(|owners| !owners.is_empty());
                };
                self.base.local.modify(identity::namespace(set), &name, change).await?;
            }
        }
        Ok(())
    }

    async fn delete(&self, set: &StatefulSet, pod: &PodView) -> Result<(), ApiError> {
        self.base.delete_pod(pod).await?;
        let message = format!("Delete Pod {} in StatefulSet {} successful", pod.name(), identity::name(set));
        self.note(set, "SuccessfulDelete", message).await;
        Ok(())
    }
}

fn pod_owner(set: &StatefulSet, ordinal: i64, uid: &str) -> OwnerReference {
    OwnerReference {
        api_version: "v1".into(),
        kind: "Pod".into(),
        name: identity::pod_name(set, ordinal),
        uid: uid.to_owned(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

impl Controller for StatefulSetController {
    fn name(&self) -> &'static str {
        "statefulset-controller"
    }

    fn workers(&self) -> usize {
        super::WORKLOAD_WORKERS
    }

    fn recorder(&self) -> Option<&Recorder> {
        Some(&self.base.recorder)
    }

    fn tables(&self) -> Vec<&'static str> {
        vec!["statefulsets.apps", "pods", "controllerrevisions.apps"]
    }

    fn pace(&self) -> Duration {
        super::WORKLOAD_PACE
    }

    fn keys(&self, table: &str, event: &Event) -> Vec<Key> {
        if table == "statefulsets.apps" {
            vec![base::own_key(table, event)]
        } else {
            self.workload.keys(self.base.store(), event)
        }
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        Box::pin(self.sync(key.namespace(), key.name()))
    }
}
