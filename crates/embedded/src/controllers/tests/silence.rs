//! Webhooks that never answer hold up those they are for, and nobody else.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use maar_streams::dial::Dialing;
use serde_json::{from_value, json};

use super::harness::{World, template};

/// A cluster with a namespace `bad` where nothing comes of creating such objects for a long time.
async fn world_with_silence_about(resource: &str, seconds: i32) -> World {
    let mut world = World::new(1).await;
    let silent = |_: &str| -> Option<Dialing> { Some(Box::pin(std::future::pending())) };
    world.cluster.set_webhooks(Arc::new(silent));
    let bad = from_value(json!({"metadata": {"name": "bad"}})).unwrap();
    Api::<Namespace>::all(world.client.clone()).create(&PostParams::default(), &bad).await.unwrap();
    world.pass(Duration::from_secs(1)).await;
    let authority = world.get::<ConfigMap>("kube-root-ca.crt").await.data.unwrap()["ca.crt"].clone();
    let hook = json!({"metadata": {"name": "silent"}, "webhooks": [{
        "name": "silent.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "failurePolicy": "Ignore", "timeoutSeconds": seconds,
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "bad"}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": [resource], "operations": ["CREATE"]}],
        "clientConfig": {"url": "https://silent.example.com/", "caBundle": STANDARD.encode(authority)}}]});
    let api: Api<ValidatingWebhookConfiguration> = Api::all(world.client.clone());
    api.create(&PostParams::default(), &from_value(hook).unwrap()).await.unwrap();
    world.pass(Duration::from_secs(1)).await;
    world
}

#[tokio::test(start_paused = true)]
async fn a_scheduler_does_not_wait_for_its_events_to_be_written() {
    let mut world = world_with_silence_about("events", 10).await;
    let pod = |name: &str| {
        from_value::<Pod>(json!({"metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i"}]}}))
    };
    let bad: Api<Pod> = Api::namespaced(world.client.clone(), "bad");
    for name in ["a", "b", "c", "d", "e"] {
        bad.create(&PostParams::default(), &pod(name).unwrap()).await.unwrap();
    }
    world.api::<Pod>().create(&PostParams::default(), &pod("good").unwrap()).await.unwrap();
    world.pass(Duration::from_secs(2)).await;
    assert_eq!(world.get::<Pod>("good").await.spec.unwrap().node_name.as_deref(), Some("node-0"));
    world.pass(Duration::from_mins(2)).await;
    let told = world.events("good").await;
    assert!(told.contains(&"Scheduled Successfully assigned default/good to node-0".to_owned()), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_cannot_be_bound_gives_its_room_to_those_who_wait() {
    let mut world = world_with_silence_about("pods/binding", 15).await;
    let hooks: Api<ValidatingWebhookConfiguration> = Api::all(world.client.clone());
    let strict = Patch::Json::<()>(
        from_value(json!([{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Fail"}])).unwrap(),
    );
    hooks.patch("silent", &PatchParams::default(), &strict).await.unwrap();
    world.pass(Duration::from_secs(1)).await;
    let pod = json!({"metadata": {"name": "large"}, "spec": {"containers": [
        {"name": "c", "image": "i", "resources": {"requests": {"cpu": "6"}}}]}});
    let pod: Pod = from_value(pod).unwrap();
    let bad: Api<Pod> = Api::namespaced(world.client.clone(), "bad");
    bad.create(&PostParams::default(), &pod).await.unwrap();
    world.pass(Duration::from_secs(1)).await;
    world.api::<Pod>().create(&PostParams::default(), &pod).await.unwrap();
    world.pass(Duration::from_secs(5)).await;
    assert_eq!(world.get::<Pod>("large").await.spec.unwrap().node_name, None, "the room is spoken for");
    world.pass(Duration::from_secs(15)).await;
    assert_eq!(world.get::<Pod>("large").await.spec.unwrap().node_name.as_deref(), Some("node-0"));
}

#[tokio::test(start_paused = true)]
async fn a_scheduler_goes_on_while_a_pod_is_being_bound_and_keeps_its_room() {
    let mut world = world_with_silence_about("pods/binding", 15).await;
    let pod = |name: &str, cores: &str| {
        from_value::<Pod>(json!({"metadata": {"name": name}, "spec": {"containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": cores}}}]}}))
        .unwrap()
    };
    let node_of = async |api: &Api<Pod>, name: &str| api.get(name).await.unwrap().spec.unwrap().node_name;
    let (bad, good) = (Api::<Pod>::namespaced(world.client.clone(), "bad"), world.api::<Pod>());
    bad.create(&PostParams::default(), &pod("large", "6")).await.unwrap();
    world.pass(Duration::from_secs(1)).await;
    // What happens to it in the meantime gives its room to nobody.
    let label = Patch::Merge(json!({"metadata": {"labels": {"a": "b"}}}));
    bad.patch("large", &PatchParams::default(), &label).await.unwrap();
    for (name, cores) in [("small", "1"), ("second", "6")] {
        good.create(&PostParams::default(), &pod(name, cores)).await.unwrap();
    }
    world.pass(Duration::from_secs(2)).await;
    assert_eq!(node_of(&good, "small").await.as_deref(), Some("node-0"), "it is bound at once");
    assert_eq!(node_of(&bad, "large").await, None, "it is still being bound");
    assert_eq!(node_of(&good, "second").await, None, "there is room for one of that size");
    world.pass(Duration::from_secs(20)).await;
    assert_eq!(node_of(&bad, "large").await.as_deref(), Some("node-0"));
    assert_eq!(node_of(&good, "second").await, None);
    // And one that goes while it is being bound leaves its room behind.
    good.delete("small", &DeleteParams::default().grace_period(0)).await.unwrap();
    bad.delete("large", &DeleteParams::default().grace_period(0)).await.unwrap();
    world.pass(Duration::from_secs(12)).await;
    assert_eq!(node_of(&good, "second").await.as_deref(), Some("node-0"));
    bad.create(&PostParams::default(), &pod("brief", "1")).await.unwrap();
    world.pass(Duration::from_secs(1)).await;
    bad.delete("brief", &DeleteParams::default().grace_period(0)).await.unwrap();
    good.create(&PostParams::default(), &pod("last", "2")).await.unwrap();
    world.pass(Duration::from_secs(2)).await;
    assert_eq!(node_of(&good, "last").await.as_deref(), Some("node-0"));
}

#[tokio::test(start_paused = true)]
async fn a_deployment_does_not_wait_for_the_pods_of_others() {
    let mut world = world_with_silence_about("pods", 15).await;
    let deployment = |name: &str| {
        from_value::<Deployment>(json!({"metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": template(name, "i", json!({}))}}))
    };
    let bad: Api<Deployment> = Api::namespaced(world.client.clone(), "bad");
    for name in ["a", "b", "c"] {
        bad.create(&PostParams::default(), &deployment(name).unwrap()).await.unwrap();
    }
    world.pass(Duration::from_secs(1)).await;
    world.api::<Deployment>().create(&PostParams::default(), &deployment("good").unwrap()).await.unwrap();
    world.pass(Duration::from_secs(2)).await;
    assert_eq!(world.list::<Pod>().await.len(), 1);
    world.pass(Duration::from_mins(1)).await;
    let late =
        Api::<Pod>::namespaced(world.client.clone(), "bad").list(&ListParams::default()).await.unwrap();
    assert_eq!(late.items.len(), 3, "one each, although two looks at one set would make two");
}

