//! Nodes that fall silent or vanish, and scheduling.
#![expect(clippy::needless_pass_by_value, reason = "tables of JSON literals read better by value")]

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::harness::{World, template};

fn deployment(replicas: i32, change: Value) -> Value {
    let mut value = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
            "template": template("web", "i", json!({}))}});
    for (key, member) in change.as_object().unwrap() {
        value["spec"]["template"]["spec"][key] = member.clone();
    }
    value
}

async fn nodes_of(world: &World) -> Vec<String> {
    let alive = world.list::<Pod>().await.into_iter().filter(|pod| {
        pod.metadata.deletion_timestamp.is_none()
            && pod.status.as_ref().is_some_and(|status| status.phase.as_deref() == Some("Running"))
    });
    let mut nodes: Vec<String> = alive.filter_map(|pod| pod.spec?.node_name).collect();
    nodes.sort();
    nodes
}

fn ready(node: &Node) -> String {
    let conditions = node.status.clone().unwrap().conditions.unwrap();
    conditions.into_iter().find(|one| one.type_ == "Ready").unwrap().status
}

#[tokio::test(start_paused = true)]
async fn pods_leave_a_silent_node_when_they_no_longer_tolerate_it() {
    let mut world = World::new(3).await;
    let apart = json!({"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 100, "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname",
            "labelSelector": {"matchLabels": {"app": "web"}}}}]}},
        "tolerations": [
            {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}]});
    world.create::<Deployment>(deployment(3, apart)).await;
    world
        .wait("one Pod on each node", async |world| nodes_of(world).await == ["node-0", "node-1", "node-2"])
        .await;
    world.dead.insert("node-1".into());
    let nodes: Api<Node> = Api::all(world.client.clone());
    world.pass(Duration::from_secs(40)).await;
    assert_eq!(ready(&nodes.get("node-1").await.unwrap()), "True", "silence is forgiven for a while");
    world
        .wait("the node to be marked", async |_| ready(&nodes.get("node-1").await.unwrap()) == "Unknown")
        .await;
    world.pass(Duration::from_secs(5)).await;
    let taints = nodes.get("node-1").await.unwrap().spec.unwrap().taints.unwrap();
    let mut effects: Vec<String> =
        taints.into_iter().map(|taint| format!("{}:{}", taint.key, taint.effect)).collect();
    effects.sort();
    assert_eq!(
        effects,
        ["node.kubernetes.io/unreachable:NoExecute", "node.kubernetes.io/unreachable:NoSchedule"]
    );
    world.pass(Duration::from_secs(280)).await;
    assert_eq!(nodes_of(&world).await.len(), 3, "the Pod is tolerant for five minutes");
    world
        .wait("a replacement elsewhere", async |world| {
            let nodes = nodes_of(world).await;
            nodes.len() == 3 && !nodes.contains(&"node-1".to_owned())
        })
        .await;
    nodes.delete("node-1", &DeleteParams::default()).await.unwrap();
    world.wait("the lost Pod to be removed", async |world| world.list::<Pod>().await.len() == 3).await;
}

#[tokio::test(start_paused = true)]
async fn pods_that_end_on_a_node_out_of_service_are_not_waited_for() {
    let mut world = World::new(2).await;
    for node in ["node-0", "node-1"] {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("on-{node}")},
            "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]}});
        world.create::<Pod>(pod).await;
    }
    world.wait("both to run", async |world| nodes_of(world).await == ["node-0", "node-1"]).await;
    world.dead.insert("node-1".into());
    let nodes: Api<Node> = Api::all(world.client.clone());
    world
        .wait("the node to be marked", async |_| ready(&nodes.get("node-1").await.unwrap()) == "Unknown")
        .await;
    world.api::<Pod>().delete("on-node-1", &DeleteParams::default()).await.unwrap();
    world.pass(Duration::from_mins(2)).await;
    assert_eq!(world.names::<Pod>().await, ["on-node-0", "on-node-1"], "its kubelet may come back");
    for node in ["node-0", "node-1"] {
        let taint = json!({"spec": {"taints": [{"key": "node.kubernetes.io/out-of-service", "effect": "NoSchedule"}]}});
        nodes.patch(node, &PatchParams::default(), &Patch::Strategic(taint)).await.unwrap();
    }
    world.pass(Duration::from_secs(5)).await;
    assert_eq!(world.names::<Pod>().await, ["on-node-0"], "a node that is ready ends its Pods itself");
}

