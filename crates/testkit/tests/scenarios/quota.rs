//! ResourceQuotas: counted, and never exceeded.

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::{Pod, ResourceQuota};
use maar_testkit::build::{object, replica_set};
use maar_testkit::scenario;
use serde_json::json;

fn used(quota: &ResourceQuota, resource: &str) -> String {
    let used = quota.status.as_ref().and_then(|status| status.used.as_ref());
    used.and_then(|used| used.get(resource)).map(|amount| amount.0.clone()).unwrap_or_default()
}

scenario! {
    async fn a_quota_is_counted_and_kept(context) {
        let arena = context.arena();
        arena.create(object::<ResourceQuota>("few", json!({"hard": {"pods": "2", "requests.cpu": "3"}}))).await;
        arena.wait("the quota to be counted", "few", |quota| used(quota, "pods") == "0").await;
        arena.create(replica_set("web").replicas(3).request("cpu", "500m")).await;
        arena.wait("two to be counted", "few", |quota| {
            used(quota, "pods") == "2" && used(quota, "requests.cpu") == "1"
        }).await;
        arena.wait("the third to be refused", "web", |set: &ReplicaSet| {
            let status = set.status.as_ref();
            let conditions = status.and_then(|status| status.conditions.as_ref());
            status.is_some_and(|status| status.replicas == 2)
                && conditions.is_some_and(|all| all.iter().any(|one| one.type_ == "ReplicaFailure" && one.status == "True"))
        }).await;
        assert_eq!(arena.list::<Pod>("web").await.len(), 2);
        arena.patch::<ReplicaSet>("web", json!({"spec": {"replicas": 0}})).await;
        arena.wait("what is gone to be given back", "few", |quota| {
            used(quota, "pods") == "0" && used(quota, "requests.cpu") == "0"
        }).await;
    }
}
