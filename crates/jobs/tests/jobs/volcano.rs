//! Jobs that are left to Volcano, which a test plays: its kinds are there, and it does what its controller would do.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, ResourceExt as _,
    api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams},
    core::GroupVersionKind,
};
use maar_api::v1alpha1::{AIJob, JobPhase};
use maar_testkit::{scenario, scenario::Arena};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::lives::bind;
use super::setup::{reaches, start, status, submit, task};
use super::world::{World, task as world_task};

/// A kind of Volcano's, as far as its shape matters here.
async fn define(arena: &Arena, group: &str, plural: &str, kind: &str) {
    // As Volcano's webhook, it lets little of what stands be changed.
    let queue = json!({ "type": "string", "x-kubernetes-validations": [{ "rule": "self == oldSelf" }] });
    let spec = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": { "queue": queue } });
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": { "spec": spec } });
    let version = json!({ "name": "v1alpha1", "served": true, "storage": true, "subresources": { "status": {} },
        "schema": { "openAPIV3Schema": schema } });
    let names = json!({ "plural": plural, "singular": kind.to_lowercase(), "kind": kind });
    let spec = json!({ "group": group, "names": names, "scope": "Namespaced", "versions": [version] });
    let name = format!("{plural}.{group}");
    let api: Api<CustomResourceDefinition> = Api::all(arena.client());
    let definition = json!({ "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": name }, "spec": spec });
    // Several scenarios share a real server.
    let params = PatchParams::apply("maar-test").force();
    api.patch(&name, &params, &Patch::Apply(&definition)).await.unwrap();
    arena
        .until("the kind to be served", async || {
            let found = api.get(&name).await.map_err(|error| error.to_string())?;
            let conditions = found.status.and_then(|status| status.conditions).unwrap_or_default();
            let served = conditions.iter().any(|one| one.type_ == "Established" && one.status == "True");
            if served { Ok(()) } else { Err(format!("{conditions:?}")) }
        })
        .await;
}

fn api(arena: &Arena, group: &str, kind: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1alpha1", kind));
    Api::namespaced_with(arena.client(), arena.namespace(), &resource)
}

/// What Volcano's controller says of its Job.
async fn becomes(arena: &Arena, name: &str, phase: &str, running: i64) {
    counts(arena, name, phase, &json!({ "main": { "phase": { "Running": running } } })).await;
}

/// The same, with the counts of its tasks.
async fn counts(arena: &Arena, name: &str, phase: &str, counts: &Value) {
    let body = json!({ "status": { "state": { "phase": phase }, "taskStatusCount": counts } });
    let jobs = api(arena, "batch.volcano.sh", "Job");
    jobs.patch_status(name, &PatchParams::default(), &Patch::Merge(&body)).await.unwrap();
}

/// Waits for an order, takes it as Volcano's controller does, and answers it.
async fn order(arena: &Arena, name: &str) -> Value {
    let commands = api(arena, "bus.volcano.sh", "Command");
    let command = arena
        .until("an order", async || {
            commands.get(name).await.map(|found| found.data).map_err(|error| error.to_string())
        })
        .await;
    commands.delete(name, &DeleteParams::default()).await.unwrap();
    command
}

scenario! {
    async fn volcano_runs_suspends_and_resumes_a_job(context) {
        let arena = context.arena();
        define(arena, "batch.volcano.sh", "jobs", "Job").await;
        define(arena, "bus.volcano.sh", "commands", "Command").await;
        let role = start(context).await;
        submit(arena, "train", json!({ "backend": "Volcano", "account": "vision", "tasks": [task(arena, "main", 2, &[])] }))
            .await;
        let made = made(arena, "train").await;
        assert_eq!(made.data["spec"]["queue"], "vision");
        becomes(arena, "train", "Running", 2).await;
        let running = reaches(arena, "train", JobPhase::Running).await;
        assert_eq!(running.ready.as_deref(), Some("2/2"));
        arena.patch::<AIJob>("train", json!({ "spec": { "suspend": true } })).await;
        let command = order(arena, "train-abortjob").await;
        assert_eq!((command["action"].as_str(), command["target"]["kind"].as_str()), (Some("AbortJob"), Some("Job")));
        assert_eq!(command["target"]["uid"].as_str(), made.metadata.uid.as_deref());
        becomes(arena, "train", "Aborted", 0).await;
        reaches(arena, "train", JobPhase::Suspended).await;
        arena.patch::<AIJob>("train", json!({ "spec": { "suspend": false } })).await;
        assert_eq!(order(arena, "train-resumejob").await["action"], "ResumeJob");
        let waits = |job: &AIJob| status(job).phase == JobPhase::Restarting;
        arena.wait("it to wait for Volcano", "train", waits).await;
        becomes(arena, "train", "Running", 2).await;
        reaches(arena, "train", JobPhase::Running).await;
        becomes(arena, "train", "Completed", 0).await;
        reaches(arena, "train", JobPhase::Completed).await;
        role.stop().await;
    }
}

