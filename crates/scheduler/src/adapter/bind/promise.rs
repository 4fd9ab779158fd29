//! Promising a volume that was made beforehand to a claim, so that nobody else gets it.
//!
//! The promise stands in the volume: the controller of the cluster then gives the volume to the claim and to nobody
//! else. It is written with the version that was read, so of two who want one volume only one gets it. Whoever finds
//! the promise there already, after a crash or an answer that did not come, has nothing to do.

use maar_controller::{Category, backoff::Backoff};
use serde_json::json;
use tokio::time::sleep;

use super::{
    ATTEMPTS, Bind, Binder, Bound, Promise,
    volumes::{Failure, claim_path, get, patch},
};
use crate::adapter::wire;

/// Says that the promise was not made by a person: the controller takes it back if the claim gets another volume.
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";

/// Promises a volume to a claim of the Pod.
pub(super) async fn promise(
    binder: &Binder,
    bind: &Bind,
    claim: &str,
    promise: &Promise,
) -> Result<(), Bound> {
    let mut last = String::new();
    for attempt in 1..=ATTEMPTS {
        match attempt_promise(binder, bind, claim, promise).await {
            Ok(()) => return Ok(()),
            Err(Refusal::Stopped) => return Err(Bound::Stopped),
            Err(Refusal::Final(why)) => return Err(Bound::Refused(why)),
            Err(Refusal::Again(why)) => last = why,
        }
        sleep(Backoff::QUICK.delay(attempt, &binder.dice)).await;
    }
    // An attempt without an answer may still take effect: then the claim has that volume, and the Pod follows it.
    Err(Bound::Refused(format!("promising the volume {} to claim {claim}: {last}", promise.volume)))
}

/// Why a volume was not promised.
enum Refusal {
    Stopped,
    Final(String),
    Again(String),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NotLeader => Self::Stopped,
            // Somebody changed the volume meanwhile; perhaps only its labels.
            Failure::Other(Category::Conflict | Category::Transient, why) => Self::Again(why),
            Failure::Other(_, why) => Self::Final(why),
        }
    }
}

async fn attempt_promise(
    binder: &Binder,
    bind: &Bind,
    claim: &str,
    promise: &Promise,
) -> Result<(), Refusal> {
    let wants: wire::Claim = get(&binder.client, &claim_path(bind, claim)).await?;
    still_wanted(&wants, promise)?;
    let name = &promise.volume;
    let path = format!("/api/v1/persistentvolumes/{name}");
    let volume: wire::Volume = get(&binder.client, &path).await?;
    match &volume.spec.claim_ref {
        Some(other) if other.namespace == *bind.namespace && other.name == claim => {
            if other.uid == promise.claim_uid {
                return Ok(());
            }
            if !other.uid.is_empty() {
                return Err(Refusal::Final(format!("the volume {name} belongs to a former claim {claim}")));
            }
        }
        Some(other) => {
            let owner = format!("{}/{}", other.namespace, other.name);
            return Err(Refusal::Final(format!("the volume {name} was given to claim {owner}")));
        }
        None if volume.metadata.deletion_timestamp.is_some() => {
            return Err(Refusal::Final(format!("the volume {name} is being deleted")));
        }
        None => {}
    }
    let change = json!({
        "metadata": {
            "resourceVersion": volume.metadata.resource_version,
            "annotations": {BOUND_BY_CONTROLLER: "yes"},
        },
        "spec": {"claimRef": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": &*bind.namespace,
            "name": claim,
            "uid": promise.claim_uid,
        }},
    });
    patch::<wire::Volume>(&binder.client, &path, &change).await?;
    Ok(())
}

/// A volume promised to a claim that is gone would be lost to all others.
fn still_wanted(claim: &wire::Claim, promise: &Promise) -> Result<(), Refusal> {
    let name = &claim.metadata.name;
    if claim.metadata.uid != promise.claim_uid || claim.metadata.deletion_timestamp.is_some() {
        return Err(Refusal::Final(format!("the volume claim {name} is gone")));
    }
    match claim.spec.volume_name.as_str() {
        "" => Ok(()),
        volume if volume == promise.volume => Ok(()),
        other => Err(Refusal::Final(format!("the volume claim {name} got the volume {other}"))),
    }
}
