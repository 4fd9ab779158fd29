//! Objects with wrong or hostile contents: they are told, and everything else goes on.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, ResourceExt as _,
    api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams},
};
use maar_api::v1alpha1::{AIJob, JobPhase, Workspace};
use maar_testkit::sample::sample;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::world::{NAMESPACE, World, task};

fn raw<K: kube::Resource<DynamicType = ()>>(world: &World) -> Api<DynamicObject> {
    let resource = ApiResource::erase::<K>(&());
    Api::namespaced_with(world.client.clone(), NAMESPACE, &resource)
}

async fn create<K: kube::Resource<DynamicType = ()>>(world: &World, name: &str, spec: Value) {
    let object = json!({ "apiVersion": K::api_version(&()), "kind": K::kind(&()), "metadata": { "name": name },
        "spec": spec });
    let object = serde_json::from_value(object).unwrap();
    raw::<K>(world).create(&PostParams::default(), &object).await.unwrap();
}

fn told(object: &DynamicObject, kind: &str) -> String {
    let conditions = object.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.iter().find(|one| one["type"] == kind).cloned().unwrap_or_default();
    format!("{} {}: {}", found["status"], found["reason"], found["message"]).replace('"', "")
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_told_which_field_and_the_rest_goes_on() {
    let world = World::new(51).await;
    let broken = json!({ "tasks": [{ "name": "main", "template": { "spec": { "containers": [
        { "name": "main", "ports": [{ "containerPort": "http" }] }] } } }] });
    create::<AIJob>(&world, "broken", broken).await;
    create::<Workspace>(&world, "desk", json!({ "image": "i", "env": [{ "name": 5 }] })).await;
    world.submit("fine", json!({ "tasks": [task("main", 1, &[("run-time", "5s")])] })).await;
    world.reaches("fine", JobPhase::Completed).await;
    let job = told(&raw::<AIJob>(&world).get("broken").await.unwrap(), "Valid");
    assert!(
        job.starts_with("False Malformed: spec.tasks[0].template.spec.containers[0].ports[0].containerPort"),
        "{job}"
    );
    let desk = told(&raw::<Workspace>(&world).get("desk").await.unwrap(), "Ready");
    assert!(desk.starts_with("False Malformed: spec.env[0].name"), "{desk}");
    let before = world.writes();
    sleep(Duration::from_hours(1)).await;
    assert_eq!(world.writes(), before, "they are told once");
    // Repaired, it runs.
    let repair = Patch::Merge(json!({ "spec": { "tasks": [task("main", 1, &[("run-time", "5s")])] } }));
    raw::<AIJob>(&world).patch("broken", &PatchParams::default(), &repair).await.unwrap();
    world.reaches("broken", JobPhase::Completed).await;
}

#[tokio::test(start_paused = true)]
async fn a_typing_error_in_a_template_is_told() {
    let world = World::new(52).await;
    let mut main = task("main", 1, &[]);
    main["template"]["spec"]["containers"][0]["resource"] = json!({ "limits": { "cpu": "1" } });
    create::<AIJob>(&world, "typo", json!({ "tasks": [main] })).await;
    world.reaches("typo", JobPhase::Running).await;
    let said = told(&raw::<AIJob>(&world).get("typo").await.unwrap(), "TemplateUnderstood");
    let want = "False UnknownFields: not fields of a Pod, and left out: spec.tasks[0].template.spec.containers[0].resource";
    assert_eq!(said, want);
    let repair = Patch::Merge(json!({ "spec": { "tasks": [task("main", 1, &[])] } }));
    raw::<AIJob>(&world).patch("typo", &PatchParams::default(), &repair).await.unwrap();
    sleep(Duration::from_secs(10)).await;
    let said = told(&raw::<AIJob>(&world).get("typo").await.unwrap(), "TemplateUnderstood");
    assert_eq!(said, "True AsAsked: ");
}

/// Changes of a Pod of the job `train` that nobody sensible makes.
fn hostilities(other: &str) -> Vec<(&'static str, Value)> {
    let label = |name: &str, value: Value| json!({ "metadata": { "labels": { name: value } } });
    let owner = json!({ "apiVersion": "maar.io/v1alpha1", "kind": "AIJob", "name": "other", "uid": other });
    vec![
        ("an attempt that is not yet", label("maar.io/attempt", json!("99"))),
        ("an attempt that is no number", label("maar.io/attempt", json!("first"))),
        ("an index that is not there", label("maar.io/index", json!("77"))),
        ("a task that is not there", label("maar.io/task", json!("nobody"))),
        ("another job's name", label("maar.io/job", json!("other"))),
        ("no label at all", label("maar.io/job", Value::Null)),
        ("another owner", json!({ "metadata": { "ownerReferences": [owner] } })),
        ("no owner", json!({ "metadata": { "ownerReferences": null } })),
        (
            "a notice of the scheduler's",
            json!({ "metadata": { "annotations": {
            "maar.io/stop-reason": "Preempted", "maar.io/stop-at": "yesterday" } } }),
        ),
    ]
}

#[tokio::test(start_paused = true)]
async fn flipped_labels_and_owners_stop_nobody_else() {
    for number in sample(1..=u64::try_from(hostilities("").len()).unwrap()) {
        let world = World::new(60 + number).await;
        world.submit("other", json!({ "tasks": [task("main", 2, &[])] })).await;
        world.submit("train", json!({ "tasks": [task("main", 2, &[])], "backoffSeconds": 1 })).await;
        world.reaches("train", JobPhase::Running).await;
        world.reaches("other", JobPhase::Running).await;
        let other = world.jobs().get("other").await.unwrap();
        let (what, patch) = hostilities(&other.uid().unwrap()).remove(usize::try_from(number - 1).unwrap());
        world.pods().patch("train-main-1", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
        sleep(Duration::from_mins(15)).await;
        let status = world.status("other").await;
        assert_eq!((status.phase, status.attempt), (JobPhase::Running, 0), "{what}: the other job runs on");
        // The role works: a job that comes now runs, and the one that was hit can be cancelled.
        world.submit("late", json!({ "tasks": [task("main", 1, &[("run-time", "5s")])] })).await;
        world.reaches("late", JobPhase::Completed).await;
        world.change("train", json!({ "cancel": true })).await;
        world.reaches("train", JobPhase::Aborted).await;
        let quiet = world.writes();
        sleep(Duration::from_hours(1)).await;
        assert_eq!(world.writes(), quiet, "{what}: it comes to rest");
        let pods: Api<Pod> = world.pods();
        assert!(pods.get_opt("other-main-0").await.unwrap().is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn quantities_that_are_none_are_refused_with_their_field() {
    let world = World::new(53).await;
    let mut main = task("main", 1, &[]);
    main["template"]["spec"]["containers"][0]["resources"] = json!({ "requests": { "cpu": "many" } });
    create::<AIJob>(&world, "odd", json!({ "tasks": [main] })).await;
    sleep(Duration::from_secs(20)).await;
    let status = world.status("odd").await;
    let message = status.message.unwrap_or_default();
    assert_eq!((status.phase, status.reason.as_deref()), (JobPhase::Prequeue, Some("Refused")), "{message}");
    assert!(message.contains("many") || message.contains("cpu"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_running_job_that_cannot_be_read_for_a_while_loses_nothing_by_it() {
    let world = World::new(54).await;
    let spec = json!({ "tasks": [task("main", 2, &[])], "retries": 3, "backoffSeconds": 1 });
    world.submit("train", spec.clone()).await;
    world.reaches("train", JobPhase::Running).await;
    let fail = Patch::Merge(json!({ "metadata": { "annotations": { "sim.maar.io/fail-now": "1" } } }));
    world.pods().patch("train-main-1", &PatchParams::default(), &fail).await.unwrap();
    sleep(Duration::from_secs(20)).await;
    let before = world.reaches("train", JobPhase::Running).await;
    assert_eq!((before.attempt, before.retries), (1, 1));
    let uid = world.pods().get("train-main-0").await.unwrap().uid();
    let broken =
        json!({ "tasks": [{ "name": "main", "replicas": 2, "template": { "spec": { "containers": 5 } } }] });
    raw::<AIJob>(&world)
        .patch("train", &PatchParams::default(), &Patch::Merge(json!({ "spec": broken })))
        .await
        .unwrap();
    sleep(Duration::from_secs(20)).await;
    let told = raw::<AIJob>(&world).get("train").await.unwrap();
    assert_eq!(
        (&told.data["status"]["reason"], &told.data["status"]["phase"]),
        (&json!("Malformed"), &json!("Running"))
    );
    raw::<AIJob>(&world)
        .patch("train", &PatchParams::default(), &Patch::Merge(json!({ "spec": spec })))
        .await
        .unwrap();
    sleep(Duration::from_mins(2)).await;
    let after = world.status("train").await;
    assert_eq!((after.phase, after.attempt, after.retries), (JobPhase::Running, 1, 1));
    assert_eq!(world.pods().get("train-main-0").await.unwrap().uid(), uid, "it runs on");
}

#[tokio::test(start_paused = true)]
async fn a_job_that_makes_no_sense_any_more_can_be_cancelled() {
    let world = World::new(55).await;
    world.submit("train", json!({ "tasks": [task("main", 2, &[])] })).await;
    world.submit("never", json!({ "type": "MPI", "tasks": [task("main", 2, &[])] })).await;
    world.reaches("train", JobPhase::Running).await;
    world.change("train", json!({ "successTasks": ["nobody"] })).await;
    sleep(Duration::from_secs(10)).await;
    let status = world.status("train").await;
    assert_eq!((status.phase, status.reason.as_deref()), (JobPhase::Running, Some("Invalid")));
    for name in ["train", "never"] {
        world.change(name, json!({ "cancel": true })).await;
        world.reaches(name, JobPhase::Aborted).await;
    }
    assert!(world.pod_names().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_job_does_not_become_another_kind_of_job() {
    let world = World::new(56).await;
    world.submit("train", json!({ "tasks": [task("main", 1, &[])] })).await;
    let array = json!({ "tasks": [task("main", 1, &[])], "array": { "indices": "0-1" } });
    world.submit("sweep", array).await;
    for (name, change, words) in [
        ("train", json!({ "backend": "Volcano" }), "backend"),
        ("train", json!({ "array": { "indices": "0-1" } }), "array"),
        ("train", json!({ "schedule": { "cron": "0 * * * *" } }), "schedule"),
        ("sweep", json!({ "array": null }), "array"),
    ] {
        let patch = Patch::Merge(json!({ "spec": change }));
        let refused = world.jobs().patch(name, &PatchParams::default(), &patch).await.unwrap_err();
        assert!(refused.to_string().contains(words), "{change}: {refused}");
    }
    world.change("sweep", json!({ "array": { "indices": "0-2" } })).await;
}
