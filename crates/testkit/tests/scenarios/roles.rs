//! What roles of Maar rely on: one of them leads, and repeated events become one.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::events::v1::Event;
use maar_controller::backoff::Dice;
use maar_controller::clock::TokioClock;
use maar_controller::events::{Limits, News, Recorder, Severity};
use maar_controller::lease::Timing;
use maar_controller::role::{Election, RoleError};
use maar_controller::{Context as RoleContext, Environment, Error, Role, RoleConfig};
use maar_embedded::Clock;
use maar_testkit::build::object;
use maar_testkit::scenario;
use maar_testkit::scenario::Arena;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

fn environment(seed: u64) -> Environment {
    Environment::new(Arc::new(TokioClock::starting_at(Clock::wall().now())), Dice::seeded(seed))
}

/// One process of a role.
struct Process {
    task: JoinHandle<Result<(), RoleError>>,
    stop: CancellationToken,
    /// Cuts its wire: nothing comes through any more.
    cut: CancellationToken,
}

/// The same cluster over a wire that can be cut.
fn over(client: kube::Client, cut: CancellationToken) -> kube::Client {
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
    kube::Client::new(service, namespace)
}

/// A process that writes its name while it leads.
fn process(arena: &Arena, identity: &'static str) -> Process {
    let timing = Timing {
        lease_duration: Duration::from_secs(3),
        renew_deadline: Duration::from_secs(2),
        retry_period: Duration::from_millis(500),
        jitter: 0.2,
    };
    let election = Election { namespace: arena.namespace().to_owned(), timing };
    let config =
        RoleConfig { identity: identity.into(), election: Some(election), drain: Duration::from_secs(5) };
    let namespace = arena.namespace().to_owned();
    let role = Role::new("toy").leader_task("sign", move |context: RoleContext| {
        let namespace = namespace.clone();
        async move {
            let maps = kube::Api::<ConfigMap>::namespaced(context.client, &namespace);
            let patch = kube::api::Patch::Merge(json!({"data": {identity: "led"}}));
            let signed = maps.patch("book", &kube::api::PatchParams::default(), &patch).await;
            signed.map_err(|error| Error::in_step("sign", error))?;
            context.shutdown.cancelled().await;
            Ok::<(), Error>(())
        }
    });
    let (stop, cut) = (CancellationToken::new(), CancellationToken::new());
    let client = over(arena.client(), cut.clone());
    let task = tokio::spawn(role.run(client, config, environment(1), stop.clone()));
    Process { task, stop, cut }
}

fn holder(lease: &Lease) -> &str {
    lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default()
}

fn signed(map: &ConfigMap) -> Vec<&str> {
    map.data.iter().flatten().map(|(name, _)| name.as_str()).collect()
}

scenario! {
    async fn one_process_leads_and_another_takes_over(context) {
        let arena = context.arena();
        arena.create(object::<ConfigMap>("book", json!({}))).await;
        let first = process(arena, "first");
        arena.wait("the first to lead", "book", |map: &ConfigMap| signed(map) == ["first"]).await;
        let second = process(arena, "second");
        arena
            .never("two leaders", 2, async || {
                let map = arena.get::<ConfigMap>("book").await;
                (signed(&map) != ["first"]).then(|| format!("{map:#?}"))
            })
            .await;
        // Out of reach without a word: its lease has to run out.
        first.cut.cancel();
        let lease = arena.wait("the lease to change hands", "maar-toy", |lease: &Lease| holder(lease) == "second").await;
        assert_eq!(lease.spec.and_then(|spec| spec.lease_transitions), Some(1));
        arena.wait("the second to work", "book", |map: &ConfigMap| signed(map) == ["first", "second"]).await;
        second.stop.cancel();
        second.task.await.expect("no panic").expect("a clean end");
        assert_eq!(holder(&arena.get::<Lease>("maar-toy").await), "", "given back");
        first.task.abort();
    }
}

scenario! {
    async fn repeated_events_become_one(context) {
        let arena = context.arena();
        let map: ConfigMap = arena.create(object("thing", json!({}))).await;
        let (recorder, writer) =
            Recorder::new(arena.client(), "maar.io/toy", "only", Limits::default(), environment(1));
        let stop = CancellationToken::new();
        let writing = tokio::spawn(writer.run(stop.clone()));
        for _ in 0..10 {
            let news = News { severity: Severity::Warning, reason: "Odd", action: "Looking", note: "it is odd".into() };
            recorder.record(&map, news);
        }
        stop.cancel();
        writing.await.expect("no panic");
        let events: Vec<Event> = arena.list("").await;
        let odd: Vec<&Event> = events.iter().filter(|event| event.reason.as_deref() == Some("Odd")).collect();
        assert_eq!(odd.len(), 1, "{odd:#?}");
        assert_eq!(odd[0].series.as_ref().map(|series| series.count), Some(10));
        assert_eq!(odd[0].regarding.as_ref().and_then(|about| about.uid.clone()), map.metadata.uid);
    }
}
