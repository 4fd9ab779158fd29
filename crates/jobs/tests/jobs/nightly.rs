//! Nights: by the role's own clock, by hand, and made up for when nobody was there.

use std::time::Duration;

use jiff::Timestamp;
use kube::{
    Api, ResourceExt as _,
    api::{Patch, PatchParams, PostParams},
};
use maar_api::v1alpha1::{Workspace, WorkspacePhase, reasons};
use maar_embedded::{Fault, Rule};
use maar_jobs::{ANNOTATION_SUSPENDED_BY, Night, Nightly, suspend};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::world::{NAMESPACE, World};

/// Worlds begin at midnight, and hours in which nothing happens take time to simulate.
fn after_midnight() -> Nightly {
    Nightly::parse("10 0 * * *", "UTC").unwrap()
}

fn desks(world: &World) -> Api<Workspace> {
    Api::namespaced(world.client.clone(), NAMESPACE)
}

async fn desk(world: &World, name: &str, node: &str, more: Value) {
    let mut desk = json!({ "metadata": { "name": name }, "spec": { "image": "example.com/i:1" } });
    desk["spec"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    desks(world).create(&PostParams::default(), &serde_json::from_value(desk).unwrap()).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    world.bind(name, node).await;
    sleep(Duration::from_secs(10)).await;
    assert_eq!(phase(world, name).await, WorkspacePhase::Running);
}

async fn phase(world: &World, name: &str) -> WorkspacePhase {
    desks(world).get(name).await.unwrap().status.unwrap_or_default().phase
}

async fn change(world: &World, name: &str, spec: Value) {
    let patch = Patch::Merge(json!({ "spec": spec }));
    desks(world).patch(name, &PatchParams::default(), &patch).await.unwrap();
}

/// Sleeps until a time of the first day.
async fn until(world: &World, time: &str) {
    let time: Timestamp = format!("2026-01-01T{time}Z").parse().unwrap();
    let left = time.duration_since(world.cluster.world().clock.now());
    sleep(left.try_into().expect("the time is yet to come")).await;
}

#[tokio::test(start_paused = true)]
async fn at_night_workspaces_are_suspended_once_and_what_is_protected_stays() {
    let world = World::with(31, Some(after_midnight())).await;
    desk(&world, "open", "gpu-0", json!({})).await;
    desk(&world, "kept", "gpu-1", json!({ "protectedUntil": "2026-01-01T01:00:00Z" })).await;
    until(&world, "00:09:30").await;
    assert_eq!(phase(&world, "open").await, WorkspacePhase::Running, "not before the time");
    until(&world, "00:11:30").await;
    assert_eq!(phase(&world, "open").await, WorkspacePhase::Suspended);
    let open = desks(&world).get("open").await.unwrap();
    assert_eq!(open.annotations()[ANNOTATION_SUSPENDED_BY], reasons::CLEANED_UP_NIGHTLY);
    let status = open.status.unwrap();
    assert_eq!(status.reason.as_deref(), Some(reasons::CLEANED_UP_NIGHTLY), "programs know it by that");
    assert!(status.message.unwrap().starts_with("the nightly clean-up suspended it"));
    assert_eq!(phase(&world, "kept").await, WorkspacePhase::Running);

    // Somebody works late. A new leader does not take it from him, nor what was protected in the night.
    change(&world, "open", json!({ "state": "Running" })).await;
    sleep(Duration::from_secs(5)).await;
    world.bind("open", "gpu-0").await;
    until(&world, "01:10:00").await;
    let open = desks(&world).get("open").await.unwrap();
    assert!(
        !open.annotations().contains_key(ANNOTATION_SUSPENDED_BY),
        "it goes on, so nobody has suspended it"
    );
    world.role.stop().await;
    let _new = world.another_with("jobs-2", Some(after_midnight()));
    until(&world, "01:20:00").await;
    assert_eq!(phase(&world, "open").await, WorkspacePhase::Running);
    assert_eq!(phase(&world, "kept").await, WorkspacePhase::Running);
}

#[tokio::test(start_paused = true)]
async fn a_night_without_a_leader_is_made_up_for_while_it_is_night() {
    let world = World::with(32, Some(after_midnight())).await;
    desk(&world, "open", "gpu-0", json!({})).await;
    world.role.stop().await;
    until(&world, "03:00:00").await;
    assert_eq!(phase(&world, "open").await, WorkspacePhase::Running, "nobody was there");
    let late = world.another_with("jobs-2", Some(after_midnight()));
    until(&world, "03:02:00").await;
    assert_eq!(phase(&world, "open").await, WorkspacePhase::Suspended);
    late.stop().await;

    let world = World::with(33, Some(after_midnight())).await;
    desk(&world, "open", "gpu-0", json!({})).await;
    world.role.stop().await;
    until(&world, "06:40:00").await;
    let _too_late = world.another_with("jobs-2", Some(after_midnight()));
    until(&world, "06:50:00").await;
    assert_eq!(phase(&world, "open").await, WorkspacePhase::Running, "people are at work again");
}

#[tokio::test(start_paused = true)]
async fn a_night_that_fails_is_tried_again() {
    let world = World::with(34, Some(after_midnight())).await;
    desk(&world, "open", "gpu-0", json!({})).await;
    until(&world, "00:09:30").await;
    world.cluster.faults().script(Rule::new(Fault::InternalError).component("jobs").verb("list").times(2));
    until(&world, "00:13:00").await;
    assert_eq!(phase(&world, "open").await, WorkspacePhase::Suspended);
}

#[tokio::test(start_paused = true)]
async fn by_hand_a_night_is_shown_first_and_then_done() {
    let world = World::new(35).await;
    desk(&world, "open", "gpu-0", json!({})).await;
    desk(&world, "kept", "gpu-1", json!({ "protectedUntil": "2026-01-01T01:00:00Z" })).await;
    let round = async |dry_run: bool| -> Vec<(String, bool)> {
        let told = suspend(&world.client, world.cluster.world().clock.now(), dry_run).await.unwrap();
        told.into_iter().map(|(_, name, night)| (name, night == Night::Suspended)).collect()
    };
    let both = [("kept".to_owned(), false), ("open".to_owned(), true)];
    assert_eq!(round(true).await, both);
    sleep(Duration::from_mins(1)).await;
    assert_eq!(phase(&world, "open").await, WorkspacePhase::Running, "it was only shown");
    assert_eq!(round(false).await, both);
    sleep(Duration::from_mins(1)).await;
    assert_eq!(phase(&world, "open").await, WorkspacePhase::Suspended);
    assert_eq!(round(false).await, both[..1], "once is enough");
}
