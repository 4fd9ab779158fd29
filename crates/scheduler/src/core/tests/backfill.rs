use proptest::prelude::*;

use super::world::{job, world};
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

/// A job that runs exactly as long as it may.
struct Running {
    group: GroupId,
    end: i64,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever comes behind it, the head starts no later than it was told at first.
    #[test]
    fn backfill_delays_nobody(
        first in prop::collection::vec((1u16..9, 1i64..40), 4..12),
        head in (1u32..4, 1u16..9),
        later in prop::collection::vec((1u32..3, 1u16..9, 1i64..60, 0i64..40), 0..40),
    ) {
        let mut world = world().nodes(4, 8);
        let mut running: Vec<Running> = Vec::new();
        let mut waiting = Vec::new();
        for (number, (cards, run)) in first.iter().enumerate() {
            let group = world.submit(&job(&format!("first{number}"), "", 1, *cards).runs(*run));
            waiting.push((group, *run));
        }
        world.pass();
        waiting.retain(|(group, run)| {
            let placed = world.placed(*group) > 0;
            if placed {
                running.push(Running { group: *group, end: *run });
            }
            placed
        });
        // Those that did not start are withdrawn, so that the head is the head.
        let ids: Vec<GroupId> = world.core.ledger().groups_pending().map(|state| state.id).collect();
        for id in ids {
            world.end_group(id);
        }
        waiting.clear();
        let head = world.submit(&job("head", "", head.0, head.1).runs(1000));
        world.pass();
        let promised = world.core.reservations().first().and_then(|held| held.start);
        prop_assume!(promised.is_some());
        let promised = promised.unwrap();
        for now in 0..=promised {
            let gone: Vec<GroupId> = running.iter().filter(|one| one.end <= now).map(|one| one.group).collect();
            running.retain(|one| one.end > now);
            for group in gone {
                world.end_group(group);
            }
            world.now = now;
            for (number, (pods, cards, run, at)) in later.iter().enumerate() {
                if *at == now {
                    let group = world.submit(&job(&format!("later{number}"), "", *pods, *cards).runs(*run));
                    waiting.push((group, *run));
                }
            }
            world.pass();
            for (group, run) in &waiting {
                if world.placed(*group) > 0 && !running.iter().any(|one| one.group == *group) {
                    running.push(Running { group: *group, end: now + *run });
                }
            }
            waiting.retain(|(group, _)| world.placed(*group) == 0);
            if world.placed(head) > 0 {
                break;
            }
        }
        prop_assert!(world.placed(head) > 0, "it was to start at {}", promised);
    }
}
