//! Claims that find a volume made by hand.

use k8s_openapi::api::core::v1::{Event, PersistentVolume, PersistentVolumeClaim, Pod};
use kube::Api;
use kube::api::DeleteParams;
use maar_testkit::build::{object, pod};
use maar_testkit::read::phase;
use maar_testkit::scenario;
use serde_json::json;

fn bound(claim: &PersistentVolumeClaim) -> bool {
    claim.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Bound")
}

scenario! {
    async fn a_claim_is_bound_to_the_smallest_volume_that_fits(context) {
        let arena = context.arena();
        let class = arena.namespace().to_owned();
        for (name, size) in [("small", "1Gi"), ("middle", "5Gi"), ("large", "50Gi")] {
            let spec = json!({"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": class,
                "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": "/tmp"}});
            arena.create_cluster(object::<PersistentVolume>(&format!("{class}-{name}"), spec)).await;
        }
        let spec = json!({"accessModes": ["ReadWriteOnce"], "storageClassName": class,
            "resources": {"requests": {"storage": "3Gi"}}});
        arena.create(object::<PersistentVolumeClaim>("data", spec)).await;
        let claim = arena.wait("the claim to be bound", "data", bound).await;
        let volume = format!("{class}-middle");
        assert_eq!(claim.spec.and_then(|spec| spec.volume_name), Some(volume.clone()));
        assert_eq!(claim.status.and_then(|status| status.capacity).expect("a capacity")["storage"].0, "5Gi");
        let user = pod("user").pod_set("/spec/volumes", json!([{"name": "data",
            "persistentVolumeClaim": {"claimName": "data"}}]));
        arena.create(user).await;
        arena.wait("the Pod to run", "user", |pod: &Pod| phase(pod) == "Running").await;
        arena.delete::<PersistentVolumeClaim>("data", &DeleteParams::default()).await;
        let held = arena.get::<PersistentVolumeClaim>("data").await;
        assert!(held.metadata.deletion_timestamp.is_some(), "a claim in use stays until nobody uses it");
        arena.delete::<Pod>("user", &DeleteParams::default()).await;
        arena.wait_gone::<PersistentVolumeClaim>("the claim to go", "data").await;
        let volumes: Api<PersistentVolume> = Api::all(arena.client());
        let released = async || {
            let found = volumes.get(&volume).await.map_err(|error| error.to_string())?;
            let phase = found.status.as_ref().and_then(|status| status.phase.as_deref());
            if phase == Some("Released") { Ok(()) } else { Err(format!("{found:#?}")) }
        };
        arena.until("the volume to be released", released).await;
    }
}

scenario! {
    async fn a_claim_that_names_a_volume_waits_until_it_suits(context) {
        let arena = context.arena();
        let class = arena.namespace().to_owned();
        let volume = format!("{class}-named");
        let spec = json!({"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": class,
            "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": "/tmp"}});
        arena.create_cluster(object::<PersistentVolume>(&volume, spec)).await;
        let spec = json!({"accessModes": ["ReadWriteOnce"], "storageClassName": class, "volumeName": volume,
            "resources": {"requests": {"storage": "3Gi"}}});
        arena.create(object::<PersistentVolumeClaim>("large", spec.clone())).await;
        let message = format!("Cannot bind to requested volume {volume:?}: requested PV is too small");
        arena.wait_all("the mismatch to be told", "", |events: &[Event]| events.iter().any(|event| {
            event.reason.as_deref() == Some("VolumeMismatch") && event.message.as_ref() == Some(&message)
        })).await;
        assert!(!bound(&arena.get::<PersistentVolumeClaim>("large").await), "it is too small");
        let small = object::<PersistentVolumeClaim>("small", spec).set("/spec/resources/requests/storage", "1Gi");
        arena.create(small).await;
        arena.wait("a claim that it suits to be bound", "small", bound).await;
    }
}
