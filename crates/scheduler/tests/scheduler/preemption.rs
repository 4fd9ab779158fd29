//! Work that gives way: told first, stopped later, and only for somebody who then runs.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use maar_api::v1alpha1::AIJob;
use maar_testkit::build::object;
use maar_testkit::read::phase;
use maar_testkit::scenario;
use maar_testkit::scenario::Arena;

use super::gangs::{define, job, worker};
use super::setup::{is_bound, one_of, settings, start_with};

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
        for number in 0..6 {
            submit(arena, &format!("filler{number}"), true).await;
        }
        arena.wait_all("six to run", "", |pods: &[Pod]| {
            pods.iter().filter(|pod| phase(pod) == "Running").count() == 6
        }).await;
        submit(arena, "urgent", false).await;
        let told = |pod: &&Pod| pod.annotations().contains_key("maar.io/stop-at");
        arena.wait_all("one to be told", "", |pods: &[Pod]| pods.iter().filter(told).count() == 1).await;
        arena.wait::<AIJob>("why it waits to be told", "urgent", |job| {
            let status = job.status.as_ref();
            status.and_then(|status| status.queue.as_ref()?.reason.as_deref()) == Some("MakingRoom")
        }).await;
        arena.wait_all("the urgent one to run", "urgent", |pods: &[Pod]| {
            pods.iter().all(|pod| phase(pod) == "Running") && pods.len() == 1
        }).await;
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
        for number in 0..6 {
            submit(arena, &format!("filler{number}"), true).await;
        }
        arena.wait_all("six to run", "", |pods: &[Pod]| {
            pods.iter().filter(|pod| phase(pod) == "Running").count() == 6
        }).await;
        submit(arena, "urgent", false).await;
        let told = |pod: &&Pod| pod.annotations().contains_key("maar.io/stop-at");
        arena.wait_all("one to be told", "", |pods: &[Pod]| pods.iter().filter(told).count() == 1).await;
        let claimant = one_of(arena, "urgent", 0).build().name_any();
        arena.delete::<Pod>(&claimant, &kube::api::DeleteParams::default()).await;
        arena.wait_all("the notice to be taken back", "", |pods: &[Pod]| {
            pods.len() == 6 && pods.iter().filter(told).count() == 0
        }).await;
        let pods = arena.list::<Pod>("").await;
        assert!(pods.iter().all(|pod| phase(pod) == "Running"), "nobody was stopped");
        scheduler.stop().await;
    }
}
