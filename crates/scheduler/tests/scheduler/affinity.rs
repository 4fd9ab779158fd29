//! Wishes about the Pods around, which need not come true.

use k8s_openapi::api::core::v1::Pod;
use maar_testkit::build::{Build, pod};
use maar_testkit::read::{node, phase};
use maar_testkit::scenario;
use maar_testkit::scenario::Arena;
use serde_json::{Value, json};

use super::setup::{ours, start};

/// Pods with this label `app`, near by the node.
fn term(app: &str) -> Value {
    let term =
        json!({"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"});
    json!({"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 50, "podAffinityTerm": term}]})
}

/// A Pod that somebody else put onto a node, with so many of its eight cores.
fn resident(name: &str, home: &str, cpu: &str) -> Build<Pod> {
    pod(name).pod_set("/spec/nodeName", home).request("cpu", cpu)
}

async fn home_of(arena: &Arena, name: &str) -> String {
    node(&arena.wait("it to run", name, |pod: &Pod| phase(pod) == "Running").await).to_owned()
}

scenario! {
    async fn pods_go_near_those_they_like_and_away_from_others(context) {
        let arena = context.arena();
        let [first, second, third] = <[String; 3]>::try_from(arena.node_names()).expect("three nodes");
        // Without a wish a Pod goes to the fullest node, the third.
        arena.create(resident("filler", &third, "4")).await;
        arena.create(resident("cache", &first, "1")).await;
        let scheduler = start(arena, arena.client(), "only");
        arena.create(ours(arena, "plain").request("cpu", "100m")).await;
        assert_eq!(home_of(arena, "plain").await, third);
        let web = ours(arena, "web").request("cpu", "100m").pod_set("/spec/affinity/podAffinity", term("cache"));
        arena.create(web).await;
        assert_eq!(home_of(arena, "web").await, first, "it likes the cache");
        let shy = ours(arena, "shy").request("cpu", "100m");
        arena.create(shy.pod_set("/spec/affinity/podAntiAffinity", term("filler"))).await;
        assert_eq!(home_of(arena, "shy").await, first, "the fullest of those without the filler");
        // The cache's node has no room for it, and a wish is no reason to wait.
        let large = ours(arena, "large").request("cpu", "7500m").pod_set("/spec/affinity/podAffinity", term("cache"));
        arena.create(large).await;
        assert_eq!(home_of(arena, "large").await, second);
        scheduler.stop().await;
    }
}

scenario! {
    async fn pods_go_where_they_are_liked_and_not_where_they_are_not(context) {
        let arena = context.arena();
        let [first, second, third] = <[String; 3]>::try_from(arena.node_names()).expect("three nodes");
        let shy = resident("shy", &third, "4").pod_set("/spec/affinity/podAntiAffinity", term("loud"));
        arena.create(shy).await;
        arena.create(resident("fan", &first, "1").pod_set("/spec/affinity/podAffinity", term("star"))).await;
        arena.create(resident("other", &second, "2")).await;
        let scheduler = start(arena, arena.client(), "only");
        arena.create(ours(arena, "loud").request("cpu", "100m")).await;
        assert_eq!(home_of(arena, "loud").await, second, "the fullest of those where nobody minds");
        arena.create(ours(arena, "star").request("cpu", "100m")).await;
        assert_eq!(home_of(arena, "star").await, first, "where somebody likes it");
        arena.create(ours(arena, "plain").request("cpu", "100m")).await;
        assert_eq!(home_of(arena, "plain").await, third, "nobody minds it, so it goes to the fullest node");
        scheduler.stop().await;
    }
}
