//! Jobs that Volcano itself runs: its controllers, its scheduler and its webhooks beside a real API server. The tests of
//! `volcano` play its part, so these hold what they believe of it to what it does. `dev/volcano test` starts all that.

use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, ResourceExt as _,
    api::{ApiResource, DeleteParams, DynamicObject, ListParams, PostParams},
    core::GroupVersionKind,
};
use maar_api::v1alpha1::{AIJob, JobPhase};
use maar_jobs::accounts_from_queues;
use maar_testkit::scenario::{Arena, Body, Context, On, run};
use serde_json::{Value, json};

use super::setup::{pod_names, reaches, start, status, submit, task as any_task};

/// A task that Volcano's scheduler places.
fn task(arena: &Arena, name: &str, replicas: i32, behave: &[(&str, &str)]) -> Value {
    let mut task = any_task(arena, name, replicas, behave);
    task["template"]["spec"].as_object_mut().unwrap().remove("schedulerName");
    task
}

/// The same with most of a node for each Pod.
fn wide(arena: &Arena, name: &str, replicas: i32) -> Value {
    let mut task = task(arena, name, replicas, &[]);
    task["template"]["spec"]["containers"][0]["resources"] = json!({ "requests": { "cpu": "6" } });
    task
}

fn left_to_volcano(mut spec: Value) -> Value {
    spec["backend"] = json!("Volcano");
    spec
}

async fn on_volcano(name: &str, body: Body) {
    run(On::Real, name, 1, body).await;
}

/// How many Pods have a node.
async fn placed(arena: &Arena) -> usize {
    let pods = arena.list::<Pod>("").await;
    pods.iter().filter(|pod| pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some())).count()
}

fn volcano_jobs(arena: &Arena) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("batch.volcano.sh", "v1alpha1", "Job"));
    Api::namespaced_with(arena.client(), arena.namespace(), &resource)
}

fn variable(pod: &Pod, name: &str) -> Option<String> {
    let env = pod.spec.as_ref()?.containers.first()?.env.as_ref()?;
    env.iter().find(|one| one.name == name)?.value.clone()
}

#[tokio::test]
#[ignore = "needs Volcano: dev/volcano test"]
async fn it_runs_a_job_to_its_end() {
    on_volcano("volcano-runs", |context: &Context| {
        Box::pin(async move {
            let arena = context.arena();
            let role = start(context).await;
            let main = task(arena, "main", 2, &[("run-time", "6s")]);
            submit(arena, "train", left_to_volcano(json!({ "tasks": [main] }))).await;
            let running = reaches(arena, "train", JobPhase::Running).await;
            assert_eq!(running.ready.as_deref(), Some("2/2"));
            assert!(!running.nodes.is_empty(), "{running:#?}");
            let pod = arena.get::<Pod>("train-main-1").await;
            assert_eq!(pod.spec.as_ref().unwrap().scheduler_name.as_deref(), Some("volcano"));
            // What MAAR_INDEX and MAAR_ATTEMPT are made of.
            assert_eq!(pod.annotations().get("volcano.sh/task-index").map(String::as_str), Some("1"));
            assert!(pod.annotations().contains_key("volcano.sh/job-retry-count"), "{:#?}", pod.annotations());
            let done = reaches(arena, "train", JobPhase::Completed).await;
            assert_eq!(done.tasks[0].succeeded, 2, "{done:#?}");
            role.stop().await;
        })
    })
    .await;
}

