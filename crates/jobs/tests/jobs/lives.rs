//! Whole lives of jobs and workspaces.

use std::time::Duration;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Secret, Service};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use maar_api::v1alpha1::{AIJob, JobPhase, Workspace, WorkspacePhase};
use maar_testkit::{build::object, scenario, scenario::Arena};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::setup::{pod_names, reaches, start, status, submit, task};
use super::world::{NAMESPACE, World};

scenario! {
    async fn a_ddp_job_runs_to_its_end_and_its_workers_are_stopped(context) {
        let arena = context.arena();
        let role = start(context).await;
        let tasks = json!([task(arena, "master", 1, &[("run-time", "4s")]), task(arena, "worker", 2, &[])]);
        submit(arena, "train", json!({ "type": "PyTorch", "tasks": tasks, "ttlSecondsAfterFinished": 3 })).await;
        let running = reaches(arena, "train", JobPhase::Running).await;
        assert_eq!(running.ready.as_deref(), Some("3/3"));
        assert!(!running.nodes.is_empty());
        let service = arena.get::<Service>("train").await;
        assert_eq!(service.spec.unwrap().cluster_ip.as_deref(), Some("None"));
        let done = reaches(arena, "train", JobPhase::Completed).await;
        assert!(done.completion_time.is_some() && done.start_time.is_some());
        assert_eq!(pod_names(arena).await, ["train-master-0"]);
        arena.wait_gone::<AIJob>("its time to be over", "train").await;
        arena.wait_gone::<Pod>("its Pod to go with it", "train-master-0").await;
        role.stop().await;
    }
}

scenario! {
    async fn a_failing_job_is_tried_again_and_fails_with_a_reason(context) {
        let arena = context.arena();
        let role = start(context).await;
        let tasks = json!([task(arena, "main", 2, &[("run-time", "1s"), ("exit-code", "7")])]);
        submit(arena, "bad", json!({ "tasks": tasks, "retries": 1, "backoffSeconds": 1 })).await;
        let failed = reaches(arena, "bad", JobPhase::Failed).await;
        assert_eq!((failed.retries, failed.attempt), (1, 1));
        assert!(failed.message.clone().unwrap().contains("ended with 7"), "{failed:#?}");
        role.stop().await;
    }
}

scenario! {
    async fn an_evicted_job_is_queued_again(context) {
        let arena = context.arena();
        let role = start(context).await;
        submit(arena, "long", json!({ "tasks": [task(arena, "main", 3, &[])], "backoffSeconds": 1 })).await;
        reaches(arena, "long", JobPhase::Running).await;
        let victim = arena.get::<Pod>("long-main-1").await;
        arena.delete::<Pod>("long-main-1", &DeleteParams::default()).await;
        let again = |job: &AIJob| status(job).phase == JobPhase::Running && status(job).attempt == 1;
        let job = arena.wait("the job to run again", "long", again).await;
        assert_eq!(status(&job).retries, 0, "nobody's fault");
        assert_ne!(arena.get::<Pod>("long-main-1").await.uid(), victim.uid());
        role.stop().await;
    }
}

scenario! {
    async fn suspend_resume_and_cancel(context) {
        let arena = context.arena();
        let role = start(context).await;
        let stop = json!({ "noticeSeconds": 4 });
        submit(arena, "work", json!({ "tasks": [task(arena, "main", 2, &[])], "stop": stop })).await;
        reaches(arena, "work", JobPhase::Running).await;
        arena.patch::<AIJob>("work", json!({ "spec": { "suspend": true } })).await;
        let noticed = |pod: &Pod| pod.annotations().contains_key("maar.io/stop-at");
        arena.wait("the Pod to have notice", "work-main-0", noticed).await;
        reaches(arena, "work", JobPhase::Suspended).await;
        assert!(pod_names(arena).await.is_empty());
        arena.patch::<AIJob>("work", json!({ "spec": { "suspend": false } })).await;
        reaches(arena, "work", JobPhase::Running).await;
        arena.patch::<AIJob>("work", json!({ "spec": { "cancel": true } })).await;
        reaches(arena, "work", JobPhase::Aborted).await;
        assert!(pod_names(arena).await.is_empty());
        let undo = Patch::Merge(json!({ "spec": { "cancel": false } }));
        let refused = arena.api::<AIJob>().patch("work", &PatchParams::default(), &undo).await.unwrap_err();
        assert!(refused.to_string().contains("cannot be taken back"), "{refused}");
        role.stop().await;
    }
}

