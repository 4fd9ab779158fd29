//! Processes that come and go: restarts, and leaders who do not know that they are none.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use maar_testkit::read::phase;
use maar_testkit::scenario;

use super::setup::{cards, give_cards, is_bound, one_of, start};

scenario! {
    async fn a_new_process_goes_on_where_the_old_one_ended(context) {
        let arena = context.arena();
        give_cards(arena, 4).await;
        let first = start(arena, arena.client(), "first");
        for number in 0..6 {
            arena.create(one_of(arena, "train", number).request("nvidia.com/gpu", "1")).await;
        }
        arena.wait_all("the first ones to run", "train", |pods: &[Pod]| {
            pods.len() == 6 && pods.iter().all(|pod| phase(pod) == "Running")
        }).await;
        first.kill();
        for number in 6..13 {
            arena.create(one_of(arena, "train", number).request("nvidia.com/gpu", "1")).await;
        }
        let second = start(arena, arena.client(), "second");
        let pods = arena.wait_all("all but one to have a card", "train", |pods: &[Pod]| {
            pods.iter().filter(|pod| is_bound(pod)).count() == 12
        }).await;
        let mut held: Vec<String> = pods.iter().filter(|pod| is_bound(pod)).map(cards).collect();
        held.sort();
        held.dedup();
        assert_eq!(held.len(), 12, "a card was given out twice: {held:?}");
        second.stop().await;
    }
}

scenario! {
    in process only async fn an_old_leader_that_wakes_up_writes_nothing(context) {
        let arena = context.arena();
        let cluster = arena.embedded().expect("in process");
        give_cards(arena, 2).await;
        let faults = cluster.faults();
        let first = start(arena, faults.wrap("first", arena.client()), "first");
        arena.create(one_of(arena, "train", 0).request("nvidia.com/gpu", "1")).await;
        arena.wait_all("the first to lead", "train", |pods: &[Pod]| pods.iter().all(is_bound)).await;
        // Its requests reach nobody for as long as it takes to lose the lease, and arrive late.
        let slow = maar_embedded::Fault::Slow(Duration::from_secs(20));
        faults.script(maar_embedded::Rule::new(slow).component("first").always());
        for number in 1..7 {
            arena.create(one_of(arena, "train", number).request("nvidia.com/gpu", "1")).await;
        }
        let second = start(arena, faults.wrap("second", arena.client()), "second");
        arena.wait_all("the second to do the work", "train", |pods: &[Pod]| {
            pods.iter().filter(|pod| is_bound(pod)).count() == 6
        }).await;
        tokio::time::sleep(Duration::from_mins(2)).await;
        let pods = arena.list::<Pod>("train").await;
        let mut held: Vec<String> = pods.iter().filter(|pod| is_bound(pod)).map(cards).collect();
        held.sort();
        let count = held.len();
        held.dedup();
        assert_eq!((count, held.len()), (6, 6), "a card was given out twice: {held:?}");
        first.kill();
        second.stop().await;
    }
}
