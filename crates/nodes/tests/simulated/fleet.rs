//! Nodes that come, go and are given up.

use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::{Api, api::DeleteParams};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{PROFILE, World, join, ready, world};

async fn names(world: &World) -> Vec<String> {
    let nodes = Api::<Node>::all(world.client.clone()).list(&kube::api::ListParams::default()).await;
    let mut names: Vec<String> =
        nodes.expect("listable").items.into_iter().filter_map(|node| node.metadata.name).collect();
    names.sort();
    names
}

#[tokio::test(start_paused = true)]
async fn a_shrunk_set_removes_its_own_surplus_and_nothing_else() {
    let world = world().await;
    let other = CancellationToken::new();
    let others = PROFILE.replace("name: cpu", "name: theirs").replace("name: gpu", "name: cards");
    join(&world.cluster, &others, "others", &other).await.expect("another set joins");
    world.shutdown.cancel();
    world.handle.stopped().await;
    let shutdown = CancellationToken::new();
    let smaller = PROFILE.replacen("count: 2", "count: 1", 1);
    let handle = join(&world.cluster, &smaller, "test", &shutdown).await.expect("the set takes its nodes up");
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(names(&world).await, ["cards-0", "cpu-0", "gpu-0", "theirs-0", "theirs-1"]);
    assert_eq!(handle.nodes(), ["cpu-0", "gpu-0"]);
    let added = handle.add_nodes("cpu", 1).await.expect("addable");
    assert_eq!(added, ["cpu-1"]);
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert!(names(&world).await.contains(&"cpu-1".to_owned()), "what was asked for stays");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_node_is_not_kept_alive() {
    let world = world().await;
    let nodes = Api::<Node>::all(world.client.clone());
    nodes.delete("cpu-1", &DeleteParams::default()).await.expect("deletable");
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert_eq!(world.handle.nodes(), ["cpu-0", "gpu-0"]);
    assert_eq!(names(&world).await, ["cpu-0", "gpu-0"]);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_speaks_again_is_ready_from_then_on() {
    let world = world().await;
    let since = |node: &Value, kind: &str| {
        let conditions = node["status"]["conditions"].as_array().expect("conditions");
        let found = conditions.iter().find(|condition| condition["type"] == kind).expect("a condition");
        found["lastTransitionTime"].as_str().expect("a time").to_owned()
    };
    let first = world.until_node("cpu-0", |node| ready(node) == "True").await;
    tokio::time::sleep(Duration::from_mins(1)).await;
    world.handle.fail("cpu-0", "not-ready".parse().expect("a failure")).await.expect("breakable");
    tokio::time::sleep(Duration::from_mins(1)).await;
    let broken = world.until_node("cpu-0", |node| ready(node) == "False").await;
    assert!(since(&broken, "Ready") > since(&first, "Ready"));
    assert_eq!(since(&broken, "MemoryPressure"), since(&first, "MemoryPressure"));
    world.handle.fail("cpu-0", "lease-lost".parse().expect("a failure")).await.expect("breakable");
    let lost = world.until_node("cpu-0", |node| ready(node) == "Unknown").await;
    tokio::time::sleep(Duration::from_mins(1)).await;
    world.handle.heal("cpu-0").await.expect("healable");
    let healed = world.until_node("cpu-0", |node| ready(node) == "True").await;
    assert!(since(&healed, "Ready") > since(&lost, "Ready"), "{healed:#}");
    assert!(since(&healed, "MemoryPressure") > since(&lost, "MemoryPressure"), "{healed:#}");
}
