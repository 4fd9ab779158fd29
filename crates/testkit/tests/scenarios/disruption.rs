//! PodDisruptionBudgets and evictions; taints that evict.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::ResourceExt as _;
use kube::api::EvictParams;
use maar_testkit::build::{deployment, object, pod};
use maar_testkit::read::{is_ready, phase, pod_condition};
use maar_testkit::scenario;
use serde_json::json;
use tokio::time::Instant;

scenario! {
    async fn a_budget_lets_one_pod_go_at_a_time(context) {
        let arena = context.arena();
        arena.create(deployment("web").replicas(3).behave("ready-after", "2s")).await;
        let spec = json!({"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}});
        arena.create(object::<PodDisruptionBudget>("web", spec)).await;
        let allows = |budget: &PodDisruptionBudget| {
            budget.status.as_ref().is_some_and(|status| {
                (status.disruptions_allowed, status.current_healthy, status.desired_healthy) == (Some(1), Some(3), Some(2))
            })
        };
        arena.wait("one disruption to be allowed", "web", allows).await;
        let pods = arena.list::<Pod>("web").await;
        let api = arena.api::<Pod>();
        api.evict(&pods[0].name_any(), &EvictParams::default()).await.expect("the first may go");
        let refused = api.evict(&pods[1].name_any(), &EvictParams::default()).await.expect_err("the second may not");
        let as_wanted = matches!(&refused, kube::Error::Api(status) if status.code == 429
            && status.reason == "TooManyRequests" && status.message.contains("disruption budget"));
        assert!(as_wanted, "{refused:?}");
        arena.wait("the next disruption to be allowed", "web", allows).await;
        arena.wait_all("three Pods again", "web", |pods: &[Pod]| pods.iter().filter(|pod| is_ready(pod)).count() == 3).await;
    }
}

scenario! {
    async fn an_evicted_pod_says_so_for_as_long_as_it_is_there(context) {
        let arena = context.arena();
        arena.create(pod("held").pod_set("/metadata/finalizers", json!(["example.com/hold"]))).await;
        arena.wait("the Pod to run", "held", |pod: &Pod| phase(pod) == "Running").await;
        arena.api::<Pod>().evict("held", &EvictParams::default()).await.expect("nothing speaks against it");
        let evicted = arena.get::<Pod>("held").await;
        assert!(evicted.metadata.deletion_timestamp.is_some());
        assert_eq!(pod_condition(&evicted, "DisruptionTarget"), Some(("True", "EvictionByEvictionAPI")));
        arena.patch::<Pod>("held", json!({"metadata": {"finalizers": null}})).await;
        arena.wait_gone::<Pod>("the Pod to go", "held").await;
    }
}

scenario! {
    async fn a_taint_that_evicts_gives_each_pod_its_time(context) {
        let arena = context.arena();
        let node = arena.node_names().remove(0);
        let on = |name: &str, tolerations: serde_json::Value| {
            pod(name).pod_set("/spec/nodeSelector/kubernetes.io~1hostname", node.as_str())
                .pod_set("/spec/tolerations", tolerations)
        };
        let tolerating = |seconds: serde_json::Value| json!([{"key": "example.com/broken", "operator": "Exists",
            "effect": "NoExecute", "tolerationSeconds": seconds}]);
        arena.create(on("none", json!([]))).await;
        arena.create(on("a-while", tolerating(json!(3)))).await;
        arena.create(on("for-ever", tolerating(json!(null)))).await;
        for name in ["none", "a-while", "for-ever"] {
            arena.wait("the Pod to run", name, |pod: &Pod| phase(pod) == "Running").await;
        }
        let start = Instant::now();
        arena.taint_node(&node, &[json!({"key": "example.com/broken", "effect": "NoExecute"})]).await;
        arena.wait_gone::<Pod>("the intolerant Pod to go", "none").await;
        arena.wait_gone::<Pod>("the patient Pod to go", "a-while").await;
        assert!(start.elapsed().as_secs_f64() > 2.5, "{:?}", start.elapsed());
        let stays = arena.get::<Pod>("for-ever").await;
        assert!(is_ready(&stays) && pod_condition(&stays, "DisruptionTarget").is_none());
    }
}
