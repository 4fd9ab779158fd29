//! Binds whose answers do not come, and which take effect when nobody expects it any more.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::Request;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::client::Body;
use maar_controller::lease::Timing;
use maar_embedded::{Fault, Rule};
use maar_testkit::scenario;

use super::setup::{give_cards, is_bound, one_of, settings, start_timed};
use super::witness::Witness;

/// A server that takes its time: while `slow`, binds of the named Pod get no answer and are done later, unless their
/// sender said how long they may take and that time is over by then.
pub(crate) fn late_binds(client: Client, pod: &str, late: Duration, slow: Arc<AtomicBool>) -> Client {
    let (namespace, pod) = (client.default_namespace().to_owned(), format!("/pods/{pod}/binding"));
    let service = tower::service_fn(move |request: Request<Body>| {
        let client = client.clone();
        let held = slow.load(Ordering::Relaxed) && request.uri().path().ends_with(&pod);
        async move {
            if !held {
                return client.send(request).await.map_err(tower::BoxError::from);
            }
            let limit = limit(request.uri().query().unwrap_or_default());
            tokio::spawn(async move {
                tokio::time::sleep(late).await;
                if limit.is_none_or(|limit| late <= limit) {
                    let _ = client.send(request).await;
                }
            });
            Err(io::Error::new(io::ErrorKind::TimedOut, "no answer").into())
        }
    });
    Client::new(service, namespace)
}

/// How long the server may take, by the query of a request.
pub(crate) fn limit(query: &str) -> Option<Duration> {
    let text = query.split('&').find_map(|pair| pair.strip_prefix("timeout="))?;
    text.strip_suffix("ms")?.parse().ok().map(Duration::from_millis)
}

/// Four Pods for three cards, of which the first gets no answer for its binds: they take effect late, or never.
async fn four_for_three(arena: &maar_testkit::scenario::Arena, late: Duration) {
    give_cards(arena, 1).await;
    let witness = Witness::of(arena);
    let faults = arena.embedded().expect("in process").faults();
    // Nor can it be read what became of it.
    let unread = Rule::new(Fault::InternalError).component("scheduler").verb("get").resource("pods");
    faults.script(unread.name("train-0").times(12));
    let slow = Arc::new(AtomicBool::new(true));
    let client = late_binds(faults.wrap("scheduler", arena.client()), "train-0", late, Arc::clone(&slow));
    let scheduler = start_timed(arena, client, "only", settings(arena), Timing::default());
    for number in 0..4 {
        arena.create(one_of(arena, "train", number).request("nvidia.com/gpu", "1")).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    tokio::time::sleep(Duration::from_secs(8)).await;
    slow.store(false, Ordering::Relaxed);
    arena
        .wait_all("three to have cards", "train", |pods: &[Pod]| {
            pods.iter().filter(|pod| is_bound(pod)).count() == 3
        })
        .await;
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!(witness.finish(), [""; 0]);
    scheduler.stop().await;
}

scenario! {
    in process only async fn a_bind_that_takes_effect_late_still_has_its_card(context) {
        // In time for the server, and after all quick attempts.
        four_for_three(context.arena(), Duration::from_millis(4500)).await;
    }
}

scenario! {
    in process only async fn a_bind_that_never_takes_effect_gives_its_card_back_in_the_end(context) {
        // The server drops it by itself.
        four_for_three(context.arena(), Duration::from_secs(6)).await;
    }
}
