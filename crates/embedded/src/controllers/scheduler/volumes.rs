//! Where a Pod's volumes are or may be, read from the store.

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;

use super::filter::{Candidate, Volumes, WaitingClaim};
use super::request::Request;
use crate::controllers::volume::{self, SELECTED_NODE};
use crate::local::Local;

/// What a Pod's claims ask of its node; an explanation if no node can do.
pub(crate) fn look_up(local: &Local, request: &Request) -> Result<Volumes, String> {
    let mut volumes = Volumes::default();
    for name in &request.claims {
        let claim: PersistentVolumeClaim = local
            .get(&request.namespace, name)
            .ok_or_else(|| format!("persistentvolumeclaim {name:?} not found"))?;
        if claim.metadata.deletion_timestamp.is_some() {
            return Err(format!("persistentvolumeclaim {name:?} is being deleted"));
        }
        let spec = claim.spec.clone().unwrap_or_default();
        if volume::is_bound(&claim) {
            let volume_name = spec.volume_name.unwrap_or_default();
            let volume: PersistentVolume = local
                .get("", &volume_name)
                .ok_or("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)")?;
            volumes.bound.extend(volume::nodes_of(&volume));
            continue;
        }
        let class: Option<StorageClass> =
            spec.storage_class_name.as_ref().and_then(|class| local.get("", class));
        let waits = class.as_ref().is_some_and(volume::waits_for_consumer);
        if !waits || spec.volume_name.is_some() {
            return Err("pod has unbound immediate PersistentVolumeClaims".into());
        }
        volumes.waiting.push(waiting(local, name, &claim, class.as_ref()));
    }
    Ok(volumes)
}

fn waiting(
    local: &Local,
    name: &str,
    claim: &PersistentVolumeClaim,
    class: Option<&StorageClass>,
) -> WaitingClaim {
    let mut fitting: Vec<PersistentVolume> = local
        .list::<PersistentVolume>(None)
        .into_iter()
        .filter(|volume| volume::fits(volume, claim))
        .collect();
    fitting.sort_by_key(volume::rank);
    let candidate = |volume: PersistentVolume| Candidate {
        nodes: volume::nodes_of(&volume),
        volume: volume.metadata.name.unwrap_or_default(),
    };
    let annotations = claim.metadata.annotations.as_ref();
    WaitingClaim {
        name: name.to_owned(),
        candidates: fitting.into_iter().map(candidate).collect(),
        provisioned: class.is_some_and(volume::is_provisioned),
        selected: annotations.and_then(|annotations| annotations.get(SELECTED_NODE)).cloned(),
    }
}
