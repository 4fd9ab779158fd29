//! Deployments, ReplicaSets, StatefulSets and DaemonSets.

use k8s_openapi::api::apps::v1::{ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use kube::api::{Api, DeleteParams, ListParams};
use serde_json::{Value, json};

use super::harness::{World, template};

fn deployment(name: &str, replicas: i32, image: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
            "template": template(name, image, json!({}))}})
}

async fn rolled_out(world: &World, name: &str, replicas: i32) -> bool {
    let deployment: Deployment = world.get(name).await;
    let status = deployment.status.unwrap_or_default();
    status.observed_generation == deployment.metadata.generation
        && status.replicas == Some(replicas)
        && status.updated_replicas == Some(replicas)
        && status.available_replicas == Some(replicas)
}

fn image_of(pod: &Pod) -> String {
    pod.spec.as_ref().unwrap().containers[0].image.clone().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_deployment_rolls_out_rolls_over_and_back() {
    let mut world = World::new(2).await;
    world.create::<Deployment>(deployment("web", 3, "one")).await;
    world.wait("the first rollout", async |world| rolled_out(world, "web", 3).await).await;
    let first: Deployment = world.get("web").await;
    assert_eq!(first.metadata.annotations.unwrap()["deployment.kubernetes.io/revision"], "1");
    assert_eq!(first.metadata.generation, Some(1));
    let pods = world.list::<Pod>().await;
    assert!(pods.iter().all(|pod| pod.metadata.generation == Some(1)), "being placed is no new generation");
    let change = |image: &str| json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}});
    world.patch::<Deployment>("web", change("two")).await;
    world
        .wait("the second rollout", async |world| {
            rolled_out(world, "web", 3).await
                && world.list::<Pod>().await.iter().all(|pod| image_of(pod) == "two")
        })
        .await;
    assert_eq!(world.list::<ReplicaSet>().await.len(), 2);
    world.patch::<Deployment>("web", change("one")).await;
    world
        .wait("the way back", async |world| {
            rolled_out(world, "web", 3).await
                && world.list::<Pod>().await.iter().all(|pod| image_of(pod) == "one")
        })
        .await;
    assert_eq!(world.list::<ReplicaSet>().await.len(), 2, "the old ReplicaSet is used again");
    let last: Deployment = world.get("web").await;
    assert_eq!(last.metadata.annotations.unwrap()["deployment.kubernetes.io/revision"], "3");
    let conditions = last.status.unwrap().conditions.unwrap();
    let progress = conditions.iter().find(|one| one.type_ == "Progressing").unwrap();
    assert_eq!(progress.reason.as_deref(), Some("NewReplicaSetAvailable"));
    let events = world.events("web").await;
    assert!(
        events.iter().any(|event| event.starts_with("ScalingReplicaSet Scaled up replica set web-")),
        "{events:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_broken_template_stops_and_is_reported() {
    let mut world = World::new(2).await;
    world.create::<Deployment>(deployment("web", 4, "one")).await;
    world.wait("the first rollout", async |world| rolled_out(world, "web", 4).await).await;
    world
        .patch::<Deployment>(
            "web",
            json!({"spec": {"progressDeadlineSeconds": 30, "template": {"metadata": {
            "annotations": {"never-ready": "yes"}}}}}),
        )
        .await;
    world
        .wait("the deadline", async |world| {
            let deployment: Deployment = world.get("web").await;
            let conditions = deployment.status.unwrap_or_default().conditions.unwrap_or_default();
            conditions.iter().any(|one| one.reason.as_deref() == Some("ProgressDeadlineExceeded"))
        })
        .await;
    let ready = world.list::<Pod>().await.into_iter().filter(|pod| {
        let conditions = pod.status.clone().unwrap().conditions.unwrap_or_default();
        conditions.iter().any(|one| one.type_ == "Ready" && one.status == "True")
    });
    assert_eq!(ready.count(), 3, "a quarter may be missing");
}

#[tokio::test(start_paused = true)]
async fn replicas_follow_and_orphans_are_adopted() {
    let mut world = World::new(1).await;
    for name in ["one", "two"] {
        world
            .create::<Pod>(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "set"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]}}))
            .await;
    }
    let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "set"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "set"}}, "template": template("set", "i", json!({}))}});
    world.create::<ReplicaSet>(set).await;
    let ready = async |world: &World, count: i32| {
        let status = world.get::<ReplicaSet>("set").await.status.unwrap_or_default();
        status.ready_replicas.unwrap_or(0) == count && status.replicas == count
    };
    world.wait("three Pods", async |world| ready(world, 3).await).await;
    let names = world.names::<Pod>().await;
    assert!(names.contains(&"one".to_owned()) && names.contains(&"two".to_owned()), "{names:?}");
    // A Pod that no longer matches is let go, and replaced.
    world.patch::<Pod>("one", json!({"metadata": {"labels": {"app": "other"}}})).await;
    world
        .wait("a replacement", async |world| world.list::<Pod>().await.len() == 4 && ready(world, 3).await)
        .await;
    assert_eq!(world.get::<Pod>("one").await.metadata.owner_references, None);
    world.patch::<ReplicaSet>("set", json!({"spec": {"replicas": 1}})).await;
    world.wait("one Pod", async |world| ready(world, 1).await && world.list::<Pod>().await.len() == 2).await;
}

