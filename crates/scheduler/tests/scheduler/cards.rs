//! Cards: chosen by the scheduler, written at the bind, never twice.

use k8s_openapi::api::core::v1::Pod;
use maar_testkit::read::phase;
use maar_testkit::scenario;
use serde_json::json;

use super::setup::{cards, give_cards, is_bound, one_of, ours, start};

scenario! {
    async fn cards_are_written_with_the_bind_and_none_twice(context) {
        let arena = context.arena();
        give_cards(arena, 4).await;
        let scheduler = start(arena, arena.client(), "only");
        for number in 0..7 {
            arena.create(one_of(arena, "train", number).request("nvidia.com/gpu", "2")).await;
        }
        let pods = arena.wait_all("six to have cards", "train", |pods: &[Pod]| {
            pods.iter().filter(|pod| is_bound(pod)).count() == 6
        }).await;
        let mut held: Vec<String> = pods.iter().filter(|pod| is_bound(pod)).map(cards).collect();
        held.sort();
        held.dedup();
        assert_eq!(held.len(), 6, "{held:?}");
        for one in &held {
            assert!(one.ends_with("nvidia.com/gpu=0,1") || one.ends_with("nvidia.com/gpu=2,3"), "{one}");
        }
        scheduler.stop().await;
    }
}

scenario! {
    async fn whole_cards_can_be_asked_for_by_number(context) {
        let arena = context.arena();
        give_cards(arena, 4).await;
        let scheduler = start(arena, arena.client(), "only");
        for number in 0..4 {
            let these = one_of(arena, "these", number)
                .set("/metadata/annotations/maar.io~1card-index", "1,3")
                .request("nvidia.com/gpu", "2");
            arena.create(these).await;
        }
        // A node each: the fourth waits for these cards, though others are free.
        let pods = arena.wait_all("three to have them", "these", |pods: &[Pod]| {
            pods.iter().filter(|pod| is_bound(pod)).count() == 3
        }).await;
        for pod in pods.iter().filter(|pod| is_bound(pod)) {
            assert!(cards(pod).ends_with("nvidia.com/gpu=1,3"), "{}", cards(pod));
        }
        arena.create(ours(arena, "any").request("nvidia.com/gpu", "2")).await;
        let any = arena.wait("the others to be taken", "any", |pod: &Pod| is_bound(pod)).await;
        assert!(cards(&any).ends_with("nvidia.com/gpu=0,2"), "{}", cards(&any));
        arena.never("other cards than those asked for", 5, async || {
            let all: Vec<Pod> = arena.list("these").await;
            (all.iter().filter(|pod| is_bound(pod)).count() > 3).then(|| "a fourth".to_owned())
        }).await;
        scheduler.stop().await;
    }
}

scenario! {
    async fn a_share_of_a_card_is_seen_by_the_downward_api(context) {
        let arena = context.arena();
        give_cards(arena, 1).await;
        let scheduler = start(arena, arena.client(), "only");
        for number in 0..7 {
            let share = one_of(arena, "half", number)
                .set("/metadata/annotations/maar.io~1card-share", "nvidia.com/gpu=0.5")
                .pod_set("/spec/containers/0/env", json!([{"name": "NVIDIA_VISIBLE_DEVICES", "valueFrom": {
                    "fieldRef": {"fieldPath": "metadata.annotations['maar.io/visible-cards']"}}}]));
            arena.create(share).await;
        }
        let pods = arena.wait_all("six to run", "half", |pods: &[Pod]| {
            pods.iter().filter(|pod| phase(pod) == "Running").count() == 6
        }).await;
        for pod in pods.iter().filter(|pod| is_bound(pod)) {
            assert!(cards(pod).ends_with("nvidia.com/gpu=0:0.5"), "{}", cards(pod));
            // The bind wrote it, so it stood there before any container could ask.
            assert_eq!(pod.metadata.annotations.as_ref().expect("annotations")["maar.io/visible-cards"], "0");
        }
        arena.create(ours(arena, "whole").request("nvidia.com/gpu", "1")).await;
        arena.never("a whole card beside shares", 5, async || {
            let whole = arena.get::<Pod>("whole").await;
            is_bound(&whole).then(|| cards(&whole))
        }).await;
        scheduler.stop().await;
    }
}

scenario! {
    async fn a_broken_card_takes_nobody(context) {
        let arena = context.arena();
        give_cards(arena, 2).await;
        for name in arena.node_names() {
            arena.patch_node(&name, json!({"metadata": {"annotations": {"maar.io/withheld-cards": "nvidia.com/gpu=0"}}})).await;
        }
        let scheduler = start(arena, arena.client(), "only");
        for number in 0..4 {
            arena.create(one_of(arena, "train", number).request("nvidia.com/gpu", "1")).await;
        }
        let pods = arena.wait_all("three to have cards", "train", |pods: &[Pod]| {
            pods.iter().filter(|pod| is_bound(pod)).count() == 3
        }).await;
        for pod in pods.iter().filter(|pod| is_bound(pod)) {
            assert!(cards(pod).ends_with("nvidia.com/gpu=1"), "{}", cards(pod));
        }
        // Repaired: the one that waits gets it.
        let name = arena.node_names().remove(0);
        arena.patch_node(&name, json!({"metadata": {"annotations": {"maar.io/withheld-cards": null}}})).await;
        arena.wait_all("the fourth to have the other", "train", |pods: &[Pod]| pods.iter().all(is_bound)).await;
        scheduler.stop().await;
    }
}
