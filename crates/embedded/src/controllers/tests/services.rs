//! Endpoints, budgets and quotas.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Endpoints, Event, Pod, ResourceQuota, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{DeleteParams, EvictParams};
use serde_json::json;

use super::harness::{World, template};

async fn deploy(world: &mut World, replicas: i32) {
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template("web", "i", json!({}))}});
    world.create::<Deployment>(deployment).await;
    let wanted = usize::try_from(replicas).unwrap();
    world
        .wait("running Pods", async |world| {
            let pods = world.list::<Pod>().await;
            pods.len() == wanted
                && pods.iter().all(|pod| pod.status.clone().unwrap().phase.as_deref() == Some("Running"))
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_service_knows_where_its_pods_are() {
    let mut world = World::new(1).await;
    deploy(&mut world, 2).await;
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]}});
    world.create::<Service>(service).await;
    let ready = async |world: &World| {
        let slices = world.list::<EndpointSlice>().await;
        let endpoints = slices.into_iter().flat_map(|slice| slice.endpoints.unwrap_or_default());
        endpoints.filter(|endpoint| endpoint.conditions.as_ref().unwrap().ready == Some(true)).count()
    };
    world.wait("two endpoints", async |world| ready(world).await == 2).await;
    let endpoints: Endpoints = world.get("web").await;
    assert_eq!(endpoints.subsets.unwrap()[0].addresses.as_ref().unwrap().len(), 2);
    world.patch::<Deployment>("web", json!({"spec": {"replicas": 0}})).await;
    world
        .wait("none", async |world| {
            ready(world).await == 0 && world.get::<Endpoints>("web").await.subsets.is_none()
        })
        .await;
    assert_eq!(world.list::<EndpointSlice>().await.len(), 1, "an empty slice stays");
    world.api::<Service>().delete("web", &DeleteParams::default()).await.unwrap();
    world
        .wait("all to go", async |world| {
            world.list::<EndpointSlice>().await.is_empty()
                && world.api::<Endpoints>().get_opt("web").await.unwrap().is_none()
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_budget_counts_what_may_be_evicted() {
    let mut world = World::new(1).await;
    deploy(&mut world, 3).await;
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}}});
    world.create::<PodDisruptionBudget>(budget).await;
    let status =
        async |world: &World| world.get::<PodDisruptionBudget>("web").await.status.unwrap_or_default();
    world.wait("the count", async |world| status(world).await.disruptions_allowed == Some(1)).await;
    let counted = status(&world).await;
    assert_eq!(
        (counted.expected_pods, counted.current_healthy, counted.desired_healthy),
        (Some(3), Some(3), Some(2))
    );
    let pods = world.names::<Pod>().await;
    world.api::<Pod>().evict(&pods[0], &EvictParams::default()).await.unwrap();
    let refused = world.api::<Pod>().evict(&pods[1], &EvictParams::default()).await.unwrap_err();
    assert!(refused.to_string().contains("disruption budget"), "{refused}");
    world
        .wait("a replacement", async |world| {
            status(world).await.disruptions_allowed == Some(1) && world.list::<Pod>().await.len() == 3
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_quota_is_given_back_what_goes() {
    let mut world = World::new(1).await;
    deploy(&mut world, 3).await;
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"},
        "spec": {"hard": {"pods": "10", "count/deployments.apps": "5"}}});
    world.create::<ResourceQuota>(quota).await;
    let used = async |world: &World, name: &str| {
        let used =
            world.get::<ResourceQuota>("q").await.status.and_then(|status| status.used).unwrap_or_default();
        used.get(name).map(|amount| amount.0.clone())
    };
    world.wait("the count", async |world| used(world, "pods").await.as_deref() == Some("3")).await;
    assert_eq!(used(&world, "count/deployments.apps").await.as_deref(), Some("1"));
    world.patch::<Deployment>("web", json!({"spec": {"replicas": 1}})).await;
    world.wait("less", async |world| used(world, "pods").await.as_deref() == Some("1")).await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_nobody_ends_counts_for_no_quota_after_its_time() {
    let mut world = World::new(1).await;
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"},
        "spec": {"hard": {"pods": "1"}}});
    world.create::<ResourceQuota>(quota).await;
    let used = async |world: &World| {
        let status = world.get::<ResourceQuota>("q").await.status.unwrap_or_default();
        status.used.unwrap_or_default().get("pods").map(|amount| amount.0.clone())
    };
    world.wait("the quota to be counted", async |world| used(world).await.as_deref() == Some("0")).await;
    world.dead.insert("node-0".into());
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "stuck"},
        "spec": {"nodeName": "node-0", "containers": [{"name": "c", "image": "i"}]}});
    world.create::<Pod>(pod).await;
    world.api::<Pod>().delete("stuck", &DeleteParams::default().grace_period(5)).await.unwrap();
    world.pass(Duration::from_secs(8)).await;
    assert_eq!(used(&world).await.as_deref(), Some("1"), "its end may yet be told");
    world.pass(Duration::from_secs(4)).await;
    assert_eq!(used(&world).await.as_deref(), Some("0"));
    assert_eq!(world.names::<Pod>().await, ["stuck"]);
}

#[tokio::test(start_paused = true)]
async fn events_are_forgotten_after_an_hour() {
    let mut world = World::new(1).await;
    deploy(&mut world, 1).await;
    assert!(!world.list::<Event>().await.is_empty());
    tokio::time::sleep(std::time::Duration::from_mins(59)).await;
    assert!(!world.list::<Event>().await.is_empty());
    tokio::time::sleep(std::time::Duration::from_mins(2)).await;
    let left = world.events("web").await;
    assert!(left.is_empty(), "{left:?}");
}
