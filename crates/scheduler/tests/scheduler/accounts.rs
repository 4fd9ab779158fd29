//! What an account may have.

use k8s_openapi::api::core::v1::Pod;
use kube::api::DeleteParams;
use maar_api::v1alpha1::Account;
use maar_testkit::build::object;
use maar_testkit::read::phase;
use maar_testkit::scenario;
use serde_json::json;

use super::gangs::define;
use super::setup::{is_bound, one_of, start};
use super::witness::Witness;

scenario! {
    async fn an_account_has_no_more_than_it_may_and_goes_on_when_it_gave_something_back(context) {
        let arena = context.arena();
        define(arena).await;
        // Accounts are of the whole cluster, and scenarios share it.
        let account = arena.namespace().to_owned();
        arena.create_cluster(object::<Account>(&account, json!({"capability": {"cpu": "2"}}))).await;
        let witness = Witness::of(arena);
        let scheduler = start(arena, arena.client(), "only");
        for number in 0..3 {
            let pod = one_of(arena, "work", number).request("cpu", "1");
            arena.create(pod.set("/metadata/labels/maar.io~1account", account.as_str())).await;
        }
        let runs = |pods: &[Pod]| pods.iter().filter(|pod| phase(pod) == "Running").count() == 2;
        arena.wait_all("two to run", "work", runs).await;
        arena.until("the third to be told why", async || {
            let events = arena.list::<k8s_openapi::api::events::v1::Event>("").await;
            let why = "may have at most 2 cpu, has 2, and this asks for 1";
            let said = events.iter().any(|event| event.note.as_deref().is_some_and(|note| note.contains(why)));
            if said { Ok(()) } else { Err(format!("{} events", events.len())) }
        }).await;
        let pods = arena.list::<Pod>("work").await;
        let name = |bound: bool| {
            let found = pods.iter().find(|pod| is_bound(pod) == bound).expect("two are bound and one is not");
            found.metadata.name.clone().unwrap_or_default()
        };
        arena.delete::<Pod>(&name(true), &DeleteParams::default()).await;
        arena.wait("the third to run", &name(false), |pod: &Pod| phase(pod) == "Running").await;
        let mut there = std::collections::BTreeSet::new();
        for seen in witness.history() {
            let pod = seen.pod.metadata.name.clone().unwrap_or_default();
            if seen.has_ended() {
                there.remove(&pod);
            } else if is_bound(&seen.pod) {
                there.insert(pod);
            }
            assert!(there.len() <= 2, "{there:?} at {:?}", seen.pod.metadata.resource_version);
        }
        scheduler.stop().await;
    }
}