#[tokio::test(start_paused = true)]
async fn when_all_nodes_are_silent_nobody_is_driven_off() {
    let mut world = World::new(2).await;
    world.create::<Deployment>(deployment(2, json!({}))).await;
    world.wait("two Pods", async |world| nodes_of(world).await.len() == 2).await;
    world.dead.extend(["node-0".to_owned(), "node-1".to_owned()]);
    world.pass(Duration::from_mins(15)).await;
    let nodes: Api<Node> = Api::all(world.client.clone());
    let taints = nodes.get("node-0").await.unwrap().spec.unwrap().taints.unwrap_or_default();
    // The first node to fall silent was driven off while the other still spoke; the last one is not.
    let driven = taints.iter().any(|taint| taint.effect == "NoExecute");
    assert!(!driven, "{taints:?}");
    assert!(world.list::<Pod>().await.len() >= 2);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_comes_to_a_tainted_node_stays_for_as_long_as_it_tolerates() {
    let mut world = World::new(1).await;
    let nodes: Api<Node> = Api::all(world.client.clone());
    let taint = json!({"spec": {"taints": [{"key": "upkeep", "effect": "NoExecute"}]}});
    nodes.patch("node-0", &PatchParams::default(), &Patch::Merge(taint)).await.unwrap();
    world.pass(Duration::from_mins(5)).await;
    let tolerant = json!({"tolerations": [
        {"key": "upkeep", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}]});
    world.create::<Deployment>(deployment(1, tolerant)).await;
    world.wait("the Pod to run", async |world| nodes_of(world).await == ["node-0"]).await;
    let first = world.names::<Pod>().await;
    world.pass(Duration::from_secs(50)).await;
    assert_eq!(world.names::<Pod>().await, first, "the taint is old, but the Pod is not");
    world.wait("another Pod in its place", async |world| world.names::<Pod>().await != first).await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_wants_company_is_placed_when_the_company_comes() {
    let mut world = World::new(2).await;
    let node_of = async |world: &World, name: &str| world.get::<Pod>(name).await.spec.unwrap().node_name;
    for (number, node) in [(0, None), (1, Some("node-1"))] {
        let (guest, host) = (format!("guest-{number}"), format!("host-{number}"));
        let near = json!({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": host}}}]}});
        let containers = json!([{"name": "c", "image": "i"}]);
        world
            .create::<Pod>(
                json!({"metadata": {"name": guest}, "spec": {"affinity": near, "containers": containers}}),
            )
            .await;
        world.pass(Duration::from_secs(20)).await;
        assert_eq!(node_of(&world, &guest).await, None);
        world
            .create::<Pod>(json!({"metadata": {"name": host, "labels": {"app": host}},
                "spec": {"nodeName": node, "containers": containers}}))
            .await;
        world.pass(Duration::from_secs(20)).await;
        assert!(node_of(&world, &host).await.is_some());
        assert_eq!(node_of(&world, &guest).await, node_of(&world, &host).await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_fits_nowhere_says_why_and_starts_when_it_does() {
    let mut world = World::new(2).await;
    let closed = json!({"spec": {"unschedulable": true}});
    let nodes: Api<Node> = Api::all(world.client.clone());
    nodes
        .patch("node-0", &kube::api::PatchParams::default(), &kube::api::Patch::Merge(closed))
        .await
        .unwrap();
    world
        .create::<Pod>(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "big"},
            "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "9"}}}]}}))
        .await;
    let condition = async |world: &World| {
        let conditions = world.get::<Pod>("big").await.status.unwrap().conditions.unwrap_or_default();
        conditions.into_iter().find(|one| one.type_ == "PodScheduled")
    };
    world.wait("the reason", async |world| condition(world).await.is_some()).await;
    world.pass(Duration::from_secs(2)).await;
    let scheduled = condition(&world).await.unwrap();
    assert_eq!((scheduled.status.as_str(), scheduled.reason.as_deref()), ("False", Some("Unschedulable")));
    assert_eq!(
        scheduled.message.as_deref(),
        Some("0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable.")
    );
    assert!(world.events("big").await.iter().any(|event| event.starts_with("FailedScheduling 0/2 nodes")));
    let more = json!({"status": {"allocatable": {"cpu": "16"}}});
    nodes
        .patch_status("node-1", &kube::api::PatchParams::default(), &kube::api::Patch::Merge(more))
        .await
        .unwrap();
    world.wait("the Pod to run", async |world| nodes_of(world).await == ["node-1"]).await;
    assert!(
        world
            .events("big")
            .await
            .contains(&"Scheduled Successfully assigned default/big to node-1".to_owned())
    );
}

#[tokio::test(start_paused = true)]
async fn what_others_placed_while_nobody_waited_takes_its_room() {
    let mut world = World::new(1).await;
    let big = |name: &str, node: Option<&str>| {
        let resources = json!({"requests": {"cpu": "6"}});
        json!({"metadata": {"name": name}, "spec": {"nodeName": node, "containers": [
            {"name": "main", "image": "busybox", "resources": resources}]}})
    };
    world.create::<Pod>(big("placed", Some("node-0"))).await;
    world.pass(Duration::from_secs(5)).await;
    world.create::<Pod>(big("waits", None)).await;
    world.pass(Duration::from_secs(30)).await;
    assert_eq!(world.get::<Pod>("waits").await.spec.unwrap().node_name, None);
    world.api::<Pod>().delete("placed", &kube::api::DeleteParams::default()).await.unwrap();
    world
        .wait("the other has its place", async |world| {
            world.get::<Pod>("waits").await.spec.unwrap().node_name.as_deref() == Some("node-0")
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_thousand_pods_are_placed_in_moments() {
    let mut world = World::new(0).await;
    for number in 0..20 {
        world.add_node(&format!("node-{number}"), json!({})).await;
    }
    world.create::<Deployment>(deployment(1000, json!({}))).await;
    let unplaced = async |world: &World| {
        let pods = world.list::<Pod>().await;
        pods.len() != 1000
            || pods.iter().any(|pod| pod.spec.as_ref().is_none_or(|spec| spec.node_name.is_none()))
    };
    let start = tokio::time::Instant::now();
    while unplaced(&world).await {
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert!(start.elapsed() < Duration::from_mins(1), "not placed after a minute of cluster time");
    }
}