#[tokio::test]
#[ignore = "needs Volcano: dev/volcano test"]
async fn its_gangs_wait_until_all_have_room() {
    on_volcano("volcano-gang", |context: &Context| {
        Box::pin(async move {
            let arena = context.arena();
            let role = start(context).await;
            submit(arena, "first", left_to_volcano(json!({ "tasks": [wide(arena, "main", 1)] }))).await;
            reaches(arena, "first", JobPhase::Running).await;
            submit(arena, "gang", left_to_volcano(json!({ "tasks": [wide(arena, "main", 3)] }))).await;
            let waits = |job: &AIJob| status(job).phase == JobPhase::Pending;
            arena.wait("the gang to wait", "gang", waits).await;
            // Volcano says in an event of the PodGroup why; it has looked at it then, and placed nobody.
            let events: Api<k8s_openapi::api::core::v1::Event> = arena.api();
            arena
                .until("Volcano to have tried", async || {
                    let all = events.list(&ListParams::default()).await.map_err(|error| error.to_string())?;
                    let tried = all.items.iter().any(|event| {
                        event.reason.as_deref() == Some("Unschedulable")
                            && event
                                .involved_object
                                .name
                                .as_deref()
                                .is_some_and(|name| name.starts_with("gang"))
                    });
                    if tried { Ok(()) } else { Err(format!("{} events", all.items.len())) }
                })
                .await;
            assert_eq!(placed(arena).await, 1, "all of the gang or none");
            arena.patch::<AIJob>("first", json!({ "spec": { "cancel": true } })).await;
            reaches(arena, "first", JobPhase::Aborted).await;
            let running = reaches(arena, "gang", JobPhase::Running).await;
            assert_eq!((running.ready.as_deref(), placed(arena).await), (Some("3/3"), 3));
            role.stop().await;
        })
    })
    .await;
}

#[tokio::test]
#[ignore = "needs Volcano: dev/volcano test"]
async fn it_suspends_resumes_and_takes_what_it_lets_be_changed() {
    on_volcano("volcano-suspend", |context: &Context| {
        Box::pin(async move {
            let arena = context.arena();
            let role = start(context).await;
            submit(arena, "work", left_to_volcano(json!({ "tasks": [task(arena, "main", 2, &[])] }))).await;
            reaches(arena, "work", JobPhase::Running).await;
            arena.patch::<AIJob>("work", json!({ "spec": { "suspend": true } })).await;
            reaches(arena, "work", JobPhase::Suspended).await;
            assert!(pod_names(arena).await.is_empty(), "{:?}", pod_names(arena).await);
            arena.patch::<AIJob>("work", json!({ "spec": { "suspend": false } })).await;
            reaches(arena, "work", JobPhase::Running).await;
            // One Pod more is taken.
            let more = json!({ "spec": { "tasks": [task(arena, "main", 3, &[])] } });
            arena.patch::<AIJob>("work", more).await;
            let grown = |job: &AIJob| status(job).ready.as_deref() == Some("3/3");
            arena.wait("the third Pod", "work", grown).await;
            // Another image is not, and that is said.
            let mut other = task(arena, "main", 3, &[]);
            other["template"]["spec"]["containers"][0]["image"] = json!("example.com/image:2");
            arena.patch::<AIJob>("work", json!({ "spec": { "tasks": [other] } })).await;
            let told = |job: &AIJob| status(job).reason.as_deref() == Some("Refused");
            let refused = status(&arena.wait("the refusal to be told", "work", told).await);
            assert_eq!(refused.phase, JobPhase::Running, "what runs goes on: {refused:#?}");
            arena.patch::<AIJob>("work", json!({ "spec": { "cancel": true } })).await;
            reaches(arena, "work", JobPhase::Aborted).await;
            assert!(volcano_jobs(arena).get_opt("work").await.unwrap().is_none());
            role.stop().await;
        })
    })
    .await;
}

#[tokio::test]
#[ignore = "needs Volcano: dev/volcano test"]
async fn it_tries_again_as_often_as_is_asked() {
    on_volcano("volcano-retries", |context: &Context| {
        Box::pin(async move {
            let arena = context.arena();
            let role = start(context).await;
            let bad = || task(arena, "main", 1, &[("run-time", "1s"), ("exit-code", "7")]);
            submit(arena, "once", left_to_volcano(json!({ "tasks": [bad()] }))).await;
            submit(arena, "twice", left_to_volcano(json!({ "tasks": [bad()], "retries": 1 }))).await;
            let once = reaches(arena, "once", JobPhase::Failed).await;
            let twice = reaches(arena, "twice", JobPhase::Failed).await;
            assert_eq!((once.retries, twice.retries), (0, 1), "{once:#?}\n{twice:#?}");
            role.stop().await;
        })
    })
    .await;
}