/// A Pod as Volcano's controller makes it, for its Job.
async fn make_pod(arena: &Arena, job: &DynamicObject, name: &str) {
    let owner = json!({ "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": job.name_any(),
        "uid": job.uid(), "controller": true });
    let resources = json!({ "requests": { "nvidia.com/gpu": "2" }, "limits": { "nvidia.com/gpu": "2" } });
    let pod: Pod = serde_json::from_value(json!({
        "metadata": { "name": name, "labels": { "volcano.sh/job-name": job.name_any() }, "ownerReferences": [owner] },
        "spec": { "schedulerName": "volcano", "containers": [
            { "name": "main", "image": "example.com/image:1", "resources": resources }] },
    }))
    .unwrap();
    arena.api::<Pod>().create(&PostParams::default(), &pod).await.unwrap();
    bind(arena, name).await;
}

/// Volcano's Job of an AIJob, once it is there.
async fn made(arena: &Arena, name: &str) -> DynamicObject {
    let jobs = api(arena, "batch.volcano.sh", "Job");
    arena.until("Volcano's Job", async || jobs.get(name).await.map_err(|error| error.to_string())).await
}

scenario! {
    async fn a_job_of_volcano_says_where_it_runs_and_ends_when_its_time_is_up(context) {
        let arena = context.arena();
        define(arena, "batch.volcano.sh", "jobs", "Job").await;
        define(arena, "bus.volcano.sh", "commands", "Command").await;
        let role = start(context).await;
        let spec = json!({ "backend": "Volcano", "tasks": [task(arena, "main", 1, &[])], "maxRunSeconds": 8,
            "ttlSecondsAfterFinished": 1 });
        submit(arena, "train", spec).await;
        let job = made(arena, "train").await;
        make_pod(arena, &job, "train-main-0").await;
        becomes(arena, "train", "Running", 1).await;
        let placed = |job: &AIJob| status(job).phase == JobPhase::Running && !status(job).cards.is_empty();
        let found = status(&arena.wait("its cards to be known", "train", placed).await);
        assert_eq!((found.cards[0].pod.as_str(), found.cards[0].cards.as_str()), ("train-main-0", "nvidia.com/gpu=?,?"));
        assert_eq!(found.nodes, [found.cards[0].node.clone()]);
        let running = found.conditions.iter().find(|one| one.type_ == "Running").unwrap();
        assert_eq!(running.status, "True");
        let failed = reaches(arena, "train", JobPhase::Failed).await;
        assert_eq!(failed.reason.as_deref(), Some("MaxRunTimeExceeded"));
        assert!(api(arena, "batch.volcano.sh", "Job").get_opt("train").await.unwrap().is_none());
        arena.wait_gone::<AIJob>("its time to be over", "train").await;
        role.stop().await;
    }
}

scenario! {
    async fn a_suspension_that_volcano_hears_of_too_late_does_not_end_a_job(context) {
        let arena = context.arena();
        define(arena, "batch.volcano.sh", "jobs", "Job").await;
        define(arena, "bus.volcano.sh", "commands", "Command").await;
        let role = start(context).await;
        submit(arena, "train", json!({ "backend": "Volcano", "tasks": [task(arena, "main", 1, &[])] })).await;
        made(arena, "train").await;
        becomes(arena, "train", "Running", 1).await;
        reaches(arena, "train", JobPhase::Running).await;
        arena.patch::<AIJob>("train", json!({ "spec": { "suspend": true } })).await;
        order(arena, "train-abortjob").await;
        // Volcano has the order; before it acts, people have thought again.
        arena.patch::<AIJob>("train", json!({ "spec": { "suspend": false } })).await;
        reaches(arena, "train", JobPhase::Running).await;
        becomes(arena, "train", "Aborted", 0).await;
        order(arena, "train-resumejob").await;
        becomes(arena, "train", "Running", 1).await;
        reaches(arena, "train", JobPhase::Running).await;
        role.stop().await;
    }
}

