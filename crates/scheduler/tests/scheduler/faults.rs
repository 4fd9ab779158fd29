//! Trouble between the scheduler and the server, and its end in the middle of everything.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use maar_api::v1alpha1::AIJob;
use maar_embedded::{Chances, Fault, Moment, Rule};
use maar_testkit::build::{Build, object};
use maar_testkit::read::phase;
use maar_testkit::sample::sample;
use maar_testkit::scenario;
use maar_testkit::scenario::{Arena, Context};

use super::gangs::{define, job, worker};
use super::preemption::{one_too_many, told};
use super::setup::{cards, give_cards, is_bound, lead, name, one_of, run_with, settings, start};
use super::volumes::{each_has_its_own, three_for_three};
use super::witness::Witness;

/// Pods with cards and a gang: twelve cards on three nodes, all of which are taken in the end.
async fn work(arena: &Arena) {
    give_cards(arena, 4).await;
    define(arena).await;
    gang(arena).await;
    singles(arena, 0..6).await;
}

/// A gang of three with two cards each.
pub(crate) async fn gang(arena: &Arena) {
    arena.create(object::<AIJob>("gang", job(3, 3))).await;
    for number in 0..3 {
        arena.create(member(arena, number)).await;
    }
}

/// One of the gang.
pub(crate) fn member(arena: &Arena, number: usize) -> Build<Pod> {
    worker(arena, "gang", number).request("cpu", "1").request("nvidia.com/gpu", "2")
}

/// Pods with one card each.
pub(crate) async fn singles(arena: &Arena, numbers: impl Iterator<Item = usize>) {
    for number in numbers {
        arena.create(one_of(arena, "train", number).request("nvidia.com/gpu", "1")).await;
    }
}

/// Waits until all is placed, and checks that no card was given out twice and no node holds too many.
pub(crate) async fn settled(arena: &Arena) {
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
async fn crash_at(what: What, number: u64, moment: Moment) -> bool {
    // The body of a scenario takes no arguments, and tests of this file run side by side: one place for each thread.
    thread_local! {
        static CRASH: Cell<(What, Moment)> = const { Cell::new((What::Cards, Moment::Before)) };
        static STARTS: Cell<u64> = const { Cell::new(0) };
    }
    fn body<'a>(context: &'a Context) -> std::pin::Pin<Box<dyn Future<Output = ()> + 'a>> {
        Box::pin(async move {
            let arena = context.arena();
            let faults = arena.embedded().expect("in process").faults();
            let (what, moment) = CRASH.get();
            let crash = Rule::new(Fault::Crash(moment)).component("scheduler").writes();
            faults.script(crash.nth(super::setup::number()));
            let (mut settings, namespace) = (settings(arena), arena.namespace().to_owned());
            settings.core.grace = 3000;
            let witness = Witness::of(arena);
            define(arena).await;
            let component = faults.run("scheduler", Duration::from_secs(4), move |client| {
                lead(client, settings.clone(), "process".to_owned(), namespace.clone())
            });
            match what {
                What::Cards => {
                    work(arena).await;
                    settled(arena).await;
                }
                What::Preemption => {
                    one_too_many(arena).await;
                    made_room(arena).await;
                }
                What::Volumes => {
                    three_for_three(arena).await;
                    each_has_its_own(arena, 3).await;
                }
            }
            STARTS.set(component.starts());
            assert_eq!(witness.finish(), [""; 0]);
            component.stop().await;
        })
    }
    CRASH.set((what, moment));
    run_with(number, "crash", body).await;
    STARTS.get() > 1
}

/// What the scheduler is busy with when it crashes.
#[derive(Clone, Copy, Debug)]
enum What {
    /// Cards and a gang.
    Cards,
    /// Work that gives way.
    Preemption,
    /// Claims that get volumes made beforehand.
    Volumes,
}

/// The claimant runs in the place of one other, and nobody is left with a notice.
async fn made_room(arena: &Arena) {
    arena
        .until("the urgent one to run in the place of one other", async || {
            let pods = arena.list::<Pod>("").await;
            let running = |pod: &Pod| phase(pod) == "Running" && pod.metadata.deletion_timestamp.is_none();
            let urgent = pods.iter().any(|pod| pod.name_any() == "urgent-0" && running(pod));
            let good = urgent && pods.len() == 6 && pods.iter().all(running) && !pods.iter().any(told);
            if good {
                Ok(())
            } else {
                Err(format!(
                    "{} Pods, of which {} are told",
                    pods.len(),
                    pods.iter().filter(|pod| told(pod)).count()
                ))
            }
        })
        .await;
}

/// Before and after each of its writes until all is placed: the lease, the binds, notices, evictions, events.
async fn crash_everywhere(what: What, least: u64) {
    for moment in [Moment::Before, Moment::After] {
        for number in sample(1..=least) {
            assert!(crash_at(what, number, moment).await, "{what:?}: less than {number} writes were met");
        }
        // How many there are in all is known at their end.
        for number in sample(least + 1..=1000) {
            if !crash_at(what, number, moment).await {
                break;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_write_ends_in_the_same_state() {
    crash_everywhere(What::Cards, 9).await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_write_of_a_preemption_ends_in_the_same_state() {
    crash_everywhere(What::Preemption, 9).await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_write_gives_no_volume_twice() {
    crash_everywhere(What::Volumes, 6).await;
}
