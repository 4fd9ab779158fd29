//! A scheduler beside a scenario.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::{Client, ResourceExt as _};
use maar_controller::backoff::Dice;
use maar_controller::clock::TokioClock;
use maar_controller::lease::Timing;
use maar_controller::role::{Election, RoleError};
use maar_controller::{Environment, RoleConfig};
use maar_embedded::Clock;
use maar_scheduler::adapter::{Access, Settings, role};
use maar_scheduler::metrics::SchedulerMetrics;
use maar_testkit::build::{Build, pod};
use maar_testkit::scenario::Arena;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A running scheduler.
pub(crate) struct Scheduler {
    task: JoinHandle<Result<(), RoleError>>,
    stop: CancellationToken,
    cut: CancellationToken,
    router: axum::Router,
}

impl Scheduler {
    /// Stops it and waits until it has ended.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.task.await.expect("no panic").expect("a clean end");
    }

    /// Asks it why something waits; `token` says who asks.
    pub(crate) async fn explain(&self, path: &str, token: Option<&str>) -> (u16, serde_json::Value) {
        use tower::ServiceExt as _;
        let mut request = http::Request::get(format!("/explain/{path}"));
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(axum::body::Body::empty()).expect("a request");
        let answer = self.router.clone().oneshot(request).await.expect("an answer");
        let code = answer.status().as_u16();
        let body = axum::body::to_bytes(answer.into_body(), 1 << 20).await.expect("a body");
        (code, serde_json::from_slice(&body).expect("JSON"))
    }

    /// Ends it without a word: nothing of it reaches anybody any more.
    pub(crate) fn kill(self) {
        self.cut.cancel();
        self.task.abort();
    }
}

/// The same cluster over a wire that can be cut.
fn over(client: Client, cut: CancellationToken) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let (client, cut) = (client.clone(), cut.clone());
        async move {
            tokio::select! {
                biased;
                () = cut.cancelled() => std::future::pending().await,
                answer = client.send(request) => answer,
            }
        }
    });
    Client::new(service, namespace)
}

/// The name by which Pods of a scenario choose its scheduler: real clusters are shared.
pub(crate) fn name(arena: &Arena) -> String {
    format!("maar-{}", arena.namespace())
}

pub(crate) fn settings(arena: &Arena) -> Settings {
    Settings { scheduler_name: name(arena), ..Settings::default() }
}

thread_local! {
    static START: std::cell::Cell<Option<jiff::Timestamp>> = const { std::cell::Cell::new(None) };
    static CLOCK: Arc<TokioClock> =
        Arc::new(TokioClock::starting_at(START.get().unwrap_or_else(|| Clock::wall().now())));
}

/// Lets the processes of this thread live in a time that is the same whenever the test runs.
pub(crate) fn from_epoch() {
    START.set(Some(jiff::Timestamp::constant(1_767_225_600, 0)));
}

/// Time and chance of a process. Processes of one scenario, which is one thread, have the same time.
pub(crate) fn environment(seed: u64) -> Environment {
    Environment::new(CLOCK.with(Arc::clone), Dice::seeded(seed))
}

/// The role as a future, for harnesses that run it themselves.
pub(crate) async fn lead(client: Client, settings: Settings, identity: String, namespace: String) {
    let environment = environment(1);
    let metrics = SchedulerMetrics::register(&environment.metrics);
    let (role, _) = role(settings, metrics, Access::Anybody);
    let config = config(identity, namespace, SHORT);
    let _ = role.run(client, config, environment, CancellationToken::new()).await;
}

/// Times of an election in which little is waited for.
pub(crate) const SHORT: Timing = Timing {
    lease_duration: Duration::from_secs(3),
    renew_deadline: Duration::from_secs(2),
    retry_period: Duration::from_millis(500),
    jitter: 0.2,
};

fn config(identity: String, namespace: String, timing: Timing) -> RoleConfig {
    RoleConfig { identity, election: Some(Election { namespace, timing }), drain: Duration::from_secs(5) }
}

/// Starts a scheduler for the Pods of this scenario.
pub(crate) fn start(arena: &Arena, client: Client, identity: &str) -> Scheduler {
    start_with(arena, client, identity, settings(arena))
}

/// The same with other settings.
pub(crate) fn start_with(arena: &Arena, client: Client, identity: &str, settings: Settings) -> Scheduler {
    start_timed(arena, client, identity, settings, SHORT)
}

/// The same with other times of its election.
pub(crate) fn start_timed(
    arena: &Arena,
    client: Client,
    identity: &str,
    settings: Settings,
    timing: Timing,
) -> Scheduler {
    let environment = environment(1);
    let metrics = SchedulerMetrics::register(&environment.metrics);
    let (role, router) = role(settings, metrics, Access::Reviewed(client.clone()));
    let config = config(identity.to_owned(), arena.namespace().to_owned(), timing);
    let (stop, cut) = (CancellationToken::new(), CancellationToken::new());
    let task = tokio::spawn(role.run(over(client, cut.clone()), config, environment, stop.clone()));
    Scheduler { task, stop, cut, router }
}

thread_local! {
    static NUMBER: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Runs the body of a scenario in process once more, with a number it can ask for by [`number`]: bodies take no
/// arguments, and tests run side by side, each on its own thread.
pub(crate) async fn run_with(number: u64, name: &str, body: maar_testkit::scenario::Body) {
    NUMBER.set(number);
    maar_testkit::scenario::run(maar_testkit::scenario::On::InProcess, name, 1, body).await;
}

/// See [`run_with`].
pub(crate) fn number() -> u64 {
    NUMBER.get()
}

/// A Pod of ours.
pub(crate) fn ours(arena: &Arena, pod_name: &str) -> Build<Pod> {
    pod(pod_name).pod_set("/spec/schedulerName", name(arena))
}

/// A Pod that keeps the label `app` of a set of Pods.
pub(crate) fn one_of(arena: &Arena, app: &str, number: usize) -> Build<Pod> {
    ours(arena, &format!("{app}-{number}")).set("/metadata/labels/app", app)
}

/// Gives every node of the scenario so many cards.
pub(crate) async fn give_cards(arena: &Arena, count: u32) {
    let nodes: kube::Api<k8s_openapi::api::core::v1::Node> = kube::Api::all(arena.client());
    for name in arena.node_names() {
        let patch = json!({"status": {
            "capacity": {"nvidia.com/gpu": count.to_string()},
            "allocatable": {"nvidia.com/gpu": count.to_string()},
        }});
        let patch = kube::api::Patch::Merge(patch);
        nodes
            .patch_status(&name, &kube::api::PatchParams::default(), &patch)
            .await
            .expect("a node can be changed");
    }
}

/// The cards of a Pod: its node and what is written on it.
pub(crate) fn cards(pod: &Pod) -> String {
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).unwrap_or_default();
    let cards = pod.annotations().get("maar.io/cards").cloned().unwrap_or_default();
    format!("{node} {cards}")
}

pub(crate) fn is_bound(pod: &Pod) -> bool {
    pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some())
}
