//! What holds whatever the order, the company and the day: the same end from other beginnings, silence when all is done,
//! one history per seed, and nobody who suffers for a hostile object.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use maar_api::v1alpha1::{AIJob, Account};
use maar_embedded::{Chances, Faults, LogEntry};
use maar_testkit::build::object;
use maar_testkit::read::phase;
use maar_testkit::scenario;
use maar_testkit::scenario::{Arena, Context};
use serde_json::json;

use super::faults::{gang, settled, singles};
use super::gangs::{define, job, worker};
use super::setup::{
    Scheduler, cards, from_epoch, give_cards, is_bound, lead, number, one_of, ours, run_with, settings, start,
};
use super::witness::Witness;

/// What a scheduler wrote since a point of the log, other than its lease.
fn writes(faults: &Faults, since: u64) -> Vec<LogEntry> {
    let entries = faults.log().entries();
    let mine = entries.into_iter().skip(usize::try_from(since).expect("a count"));
    mine.filter(|entry| &*entry.subject.component == "scheduler" && entry.subject.is_write())
        .filter(|entry| entry.subject.resource != "leases.coordination.k8s.io")
        .collect()
}

/// Brings nodes, jobs, Pods and the scheduler in one of several orders.
async fn arrive(arena: &Arena, order: u64) -> Scheduler {
    let client = || arena.embedded().expect("in process").faults().wrap("scheduler", arena.client());
    define(arena).await;
    if order == 0 {
        give_cards(arena, 4).await;
        gang(arena).await;
        singles(arena, 0..6).await;
        return start(arena, client(), "only");
    }
    let scheduler = start(arena, client(), "only");
    match order {
        1 => {
            singles(arena, 0..6).await;
            tokio::time::sleep(Duration::from_secs(5)).await;
            give_cards(arena, 4).await;
            gang(arena).await;
        }
        2 => {
            give_cards(arena, 4).await;
            singles(arena, 3..6).await;
            // The Pods of the gang first, and the object that says what they are later.
            for number in 0..3 {
                arena.create(super::faults::member(arena, number)).await;
            }
            tokio::time::sleep(Duration::from_secs(5)).await;
            singles(arena, 0..3).await;
            arena.create(object::<AIJob>("gang", job(3, 3))).await;
        }
        _ => {
            gang(arena).await;
            singles(arena, (0..6).rev()).await;
            tokio::time::sleep(Duration::from_secs(5)).await;
            give_cards(arena, 4).await;
        }
    }
    scheduler
}

#[tokio::test(start_paused = true)]
async fn other_orders_of_arrival_end_alike_and_with_as_many_writes() {
    fn body<'a>(context: &'a Context) -> std::pin::Pin<Box<dyn Future<Output = ()> + 'a>> {
        Box::pin(async move {
            let arena = context.arena();
            let witness = Witness::of(arena);
            let scheduler = arrive(arena, number()).await;
            settled(arena).await;
            tokio::time::sleep(Duration::from_mins(5)).await;
            settled(arena).await;
            let written = writes(&arena.embedded().expect("in process").faults(), 0);
            let count = |subresource: &str| {
                written.iter().filter(|entry| entry.subject.subresource == subresource).count()
            };
            assert_eq!((count("binding"), count("eviction")), (9, 0), "order {}", number());
            assert_eq!(witness.finish(), [""; 0]);
            scheduler.stop().await;
        })
    }
    for order in 0..4 {
        run_with(order, "orders", body).await;
    }
}

scenario! {
    in process only async fn nothing_is_written_when_nothing_happens(context) {
        let arena = context.arena();
        let faults = arena.embedded().expect("in process").faults();
        define(arena).await;
        give_cards(arena, 4).await;
        gang(arena).await;
        singles(arena, 0..6).await;
        // One that waits for others to end, one that fits nowhere, one that cannot be understood.
        arena.create(object::<AIJob>("waits", job(2, 2))).await;
        for number in 0..2 {
            arena.create(worker(arena, "waits", number).request("nvidia.com/gpu", "4")).await;
        }
        arena.create(ours(arena, "giant").request("cpu", "100")).await;
        arena.create(ours(arena, "odd").set("/metadata/annotations/maar.io~1card-share", "much")).await;
        faults.by_seed(3, Chances { crash: 0.0, ..Chances::ROUGH });
        let scheduler = start(arena, faults.wrap("scheduler", arena.client()), "only");
        arena.wait::<AIJob>("why it waits to be told", "waits", |job| {
            job.status.as_ref().is_some_and(|status| status.queue.is_some())
        }).await;
        faults.calm();
        tokio::time::sleep(Duration::from_mins(10)).await;
        let since = faults.log().count();
        tokio::time::sleep(Duration::from_mins(20)).await;
        let written: Vec<String> = writes(&faults, since).iter().map(ToString::to_string).collect();
        assert_eq!(written, [""; 0]);
        scheduler.stop().await;
    }
}

