//! The status of accounts: what they hold and wait for, written now and then.

use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api, ResourceExt as _,
    api::{Patch, PatchParams, PostParams},
};
use maar_api::v1alpha1::{Account, AccountStatus, JobPhase};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::world::{World, task};

async fn account(world: &World, name: &str, spec: Value) {
    let api: Api<Account> = Api::all(world.client.clone());
    let account = json!({ "metadata": { "name": name }, "spec": spec });
    api.create(&PostParams::default(), &serde_json::from_value(account).unwrap()).await.unwrap();
}

async fn status(world: &World, name: &str) -> AccountStatus {
    let api: Api<Account> = Api::all(world.client.clone());
    api.get(name).await.unwrap().status.unwrap_or_default()
}

fn ready(status: &AccountStatus) -> (String, String) {
    let ready = status.conditions.iter().find(|one| one.type_ == "Ready").unwrap();
    (ready.status.clone(), ready.reason.clone())
}

/// How many times the status of accounts was written.
fn writes(world: &World) -> usize {
    let log = world.cluster.faults().log().entries();
    log.iter()
        .filter(|entry| &*entry.subject.component == "jobs" && entry.subject.resource == "accounts.maar.io")
        .filter(|entry| entry.subject.verb == "patch")
        .count()
}

#[tokio::test(start_paused = true)]
async fn an_account_says_what_it_holds_waits_for_and_borrows() {
    let world = World::new(41).await;
    account(&world, "lab", json!({ "guaranteed": { "nvidia.com/gpu": "16" } })).await;
    account(&world, "vision", json!({ "parent": "lab", "deserved": { "nvidia.com/gpu": "4" } })).await;
    account(&world, "lost", json!({ "parent": "nobody" })).await;
    let mut cards = task("main", 3, &[]);
    cards["cards"] = json!({ "count": 2 });
    world.submit("train", json!({ "account": "vision", "user": "ada", "tasks": [cards.clone()] })).await;
    cards["replicas"] = json!(1);
    cards["template"]["spec"]["nodeSelector"] = json!({ "nobody": "here" });
    world.submit("stuck", json!({ "account": "vision", "user": "bob", "tasks": [cards] })).await;
    world.reaches("train", JobPhase::Running).await;
    sleep(Duration::from_secs(30)).await;
    let vision = status(&world, "vision").await;
    let gpus = |list: &maar_api::ResourceList| list.get("nvidia.com/gpu").value();
    assert_eq!((gpus(&vision.used), gpus(&vision.pending), gpus(&vision.borrowed)), (6, 2, 2));
    assert_eq!((vision.running_pods, vision.pending_pods), (3, 1));
    let members: Vec<(&str, i64, i64)> =
        vision.members.iter().map(|one| (one.user.as_str(), gpus(&one.used), gpus(&one.pending))).collect();
    assert_eq!(members, [("ada", 6, 0), ("bob", 0, 2)]);
    let lab = status(&world, "lab").await;
    assert_eq!((gpus(&lab.used), gpus(&lab.kept_free), lab.children), (6, 10, 1));
    assert_eq!(ready(&lab), ("True".to_owned(), "AsAsked".to_owned()));
    assert_eq!(ready(&status(&world, "lost").await), ("False".to_owned(), "ParentMissing".to_owned()));
    // What is quiet is not written.
    let before = writes(&world);
    sleep(Duration::from_hours(1)).await;
    assert_eq!(writes(&world), before);
}

/// Pods that say nothing of who pays cost whom the scheduler charges.
#[tokio::test(start_paused = true)]
async fn pods_without_a_label_cost_the_account_of_their_namespace_or_of_everyone() {
    let world = World::new(44).await;
    account(&world, "default", json!({})).await;
    account(&world, "vision", json!({})).await;
    account(&world, "speech", json!({})).await;
    let mut plain = task("main", 1, &[])["template"].clone();
    plain["metadata"] = json!({ "name": "plain" });
    plain["spec"]["schedulerName"] = json!("maar-scheduler");
    world.pods().create(&PostParams::default(), &serde_json::from_value(plain).unwrap()).await.unwrap();
    world.bind("plain", "gpu-0").await;
    sleep(Duration::from_secs(30)).await;
    let held = async |name: &str| status(&world, name).await.running_pods;
    assert_eq!((held("default").await, held("vision").await), (1, 0));
    let spaces: Api<Namespace> = Api::all(world.client.clone());
    let named = Patch::Merge(json!({ "metadata": { "annotations": { "maar.io/account": "vision" } } }));
    spaces.patch("default", &PatchParams::default(), &named).await.unwrap();
    sleep(Duration::from_secs(30)).await;
    assert_eq!((held("default").await, held("vision").await), (0, 1));
    // A job that moves takes its Pods along, whatever their labels say.
    world.submit("train", json!({ "account": "vision", "tasks": [task("main", 2, &[])] })).await;
    world.reaches("train", JobPhase::Running).await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!((held("vision").await, held("speech").await), (3, 0));
    world.change("train", json!({ "account": "speech" })).await;
    sleep(Duration::from_mins(2)).await;
    assert_eq!((held("vision").await, held("speech").await), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn many_pods_are_few_writes() {
    let world = World::new(42).await;
    account(&world, "lab", json!({})).await;
    sleep(Duration::from_secs(30)).await;
    let before = writes(&world);
    // Twenty jobs of four Pods come and go within a minute.
    for number in 0..20 {
        let tasks = json!([task("main", 4, &[("run-time", "20s")])]);
        world.submit(&format!("job-{number}"), json!({ "account": "lab", "tasks": tasks })).await;
        sleep(Duration::from_secs(3)).await;
    }
    sleep(Duration::from_mins(2)).await;
    let made = writes(&world) - before;
    assert!((2..=14).contains(&made), "{made} writes in three minutes");
    assert_eq!(status(&world, "lab").await.running_pods, 0);
}

#[tokio::test(start_paused = true)]
async fn a_circle_is_named_and_stops_nobody() {
    let world = World::new(43).await;
    account(&world, "a", json!({ "parent": "b" })).await;
    account(&world, "b", json!({ "parent": "a" })).await;
    world.submit("train", json!({ "account": "a", "tasks": [task("main", 1, &[])] })).await;
    world.reaches("train", JobPhase::Running).await;
    sleep(Duration::from_secs(30)).await;
    for name in ["a", "b"] {
        assert_eq!(ready(&status(&world, name).await), ("False".to_owned(), "Cycle".to_owned()));
    }
    assert_eq!(status(&world, "b").await.running_pods, 1);
    let api: Api<Account> = Api::all(world.client.clone());
    let open = Patch::Merge(json!({ "spec": { "parent": null } }));
    let opened = api.patch("b", &PatchParams::default(), &open).await.unwrap();
    assert_eq!(opened.name_any(), "b");
    sleep(Duration::from_secs(30)).await;
    assert_eq!(ready(&status(&world, "a").await), ("True".to_owned(), "AsAsked".to_owned()));
}
