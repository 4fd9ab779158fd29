//! Processes that come and go: restarts, and leaders who do not know that they are none.

use std::time::Duration;

use http::Request;
use k8s_openapi::api::core::v1::Pod;
use kube::client::Body;
use kube::{Client, ResourceExt as _};
use maar_testkit::read::phase;
use maar_testkit::scenario;
use maar_testkit::scenario::{Arena, Context};
use serde_json::json;

use super::setup::{cards, give_cards, is_bound, number, one_of, run_with, start};
use super::unknown::limit;
use super::witness::{Witness, overfull};

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

/// A server that does binds at the last moment at which it may, whether their sender still listens or not.
fn to_the_last(client: Client) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = tower::service_fn(move |request: Request<Body>| {
        let client = client.clone();
        async move {
            if !request.uri().path().ends_with("/binding") {
                return client.send(request).await.map_err(tower::BoxError::from);
            }
            let limit = limit(request.uri().query().unwrap_or_default()).unwrap_or(Duration::from_secs(34));
            let done = tokio::spawn(async move {
                tokio::time::sleep(limit).await;
                client.send(request).await
            });
            Ok(done.await??)
        }
    });
    Client::new(service, namespace)
}

/// The leader cannot renew its lease any more; so many milliseconds later it sends its last bind, for the last card.
async fn lose_the_lease(arena: &Arena, later: u64) {
    let faults = arena.embedded().expect("in process").faults();
    give_cards(arena, 1).await;
    let witness = Witness::of(arena);
    let first = start(arena, to_the_last(faults.wrap("first", arena.client())), "first");
    let one = |number| one_of(arena, "train", number).request("nvidia.com/gpu", "1");
    arena.create(one(0)).await;
    arena.create(one(1)).await;
    // Older than the one that the old leader places last, and may go later: the new leader places it first.
    arena.create(one(2).pod_set("/spec/schedulingGates", json!([{"name": "example.com/wait"}]))).await;
    arena
        .wait_all("two to have cards", "train", |pods: &[Pod]| {
            pods.iter().filter(|pod| is_bound(pod)).count() == 2
        })
        .await;
    let second = start(arena, arena.client(), "second");
    let unable = maar_embedded::Fault::InternalError;
    faults.script(
        maar_embedded::Rule::new(unable).component("first").resource("leases").verb("update").always(),
    );
    tokio::time::sleep(Duration::from_millis(later)).await;
    arena.create(one(3)).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    arena.patch::<Pod>("train-2", json!({"spec": {"schedulingGates": null}})).await;
    tokio::time::sleep(Duration::from_mins(2)).await;
    assert_eq!(witness.finish(), [""; 0], "{later} ms after the last renewal that was possible");
    let pods = arena.list::<Pod>("train").await;
    assert_eq!(pods.iter().filter(|pod| is_bound(pod)).count(), 3);
    assert_eq!(pods.len(), 4, "nobody had to go");
    first.kill();
    second.stop().await;
}

/// For every moment within the life of a lease, and beyond.
#[tokio::test(start_paused = true)]
async fn what_an_old_leader_sent_is_done_before_a_new_one_decides() {
    fn body<'a>(context: &'a Context) -> std::pin::Pin<Box<dyn Future<Output = ()> + 'a>> {
        Box::pin(lose_the_lease(context.arena(), number()))
    }
    for later in (0..3500).step_by(250) {
        run_with(later, "old_leader", body).await;
    }
}

scenario! {
    async fn of_two_pods_with_one_card_the_one_bound_later_is_stopped(context) {
        let arena = context.arena();
        give_cards(arena, 1).await;
        let scheduler = start(arena, arena.client(), "only");
        for number in 0..3 {
            arena.create(one_of(arena, "train", number).request("nvidia.com/gpu", "1")).await;
        }
        let pods = arena.wait_all("three to run", "train", |pods: &[Pod]| {
            pods.len() == 3 && pods.iter().all(|pod| phase(pod) == "Running")
        }).await;
        let late = arena.create(one_of(arena, "late", 0).request("nvidia.com/gpu", "1")).await;
        // The API knows the second of a bind.
        arena.never("a fourth card", 2, async || is_bound(&arena.get::<Pod>("late-0").await).then(String::new)).await;
        let node = pods[0].spec.as_ref().and_then(|spec| spec.node_name.clone()).expect("it runs");
        bind_by_hand(arena, &late, &node).await;
        arena.wait_gone::<Pod>("the later one to be stopped", "late-0").await;
        let left = arena.list::<Pod>("").await;
        assert_eq!((left.len(), overfull(left.iter())), (3, std::collections::BTreeMap::new()));
        assert!(left.iter().all(|pod| phase(pod) == "Running" && pod.metadata.deletion_timestamp.is_none()));
        arena.until("its owner to be told", async || {
            let events = arena.list::<k8s_openapi::api::events::v1::Event>("").await;
            let told = events.iter().any(|event| event.reason.as_deref() == Some("CardTaken"));
            if told { Ok(()) } else { Err(format!("{} events", events.len())) }
        }).await;
        scheduler.stop().await;
    }
}

/// What a leader that was suspended for long would send.
async fn bind_by_hand(arena: &Arena, pod: &Pod, node: &str) {
    let (namespace, name) = (arena.namespace(), pod.name_any());
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": node},
        "metadata": {"name": name, "namespace": namespace, "uid": pod.uid(),
            "annotations": {"maar.io/cards": "nvidia.com/gpu=0", "maar.io/visible-cards": "0"}},
    });
    let request = Request::post(format!("/api/v1/namespaces/{namespace}/pods/{name}/binding"))
        .header("content-type", "application/json")
        .body(binding.to_string().into_bytes())
        .expect("a request");
    arena.client().request_text(request).await.expect("a Pod can be bound");
}
