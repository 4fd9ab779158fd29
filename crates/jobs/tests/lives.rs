//! The role `jobs` on the embedded cluster, with simulated nodes and paused time: whole lives of jobs and workspaces,
//! and the same end after a crash at every single write.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Secret, Service};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use maar_api::v1alpha1::{AIJob, AIJobStatus, JobPhase, Workspace, WorkspacePhase};
use maar_controller::{
    Environment, RoleConfig,
    backoff::Dice,
    clock::{Clock, SharedClock},
};
use maar_embedded::{Cluster, Component, Config, Fault, Moment, Rule};
use maar_jobs::{Entropy, install, role};
use maar_nodes::{Options, Profile, simulate};
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

const PROFILE: &str = r#"
name: test
startDelay: 1s
pools:
  - name: gpu
    count: 3
    cpu: "64"
    memory: 256Gi
    cards: { resource: nvidia.com/gpu, count: 8, vendor: nvidia, model: A, memory: 80Gi }
"#;
const NAMESPACE: &str = "default";

/// The clock of the embedded cluster.
#[derive(Debug)]
struct ClusterClock(maar_embedded::Clock);

impl Clock for ClusterClock {
    fn now(&self) -> jiff::Timestamp {
        self.0.now()
    }
}

struct World {
    cluster: Cluster,
    client: Client,
    role: Component,
    _stop: tokio_util::sync::DropGuard,
}

impl World {
    /// A cluster with nodes, definitions and the role, which is started again when it crashes.
    async fn new(seed: u64) -> Self {
        let cluster = Cluster::start(Config::simulated(seed)).await.unwrap();
        let client = cluster.client();
        install(&client).await.unwrap();
        let stop = CancellationToken::new();
        let time = cluster.world().clock.clone();
        let clock = maar_nodes::Clock::new(move || time.now());
        let options = Options::in_process("test", clock, seed);
        simulate(client.clone(), Profile::parse(PROFILE).unwrap(), options, stop.clone()).await.unwrap();
        let clock: SharedClock = Arc::new(ClusterClock(cluster.world().clock.clone()));
        let run = move |client: Client| {
            let environment = Environment::new(Arc::clone(&clock), Dice::seeded(seed));
            let config =
                RoleConfig { identity: "test".to_owned(), election: None, drain: Duration::from_secs(5) };
            let work = role(&Entropy::counting()).run(client, config, environment, CancellationToken::new());
            async move {
                work.await.unwrap();
            }
        };
        let role = cluster.faults().run("jobs", Duration::from_secs(2), run);
        Self { cluster, client, role, _stop: stop.drop_guard() }
    }

    fn jobs(&self) -> Api<AIJob> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    async fn submit(&self, name: &str, spec: Value) {
        let job: AIJob =
            serde_json::from_value(json!({ "metadata": { "name": name }, "spec": spec })).unwrap();
        self.jobs().create(&PostParams::default(), &job).await.unwrap();
    }

    async fn change(&self, name: &str, spec: Value) {
        let patch = Patch::Merge(json!({ "spec": spec }));
        self.jobs().patch(name, &PatchParams::default(), &patch).await.unwrap();
    }

    async fn status(&self, name: &str) -> AIJobStatus {
        self.jobs().get(name).await.unwrap().status.unwrap_or_default()
    }

    /// Waits, in simulated time, for a phase.
    async fn reaches(&self, name: &str, phase: JobPhase) -> AIJobStatus {
        for _ in 0..600 {
            let status = self.status(name).await;
            if status.phase == phase {
                return status;
            }
            sleep(Duration::from_secs(1)).await;
        }
        panic!("{name} does not become {phase}: {:#?}", self.status(name).await);
    }

    async fn pod_names(&self) -> Vec<String> {
        let list = self.pods().list(&ListParams::default().labels("maar.io/job")).await.unwrap();
        list.items.iter().map(ResourceExt::name_any).collect()
    }
}

/// A task whose Pods do what the annotations say.
fn task(name: &str, replicas: i32, behave: &[(&str, &str)]) -> Value {
    let annotations: BTreeMap<String, &str> =
        behave.iter().map(|(name, value)| (format!("sim.maar.io/{name}"), *value)).collect();
    json!({
        "name": name,
        "replicas": replicas,
        "template": {
            "metadata": { "annotations": annotations },
            "spec": {
                "schedulerName": "default-scheduler",
                "terminationGracePeriodSeconds": 1,
                "containers": [{ "name": "main", "image": "example.com/image:1" }],
            },
        },
    })
}