scenario! {
    async fn a_job_of_volcano_that_somebody_else_made_is_left_alone(context) {
        let arena = context.arena();
        define(arena, "batch.volcano.sh", "jobs", "Job").await;
        define(arena, "bus.volcano.sh", "commands", "Command").await;
        let role = start(context).await;
        let jobs = api(arena, "batch.volcano.sh", "Job");
        let theirs = json!({ "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": { "name": "train" },
            "spec": { "queue": "theirs" } });
        let theirs = jobs.create(&PostParams::default(), &serde_json::from_value(theirs).unwrap()).await.unwrap();
        submit(arena, "train", json!({ "backend": "Volcano", "tasks": [task(arena, "main", 1, &[])] })).await;
        let told = |job: &AIJob| {
            let status = status(job);
            status.reason.as_deref() == Some("Refused") && status.message.is_some_and(|text| text.contains("Job train"))
        };
        arena.wait("the job to say what is in its way", "train", told).await;
        arena.patch::<AIJob>("train", json!({ "spec": { "cancel": true } })).await;
        reaches(arena, "train", JobPhase::Aborted).await;
        let left = jobs.get("train").await.unwrap();
        assert_eq!((left.uid(), left.data["spec"]["queue"].as_str()), (theirs.uid(), Some("theirs")));
        role.stop().await;
    }
}

scenario! {
    async fn the_first_of_two_tasks_that_decide_does_not_end_a_job_of_volcano(context) {
        let arena = context.arena();
        define(arena, "batch.volcano.sh", "jobs", "Job").await;
        define(arena, "bus.volcano.sh", "commands", "Command").await;
        let role = start(context).await;
        let tasks = [task(arena, "ps", 1, &[]), task(arena, "chief", 1, &[]), task(arena, "worker", 2, &[])];
        submit(arena, "train", json!({ "backend": "Volcano", "type": "TensorFlow", "tasks": tasks })).await;
        made(arena, "train").await;
        let phases = |chief: &str, worker: &str| {
            json!({ "ps": { "phase": { "Running": 1 } }, "chief": { "phase": { chief: 1 } }, "worker": { "phase": { worker: 2 } } })
        };
        counts(arena, "train", "Running", &phases("Succeeded", "Running")).await;
        let seen = |job: &AIJob| status(job).tasks.iter().any(|task| task.name == "chief" && task.succeeded == 1);
        arena.wait("the end of the chief to be seen", "train", seen).await;
        let commands = api(arena, "bus.volcano.sh", "Command");
        assert!(commands.get_opt("train-completejob").await.unwrap().is_none());
        counts(arena, "train", "Running", &phases("Succeeded", "Succeeded")).await;
        assert_eq!(order(arena, "train-completejob").await["action"], "CompleteJob");
        role.stop().await;
    }
}

scenario! {
    async fn volcano_hears_of_a_suspension_also_when_it_refuses_another_change(context) {
        let arena = context.arena();
        define(arena, "batch.volcano.sh", "jobs", "Job").await;
        define(arena, "bus.volcano.sh", "commands", "Command").await;
        let role = start(context).await;
        submit(arena, "train", json!({ "backend": "Volcano", "suspend": true, "tasks": [task(arena, "main", 1, &[])] })).await;
        reaches(arena, "train", JobPhase::Suspended).await;
        let jobs = api(arena, "batch.volcano.sh", "Job");
        assert!(jobs.get_opt("train").await.unwrap().is_none(), "nothing runs that was never to run");
        arena.patch::<AIJob>("train", json!({ "spec": { "suspend": false } })).await;
        made(arena, "train").await;
        becomes(arena, "train", "Running", 1).await;
        reaches(arena, "train", JobPhase::Running).await;
        arena.patch::<AIJob>("train", json!({ "spec": { "suspend": true, "account": "other" } })).await;
        order(arena, "train-abortjob").await;
        let told = |job: &AIJob| status(job).reason.as_deref() == Some("Refused");
        arena.wait("the refusal to be told", "train", told).await;
        role.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn without_volcano_a_job_says_so_and_writes_nothing_more() {
    let world = World::new(31).await;
    world.submit("vol", json!({ "backend": "Volcano", "tasks": [world_task("main", 1, &[])] })).await;
    sleep(Duration::from_secs(20)).await;
    let status = world.status("vol").await;
    assert_eq!((status.phase, status.reason.as_deref()), (JobPhase::Prequeue, Some("VolcanoMissing")));
    assert!(status.message.unwrap().contains("batch.volcano.sh"));
    let ready = status.conditions.iter().find(|one| one.type_ == "BackendReady").unwrap();
    assert_eq!((ready.status.as_str(), ready.reason.as_str()), ("False", "VolcanoMissing"));
}
