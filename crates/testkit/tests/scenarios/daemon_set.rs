//! DaemonSets: one on every node that lets them.

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::Pod;
use maar_testkit::build::daemon_set;
use maar_testkit::read::{is_ready, node};
use maar_testkit::scenario;
use maar_testkit::scenario::Arena;
use serde_json::json;

async fn available(arena: &Arena, what: &str, count: i32) {
    arena
        .wait(what, "agent", |set: &DaemonSet| {
            set.status.as_ref().is_some_and(|status| {
                status.desired_number_scheduled == count
                    && status.number_available.unwrap_or(0) == count
                    && status.updated_number_scheduled == Some(count)
                    && status.number_misscheduled == 0
                    && status.observed_generation == set.metadata.generation
            })
        })
        .await;
}

scenario! {
    async fn a_daemon_set_keeps_to_taints_and_follows_nodes(context) {
        let arena = context.arena();
        let nodes = arena.node_names();
        let closed = json!({"key": "example.com/closed", "effect": "NoSchedule"});
        arena.taint_node(&nodes[2], &[closed]).await;
        // A real controller may learn of a DaemonSet before it learns of a taint that is older, and such a Pod stays.
        arena.create(daemon_set("probe").image("one")).await;
        arena.wait("the taint to be known", "probe", |set: &DaemonSet| {
            set.status.as_ref().is_some_and(|status| status.desired_number_scheduled == 2)
        }).await;
        arena.create(daemon_set("agent").image("one")).await;
        available(arena, "one on each open node", 2).await;
        let mut on: Vec<String> = arena.list::<Pod>("agent").await.iter().map(|pod| node(pod).to_owned()).collect();
        on.sort();
        assert_eq!(on, nodes[..2]);
        arena.taint_node(&nodes[2], &[]).await;
        available(arena, "one on the opened node too", 3).await;
        arena.patch::<DaemonSet>("agent", json!({"spec": {"template": {"spec": {
            "containers": [{"name": "main", "image": "two"}]}}}})).await;
        available(arena, "the new template everywhere", 3).await;
        arena.wait_all("three new Pods", "agent", |pods: &[Pod]| {
            pods.len() == 3 && pods.iter().all(|pod| is_ready(pod) && maar_testkit::read::image(pod) == "two")
        }).await;
    }
}
