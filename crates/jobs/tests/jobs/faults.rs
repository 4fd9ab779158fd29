//! Trouble between the role and the server, and its end in the middle of everything: the checks of a simulator.

use std::time::Duration;

use k8s_openapi::api::core::v1::Service;
use kube::{
    Api, ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use maar_api::v1alpha1::JobPhase;
use maar_embedded::{Chances, Fault, Moment, Rule};
use maar_testkit::sample::{sample, sampled};
use serde_json::json;
use tokio::time::sleep;

use super::world::{NAMESPACE, World, task};

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
    let before = world.writes();
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
    (end, world.writes() - before, world.role.starts())
}

// Two tests, so that two processors share what takes longest here.
#[tokio::test(start_paused = true)]
async fn a_crash_before_any_write_changes_nothing_in_the_end() {
    crash_at_every_write(Moment::Before).await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_after_any_write_changes_nothing_in_the_end() {
    crash_at_every_write(Moment::After).await;
}

async fn crash_at_every_write(moment: Moment) {
    let (want, count, starts) = story(None).await;
    assert_eq!((want.phase, want.retries, starts), (JobPhase::Completed, 1, 1));
    assert!(count > 10, "{count} writes");
    for nth in sample(1..=count) {
        let rule = Rule::new(Fault::Crash(moment)).component("jobs").writes().nth(nth);
        let (end, _, starts) = story(Some(rule)).await;
        assert_eq!(end, want, "a crash {moment:?} write {nth}");
        assert!(starts >= 1);
    }
}

#[tokio::test(start_paused = true)]
async fn every_fault_at_every_write_changes_nothing_in_the_end() {
    let (want, count, _) = story(None).await;
    let faults = [
        Fault::LostAnswer,
        Fault::Conflict,
        Fault::TooManyRequests { retry_seconds: 1 },
        Fault::InternalError,
        Fault::Slow(Duration::from_secs(20)),
    ];
    let kinds = sample(0..=u64::try_from(faults.len() - 1).unwrap());
    for kind in kinds.map(|kind| usize::try_from(kind).unwrap()) {
        let fault = &faults[kind];
        // Lost answers everywhere, the others at every third write, each kind at other ones.
        let step = if kind == 0 { 1 } else { 3 };
        let nths: Vec<u64> = (1 + u64::try_from(kind).unwrap() % 3..=count).step_by(step).collect();
        for nth in sample(1..=u64::try_from(nths.len()).unwrap()) {
            let nth = nths[usize::try_from(nth - 1).unwrap()];
            let rule = Rule::new(fault.clone()).component("jobs").writes().nth(nth);
            assert_eq!(story(Some(rule)).await.0, want, "{fault:?} at write {nth}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn stale_lists_late_dropped_and_repeated_watches_change_nothing_in_the_end() {
    let (want, ..) = story(None).await;
    for resource in sample(1..=2).map(|number| if number == 1 { "pods" } else { "aijobs.maar.io" }) {
        let of = |fault| Rule::new(fault).component("jobs").resource(resource);
        let late = of(Fault::LateWatch(Duration::from_secs(3))).verb("watch").times(100);
        assert_eq!(story(Some(late)).await.0, want, "late watches of {resource}");
        let stale = of(Fault::StaleList { behind: 20 }).verb("list").times(100);
        assert_eq!(story(Some(stale)).await.0, want, "stale lists of {resource}");
        for after in sample(1..=3).map(|point| 2_u64.pow(u32::try_from(point).unwrap()) - 1) {
            let dropped = of(Fault::DroppedWatch { after }).verb("watch").times(50);
            assert_eq!(story(Some(dropped)).await.0, want, "watches of {resource} that end after {after}");
            let repeated =
                of(Fault::RepeatedWatch { events: usize::try_from(after).unwrap() }).verb("watch").times(50);
            assert_eq!(story(Some(repeated)).await.0, want, "watches of {resource} that repeat {after}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn random_trouble_delays_work_and_loses_none() {
    for seed in sample(1..=5) {
        let world = World::new(seed).await;
        world.cluster.faults().by_seed(seed, Chances { crash: 0.02, ..Chances::ROUGH });
        world.cluster.faults().chances_of("kubelets", Chances::NONE);
        for number in 0..3 {
            let tasks = json!([task("main", 2, &[("run-time", "60s")])]);
            world.submit(&format!("job-{number}"), json!({ "tasks": tasks, "retries": 3 })).await;
        }
        sleep(Duration::from_mins(10)).await;
        world.cluster.faults().calm();
        for number in 0..3 {
            let status = world.reaches(&format!("job-{number}"), JobPhase::Completed).await;
            assert_eq!(status.retries, 0, "seed {seed}: nothing failed by itself");
        }
        let before = world.writes();
        sleep(Duration::from_hours(1)).await;
        assert_eq!(world.writes(), before, "seed {seed}: it comes to rest");
    }
}

#[tokio::test(start_paused = true)]
async fn other_orders_come_to_the_same_objects() {
    let submit = async |world: &World, name: &str, replicas: i32| {
        world.submit(name, json!({ "tasks": [task("main", replicas, &[])] })).await;
        sleep(Duration::from_secs(10)).await;
    };
    // At once as it shall be; and by detours.
    let straight = World::new(9).await;
    submit(&straight, "a", 3).await;
    submit(&straight, "b", 2).await;
    let winding = World::new(9).await;
    submit(&winding, "b", 4).await;
    submit(&winding, "a", 1).await;
    winding.change("a", json!({ "suspend": true })).await;
    winding.reaches("a", JobPhase::Suspended).await;
    winding.change("b", json!({ "tasks": [task("main", 2, &[])] })).await;
    winding.change("a", json!({ "suspend": false, "tasks": [task("main", 3, &[])] })).await;
    let mut ends = Vec::new();
    for world in [&straight, &winding] {
        world.reaches("a", JobPhase::Running).await;
        world.reaches("b", JobPhase::Running).await;
        sleep(Duration::from_mins(2)).await;
        let services: Api<Service> = Api::namespaced(world.client.clone(), NAMESPACE);
        let services = services.list(&ListParams::default().labels("maar.io/job")).await.unwrap();
        let services: Vec<String> = services.items.iter().map(ResourceExt::name_any).collect();
        let ready = (world.status("a").await.ready, world.status("b").await.ready);
        ends.push((world.pod_names().await, services, ready));
    }
    assert_eq!(ends[0], ends[1]);
}

/// Everything that happened in a rough time, as one number.
async fn hash(seed: u64) -> String {
    let world = World::new(seed).await;
    world.cluster.faults().by_seed(seed, Chances { crash: 0.02, ..Chances::ROUGH });
    for number in 0..3 {
        let tasks = json!([task("main", 2, &[("run-time", "60s")])]);
        world.submit(&format!("job-{number}"), json!({ "tasks": tasks, "retries": 3 })).await;
    }
    sleep(if sampled() { Duration::from_mins(15) } else { Duration::from_hours(1) }).await;
    world.cluster.faults().log().hash()
}

#[test]
fn one_seed_is_one_history() {
    // Each history in a runtime of its own: what is left of one must not reach into the next.
    let run = |seed: u64| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.unwrap().block_on(hash(seed))
    };
    let first = run(3);
    assert_eq!(first, run(3));
    assert_ne!(first, run(4));
}

#[tokio::test(start_paused = true)]
async fn quiet_rounds_write_nothing() {
    let world = World::new(10).await;
    world.submit("long", json!({ "tasks": [task("main", 3, &[])], "maxRunSeconds": 100_000 })).await;
    world.reaches("long", JobPhase::Running).await;
    sleep(Duration::from_mins(2)).await;
    let before = world.writes();
    sleep(Duration::from_hours(if sampled() { 2 } else { 12 })).await;
    assert_eq!(world.writes(), before);
}

/// Two that lead at once, the second with a view that lags behind: preconditions are all that stands between them.
#[tokio::test(start_paused = true)]
async fn two_leaders_count_and_make_nothing_twice() {
    for lag in [0, 2, 10] {
        let world = World::new(12).await;
        let late =
            Rule::new(Fault::LateWatch(Duration::from_secs(lag))).component("old").verb("watch").times(1000);
        world.cluster.faults().script(late);
        let _old = world.another("old");
        let tasks = json!([task("launcher", 1, &[("run-time", "60s")]), task("worker", 2, &[])]);
        world
            .submit("train", json!({ "type": "MPI", "tasks": tasks, "retries": 5, "backoffSeconds": 1 }))
            .await;
        for failure in 1..=2 {
            let again = async || {
                let status = world.status("train").await;
                status.phase == JobPhase::Running && status.attempt == failure - 1
            };
            while !again().await {
                sleep(Duration::from_secs(1)).await;
            }
            let fail =
                Patch::Merge(json!({ "metadata": { "annotations": { "sim.maar.io/fail-now": "1" } } }));
            world.pods().patch("train-worker-1", &PatchParams::default(), &fail).await.unwrap();
        }
        let status = world.reaches("train", JobPhase::Completed).await;
        assert_eq!((status.retries, status.attempt), (2, 2), "behind by {lag} seconds");
    }
}
