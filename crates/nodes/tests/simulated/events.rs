//! What people hear of simulated Pods and nodes.

use std::time::Duration;

use k8s_openapi::api::core::v1::Event;
use kube::{
    Api,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::{PROFILE, World, world, world_of};

async fn told(world: &World, kind: &str, name: &str) -> Vec<Event> {
    let fields = format!("involvedObject.kind={kind},involvedObject.name={name},source=kubelet");
    let events = Api::<Event>::namespaced(world.client.clone(), "default");
    let mut list = events.list(&ListParams::default().fields(&fields)).await.expect("listable").items;
    list.sort_by_key(|event| (event.first_timestamp.clone(), event.metadata.resource_version.clone()));
    list
}

fn reasons(events: &[Event]) -> Vec<&str> {
    events.iter().map(|event| event.reason.as_deref().unwrap_or_default()).collect()
}

/// A Pod on a node, with a restart policy.
async fn create(world: &World, name: &str, annotations: Value, policy: &str) {
    let pod = json!({
        "metadata": { "name": name, "annotations": annotations },
        "spec": { "nodeName": "cpu-0", "restartPolicy": policy, "containers": [{ "name": "main", "image": "i:1" }] },
    });
    let pod = serde_json::from_value(pod).expect("a pod");
    world.pods().create(&PostParams::default(), &pod).await.expect("the pod is created");
}

#[tokio::test(start_paused = true)]
async fn a_pods_events_are_those_of_a_kubelet() {
    let world = world().await;
    create(&world, "plain", json!({}), "Always").await;
    world.phase("plain", "Running").await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let events = told(&world, "Pod", "plain").await;
    assert_eq!(reasons(&events), ["Pulled", "Created", "Started"]);
    let event = serde_json::to_value(&events[2]).expect("json");
    assert_eq!(event["source"], json!({ "component": "kubelet", "host": "cpu-0" }));
    assert_eq!(event["involvedObject"]["fieldPath"], "spec.containers{main}");
    assert_eq!(
        (event["type"].as_str(), event["message"].as_str()),
        (Some("Normal"), Some("Container started"))
    );
    assert_eq!(event["firstTimestamp"], event["lastTimestamp"]);
    world.pods().delete("plain", &DeleteParams::default()).await.expect("deletable");
    world.until("plain", Value::is_null).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(reasons(&told(&world, "Pod", "plain").await), ["Pulled", "Created", "Started", "Killing"]);
}

#[tokio::test(start_paused = true)]
async fn a_crash_loop_is_counted_and_does_not_flood() {
    let world = world().await;
    create(&world, "loop", json!({ "sim.maar.io/crash-after": "1s" }), "Always").await;
    tokio::time::sleep(Duration::from_hours(1)).await;
    let mut events = told(&world, "Pod", "loop").await;
    events.sort_by_key(|event| event.reason.clone());
    assert_eq!(reasons(&events), ["BackOff", "Created", "Pulled", "Started"]);
    let pod = world.phase("loop", "Running").await;
    let restarts = pod["status"]["containerStatuses"][0]["restartCount"].as_i64().expect("a number");
    let count = i64::from(events[0].count.expect("a count"));
    assert!(restarts >= 14 && (10..=restarts).contains(&count), "{restarts} restarts, {count} back-offs");
    assert!(events[0].last_timestamp > events[0].first_timestamp);
}

#[tokio::test(start_paused = true)]
async fn refusals_evictions_and_nodes_are_told_of_too() {
    let world = world().await;
    let greedy = json!({ "resources": { "requests": { "cpu": "99" } } });
    world.create("greedy", "cpu-0", json!({}), greedy).await;
    world.phase("greedy", "Failed").await;
    world.create("victim", "cpu-0", json!({ "sim.maar.io/fail-now": "Evicted" }), json!({})).await;
    world.phase("victim", "Failed").await;
    world.handle.fail("cpu-1", "not-ready".parse().expect("a failure")).await.expect("breakable");
    let patch = json!({ "metadata": { "annotations": { "sim.maar.io/fail": "fire" } } });
    let nodes = Api::<k8s_openapi::api::core::v1::Node>::all(world.client.clone());
    nodes.patch("gpu-0", &PatchParams::default(), &Patch::Merge(patch)).await.expect("patched");
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(reasons(&told(&world, "Pod", "greedy").await), ["OutOfcpu"]);
    assert!(reasons(&told(&world, "Pod", "victim").await).contains(&"Evicted"));
    assert_eq!(reasons(&told(&world, "Node", "cpu-1").await), ["NodeNotReady"]);
    let invalid = told(&world, "Node", "gpu-0").await;
    assert_eq!(reasons(&invalid), ["InvalidFailure"]);
    assert!(invalid[0].message.as_deref().is_some_and(|text| text.contains("fire")), "{invalid:?}");
}

#[tokio::test(start_paused = true)]
async fn a_large_set_tells_of_trouble_only() {
    let large = PROFILE.replace("count: 2", "count: 101");
    let quiet = PROFILE.replace("name: test", "name: test\nevents: none");
    for (profile, want) in [(large, &["BackOff"][..]), (quiet, &[])] {
        let world = world_of(&profile).await;
        create(&world, "loop", json!({ "sim.maar.io/crash-after": "1s" }), "Always").await;
        create(&world, "plain", json!({}), "Always").await;
        tokio::time::sleep(Duration::from_mins(5)).await;
        assert_eq!(reasons(&told(&world, "Pod", "loop").await), want);
        assert!(told(&world, "Pod", "plain").await.is_empty());
        world.shutdown.cancel();
        world.handle.stopped().await;
    }
}
