//! Gangs: all or none.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams};
use maar_api::v1alpha1::{AIJob, definitions};
use maar_testkit::build::object;
use maar_testkit::read::phase;
use maar_testkit::scenario;
use maar_testkit::scenario::Arena;
use serde_json::{Value, json};

use super::setup::{is_bound, one_of, start};

/// Makes the cluster know jobs. Scenarios share real clusters, so it may do already.
pub(crate) async fn define(arena: &Arena) {
    let api: Api<CustomResourceDefinition> = Api::all(arena.client());
    for definition in definitions() {
        let name = definition.metadata.name.clone().unwrap_or_default();
        let params = PatchParams::apply("maar-test").force();
        api.patch(&name, &params, &Patch::Apply(definition)).await.expect("a definition can be installed");
    }
    arena
        .until("jobs to be served", async || {
            let jobs: Api<AIJob> = arena.api();
            jobs.list(&kube::api::ListParams::default()).await.map(|_| ()).map_err(|error| error.to_string())
        })
        .await;
}

pub(crate) fn job(workers: u32, minimum: u32) -> Value {
    let template = json!({"spec": {"containers": [{"name": "main", "image": "example.com/image:1"}]}});
    json!({"type": "Single", "tasks": [{"name": "worker", "replicas": workers, "min": minimum, "template": template}]})
}

/// A Pod as the job controller makes it.
pub(crate) fn worker(arena: &Arena, job: &str, number: usize) -> maar_testkit::build::Build<Pod> {
    one_of(arena, job, number)
        .set("/metadata/labels/maar.io~1job", job)
        .set("/metadata/labels/maar.io~1task", "worker")
        .request("cpu", "3500m")
}

fn bound(pods: &[Pod]) -> usize {
    pods.iter().filter(|pod| is_bound(pod)).count()
}

scenario! {
    async fn a_gang_starts_whole_or_not_at_all(context) {
        let arena = context.arena();
        define(arena).await;
        let scheduler = start(arena, arena.client(), "only");
        // Six fit on the three nodes.
        arena.create(object::<AIJob>("large", job(7, 7))).await;
        arena.create(object::<AIJob>("small", job(4, 4))).await;
        for number in 0..7 {
            arena.create(worker(arena, "large", number)).await;
        }
        for number in 0..3 {
            arena.create(worker(arena, "small", number)).await;
        }
        arena.never("a part of a gang", 5, async || {
            let pods = arena.list::<Pod>("").await;
            (bound(&pods) > 0).then(|| format!("{} of {} are bound", bound(&pods), pods.len()))
        }).await;
        arena.create(worker(arena, "small", 3)).await;
        arena.wait_all("the small one to start whole", "small", |pods: &[Pod]| {
            pods.len() == 4 && pods.iter().all(|pod| phase(pod) == "Running")
        }).await;
        assert_eq!(bound(&arena.list::<Pod>("large").await), 0);
        scheduler.stop().await;
    }
}

scenario! {
    async fn a_pod_waits_for_the_job_it_names(context) {
        let arena = context.arena();
        define(arena).await;
        let scheduler = start(arena, arena.client(), "only");
        arena.create(worker(arena, "late", 0)).await;
        arena.never("a Pod without its job", 3, async || {
            let pod = arena.get::<Pod>("late-0").await;
            is_bound(&pod).then(|| format!("{pod:?}"))
        }).await;
        arena.create(object::<AIJob>("late", job(1, 1))).await;
        arena.wait("it to run", "late-0", |pod: &Pod| phase(pod) == "Running").await;
        scheduler.stop().await;
    }
}

scenario! {
    // Scenarios share real clusters, and one of the others has made jobs known there.
    in process only async fn a_gang_that_comes_before_jobs_are_known_starts_whole(context) {
        let arena = context.arena();
        let scheduler = start(arena, arena.client(), "only");
        arena.create(one_of(arena, "first", 0)).await;
        arena.wait("one without a job to run", "first-0", |pod: &Pod| phase(pod) == "Running").await;
        for number in 0..3 {
            arena.create(worker(arena, "gang", number)).await;
        }
        let part = async || {
            let pods = arena.list::<Pod>("gang").await;
            (bound(&pods) > 0).then(|| format!("{} of {} are bound", bound(&pods), pods.len()))
        };
        arena.never("a Pod without its job", 30, &part).await;
        define(arena).await;
        arena.create(object::<AIJob>("gang", job(4, 4))).await;
        arena.never("a part of a gang", 5, &part).await;
        arena.create(worker(arena, "gang", 3)).await;
        arena.wait_all("the gang to start whole", "gang", |pods: &[Pod]| {
            pods.len() == 4 && pods.iter().all(|pod| phase(pod) == "Running")
        }).await;
        scheduler.stop().await;
    }
}
