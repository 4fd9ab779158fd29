//! The role beside a scenario.

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use kube::{Client, ResourceExt as _};
use maar_api::v1alpha1::{AIJob, AIJobStatus, JobPhase};
use maar_controller::{
    Environment, RoleConfig,
    backoff::Dice,
    clock::{Clock, SharedClock},
    role::RoleError,
};
use maar_jobs::{Entropy, JobsMetrics, Settings, install, role};
use maar_testkit::{
    build::{OWNER, object},
    scenario::{Arena, Context, On},
};
use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;

/// The clock of an embedded cluster.
#[derive(Debug)]
pub(crate) struct ClusterClock(pub(crate) maar_embedded::Clock);

impl Clock for ClusterClock {
    fn now(&self) -> Timestamp {
        self.0.now()
    }
}

/// A clock on which a second of real time is a minute, for rules that count minutes.
#[derive(Debug)]
struct FastClock {
    start: Timestamp,
    origin: Instant,
}

impl Clock for FastClock {
    fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.origin.elapsed() * 60).unwrap();
        self.start.saturating_add(elapsed).unwrap()
    }
}

/// A running role.
pub(crate) struct Running {
    task: JoinHandle<Result<(), RoleError>>,
    stop: CancellationToken,
}

impl Running {
    /// Stops it and waits until it has ended.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.task.await.expect("no panic").expect("a clean end");
    }
}

/// Starts the role for the namespace of a scenario, after its kinds are installed.
pub(crate) async fn start(context: &Context) -> Running {
    let arena = context.arena();
    let clock: SharedClock = match arena.embedded() {
        Some(cluster) => Arc::new(ClusterClock(cluster.world().clock.clone())),
        None => Arc::new(maar_controller::clock::SystemClock),
    };
    launch(arena, arena.client(), clock, settings(arena, Duration::from_secs(20))).await
}

/// The same in a world where minutes pass quickly, paused or not.
pub(crate) async fn start_fast(context: &Context) -> Running {
    let arena = context.arena();
    if context.on() == On::InProcess {
        return start(context).await;
    }
    let clock = FastClock { start: maar_embedded::Clock::wall().now(), origin: Instant::now() };
    launch(arena, arena.client(), Arc::new(clock), settings(arena, Duration::from_millis(300))).await
}

/// Real clusters are shared, so each scenario looks after its own namespace.
fn settings(arena: &Arena, cleanup_every: Duration) -> Settings {
    let namespace = Some(arena.namespace().to_owned());
    let volcano_every = Duration::from_millis(300);
    Settings { namespace, cleanup_every, volcano_every, ..Settings::new(Entropy::system()) }
}

pub(crate) async fn launch(arena: &Arena, client: Client, clock: SharedClock, settings: Settings) -> Running {
    install(&arena.client()).await.expect("the kinds can be installed");
    let environment = Environment::new(clock, Dice::seeded(1));
    let metrics = JobsMetrics::register(&environment.metrics);
    let config = RoleConfig { identity: "test".to_owned(), election: None, drain: Duration::from_secs(5) };
    let stop = CancellationToken::new();
    let task = tokio::spawn(role(&settings, &metrics).run(client, config, environment, stop.clone()));
    Running { task, stop }
}

/// A task whose Pods run on the nodes of the scenario and do what the annotations say.
pub(crate) fn task(arena: &Arena, name: &str, replicas: i32, behave: &[(&str, &str)]) -> Value {
    let mut task = super::world::task(name, replicas, behave);
    let pod = &mut task["template"]["spec"];
    pod["nodeSelector"] = json!({ OWNER: arena.namespace() });
    pod["tolerations"] = json!([{ "key": OWNER, "operator": "Exists" }]);
    task
}

/// Submits a job.
pub(crate) async fn submit(arena: &Arena, name: &str, spec: Value) -> AIJob {
    arena.create(object::<AIJob>(name, spec)).await
}

pub(crate) fn status(job: &AIJob) -> AIJobStatus {
    job.status.clone().unwrap_or_default()
}

/// Waits for a phase.
pub(crate) async fn reaches(arena: &Arena, name: &str, phase: JobPhase) -> AIJobStatus {
    let what = format!("job {name} to be {phase}");
    status(&arena.wait(&what, name, |job: &AIJob| status(job).phase == phase).await)
}

/// The names of the Pods of all jobs.
pub(crate) async fn pod_names(arena: &Arena) -> Vec<String> {
    let mut names: Vec<String> = arena.list::<Pod>("").await.iter().map(Pod::name_any).collect();
    names.sort();
    names
}
