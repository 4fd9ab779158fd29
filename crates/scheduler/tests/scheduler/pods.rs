//! Single Pods.

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Patch, PatchParams};
use maar_testkit::build::pod;
use maar_testkit::read::{node, phase};
use maar_testkit::scenario;
use serde_json::json;

use super::setup::{is_bound, one_of, ours, start};

scenario! {
    async fn pods_run_where_they_fit(context) {
        let arena = context.arena();
        let scheduler = start(arena, arena.client(), "only");
        // Nodes have eight CPUs: two of these on each of the three nodes, and no more.
        for number in 0..7 {
            arena.create(one_of(arena, "web", number).request("cpu", "3500m")).await;
        }
        let pods = arena.wait_all("six to run", "web", |pods: &[Pod]| {
            pods.iter().filter(|pod| phase(pod) == "Running").count() == 6
        }).await;
        let mut nodes: Vec<&str> = pods.iter().filter(|pod| is_bound(pod)).map(node).collect();
        nodes.sort_unstable();
        let want: Vec<String> = arena.node_names().into_iter().flat_map(|name| [name.clone(), name]).collect();
        assert_eq!(nodes, want);
        // The seventh starts as soon as there is room.
        let gone = pods.iter().find(|pod| is_bound(pod)).and_then(|pod| pod.metadata.name.clone()).expect("six run");
        arena.delete::<Pod>(&gone, &kube::api::DeleteParams::default()).await;
        arena.wait_all("the seventh to take its place", "web", |pods: &[Pod]| {
            pods.len() == 6 && pods.iter().all(|pod| phase(pod) == "Running")
        }).await;
        scheduler.stop().await;
    }
}

scenario! {
    async fn pods_of_other_schedulers_are_left_alone_and_counted(context) {
        let arena = context.arena();
        let home = arena.node_names().remove(0);
        // Bound by hand, as another scheduler would.
        let taken = pod("taken").request("cpu", "7").pod_set("/spec/nodeName", home.clone());
        arena.create(taken).await;
        arena.create(pod("foreign").pod_set("/spec/schedulerName", "nobody")).await;
        let scheduler = start(arena, arena.client(), "only");
        for number in 0..3 {
            arena.create(one_of(arena, "own", number).request("cpu", "6")).await;
        }
        let pods = arena.wait_all("two to run", "own", |pods: &[Pod]| {
            pods.iter().filter(|pod| phase(pod) == "Running").count() == 2
        }).await;
        assert!(pods.iter().all(|pod| node(pod) != home), "the first node is full");
        assert!(!is_bound(&arena.get::<Pod>("foreign").await));
        scheduler.stop().await;
    }
}

scenario! {
    async fn room_that_another_scheduler_has_promised_is_kept(context) {
        let arena = context.arena();
        let home = arena.node_names().remove(0);
        arena.create(pod("coming").request("cpu", "7").pod_set("/spec/schedulerName", "nobody")).await;
        let promise = Patch::Merge(json!({"status": {"nominatedNodeName": home}}));
        let pods = arena.api::<Pod>();
        pods.patch_status("coming", &PatchParams::default(), &promise).await.expect("a node can be promised");
        let scheduler = start(arena, arena.client(), "only");
        for number in 0..3 {
            arena.create(one_of(arena, "own", number).request("cpu", "6")).await;
        }
        let running = arena.wait_all("two to run", "own", |pods: &[Pod]| {
            pods.iter().filter(|pod| phase(pod) == "Running").count() == 2
        }).await;
        assert!(running.iter().all(|pod| node(pod) != home), "its room is promised");
        arena.delete::<Pod>("coming", &kube::api::DeleteParams::default()).await;
        let all = arena.wait_all("the third to run", "own", |pods: &[Pod]| {
            pods.iter().all(|pod| phase(pod) == "Running")
        }).await;
        assert_eq!(all.iter().filter(|pod| node(pod) == home).count(), 1);
        scheduler.stop().await;
    }
}

scenario! {
    async fn a_gate_holds_a_pod_and_its_removal_lets_it_go(context) {
        let arena = context.arena();
        let scheduler = start(arena, arena.client(), "only");
        arena.create(ours(arena, "gated").pod_set("/spec/schedulingGates", json!([{"name": "example.com/wait"}]))).await;
        arena.create(ours(arena, "free")).await;
        arena.wait("the other to run", "free", |pod: &Pod| phase(pod) == "Running").await;
        assert!(!is_bound(&arena.get::<Pod>("gated").await));
        arena.patch::<Pod>("gated", json!({"spec": {"schedulingGates": null}})).await;
        arena.wait("it to run", "gated", |pod: &Pod| phase(pod) == "Running").await;
        scheduler.stop().await;
    }
}

scenario! {
    async fn a_hostile_pod_is_told_why_and_disturbs_nobody(context) {
        let arena = context.arena();
        let scheduler = start(arena, arena.client(), "only");
        arena.create(ours(arena, "odd").set("/metadata/annotations/maar.io~1card-share", "nvidia.com/gpu=∞")).await;
        arena.create(ours(arena, "fine")).await;
        arena.wait("the other to run", "fine", |pod: &Pod| phase(pod) == "Running").await;
        arena.until("the owner to be told", async || {
            let events = arena.list::<k8s_openapi::api::events::v1::Event>("").await;
            let said = events.iter().any(|event| {
                event.reason.as_deref() == Some("FailedScheduling")
                    && event.note.as_deref().is_some_and(|note| note.contains("not a quantity"))
            });
            if said { Ok(()) } else { Err(format!("{} events", events.len())) }
        }).await;
        assert!(!is_bound(&arena.get::<Pod>("odd").await));
        scheduler.stop().await;
    }
}
