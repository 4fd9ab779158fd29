//! Claims that Pods bring along: made for one Pod, and gone with it.

use std::sync::Arc;

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Volume};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::controllers::base::{self, Base};
use crate::controllers::owners::controller_reference;
use crate::controllers::recorder::{Recorder, reference};
use crate::controllers::view::PodView;
use crate::controllers::{Again, Controller};
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Event, Key};

#[derive(Debug)]
pub(crate) struct EphemeralClaims {
    base: Base,
}

impl EphemeralClaims {
    pub(crate) fn new(server: &Arc<Server>) -> Self {
        Self { base: Base::new(server, "ephemeral-volume-controller") }
    }

    async fn sync(&self, namespace: &str, name: &str) -> Result<Again, ApiError> {
        let Some(pod) = self.base.local.get::<Pod>(namespace, name) else { return Ok(None) };
        if pod.metadata.deletion_timestamp.is_some() {
            return Ok(None);
        }
        let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
        for claim in volumes.filter_map(|volume| claim_of(&pod, volume)) {
            self.ensure(&pod, &claim).await?;
        }
        Ok(None)
    }

    async fn ensure(&self, pod: &Pod, claim: &PersistentVolumeClaim) -> Result<(), ApiError> {
        let (namespace, name) = (
            claim.metadata.namespace.as_deref().unwrap_or_default(),
            claim.metadata.name.as_deref().unwrap_or_default(),
        );
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        match self.base.local.entry::<PersistentVolumeClaim>(namespace, name) {
            Some(entry) if entry.meta.controller().is_some_and(|owner| *owner.uid == *uid) => Ok(()),
            Some(_) => {
                let message = format!("PVC {namespace}/{name} was not created for the pod");
                self.base.recorder.warning(&reference(pod), "FailedBinding", message).await;
                Ok(())
            }
            None => match self.base.local.create(claim).await {
                Err(error) if error.is_already_exists() || base::is_namespace_going(&error) => Ok(()),
                result => result.map(|_| ()),
            },
        }
    }
}

/// The claim of a volume that brings one.
fn claim_of(pod: &Pod, volume: &Volume) -> Option<PersistentVolumeClaim> {
    let template = volume.ephemeral.as_ref()?.volume_claim_template.as_ref()?;
    let described = template.metadata.clone().unwrap_or_default();
    let pod_name = pod.metadata.name.as_deref().unwrap_or_default();
    Some(PersistentVolumeClaim {
        metadata: ObjectMeta {
            name: Some(format!("{pod_name}-{}", volume.name)),
            namespace: pod.metadata.namespace.clone(),
            labels: described.labels,
            annotations: described.annotations,
            owner_references: Some(vec![controller_reference(pod)]),
            ..ObjectMeta::default()
        },
        spec: Some(template.spec.clone()),
        status: None,
    })
}

impl Controller for EphemeralClaims {
    fn name(&self) -> &'static str {
        "ephemeral-volume-controller"
    }

    fn recorder(&self) -> Option<&Recorder> {
        Some(&self.base.recorder)
    }

    fn tables(&self) -> Vec<&'static str> {
        vec!["pods", "persistentvolumeclaims"]
    }

    fn keys(&self, table: &str, event: &Event) -> Vec<Key> {
        if table == "pods" {
            // Asked first, because few Pods bring such a volume and the others need not be read for it.
            let fresh = !event.deleted && event.previous.is_none() && event.entry.mentions("ephemeral");
            let brings =
                |pod: &Arc<PodView>| pod.spec.volumes.iter().any(|volume| volume.ephemeral.is_some());
            let pod = fresh.then(|| event.entry.view::<PodView>()).flatten().filter(brings);
            return pod.map(|_| base::own_key(table, event)).into_iter().collect();
        }
        // A claim of that name was in the way and is gone now.
        let owner = event.entry.meta.controller().filter(|owner| event.deleted && &*owner.kind == "Pod");
        let pods: Arc<str> = "pods".into();
        owner.map(|owner| Key::new(&pods, &event.entry.meta.namespace, &owner.name)).into_iter().collect()
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        Box::pin(self.sync(key.namespace(), key.name()))
    }
}
