//! Work that gives way: told first, stopped later, and only for somebody who then runs.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use maar_api::v1alpha1::AIJob;
use maar_testkit::build::{Build, object};
use maar_testkit::read::phase;
use maar_testkit::scenario;
use maar_testkit::scenario::Arena;
use tokio::time::Instant;

use super::gangs::{define, job, worker};
use super::setup::{give_cards, is_bound, one_of, settings, start_with};

/// Whether a notice stands on a Pod.
pub(crate) fn told(pod: &Pod) -> bool {
    pod.annotations().contains_key("maar.io/stop-at")
}

/// Six jobs that give way fill the nodes, and one that does not comes.
pub(crate) async fn one_too_many(arena: &Arena) {
    fill(arena).await;
    submit(arena, "urgent", false).await;
}

/// Six jobs that give way fill the nodes.
async fn fill(arena: &Arena) {
    for number in 0..6 {
        submit(arena, &format!("filler{number}"), true).await;
    }
    arena
        .wait_all("six to run", "", |pods: &[Pod]| {
            pods.iter().filter(|pod| phase(pod) == "Running").count() == 6
        })
        .await;
}

/// Waits until one of them has notice, and returns it.
async fn one_is_told(arena: &Arena) -> Pod {
    let one = |pods: &[Pod]| pods.iter().filter(|pod| told(pod)).count() == 1;
    let pods = arena.wait_all("one to be told", "", one).await;
    pods.into_iter().find(told).expect("one was told")
}

async fn the_claimant_goes(arena: &Arena) {
    let claimant = one_of(arena, "urgent", 0).build().name_any();
    arena.delete::<Pod>(&claimant, &kube::api::DeleteParams::default()).await;
}

async fn the_claimant_runs(arena: &Arena) {
    let runs = |pods: &[Pod]| pods.len() == 1 && pods.iter().all(|pod| phase(pod) == "Running");
    arena.wait_all("the urgent one to run", "urgent", runs).await;
}

async fn all_are_spared(arena: &Arena) {
    let spared = |pods: &[Pod]| pods.len() == 6 && !pods.iter().any(told);
    let pods = arena.wait_all("the notice to be taken back", "", spared).await;
    assert!(pods.iter().all(|pod| phase(pod) == "Running"), "nobody was stopped");
}

/// A job of one Pod that takes half a node.
async fn submit(arena: &Arena, name: &str, best_effort: bool) {
    let mut spec = job(1, 1);
    if best_effort {
        spec["serviceLevel"] = "BestEffort".into();
    }
    arena.create(object::<AIJob>(name, spec)).await;
    arena.create(worker(arena, name, 0)).await;
}

scenario! {
    async fn best_effort_work_is_told_and_makes_room(context) {
        let arena = context.arena();
        define(arena).await;
        let mut settings = settings(arena);
        settings.core.grace = 3000;
        let scheduler = start_with(arena, arena.client(), "only", settings);
        one_too_many(arena).await;
        one_is_told(arena).await;
        arena.wait::<AIJob>("why it waits to be told", "urgent", |job| {
            let status = job.status.as_ref();
            status.and_then(|status| status.queue.as_ref()?.reason.as_deref()) == Some("MakingRoom")
        }).await;
        the_claimant_runs(arena).await;
        let left = arena.list::<Pod>("").await;
        assert_eq!(left.iter().filter(|pod| is_bound(pod)).count(), 6, "one went and one came");
        scheduler.stop().await;
    }
}

scenario! {
    async fn a_claimant_that_goes_spares_those_it_asked_to_go(context) {
        let arena = context.arena();
        define(arena).await;
        let mut settings = settings(arena);
        settings.core.grace = 4000;
        let scheduler = start_with(arena, arena.client(), "only", settings);
        one_too_many(arena).await;
        one_is_told(arena).await;
        the_claimant_goes(arena).await;
        all_are_spared(arena).await;
        scheduler.stop().await;
    }
}

scenario! {
    in process only async fn a_notice_is_carried_out_when_its_process_has_died(context) {
        let arena = context.arena();
        define(arena).await;
        let mut settings = settings(arena);
        settings.core.grace = 20_000;
        let first = start_with(arena, arena.client(), "first", settings.clone());
        one_too_many(arena).await;
        let victim = one_is_told(arena).await;
        let seen = Instant::now();
        first.kill();
        let second = start_with(arena, arena.client(), "second", settings);
        arena.wait("the victim to be stopped", &victim.name_any(), |pod: &Pod| {
            pod.metadata.deletion_timestamp.is_some()
        }).await;
        // The second leads three seconds later. It goes by what the victim was told.
        let late = seen.elapsed().as_secs_f64();
        assert!((19.0..21.5).contains(&late), "it was told 20 seconds, and got {late}");
        the_claimant_runs(arena).await;
        let left = arena.list::<Pod>("").await;
        assert_eq!((left.len(), left.iter().filter(|pod| told(pod)).count()), (6, 0), "one went and one came");
        second.stop().await;
    }
}