#[tokio::test(start_paused = true)]
async fn a_stateful_set_has_numbers_volumes_and_an_order() {
    let mut world = World::new(2).await;
    let set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"},
        "spec": {"replicas": 2, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}},
            "persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete", "whenDeleted": "Retain"},
            "template": template("db", "one", json!({})),
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"],
                "storageClassName": "standard", "resources": {"requests": {"storage": "1Gi"}}}}]}});
    world.create::<StatefulSet>(set).await;
    let ready = async |world: &World, count: i32| {
        world.get::<StatefulSet>("db").await.status.and_then(|status| status.ready_replicas).unwrap_or(0)
            == count
    };
    world.wait("two Pods", async |world| ready(world, 2).await).await;
    assert_eq!(world.names::<Pod>().await, ["db-0", "db-1"]);
    assert_eq!(world.names::<PersistentVolumeClaim>().await, ["data-db-0", "data-db-1"]);
    let claim: PersistentVolumeClaim = world.get("data-db-0").await;
    assert_eq!(claim.status.unwrap().phase.as_deref(), Some("Bound"));
    world
        .patch::<StatefulSet>(
            "db",
            json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "two"}]}}}}),
        )
        .await;
    world
        .wait("the update", async |world| {
            let status = world.get::<StatefulSet>("db").await.status.unwrap();
            status.current_revision == status.update_revision
                && world.list::<Pod>().await.iter().all(|pod| image_of(pod) == "two")
                && ready(world, 2).await
        })
        .await;
    assert_eq!(world.list::<ControllerRevision>().await.len(), 2);
    world.patch::<StatefulSet>("db", json!({"spec": {"replicas": 1}})).await;
    world
        .wait("the claim to go with its Pod", async |world| {
            world.names::<PersistentVolumeClaim>().await == ["data-db-0"]
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_brings_its_own_claim_and_takes_it_along() {
    let mut world = World::new(1).await;
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "scratch"},
        "spec": {"containers": [{"name": "c", "image": "i"}], "volumes": [{"name": "tmp", "ephemeral": {
            "volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}}}}}}]}});
    world.create::<Pod>(pod).await;
    world
        .wait("the Pod to run", async |world| {
            world.get::<Pod>("scratch").await.status.unwrap().phase.as_deref() == Some("Running")
        })
        .await;
    let claim: PersistentVolumeClaim = world.get("scratch-tmp").await;
    assert_eq!(claim.status.unwrap().phase.as_deref(), Some("Bound"));
    let spec = claim.spec.unwrap();
    assert_eq!(spec.storage_class_name.as_deref(), Some("standard"), "the default class");
    world.api::<Pod>().delete("scratch", &DeleteParams::default()).await.unwrap();
    world
        .wait("Pod and claim to go", async |world| {
            world.names::<Pod>().await.is_empty() && world.names::<PersistentVolumeClaim>().await.is_empty()
        })
        .await;
    let volumes: Api<PersistentVolume> = Api::all(world.client.clone());
    world
        .wait("the volume to go", async |_| {
            volumes.list(&ListParams::default()).await.unwrap().items.is_empty()
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_daemon_set_is_on_every_node_and_follows_them() {
    let mut world = World::new(2).await;
    let daemon = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": template("agent", "one", json!({}))}});
    world.create::<DaemonSet>(daemon).await;
    let available = async |world: &World, count: i32| {
        let status = world.get::<DaemonSet>("agent").await.status.unwrap_or_default();
        status.number_available.unwrap_or(0) == count
            && status.desired_number_scheduled == count
            && status.updated_number_scheduled == Some(count)
    };
    world.wait("one on each", async |world| available(world, 2).await).await;
    world.add_node("late", json!({})).await;
    world.wait("one on the new node", async |world| available(world, 3).await).await;
    world
        .patch::<DaemonSet>(
            "agent",
            json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "two"}]}}}}),
        )
        .await;
    world
        .wait("the new template everywhere", async |world| {
            available(world, 3).await && world.list::<Pod>().await.iter().all(|pod| image_of(pod) == "two")
        })
        .await;
    let mut nodes: Vec<String> =
        world.list::<Pod>().await.into_iter().filter_map(|pod| pod.spec?.node_name).collect();
    nodes.sort();
    assert_eq!(nodes, ["late", "node-0", "node-1"]);
}

#[tokio::test(start_paused = true)]
async fn one_seed_has_one_history() {
    let mut histories = Vec::new();
    for _ in 0..3 {
        let mut world = World::new(3).await;
        world.create::<Deployment>(deployment("web", 5, "one")).await;
        world.create::<Deployment>(deployment("api", 4, "one")).await;
        world
            .wait("the first rollouts", async |world| {
                rolled_out(world, "web", 5).await && rolled_out(world, "api", 4).await
            })
            .await;
        let change = json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "two"}]}}}});
        world.patch::<Deployment>("web", change).await;
        world.wait("the second rollout", async |world| rolled_out(world, "web", 5).await).await;
        histories.push(world.cluster.store().fingerprint());
    }
    assert_eq!(histories[0], histories[1]);
    assert_eq!(histories[1], histories[2]);
}