/// Half an hour of a busy cluster under random trouble; its history as one number.
fn history(seed: u64) -> String {
    thread_local! {
        static HISTORY: std::cell::RefCell<String> = const { std::cell::RefCell::new(String::new()) };
    }
    fn body<'a>(context: &'a Context) -> std::pin::Pin<Box<dyn Future<Output = ()> + 'a>> {
        Box::pin(async move {
            let arena = context.arena();
            let faults = arena.embedded().expect("in process").faults();
            define(arena).await;
            faults.by_seed(number(), Chances { crash: 0.02, ..Chances::ROUGH });
            let (settings, namespace) = (settings(arena), arena.namespace().to_owned());
            let component = faults.run("scheduler", Duration::from_secs(5), move |client| {
                lead(client, settings.clone(), "process".to_owned(), namespace.clone())
            });
            give_cards(arena, 4).await;
            gang(arena).await;
            singles(arena, 0..9).await;
            tokio::time::sleep(Duration::from_mins(30)).await;
            component.stop().await;
            HISTORY.set(format!("{} requests, {}", faults.log().count(), faults.log().hash()));
        })
    }
    // A thread and a clock of its own: nothing of an earlier run is left.
    let run = std::thread::spawn(move || {
        from_epoch();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.expect("a runtime").block_on(run_with(seed, "history", body));
        HISTORY.take()
    });
    run.join().expect("no panic")
}

#[test]
fn a_seed_has_one_history() {
    let seed = 2026;
    let first = history(seed);
    assert_eq!(first, history(seed), "seed {seed}");
    assert_ne!(first, history(seed + 1), "another seed should be another day");
}

/// Objects of people who mean no good, or cannot write; the rest works on.
async fn hostile(arena: &Arena) {
    let nobody =
        json!([{"apiVersion": "v1", "kind": "Pod", "name": "nobody", "uid": "0", "controller": true}]);
    let hostile = [
        ours(arena, "claims-cards").set("/metadata/annotations/maar.io~1cards", "nvidia.com/gpu=0,1,2,3"),
        ours(arena, "negative").set("/metadata/annotations/maar.io~1card-share", "nvidia.com/gpu=-1"),
        ours(arena, "no-card")
            .set("/metadata/annotations/maar.io~1card-share", "nvidia.com/gpu=0.5")
            .set("/metadata/annotations/maar.io~1card-index", "99"),
        ours(arena, "orphan").set("/metadata/ownerReferences", nobody),
        ours(arena, "no-group").set("/metadata/labels/maar.io~1job", "no-such-job"),
        ours(arena, "no-account").set("/metadata/labels/maar.io~1account", "nobody-at-all"),
        ours(arena, "no-level").set("/metadata/labels/maar.io~1service-level", "king"),
        ours(arena, "forever").set("/metadata/annotations/maar.io~1max-run-time", "-9223372036854775808"),
        ours(arena, "told")
            .set("/metadata/annotations/maar.io~1stop-at", "yesterday")
            .set("/metadata/annotations/maar.io~1stop-reason", "Preempted"),
        ours(arena, "huge").request("nvidia.com/gpu", "1000000000"),
        ours(arena, "node-by-name")
            .pod_set("/spec/nodeSelector", json!({"kubernetes.io/hostname": "no-such-node"})),
    ];
    for pod in hostile {
        arena.create(pod).await;
    }
    for (name, spec) in [
        ("circle", json!({"parent": "circle", "weight": 1})),
        ("child", json!({"parent": "no-such-account", "deserved": {"nvidia.com/gpu": "1"}})),
    ] {
        let name = format!("{name}-{}", arena.namespace());
        let account: Result<Account, _> =
            serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec}));
        if let Ok(account) = account {
            let api: kube::Api<Account> = kube::Api::all(arena.client());
            let _ = api.create(&kube::api::PostParams::default(), &account).await;
        }
    }
    let node = arena.node_names().remove(0);
    arena
        .patch_node(
            &node,
            json!({"metadata": {
                "annotations": {"maar.io/closes-at": "when the sun sets"},
                "labels": {"nvidia.com/gpu.memory": "lots", "maar.io/pool": ""},
            }}),
        )
        .await;
}

scenario! {
    in process only async fn hostile_objects_harm_only_themselves(context) {
        let arena = context.arena();
        define(arena).await;
        give_cards(arena, 4).await;
        let witness = Witness::of(arena);
        let scheduler = start(arena, arena.client(), "only");
        hostile(arena).await;
        tokio::time::sleep(Duration::from_secs(30)).await;
        gang(arena).await;
        singles(arena, 0..6).await;
        let pods = arena.wait_all("all others to run", "", |pods: &[Pod]| {
            let fine = |pod: &&Pod| pod.name_any().starts_with("gang-") || pod.name_any().starts_with("train-");
            pods.iter().filter(fine).filter(|pod| phase(pod) == "Running").count() == 9
        }).await;
        assert!(pods.iter().any(|pod| pod.name_any() == "claims-cards" && is_bound(pod)), "it was no danger");
        let found = witness.finish();
        assert!(found.iter().all(|fault| fault.contains("claims-cards")), "{found:?}");
        // Nor does one that has a card get another's by saying so, or have it stopped.
        let other = cards(pods.iter().find(|pod| pod.name_any() == "train-1").expect("it runs"));
        let claim = other.split_once(' ').map(|(_, cards)| cards.to_owned()).unwrap_or_default();
        arena.patch::<Pod>("train-0", json!({"metadata": {"annotations": {"maar.io/cards": claim}}})).await;
        tokio::time::sleep(Duration::from_mins(1)).await;
        for number in 0..6 {
            let pod = arena.get::<Pod>(&format!("train-{number}")).await;
            assert!(phase(&pod) == "Running" && pod.metadata.deletion_timestamp.is_none(), "{pod:?}");
        }
        // Whoever comes later still runs.
        arena.create(one_of(arena, "later", 0)).await;
        arena.wait("one that comes later to run", "later-0", |pod: &Pod| phase(pod) == "Running").await;
        scheduler.stop().await;
    }
}
