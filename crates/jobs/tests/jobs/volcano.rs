//! Jobs that are left to Volcano, which a test plays: its kinds are there, and it does what its controller would do.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api,
    api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams},
    core::GroupVersionKind,
};
use maar_api::v1alpha1::{AIJob, JobPhase};
use maar_testkit::{build::object, scenario, scenario::Arena};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::setup::{reaches, start, status, submit, task};
use super::world::{World, task as world_task};

/// A kind of Volcano's, as far as its shape matters here.
async fn define(arena: &Arena, group: &str, plural: &str, kind: &str) {
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let version = json!({ "name": "v1alpha1", "served": true, "storage": true, "subresources": { "status": {} },
        "schema": { "openAPIV3Schema": schema } });
    let names = json!({ "plural": plural, "singular": kind.to_lowercase(), "kind": kind });
    let spec = json!({ "group": group, "names": names, "scope": "Namespaced", "versions": [version] });
    let name = format!("{plural}.{group}");
    arena.create_cluster(object::<CustomResourceDefinition>(&name, spec)).await;
    let api: Api<CustomResourceDefinition> = Api::all(arena.client());
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
    let counts = json!({ "main": { "phase": { "Running": running } } });
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
        let jobs = api(arena, "batch.volcano.sh", "Job");
        let made = arena.until("Volcano's Job", async || {
            jobs.get("train").await.map_err(|error| error.to_string())
        }).await;
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
