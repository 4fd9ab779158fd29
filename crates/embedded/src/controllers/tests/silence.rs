//! Webhooks that never answer hold up those they are for, and nobody else.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube::api::{Api, ListParams, PostParams};
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