#[tokio::test(start_paused = true)]
async fn a_budget_does_not_wait_for_the_events_of_others() {
    let mut world = world_with_silence_about("events", 10).await;
    let budget = |name: &str| {
        from_value::<PodDisruptionBudget>(json!({"metadata": {"name": name},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": name}}}}))
    };
    let bad: Api<PodDisruptionBudget> = Api::namespaced(world.client.clone(), "bad");
    for name in ["a", "b", "c"] {
        bad.create(&PostParams::default(), &budget(name).unwrap()).await.unwrap();
    }
    world
        .api::<PodDisruptionBudget>()
        .create(&PostParams::default(), &budget("good").unwrap())
        .await
        .unwrap();
    world.pass(Duration::from_secs(2)).await;
    let status = world.get::<PodDisruptionBudget>("good").await.status.unwrap_or_default();
    assert_eq!(status.observed_generation, Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_claim_does_not_wait_for_the_events_of_others() {
    let mut world = world_with_silence_about("events", 10).await;
    let capacity = json!({"storage": "1Gi"});
    let claim = |name: &str| {
        from_value::<PersistentVolumeClaim>(
            json!({"metadata": {"name": name}, "spec": {"storageClassName": "none-such",
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": &capacity}}}),
        )
    };
    let bad: Api<PersistentVolumeClaim> = Api::namespaced(world.client.clone(), "bad");
    for name in ["a", "b", "c"] {
        bad.create(&PostParams::default(), &claim(name).unwrap()).await.unwrap();
    }
    let volume = json!({"metadata": {"name": "v"}, "spec": {"capacity": &capacity, "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/v"}, "storageClassName": "none-such", "claimRef": {"namespace": "default", "name": "good"}}});
    let volumes: Api<PersistentVolume> = Api::all(world.client.clone());
    volumes.create(&PostParams::default(), &from_value(volume).unwrap()).await.unwrap();
    world
        .api::<PersistentVolumeClaim>()
        .create(&PostParams::default(), &claim("good").unwrap())
        .await
        .unwrap();
    world.pass(Duration::from_secs(2)).await;
    let good: PersistentVolumeClaim = world.get("good").await;
    assert_eq!(good.status.and_then(|status| status.phase).as_deref(), Some("Bound"));
}

#[tokio::test(start_paused = true)]
async fn pods_of_a_lost_node_do_not_wait_for_the_events_of_others() {
    let mut world = world_with_silence_about("events", 10).await;
    let bad: Api<Pod> = Api::namespaced(world.client.clone(), "bad");
    for name in ["a", "b", "c"] {
        let pod = json!({"metadata": {"name": name}, "spec": {"nodeName": "node-0", "containers": [{"name": "c", "image": "i"}]}});
        bad.create(&PostParams::default(), &from_value(pod).unwrap()).await.unwrap();
    }
    let ready = async || {
        let pods = bad.list(&ListParams::default()).await.unwrap().items;
        let conditions = pods.into_iter().flat_map(|pod| pod.status.unwrap().conditions.unwrap_or_default());
        conditions.filter(|condition| condition.type_ == "Ready" && condition.status == "True").count()
    };
    world.wait("three Pods", async |_| ready().await == 3).await;
    world.dead.insert("node-0".into());
    world.wait("the first to be marked", async |_| ready().await < 3).await;
    world.pass(Duration::from_secs(2)).await;
    assert_eq!(ready().await, 0);
}