scenario! {
    async fn an_array_makes_a_job_for_each_index(context) {
        let arena = context.arena();
        let role = start(context).await;
        let short = task(arena, "main", 1, &[("run-time", "1s")]);
        let array = json!({ "indices": "0-2", "parallelism": 2 });
        submit(arena, "sweep", json!({ "tasks": [short], "array": array })).await;
        let pod = arena.wait("the Pod of an index", "sweep-1-main-0", |_: &Pod| true).await;
        let env = pod.spec.unwrap().containers[0].env.clone().unwrap();
        assert!(env.iter().any(|one| one.name == "MAAR_ARRAY_INDEX" && one.value.as_deref() == Some("1")));
        let done = reaches(arena, "sweep", JobPhase::Completed).await;
        assert_eq!(done.array.unwrap().succeeded, 3);
        role.stop().await;
    }
}

scenario! {
    async fn a_job_of_an_array_that_is_deleted_is_not_run_again(context) {
        let arena = context.arena();
        let role = start(context).await;
        let tasks = json!([task(arena, "main", 1, &[])]);
        submit(arena, "sweep", json!({ "tasks": tasks, "array": { "indices": "0-1" } })).await;
        reaches(arena, "sweep-0", JobPhase::Running).await;
        reaches(arena, "sweep-1", JobPhase::Running).await;
        let known = |job: &AIJob| status(job).array.is_some_and(|array| array.active == 2);
        arena.wait("both to be known", "sweep", known).await;
        arena.delete::<AIJob>("sweep-0", &DeleteParams::default()).await;
        let counted = |job: &AIJob| status(job).array.is_some_and(|array| array.failed == 1);
        let sweep = status(&arena.wait("its end to be counted", "sweep", counted).await);
        assert_eq!(sweep.array.unwrap().failed_indices, "0");
        arena.patch::<AIJob>("sweep-1", json!({ "spec": { "cancel": true } })).await;
        let failed = reaches(arena, "sweep", JobPhase::Failed).await;
        assert_eq!(failed.array.unwrap().failed_indices, "0-1");
        assert!(arena.api::<AIJob>().get_opt("sweep-0").await.unwrap().is_none());
        role.stop().await;
    }
}

/// Whatever the API server makes of the object, without our types in between.
async fn create_raw(arena: &Arena, object: Value) -> Result<kube::api::DynamicObject, kube::Error> {
    let resource = kube::api::ApiResource::erase::<AIJob>(&());
    let api: Api<kube::api::DynamicObject> =
        Api::namespaced_with(arena.client(), arena.namespace(), &resource);
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await
}

scenario! {
    async fn what_cannot_be_done_is_said(context) {
        let arena = context.arena();
        let role = start(context).await;
        submit(arena, "mpi", json!({ "type": "MPI", "tasks": [task(arena, "worker", 1, &[])] })).await;
        submit(arena, "odd", json!({ "tasks": [{ "name": "main", "template": { "spec": {
            "containers": [{ "name": "Not A Name", "image": "i" }] } } }] })).await;
        for (name, reason, words) in [("mpi", "Invalid", "launcher"), ("odd", "Refused", "Not A Name")] {
            let told = |job: &AIJob| {
                let status = status(job);
                status.phase == JobPhase::Prequeue
                    && status.reason.as_deref() == Some(reason)
                    && status.message.is_some_and(|message| message.contains(words))
            };
            arena.wait(&format!("{name} to be {reason}"), name, told).await;
        }
        let kind = json!({ "apiVersion": "maar.io/v1alpha1", "kind": "AIJob" });
        let mut broken = kind.clone();
        broken["metadata"] = json!({ "name": "broken" });
        broken["spec"] = json!({ "tasks": [{ "name": "main", "template": { "spec": { "containers": 5 } } }] });
        create_raw(arena, broken).await.unwrap();
        let resource = kube::api::ApiResource::erase::<AIJob>(&());
        let api: Api<kube::api::DynamicObject> =
            Api::namespaced_with(arena.client(), arena.namespace(), &resource);
        arena.until("the broken one to be told so", async || {
            let found = api.get("broken").await.map_err(|error| error.to_string())?;
            let told = found.data["status"]["reason"] == "Malformed";
            if told { Ok(()) } else { Err(found.data.to_string()) }
        }).await;
        for (cards, why) in [
            (json!({ "count": 1, "share": "0.5" }), "say one of count, share and memory"),
            (json!({ "count": 1, "indices": [2, 3] }), "indices name as many whole cards as count says"),
            (json!({ "share": "0.5", "indices": [2] }), "indices name as many whole cards as count says"),
            (json!({ "count": 1, "index": 2 }), "whole cards are asked for by indices"),
        ] {
            let mut wrong = kind.clone();
            wrong["metadata"] = json!({ "name": "cards" });
            wrong["spec"] = json!({ "tasks": [{ "name": "main", "cards": cards, "template": {} }] });
            let refused = create_raw(arena, wrong).await.unwrap_err();
            assert!(refused.to_string().contains(why), "{refused}");
        }
        role.stop().await;
    }
}

