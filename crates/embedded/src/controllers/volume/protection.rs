//! Claims that Pods use and volumes that claims use are not removed under them: a finalizer holds them.

use std::sync::Arc;

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::controllers::base::{self, Base};
use crate::controllers::view::PodView;
use crate::controllers::{Again, Controller};
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Event, Key};

const CLAIM_FINALIZER: &str = "kubernetes.io/pvc-protection";
const VOLUME_FINALIZER: &str = "kubernetes.io/pv-protection";

#[derive(Debug)]
pub(crate) struct VolumeProtection {
    base: Base,
    claims: Arc<str>,
}

/// What to do about the finalizer of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Nothing,
    Add,
    Remove,
}

fn step(metadata: &ObjectMeta, finalizer: &str, used: impl FnOnce() -> bool) -> Step {
    let held = metadata.finalizers.iter().flatten().any(|known| known == finalizer);
    match (metadata.deletion_timestamp.is_some(), held) {
        (false, false) => Step::Add,
        (true, true) if !used() => Step::Remove,
        _ => Step::Nothing,
    }
}

fn change(metadata: &mut ObjectMeta, finalizer: &str, step: Step) {
    let mut finalizers = metadata.finalizers.take().unwrap_or_default();
    finalizers.retain(|known| known != finalizer);
    if step == Step::Add && metadata.deletion_timestamp.is_none() {
        finalizers.push(finalizer.to_owned());
    }
    metadata.finalizers = Some(finalizers).filter(|finalizers| !finalizers.is_empty());
}

impl VolumeProtection {
    pub(crate) fn new(server: &Arc<Server>) -> Self {
        let base = Base::new(server, "pvc-protection-controller");
        let claims = Arc::clone(&base.local.resource::<PersistentVolumeClaim>().table);
        Self { base, claims }
    }

    async fn sync_claim(&self, namespace: &str, name: &str) -> Result<Again, ApiError> {
        let Some(claim) = self.base.local.get::<PersistentVolumeClaim>(namespace, name) else {
            return Ok(None);
        };
        let step = step(&claim.metadata, CLAIM_FINALIZER, || self.is_claim_used(namespace, name));
        if step != Step::Nothing {
            let apply =
                |claim: &mut PersistentVolumeClaim| change(&mut claim.metadata, CLAIM_FINALIZER, step);
            self.base.local.modify(namespace, name, apply).await?;
        }
        Ok(None)
    }

    /// Whether a Pod on a node uses the claim and has not ended.
    fn is_claim_used(&self, namespace: &str, name: &str) -> bool {
        let pods = self.base.local.entries::<Pod>(Some(namespace));
        let views = pods.iter().filter_map(|entry| entry.view::<PodView>());
        views
            .filter(|pod| !pod.is_terminal() && !pod.spec.node_name.is_empty())
            .any(|pod| pod.claims().any(|claim| claim == name))
    }

    async fn sync_volume(&self, name: &str) -> Result<Again, ApiError> {
        let Some(volume) = self.base.local.get::<PersistentVolume>("", name) else { return Ok(None) };
        let bound = volume.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Bound");
        let step = step(&volume.metadata, VOLUME_FINALIZER, || bound);
        if step != Step::Nothing {
            let apply = |volume: &mut PersistentVolume| change(&mut volume.metadata, VOLUME_FINALIZER, step);
            self.base.local.modify("", name, apply).await?;
        }
        Ok(None)
    }
}

impl Controller for VolumeProtection {
    fn name(&self) -> &'static str {
        "pvc-protection-controller"
    }

    fn tables(&self) -> Vec<&'static str> {
        vec!["persistentvolumeclaims", "persistentvolumes", "pods"]
    }

    fn keys(&self, table: &str, event: &Event) -> Vec<Key> {
        if table != "pods" {
            return vec![base::own_key(table, event)];
        }
        // Asked first, because most Pods have no claims and need not be read for it.
        if !event.entry.mentions("persistentVolumeClaim") && !event.entry.mentions("ephemeral") {
            return Vec::new();
        }
        // Only the end of a Pod can free a claim.
        let pod = event.entry.view::<PodView>();
        let ended = pod.filter(|pod| event.deleted || pod.is_terminal());
        let claims = ended.map(|pod| pod.claims().collect::<Vec<_>>()).unwrap_or_default();
        claims.iter().map(|claim| Key::new(&self.claims, &event.entry.meta.namespace, claim)).collect()
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        if key.table == self.claims {
            Box::pin(self.sync_claim(key.namespace(), key.name()))
        } else {
            Box::pin(self.sync_volume(key.name()))
        }
    }
}