scenario! {
    async fn a_notice_is_taken_back_when_its_process_has_died_and_nobody_needs_it(context) {
        let arena = context.arena();
        define(arena).await;
        let mut settings = settings(arena);
        settings.core.grace = 8000;
        let first = start_with(arena, arena.client(), "first", settings.clone());
        one_too_many(arena).await;
        one_is_told(arena).await;
        first.kill();
        the_claimant_goes(arena).await;
        let second = start_with(arena, arena.client(), "second", settings);
        all_are_spared(arena).await;
        second.stop().await;
    }
}

scenario! {
    async fn who_was_told_by_a_process_that_died_goes_and_nobody_else(context) {
        let arena = context.arena();
        define(arena).await;
        let mut settings = settings(arena);
        settings.core.grace = 4000;
        let first = start_with(arena, arena.client(), "first", settings.clone());
        fill(arena).await;
        first.kill();
        // The one that a fresh choice would take last: it was there first. Its notice is what the first left behind.
        let notice = serde_json::json!({"metadata": {"annotations": {
            "maar.io/stop-at": "2020-01-01T00:00:00Z", "maar.io/stop-reason": "Preempted"}}});
        arena.patch::<Pod>("filler0-0", notice).await;
        submit(arena, "urgent", false).await;
        let second = start_with(arena, arena.client(), "second", settings);
        arena.wait_gone::<Pod>("the one that was told to go", "filler0-0").await;
        the_claimant_runs(arena).await;
        let left = arena.list::<Pod>("").await;
        let fillers = left.iter().filter(|pod| pod.name_any().starts_with("filler"));
        assert_eq!(fillers.filter(|pod| phase(pod) == "Running" && !told(pod)).count(), 5, "nobody else was asked");
        second.stop().await;
    }
}

/// A Pod without a job, with one card, that goes as soon as it is asked to.
fn single(arena: &Arena, app: &str, number: usize) -> Build<Pod> {
    one_of(arena, app, number)
        .request("nvidia.com/gpu", "1")
        .pod_set("/spec/terminationGracePeriodSeconds", 0)
}

scenario! {
    in process only async fn a_reclaimed_card_costs_an_eviction_and_a_bind(context) {
        let arena = context.arena();
        give_cards(arena, 4).await;
        let mut settings = settings(arena);
        settings.core.grace = 0;
        let filling = start_with(arena, arena.client(), "first", settings.clone());
        for number in 0..12 {
            let holder = single(arena, "holder", number);
            arena.create(holder.set("/metadata/labels/maar.io~1service-level", "best-effort")).await;
        }
        let running = |app: &'static str| async move {
            arena.wait_all("all twelve to run", app, |pods: &[Pod]| {
                pods.iter().filter(|pod| phase(pod) == "Running").count() == 12
            }).await;
        };
        running("holder").await;
        filling.stop().await;
        for number in 0..12 {
            arena.create(single(arena, "claimant", number)).await;
        }
        let faults = arena.embedded().expect("in process").faults();
        let scheduler = start_with(arena, faults.wrap("scheduler", arena.client()), "second", settings);
        running("claimant").await;
        scheduler.stop().await;
        let entries = faults.log().entries();
        let writes = entries.iter().map(|entry| &entry.subject).filter(|subject| {
            &*subject.component == "scheduler" && subject.is_write() && !subject.resource.starts_with("leases")
        });
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for subject in writes {
            *counts.entry(format!("{} {}", subject.resource, subject.subresource)).or_default() += 1;
        }
        let count = |what: &str| counts.get(what).copied().unwrap_or_default();
        assert_eq!((count("pods eviction"), count("pods binding")), (12, 12), "{counts:?}");
        assert!(counts.values().sum::<usize>() <= 2 * 12 + 2, "{counts:?}");
    }
}

scenario! {
    in process only async fn a_job_that_gives_way_at_once_still_reads_why(context) {
        let arena = context.arena();
        define(arena).await;
        let mut settings = settings(arena);
        settings.core.grace = 0;
        let scheduler = start_with(arena, arena.client(), "only", settings);
        fill(arena).await;
        for number in 0..6 {
            // So that there is something left to be read when it has gone.
            let kept = serde_json::json!({"metadata": {"finalizers": ["example.com/kept"]}});
            arena.patch::<Pod>(&format!("filler{number}-0"), kept).await;
        }
        submit(arena, "urgent", false).await;
        arena.wait_all("the urgent one to run", "urgent", |pods: &[Pod]| {
            pods.len() == 1 && pods.iter().all(|pod| phase(pod) == "Running")
        }).await;
        let pods = arena.list::<Pod>("").await;
        let gone: Vec<&Pod> = pods.iter().filter(|pod| pod.metadata.deletion_timestamp.is_some()).collect();
        assert_eq!(gone.len(), 1, "one went and one came");
        let why = gone[0].annotations().get("maar.io/stop-reason");
        assert_eq!(why.map(String::as_str), Some("Preempted"), "its controller would take it for lost");
        scheduler.stop().await;
    }
}
