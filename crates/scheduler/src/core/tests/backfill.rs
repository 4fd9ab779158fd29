use proptest::prelude::*;

use super::world::{World, job, world};
use crate::model::GroupId;

#[test]
fn short_work_passes_the_head_and_long_work_does_not() {
    let mut world = world().nodes(2, 8);
    world.submit(&job("running", "", 1, 8).runs(100));
    world.pass();
    let head = world.submit(&job("head", "", 2, 8).runs(50));
    world.pass_at(10);
    assert_eq!(world.core.reservations()[0].start, Some(100));
    let short = world.submit(&job("short", "", 1, 4).runs(80));
    let long = world.submit(&job("long", "", 1, 4).runs(200));
    let endless = world.submit(&job("endless", "", 1, 4));
    world.pass_at(20);
    assert_eq!((world.placed(short), world.placed(long), world.placed(endless)), (1, 0, 0));
    world.end_group(short);
    let running = world.core.ledger().find_group("running").unwrap();
    world.end_group(running);
    world.pass_at(100);
    assert_eq!(world.placed(head), 2);
    assert!(world.core.reservations().iter().all(|held| held.group != head));
}

#[test]
fn among_equals_who_must_be_over_sooner_goes_first() {
    let mut world = world().nodes(1, 8);
    let mut running = world.submit(&job("running", "", 1, 8));
    world.pass();
    let never = world.submit(&job("never", "", 1, 8));
    let late = world.submit(&job("late", "", 1, 8).due(9000));
    let soon = world.submit(&job("soon", "", 1, 8).due(8000));
    let urgent = world.submit(&job("urgent", "", 1, 8).priority(1));
    let mut order = Vec::new();
    for now in 1..=4 {
        world.end_group(running);
        world.pass_at(now);
        running = [never, late, soon, urgent].into_iter().find(|group| world.placed(*group) == 1).unwrap();
        order.push(running);
    }
    assert_eq!(order, [urgent, soon, late, never], "a priority counts more, and no deadline is the last one");
}

#[test]
fn a_deadline_is_an_end_like_the_longest_run() {
    let mut world = world().nodes(2, 8);
    world.submit(&job("running", "", 1, 8).due(100));
    world.pass();
    let head = world.submit(&job("head", "", 2, 8));
    world.pass_at(10);
    assert_eq!(world.core.reservations()[0].start, Some(100), "what runs is stopped then");
    let over_by_then = world.submit(&job("short", "", 1, 4).due(90));
    let longer = world.submit(&job("long", "", 1, 4).due(110));
    let cut = world.submit(&job("cut", "", 1, 4).runs(500).due(95));
    world.pass_at(20);
    assert_eq!([over_by_then, longer, cut].map(|group| world.placed(group)), [1, 0, 1]);
    assert_eq!(world.placed(head), 0);
}

#[test]
fn nobody_goes_for_work_that_is_too_late() {
    let mut world = world().nodes(1, 8);
    let scrap = world.submit(&job("scrap", "", 1, 8).best_effort());
    world.pass();
    let late = world.submit(&job("late", "", 1, 8).due(50));
    assert_eq!(world.pass_at(50), []);
    assert_eq!((world.placed(scrap), world.placed(late)), (1, 0));
    // More time: it is asked again.
    let group = job("late", "", 1, 8).due(60).group;
    world.core.upsert_group(group);
    assert_eq!(world.pass_at(51).len(), 1, "the other is asked to go");
}

#[test]
fn nodes_that_are_not_held_are_for_all() {
    let mut world = world().nodes(2, 8);
    world.submit(&job("running", "", 1, 8).runs(100));
    world.submit(&job("partly", "", 1, 4).runs(1000));
    world.pass();
    world.submit(&job("head", "", 1, 8));
    world.pass();
    let long = world.submit(&job("long", "", 1, 4));
    world.pass();
    assert_eq!(world.placed(long), 1, "the head waits for the other node");
}

#[test]
fn nodes_are_held_after_a_while_even_if_nobody_says_how_long() {
    let mut world = world().nodes(1, 8);
    let first = world.submit(&job("first", "", 1, 4));
    let second = world.submit(&job("second", "", 1, 4));
    world.pass();
    let head = world.submit(&job("head", "", 1, 8));
    world.pass_at(1);
    assert!(world.core.reservations().is_empty());
    let alarm = world.core.next_alarm().unwrap();
    assert_eq!(alarm, 1 + 300_000 - 1, "counted from when it was made");
    world.pass_at(alarm);
    assert_eq!(world.core.reservations()[0].start, None);
    world.end_group(first);
    let late = world.submit(&job("late", "", 1, 4));
    world.pass_at(alarm + 1);
    assert_eq!(world.placed(late), 0);
    world.end_group(second);
    world.pass_at(alarm + 2);
    assert_eq!((world.placed(head), world.placed(late)), (1, 0));
}