/// Says where the Pod of a workspace goes; no scheduler of ours runs here.
pub(crate) async fn bind(arena: &Arena, pod: &str) {
    let node = arena.node_names().remove(0);
    let target = json!({ "apiVersion": "v1", "kind": "Binding", "metadata": { "name": pod },
        "target": { "kind": "Node", "name": node } });
    let path = format!("/api/v1/namespaces/{}/pods/{pod}/binding", arena.namespace());
    let request = http::Request::post(path)
        .header("content-type", "application/json")
        .body(serde_json::to_vec(&target).unwrap())
        .unwrap();
    arena.client().request::<Value>(request).await.unwrap();
}

scenario! {
    async fn a_workspace_runs_and_is_suspended_and_comes_back(context) {
        let arena = context.arena();
        let role = start(context).await;
        let spec = json!({ "type": "Jupyter", "image": "example.com/jupyter:1", "resources": { "cpu": "1" },
            "stop": { "graceSeconds": 1 } });
        arena.create(object::<Workspace>("desk", spec)).await;
        let phase = |wanted: WorkspacePhase| {
            move |desk: &Workspace| desk.status.as_ref().is_some_and(|status| status.phase == wanted)
        };
        let pod = arena.wait("the Pod of the workspace", "desk", |_: &Pod| true).await;
        assert_eq!(pod.spec.unwrap().scheduler_name.as_deref(), Some("maar-scheduler"));
        bind(arena, "desk").await;
        arena.wait("the workspace to run", "desk", phase(WorkspacePhase::Running)).await;
        arena.patch::<Workspace>("desk", json!({ "spec": { "state": "Suspended" } })).await;
        arena.wait("the workspace to be suspended", "desk", phase(WorkspacePhase::Suspended)).await;
        arena.wait_gone::<Pod>("its Pod to go", "desk").await;
        arena.patch::<Workspace>("desk", json!({ "spec": { "state": "Running" } })).await;
        arena.wait("a new Pod", "desk", |pod: &Pod| pod.metadata.deletion_timestamp.is_none()).await;
        role.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_schedule_makes_jobs() {
    let world = World::new(5).await;
    let tasks = json!([super::world::task("main", 1, &[("run-time", "10s")])]);
    world
        .submit("tick", json!({ "tasks": tasks, "schedule": { "cron": "*/5 * * * *", "historyLimit": 2 } }))
        .await;
    sleep(Duration::from_secs(1900)).await;
    let children = world.jobs().list(&ListParams::default().labels("maar.io/parent=tick")).await.unwrap();
    assert_eq!(children.items.len(), 2, "only the last two are kept");
    assert!(world.status("tick").await.schedule.unwrap().next_time.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_suspended_workspace_keeps_its_volume() {
    let world = World::new(7).await;
    let api: Api<Workspace> = Api::namespaced(world.client.clone(), NAMESPACE);
    let desk = json!({ "metadata": { "name": "desk" }, "spec": {
        "type": "Jupyter", "image": "example.com/jupyter:1", "resources": { "cpu": "2" },
        "volumes": [{ "name": "home", "path": "/home", "size": "1Gi" }] } });
    api.create(&PostParams::default(), &serde_json::from_value(desk).unwrap()).await.unwrap();
    sleep(Duration::from_secs(10)).await;
    let pod = world.pods().get("desk").await.unwrap();
    assert_eq!(pod.spec.as_ref().unwrap().scheduler_name.as_deref(), Some("maar-scheduler"));
    let phase = async || api.get("desk").await.unwrap().status.unwrap_or_default().phase;
    assert_eq!(phase().await, WorkspacePhase::Pending, "nobody places it here");
    // What a scheduler does: the volume goes where the Pod goes.
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(world.client.clone(), NAMESPACE);
    let place = json!({ "metadata": { "annotations": { "volume.kubernetes.io/selected-node": "gpu-0" } } });
    claims.patch("desk-home", &PatchParams::default(), &Patch::Merge(&place)).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    world.bind("desk", "gpu-0").await;
    sleep(Duration::from_secs(10)).await;
    assert_eq!(
        phase().await,
        WorkspacePhase::Running,
        "{:#?}",
        world.pods().get("desk").await.unwrap().status
    );
    // Its program is reached through the portal alone: there is no word that could leak, and no way past.
    let command = pod.spec.as_ref().unwrap().containers[0].command.clone().unwrap_or_default().join(" ");
    assert!(command.contains("--ServerApp.ip=127.0.0.1"), "{command}");
    let secrets: Api<Secret> = Api::namespaced(world.client.clone(), NAMESPACE);
    assert!(secrets.get_opt("desk-access").await.unwrap().is_none());
    let patch = Patch::Merge(json!({ "spec": { "state": "Suspended" } }));
    api.patch("desk", &PatchParams::default(), &patch).await.unwrap();
    sleep(Duration::from_mins(1)).await;
    assert_eq!(phase().await, WorkspacePhase::Suspended);
    assert!(world.pods().get_opt("desk").await.unwrap().is_none());
    assert!(claims.get_opt("desk-home").await.unwrap().is_some());
}
