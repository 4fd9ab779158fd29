//! What the default scheduler looks at.

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::{Api, runtime::wait::await_condition};
use maar_testkit::build::{deployment, pod};
use maar_testkit::read::{is_rolled_out, node, phase, pod_condition};
use maar_testkit::scenario;
use serde_json::json;

scenario! {
    async fn a_pod_waits_for_a_node_that_fits(context) {
        let arena = context.arena();
        arena.create(pod("huge").request("cpu", "100")).await;
        arena.create(pod("picky").pod_set("/spec/nodeSelector/example.com~1place", "here")).await;
        for name in ["huge", "picky"] {
            let pod = arena.wait("the Pod to be told that it does not fit", name, |pod: &Pod| {
                pod_condition(pod, "PodScheduled") == Some(("False", "Unschedulable"))
            }).await;
            assert_eq!(phase(&pod), "Pending");
        }
        let home = arena.node_names().remove(1);
        arena.patch_node(&home, json!({"metadata": {"labels": {"example.com/place": "here"}}})).await;
        let picky = arena.wait("the Pod to run", "picky", |pod: &Pod| phase(pod) == "Running").await;
        assert_eq!(node(&picky), home);
        assert_eq!(phase(&arena.get::<Pod>("huge").await), "Pending");
    }
}

scenario! {
    async fn pods_are_spread_and_fill_nodes_to_the_brim(context) {
        let arena = context.arena();
        // Nodes have eight CPUs, so two of these fit on each of the three nodes.
        arena.create(deployment("web").replicas(6).request("cpu", "3500m")).await;
        arena.wait("all to fit", "web", is_rolled_out).await;
        let mut nodes: Vec<String> = arena.list::<Pod>("web").await.iter().map(|pod| node(pod).to_owned()).collect();
        nodes.sort();
        let want: Vec<String> = arena.node_names().into_iter().flat_map(|name| [name.clone(), name]).collect();
        assert_eq!(nodes, want);
        arena.create(pod("more").request("cpu", "3500m")).await;
        arena.wait("the next one to find no room", "more", |pod: &Pod| {
            pod_condition(pod, "PodScheduled") == Some(("False", "Unschedulable"))
        }).await;
    }
}

scenario! {
    async fn replicas_are_spread_although_they_ask_for_nothing(context) {
        let arena = context.arena();
        // A node is tainted until somebody has seen that it is ready, and to be spread is a wish only.
        for name in arena.node_names() {
            let open = |node: Option<&Node>| {
                node.and_then(|node| node.spec.as_ref()?.taints.as_ref()).is_some_and(|taints| taints.len() == 1)
            };
            await_condition(Api::<Node>::all(arena.client()), &name, open).await.expect("the node is watched");
        }
        arena.create(deployment("web").replicas(3)).await;
        arena.wait("all to run", "web", is_rolled_out).await;
        let mut nodes: Vec<String> = arena.list::<Pod>("web").await.iter().map(|pod| node(pod).to_owned()).collect();
        nodes.sort();
        assert_eq!(nodes, arena.node_names());
    }
}
