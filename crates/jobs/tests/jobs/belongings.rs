//! What has the name of something a job or a workspace needs, and belongs to somebody else: it is left as it is, and
//! people are told.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, ResourceQuota, Secret, Service};
use kube::{Api, api::PostParams};
use maar_api::v1alpha1::{AIJob, JobPhase, Workspace, WorkspaceStatus};
use maar_testkit::{build::object, scenario};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::setup::{reaches, start, status, submit, task};
use super::world::{NAMESPACE, World, task as world_task};

scenario! {
    async fn a_service_of_somebody_else_is_left_alone(context) {
        let arena = context.arena();
        let role = start(context).await;
        let theirs = json!({ "selector": { "app": "database" }, "clusterIP": "None", "ports": [{ "port": 5432 }] });
        arena.create(object::<Service>("data", theirs)).await;
        submit(arena, "data", json!({ "tasks": [task(arena, "main", 1, &[])] })).await;
        let told = |job: &AIJob| {
            let status = status(job);
            status.phase == JobPhase::Prequeue
                && status.reason.as_deref() == Some("Refused")
                && status.message.is_some_and(|message| message.contains("Service data"))
        };
        arena.wait("the job to say what is in its way", "data", told).await;
        let selector = arena.get::<Service>("data").await.spec.unwrap().selector.unwrap();
        assert_eq!(selector, BTreeMap::from([("app".to_owned(), "database".to_owned())]));
        // The other way is free again, and so it is taken.
        arena.delete::<Service>("data", &kube::api::DeleteParams::default()).await;
        reaches(arena, "data", JobPhase::Running).await;
        role.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_and_a_secret_of_somebody_else_are_not_taken_for_ones_own() {
    let world = World::new(71).await;
    let mut theirs = world_task("main", 1, &[])["template"].clone();
    theirs["metadata"] = json!({ "name": "train-main-0" });
    let theirs: Pod = serde_json::from_value(theirs).unwrap();
    world.pods().create(&PostParams::default(), &theirs).await.unwrap();
    world.submit("train", json!({ "tasks": [world_task("main", 1, &[])] })).await;
    let secrets: Api<Secret> = Api::namespaced(world.client.clone(), NAMESPACE);
    let secret = json!({ "metadata": { "name": "book-access" }, "stringData": { "token": "known to all" } });
    secrets.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await.unwrap();
    world.submit("book", json!({ "type": "Jupyter", "tasks": [world_task("main", 1, &[])] })).await;
    sleep(Duration::from_mins(2)).await;
    for (name, words) in [("train", "Pod train-main-0"), ("book", "Secret book-access")] {
        let status = world.status(name).await;
        let message = status.message.unwrap_or_default();
        assert_eq!(status.reason.as_deref(), Some("Refused"), "{name}: {message}");
        assert!(message.contains(words), "{message}");
    }
    let pods = world.pods().list(&kube::api::ListParams::default()).await.unwrap().items;
    assert_eq!(pods.len(), 1, "nothing was made with a word that others know");
}

#[tokio::test(start_paused = true)]
async fn two_workspaces_never_share_a_volume_by_the_chance_of_their_names() {
    let world = World::new(72).await;
    let api: Api<Workspace> = Api::namespaced(world.client.clone(), NAMESPACE);
    let desk = |name: &str, volume: &str| -> Workspace {
        let volumes = json!([{ "name": volume, "path": "/home", "size": "1Gi" }]);
        let spec = json!({ "image": "example.com/i:1", "volumes": volumes });
        serde_json::from_value(json!({ "metadata": { "name": name }, "spec": spec })).unwrap()
    };
    api.create(&PostParams::default(), &desk("ada", "x-home")).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    api.create(&PostParams::default(), &desk("ada-x", "home")).await.unwrap();
    sleep(Duration::from_secs(30)).await;
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(world.client.clone(), NAMESPACE);
    let claim = claims.get("ada-x-home").await.unwrap();
    assert_eq!(claim.metadata.owner_references.unwrap()[0].name, "ada");
    let status: WorkspaceStatus = api.get("ada-x").await.unwrap().status.unwrap();
    assert_eq!(status.reason.as_deref(), Some("Refused"), "{status:#?}");
    assert!(status.message.unwrap().contains("PersistentVolumeClaim ada-x-home"));
    assert!(world.pods().get_opt("ada-x").await.unwrap().is_none());
}

async fn quota(world: &World, pods: &str) {
    let api: Api<ResourceQuota> = Api::namespaced(world.client.clone(), NAMESPACE);
    let quota = json!({ "metadata": { "name": "few" }, "spec": { "hard": { "pods": pods } } });
    api.create(&PostParams::default(), &serde_json::from_value(quota).unwrap()).await.unwrap();
    sleep(Duration::from_secs(10)).await;
}

#[tokio::test(start_paused = true)]
async fn a_job_that_runs_says_so_though_one_more_pod_is_refused() {
    let world = World::new(73).await;
    let tasks = |replicas: i32| {
        let mut task = world_task("main", replicas, &[]);
        task["min"] = json!(1);
        json!([task])
    };
    world.submit("elastic", json!({ "tasks": tasks(2), "restartPolicy": "Task" })).await;
    world.reaches("elastic", JobPhase::Running).await;
    quota(&world, "2").await;
    world.change("elastic", json!({ "tasks": tasks(3) })).await;
    sleep(Duration::from_mins(2)).await;
    let before = world.writes();
    for _ in 0..60 {
        let status = world.status("elastic").await;
        assert_eq!((status.phase, status.attempt), (JobPhase::Running, 0), "{:?}", status.message);
        sleep(Duration::from_secs(1)).await;
    }
    // What is tried again is the Pod; nothing is said and unsaid about it all the time.
    let made = world.writes() - before;
    assert!(made < 10, "{made} writes in a minute");
}

#[tokio::test(start_paused = true)]
async fn children_that_are_refused_are_told_to_the_parent_and_tried_again() {
    let world = World::new(74).await;
    let api: Api<ResourceQuota> = Api::namespaced(world.client.clone(), NAMESPACE);
    let hard = json!({ "count/aijobs.maar.io": "2" });
    let quota = json!({ "metadata": { "name": "few" }, "spec": { "hard": hard } });
    api.create(&PostParams::default(), &serde_json::from_value(quota).unwrap()).await.unwrap();
    sleep(Duration::from_secs(10)).await;
    let array = json!({ "indices": "0-2" });
    let main: Value = world_task("main", 1, &[("run-time", "5s")]);
    world.submit("sweep", json!({ "tasks": [main], "array": array })).await;
    sleep(Duration::from_mins(1)).await;
    let status = world.status("sweep").await;
    assert_eq!(status.reason.as_deref(), Some("Refused"), "{status:#?}");
    assert!(status.message.unwrap().contains("quota"));
    api.delete("few", &kube::api::DeleteParams::default()).await.unwrap();
    world.reaches("sweep", JobPhase::Completed).await;
}