#[tokio::test]
#[ignore = "needs Volcano: dev/volcano test"]
async fn every_type_runs_and_ends_by_its_own_rule() {
    on_volcano("volcano-types", |context: &Context| {
        Box::pin(async move {
            let arena = context.arena();
            let role = start(context).await;
            // The first task ends, others would go on for ever.
            let ends = |name: &str| task(arena, name, 1, &[("run-time", "4s")]);
            let stays = |name: &str| task(arena, name, 2, &[]);
            let rows = [
                ("ddp", json!({ "type": "PyTorch", "tasks": [ends("master"), stays("worker")] })),
                ("mpi", json!({ "type": "MPI", "tasks": [ends("launcher"), stays("worker")] })),
                ("speed", json!({ "type": "DeepSpeed", "tasks": [ends("launcher"), stays("worker")] })),
                ("ray", json!({ "type": "Ray", "tasks": [ends("head"), stays("worker")] })),
                ("tf", json!({ "type": "TensorFlow", "tasks": [ends("worker"), stays("ps")] })),
                (
                    "chief",
                    json!({ "type": "TensorFlow", "tasks": [ends("chief"), ends("worker"), stays("ps")] }),
                ),
            ];
            for (name, spec) in &rows {
                submit(arena, name, left_to_volcano(spec.clone())).await;
            }
            let worker = arena.wait("a worker of PyTorch", "ddp-worker-1", |_: &Pod| true).await;
            assert_eq!(variable(&worker, "RANK").as_deref(), Some("2"), "{:#?}", worker.spec);
            assert_eq!(variable(&worker, "WORLD_SIZE").as_deref(), Some("3"));
            for (name, _) in &rows {
                let done = reaches(arena, name, JobPhase::Completed).await;
                assert!(done.completion_time.is_some(), "{name}: {done:#?}");
            }
            role.stop().await;
        })
    })
    .await;
}

#[tokio::test]
#[ignore = "needs Volcano: dev/volcano test"]
async fn a_queue_that_is_not_there_is_named_and_its_queues_become_accounts() {
    on_volcano("volcano-queues", |context: &Context| {
        Box::pin(async move {
            let arena = context.arena();
            let role = start(context).await;
            let queue = arena.namespace().to_owned();
            let spec = json!({ "account": queue, "tasks": [task(arena, "main", 1, &[])] });
            submit(arena, "train", left_to_volcano(spec)).await;
            let told = |job: &AIJob| status(job).message.is_some_and(|text| text.contains("queue"));
            let refused = status(&arena.wait("the missing queue to be named", "train", told).await);
            assert_eq!(refused.reason.as_deref(), Some("Refused"), "{refused:#?}");

            let kind = GroupVersionKind::gvk("scheduling.volcano.sh", "v1beta1", "Queue");
            let queues: Api<DynamicObject> = Api::all_with(arena.client(), &ApiResource::from_gvk(&kind));
            let make = async |name: &str, spec: Value| {
                let body = json!({ "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
                    "metadata": { "name": name }, "spec": spec });
                queues.create(&PostParams::default(), &serde_json::from_value(body).unwrap()).await.unwrap();
            };
            let leaf = format!("{queue}-u12");
            make(&queue, json!({ "weight": 4, "capability": { "cpu": "16" }, "guarantee": { "resource": { "cpu": "2" } } }))
                .await;
            make(&leaf, json!({ "capability": { "cpu": "4" } })).await;
            reaches(arena, "train", JobPhase::Running).await;

            let found = queues.list(&ListParams::default()).await.unwrap().items;
            let found: Vec<Value> = found.iter().map(|one| serde_json::to_value(one).unwrap()).collect();
            let imported = accounts_from_queues(&found).unwrap();
            assert!(imported.left_out.is_empty(), "{:?}", imported.left_out);
            let account = imported.accounts.iter().find(|one| one.name_any() == queue).unwrap();
            assert_eq!((account.spec.weight, account.spec.members.len()), (4, 1));
            assert_eq!(account.spec.members[0].user, "12");
            assert_eq!(account.spec.capability.get("cpu").to_string(), "16");
            assert_eq!(account.spec.guaranteed.get("cpu").to_string(), "2");
            assert!(imported.accounts.iter().any(|one| one.name_any() == "default" && one.spec.everyone));
            arena.patch::<AIJob>("train", json!({ "spec": { "cancel": true } })).await;
            reaches(arena, "train", JobPhase::Aborted).await;
            for name in [leaf, queue] {
                let _ = queues.delete(&name, &DeleteParams::default()).await;
            }
            role.stop().await;
        })
    })
    .await;
}