#[test]
fn nodes_are_not_held_against_those_whose_turn_comes_first() {
    let mut world = world().nodes(1, 8);
    world.now = 1000;
    let first = world.submit(&job("first", "", 1, 8));
    world.pass();
    let head = world.submit(&job("head", "", 1, 8));
    world.pass();
    let alarm = world.core.next_alarm().unwrap();
    world.pass_at(alarm);
    assert_eq!(world.core.reservations()[0].group, head);
    // As when a bind has failed: it was its turn before.
    let older = world.submit(&job("older", "", 1, 8).with(|group| group.created = 1));
    world.end_group(first);
    world.pass_at(alarm + 1);
    assert_eq!((world.placed(older), world.placed(head)), (1, 0));
    world.end_group(older);
    world.pass_at(alarm + 2);
    assert_eq!(world.placed(head), 1);
}

#[test]
fn what_can_never_start_holds_nothing() {
    let mut world = world().nodes(2, 8);
    world.submit(&job("huge", "", 1, 9).priority(9));
    world.submit(&job("wide", "", 3, 8).priority(9));
    let small = world.submit(&job("small", "", 1, 8));
    world.pass();
    assert_eq!(world.placed(small), 1);
    assert!(world.core.reservations().is_empty());
    world.node("big", 16, &[]);
    world.pass();
    let huge = world.core.ledger().find_group("huge").unwrap();
    assert_eq!(world.placed(huge), 1, "a new node is news");
}

#[test]
fn a_head_that_is_withdrawn_holds_nothing() {
    let mut world = world().nodes(1, 8);
    world.submit(&job("running", "", 1, 4).runs(100));
    world.pass();
    let head = world.submit(&job("head", "", 1, 8));
    world.pass();
    let long = world.submit(&job("long", "", 1, 4));
    world.pass();
    assert_eq!(world.placed(long), 0);
    world.end_group(head);
    world.core.remove_group("head");
    world.pass();
    assert_eq!(world.placed(long), 1);
}

/// Cards and run time of a job of one Pod that runs first.
type First = (u16, i64);
/// Pods, cards of each, run time and when it comes.
type Later = (u32, u16, i64, i64);

/// Jobs that run exactly as long as they may, and who waits.
struct Story {
    world: World,
    running: Vec<(GroupId, i64)>,
    waiting: Vec<(GroupId, i64)>,
}

impl Story {
    /// A cluster on which some jobs run and none waits.
    fn begin(first: &[First]) -> Self {
        let mut story = Self { world: world().nodes(4, 8), running: Vec::new(), waiting: Vec::new() };
        for (number, (cards, run)) in first.iter().enumerate() {
            let group = story.world.submit(&job(&format!("first{number}"), "", 1, *cards).runs(*run));
            story.waiting.push((group, *run));
        }
        story.pass();
        for (group, _) in std::mem::take(&mut story.waiting) {
            story.world.end_group(group);
        }
        story
    }

    fn pass(&mut self) {
        self.world.pass();
        let now = self.world.now;
        let (started, waiting) = self.waiting.iter().partition(|(group, _)| self.world.placed(*group) > 0);
        self.waiting = waiting;
        let started: Vec<(GroupId, i64)> = started;
        self.running.extend(started.into_iter().map(|(group, run)| (group, now + run)));
    }

    fn at(&mut self, now: i64) {
        self.world.now = now;
        let (over, running) = self.running.iter().partition(|(_, end)| *end <= now);
        self.running = running;
        let over: Vec<(GroupId, i64)> = over;
        for (group, _) in over {
            self.world.end_group(group);
        }
    }

    /// When the head starts, with others that come behind it, and when it was first told.
    fn head_starts(mut self, head: (u32, u16), later: &[Later]) -> (Option<i64>, Option<i64>) {
        let head = self.world.submit(&job("head", "", head.0, head.1).runs(1000));
        self.pass();
        let promised = self.world.core.reservations().first().and_then(|held| held.start);
        for now in 0..200 {
            self.at(now);
            for (number, (pods, cards, run, at)) in later.iter().enumerate() {
                if *at == now {
                    let group =
                        self.world.submit(&job(&format!("later{number}"), "", *pods, *cards).runs(*run));
                    self.waiting.push((group, *run));
                }
            }
            self.pass();
            if self.world.placed(head) > 0 {
                return (Some(now), promised);
            }
        }
        (None, promised)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever comes behind it, the head starts no later than it was told at first, and no later than if nobody else
    /// had come.
    #[test]
    fn backfill_delays_nobody(
        first in prop::collection::vec((1u16..9, 1i64..40), 4..12),
        head in (1u32..5, 1u16..9),
        later in prop::collection::vec((1u32..3, 1u16..9, 1i64..60, 0i64..40), 0..40),
    ) {
        let (alone, _) = Story::begin(&first).head_starts(head, &[]);
        let (start, promised) = Story::begin(&first).head_starts(head, &later);
        prop_assert!(alone.is_some(), "the cluster empties: it starts some time");
        prop_assert!(start.is_some() && start <= alone, "{start:?}, alone {alone:?}");
        prop_assert!(promised.is_none_or(|promised| start <= Some(promised)), "{start:?}, told {promised:?}");
    }
}
