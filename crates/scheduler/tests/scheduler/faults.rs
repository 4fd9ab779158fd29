//! Trouble between the scheduler and the server, and its end in the middle of everything.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use maar_api::v1alpha1::AIJob;
use maar_embedded::{Chances, Fault, Moment, Rule};
use maar_testkit::build::object;
use maar_testkit::scenario;
use maar_testkit::scenario::Arena;

use super::gangs::{define, job, worker};
use super::setup::{cards, give_cards, is_bound, lead, name, one_of, settings, start};

/// Pods with cards and a gang: twelve cards on three nodes, all of which are taken in the end.
async fn work(arena: &Arena) {
    give_cards(arena, 4).await;
    define(arena).await;
    arena.create(object::<AIJob>("gang", job(3, 3))).await;
    for number in 0..3 {
        arena.create(worker(arena, "gang", number).request("cpu", "1").request("nvidia.com/gpu", "2")).await;
    }
    for number in 0..6 {
        arena.create(one_of(arena, "train", number).request("nvidia.com/gpu", "1")).await;
    }
}

/// Waits until all is placed, and checks that no card was given out twice and no node holds too many.
async fn settled(arena: &Arena) {
    let pods = arena
        .until("all to be placed", async || {
            let pods = arena.list::<Pod>("").await;
            let bound = pods.iter().filter(|pod| is_bound(pod)).count();
            if bound == 9 { Ok(pods) } else { Err(format!("{bound} of {} are bound", pods.len())) }
        })
        .await;
    let mut taken: BTreeMap<(String, u16), String> = BTreeMap::new();
    for pod in &pods {
        let text = cards(pod);
        let (node, given) =
            text.split_once(" nvidia.com/gpu=").unwrap_or_else(|| panic!("{}: {text}", pod.name_any()));
        for index in given.split(',') {
            let card = (node.to_owned(), index.parse().expect("the number of a card"));
            if let Some(other) = taken.insert(card.clone(), pod.name_any()) {
                panic!("{card:?} belongs to {other} and {}", pod.name_any());
            }
        }
    }
    assert_eq!(taken.len(), 12);
}

scenario! {
    in process only async fn conflicts_throttling_and_lost_answers_place_nothing_twice(context) {
        let arena = context.arena();
        let faults = arena.embedded().expect("in process").faults();
        for (number, fault) in [
            (1, Fault::LostAnswer),
            (2, Fault::Conflict),
            (3, Fault::TooManyRequests { retry_seconds: 2 }),
            (4, Fault::InternalError),
            (5, Fault::LostAnswer),
            (6, Fault::Slow(Duration::from_secs(15))),
        ] {
            faults.script(Rule::new(fault).component("scheduler").subresource("binding").nth(number));
        }
        // The Pod cannot be read back at first either.
        faults.script(Rule::new(Fault::InternalError).component("scheduler").verb("get").resource("pods").times(3));
        let scheduler = start(arena, faults.wrap("scheduler", arena.client()), "only");
        work(arena).await;
        settled(arena).await;
        scheduler.stop().await;
    }
}

scenario! {
    in process only async fn late_dropped_and_repeated_watches_and_stale_lists_do_no_harm(context) {
        let arena = context.arena();
        let faults = arena.embedded().expect("in process").faults();
        let scheduler = start(arena, faults.wrap("scheduler", arena.client()), "only");
        let pods = |fault| Rule::new(fault).component("scheduler").resource("pods");
        faults.script(pods(Fault::RepeatedWatch { events: 3 }).verb("watch").times(1));
        faults.script(pods(Fault::DroppedWatch { after: 5 }).verb("watch").nth(2).times(3));
        faults.script(pods(Fault::LateWatch(Duration::from_secs(4))).verb("watch").nth(5).times(2));
        faults.script(pods(Fault::StaleList { behind: 6 }).verb("list").nth(2).times(2));
        work(arena).await;
        settled(arena).await;
        scheduler.stop().await;
    }
}

scenario! {
    in process only async fn random_trouble_delays_work_and_loses_none(context) {
        let arena = context.arena();
        let faults = arena.embedded().expect("in process").faults();
        faults.by_seed(11, Chances { crash: 0.02, ..Chances::ROUGH });
        let (settings, namespace) = (settings(arena), arena.namespace().to_owned());
        let component = faults.run(&name(arena), Duration::from_secs(5), move |client| {
            lead(client, settings.clone(), "process".to_owned(), namespace.clone())
        });
        work(arena).await;
        tokio::time::sleep(Duration::from_mins(10)).await;
        faults.calm();
        settled(arena).await;
        component.stop().await;
    }
}

/// Crashes the scheduler at its `number`-th write; tells whether it got so far.
async fn crash_at(number: u64, moment: Moment) -> bool {
    use maar_testkit::scenario::{Context, On, run};
    use std::sync::atomic::{AtomicU64, Ordering};
    // The body of a scenario takes no arguments, and tests of this file run side by side: one place for each thread.
    thread_local! {
        static CRASH: std::cell::Cell<(u64, bool)> = const { std::cell::Cell::new((0, false)) };
        static STARTS: AtomicU64 = const { AtomicU64::new(0) };
    }
    fn body<'a>(context: &'a Context) -> std::pin::Pin<Box<dyn Future<Output = ()> + 'a>> {
        Box::pin(async move {
            let arena = context.arena();
            let faults = arena.embedded().expect("in process").faults();
            let (number, before) = CRASH.get();
            let moment = if before { Moment::Before } else { Moment::After };
            faults.script(Rule::new(Fault::Crash(moment)).component("scheduler").writes().nth(number));
            let (settings, namespace) = (settings(arena), arena.namespace().to_owned());
            let component = faults.run("scheduler", Duration::from_secs(4), move |client| {
                lead(client, settings.clone(), "process".to_owned(), namespace.clone())
            });
            work(arena).await;
            settled(arena).await;
            STARTS.with(|starts| starts.store(component.starts(), Ordering::Relaxed));
            component.stop().await;
        })
    }
    CRASH.set((number, moment == Moment::Before));
    run(On::InProcess, "crash", 1, body).await;
    STARTS.with(|starts| starts.load(Ordering::Relaxed)) > 1
}

/// Before and after each of its writes until all is placed: the lease, the binds, events.
#[tokio::test(start_paused = true)]
async fn a_crash_at_any_write_ends_in_the_same_state() {
    for moment in [Moment::Before, Moment::After] {
        let mut number = 1;
        while crash_at(number, moment).await {
            number += 1;
        }
        assert!(number > 9, "only {number} writes were met");
    }
}