#[tokio::test(start_paused = true)]
async fn a_ddp_job_runs_to_its_end_and_its_workers_are_stopped() {
    let world = World::new(1).await;
    let tasks = json!([task("master", 1, &[("run-time", "60s")]), task("worker", 2, &[])]);
    world.submit("train", json!({ "type": "PyTorch", "tasks": tasks, "ttlSecondsAfterFinished": 300 })).await;
    let status = world.reaches("train", JobPhase::Running).await;
    assert_eq!(status.ready.as_deref(), Some("3/3"));
    assert!(!status.nodes.is_empty());
    let services: Api<Service> = Api::namespaced(world.client.clone(), NAMESPACE);
    assert_eq!(services.get("train").await.unwrap().spec.unwrap().cluster_ip.as_deref(), Some("None"));
    let status = world.reaches("train", JobPhase::Completed).await;
    assert!(status.completion_time.is_some() && status.start_time.is_some());
    assert_eq!(world.pod_names().await, ["train-master-0"]);
    sleep(Duration::from_secs(400)).await;
    assert!(world.jobs().get_opt("train").await.unwrap().is_none(), "its time is over");
    assert!(world.pod_names().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_failing_job_is_tried_again_and_fails_with_a_reason() {
    let world = World::new(2).await;
    let tasks = json!([task("main", 2, &[("run-time", "5s"), ("exit-code", "7")])]);
    world.submit("bad", json!({ "tasks": tasks, "retries": 2, "backoffSeconds": 5 })).await;
    let status = world.reaches("bad", JobPhase::Failed).await;
    assert_eq!((status.retries, status.attempt), (2, 2));
    assert!(status.message.clone().unwrap().contains("ended with 7"), "{status:#?}");
}

#[tokio::test(start_paused = true)]
async fn an_evicted_job_is_queued_again() {
    let world = World::new(3).await;
    world.submit("long", json!({ "tasks": [task("main", 3, &[])] })).await;
    world.reaches("long", JobPhase::Running).await;
    let victim = world.pods().get("long-main-1").await.unwrap();
    world.pods().delete("long-main-1", &DeleteParams::default()).await.unwrap();
    sleep(Duration::from_mins(1)).await;
    let status = world.reaches("long", JobPhase::Running).await;
    assert_eq!((status.attempt, status.retries), (1, 0));
    assert_ne!(world.pods().get("long-main-1").await.unwrap().uid(), victim.uid());
}

#[tokio::test(start_paused = true)]
async fn suspend_resume_and_cancel() {
    let world = World::new(4).await;
    let stop = json!({ "noticeSeconds": 30 });
    world.submit("work", json!({ "tasks": [task("main", 2, &[])], "stop": stop })).await;
    world.reaches("work", JobPhase::Running).await;
    world.change("work", json!({ "suspend": true })).await;
    world.reaches("work", JobPhase::Suspending).await;
    sleep(Duration::from_secs(5)).await;
    let pod = world.pods().get("work-main-0").await.unwrap();
    assert!(pod.annotations().contains_key("maar.io/stop-at"), "it has notice: {:?}", pod.annotations());
    world.reaches("work", JobPhase::Suspended).await;
    assert!(world.pod_names().await.is_empty());
    world.change("work", json!({ "suspend": false })).await;
    world.reaches("work", JobPhase::Running).await;
    world.change("work", json!({ "cancel": true })).await;
    world.reaches("work", JobPhase::Aborted).await;
    assert!(world.pod_names().await.is_empty());
    let undo = Patch::Merge(json!({ "spec": { "cancel": false } }));
    let refused = world.jobs().patch("work", &PatchParams::default(), &undo).await.unwrap_err();
    assert!(refused.to_string().contains("cannot be taken back"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn arrays_and_schedules_make_jobs() {
    let world = World::new(5).await;
    let short = task("main", 1, &[("run-time", "10s")]);
    world.submit("sweep", json!({ "tasks": [short], "array": { "indices": "0-4", "parallelism": 2 } })).await;
    sleep(Duration::from_secs(5)).await;
    let pod = world.pods().get("sweep-1-main-0").await.unwrap();
    let env = pod.spec.unwrap().containers[0].env.clone().unwrap();
    assert!(env.iter().any(|one| one.name == "MAAR_ARRAY_INDEX" && one.value.as_deref() == Some("1")));
    let status = world.reaches("sweep", JobPhase::Completed).await;
    assert_eq!(status.array.unwrap().succeeded, 5);
    let tasks = json!([task("main", 1, &[("run-time", "10s")])]);
    world
        .submit("tick", json!({ "tasks": tasks, "schedule": { "cron": "*/5 * * * *", "historyLimit": 2 } }))
        .await;
    sleep(Duration::from_secs(1900)).await;
    let children = world.jobs().list(&ListParams::default().labels("maar.io/parent=tick")).await.unwrap();
    assert_eq!(children.items.len(), 2, "only the last two are kept");
    assert!(world.status("tick").await.schedule.unwrap().next_time.is_some());
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_done_is_said() {
    let world = World::new(6).await;
    world.submit("mpi", json!({ "type": "MPI", "tasks": [task("worker", 1, &[])] })).await;
    world.submit("vol", json!({ "backend": "Volcano", "tasks": [task("main", 1, &[])] })).await;
    world
        .submit(
            "odd",
            json!({ "tasks": [{ "name": "main", "template": { "spec": {
        "containers": [{ "name": "Not A Name", "image": "i" }] } } }] }),
        )
        .await;
    sleep(Duration::from_secs(20)).await;
    let reason = async |name: &str| {
        let status = world.status(name).await;
        (status.phase, status.reason.unwrap_or_default(), status.message.unwrap_or_default())
    };
    let (phase, why, message) = reason("mpi").await;
    assert_eq!((phase, why.as_str()), (JobPhase::Prequeue, "Invalid"));
    assert!(message.contains("launcher"), "{message}");
    let (phase, why, message) = reason("vol").await;
    assert_eq!((phase, why.as_str()), (JobPhase::Prequeue, "VolcanoMissing"));
    assert!(message.contains("batch.volcano.sh"), "{message}");
    let (phase, why, message) = reason("odd").await;
    assert_eq!((phase, why.as_str()), (JobPhase::Prequeue, "Refused"), "{message}");
    assert!(message.contains("Not A Name"), "{message}");
    let broken = json!({ "apiVersion": "maar.io/v1alpha1", "kind": "AIJob", "metadata": { "name": "broken" },
        "spec": { "tasks": [{ "name": "main", "template": { "spec": { "containers": 5 } } }] } });
    let resource = kube::api::ApiResource::erase::<AIJob>(&());
    let api: Api<kube::api::DynamicObject> = Api::namespaced_with(world.client.clone(), NAMESPACE, &resource);
    api.create(&PostParams::default(), &serde_json::from_value(broken).unwrap()).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    let found = api.get("broken").await.unwrap();
    assert_eq!(found.data["status"]["reason"], "Malformed", "{:#}", found.data);
    let wrong = json!({ "metadata": { "name": "cards" }, "spec": { "tasks": [{ "name": "main",
        "cards": { "count": 1, "share": "0.5" }, "template": {} }] } });
    let wrong: AIJob = serde_json::from_value(wrong).unwrap();
    let refused = world.jobs().create(&PostParams::default(), &wrong).await.unwrap_err();
    assert!(refused.to_string().contains("say one of count, share and memory"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_workspace_runs_is_suspended_and_keeps_its_volume() {
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
    let node = json!({ "apiVersion": "v1", "kind": "Binding", "metadata": { "name": "desk" },
        "target": { "kind": "Node", "name": "gpu-0" } });
    let request = http::Request::post(format!("/api/v1/namespaces/{NAMESPACE}/pods/desk/binding"))
        .header("content-type", "application/json")
        .body(serde_json::to_vec(&node).unwrap())
        .unwrap();
    world.client.request::<Value>(request).await.unwrap();
    sleep(Duration::from_secs(10)).await;
    assert_eq!(
        phase().await,
        WorkspacePhase::Running,
        "{:#?}",
        world.pods().get("desk").await.unwrap().status
    );
    let secrets: Api<Secret> = Api::namespaced(world.client.clone(), NAMESPACE);
    assert!(secrets.get("desk-access").await.unwrap().data.unwrap().contains_key("token"));
    let patch = Patch::Merge(json!({ "spec": { "state": "Suspended" } }));
    api.patch("desk", &PatchParams::default(), &patch).await.unwrap();
    sleep(Duration::from_mins(1)).await;
    assert_eq!(phase().await, WorkspacePhase::Suspended);
    assert!(world.pods().get_opt("desk").await.unwrap().is_none());
    assert!(claims.get_opt("desk-home").await.unwrap().is_some());
}

/// What a story comes to: everything that people can see and that does not depend on when it happened.
#[derive(Debug, PartialEq)]
struct End {
    phase: JobPhase,
    retries: i32,
    attempt: i32,
    pods: Vec<String>,
    services: Vec<String>,
}

/// A job that fails once, is made again and succeeds; the role dies as `rule` says.
async fn story(rule: Option<Rule>) -> (End, u64, u64) {
    let world = World::new(8).await;
    if let Some(rule) = rule {
        world.cluster.faults().script(rule);
    }
    let before = writes(&world);
    let tasks = json!([task("launcher", 1, &[("run-time", "30s")]), task("worker", 2, &[])]);
    world.submit("train", json!({ "type": "MPI", "tasks": tasks, "retries": 3, "backoffSeconds": 1 })).await;
    world.reaches("train", JobPhase::Running).await;
    let fail = Patch::Merge(json!({ "metadata": { "annotations": { "sim.maar.io/fail-now": "1" } } }));
    world.pods().patch("train-worker-1", &PatchParams::default(), &fail).await.unwrap();
    let status = world.reaches("train", JobPhase::Completed).await;
    sleep(Duration::from_secs(30)).await;
    let services: Api<Service> = Api::namespaced(world.client.clone(), NAMESPACE);
    let services = services.list(&ListParams::default().labels("maar.io/job")).await.unwrap();
    let end = End {
        phase: world.status("train").await.phase,
        retries: status.retries,
        attempt: status.attempt,
        pods: world.pod_names().await,
        services: services.items.iter().map(ResourceExt::name_any).collect(),
    };
    (end, writes(&world) - before, world.role.starts())
}

/// How many writes the role has made.
fn writes(world: &World) -> u64 {
    let log = world.cluster.faults().log().entries();
    let own = log.iter().filter(|entry| &*entry.subject.component == "jobs");
    let wanted = own.filter(|entry| ["create", "patch", "update", "delete"].contains(&entry.subject.verb));
    u64::try_from(wanted.count()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_write_changes_nothing_in_the_end() {
    let (want, count, starts) = story(None).await;
    assert_eq!((want.phase, want.retries, starts), (JobPhase::Completed, 1, 1));
    assert!(count > 10, "{count} writes");
    for moment in [Moment::Before, Moment::After] {
        for nth in 1..=count {
            let rule = Rule::new(Fault::Crash(moment)).component("jobs").writes().nth(nth);
            let (end, _, starts) = story(Some(rule)).await;
            assert_eq!(end, want, "a crash {moment:?} write {nth}");
            assert!(starts >= 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn lost_answers_and_stale_views_change_nothing_in_the_end() {
    let (want, count, _) = story(None).await;
    for nth in (1..=count).step_by(3) {
        let rule = Rule::new(Fault::LostAnswer).component("jobs").writes().nth(nth);
        assert_eq!(story(Some(rule)).await.0, want, "a lost answer to write {nth}");
        let rule = Rule::new(Fault::Conflict).component("jobs").writes().nth(nth);
        assert_eq!(story(Some(rule)).await.0, want, "a conflict at write {nth}");
    }
    let late = Rule::new(Fault::LateWatch(Duration::from_secs(3))).component("jobs").verb("watch").times(100);
    assert_eq!(story(Some(late)).await.0, want, "late watches");
    let stale = Rule::new(Fault::StaleList { behind: 20 }).component("jobs").verb("list").times(100);
    assert_eq!(story(Some(stale)).await.0, want, "stale lists");
}
