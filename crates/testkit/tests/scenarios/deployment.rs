//! Deployments: rollouts in all their ways.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Patch, PatchParams};
use maar_testkit::build::deployment;
use maar_testkit::read::{deployment_condition, image, is_going, is_ready, is_rolled_out, phase};
use maar_testkit::scenario;
use maar_testkit::scenario::Arena;
use serde_json::{Value, json};

const REVISION: &str = "deployment.kubernetes.io/revision";

fn with_image(image: &str) -> Value {
    json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": image}]}}}})
}

async fn rolled_out(arena: &Arena, image_now: &str) -> Deployment {
    let found = arena
        .wait(&format!("the rollout of {image_now}"), "web", |found: &Deployment| {
            let spec = found.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
            let wanted = spec.and_then(|spec| spec.containers[0].image.as_deref());
            wanted == Some(image_now) && is_rolled_out(found)
        })
        .await;
    arena
        .wait_all("only new Pods", "web", |pods: &[Pod]| {
            pods.iter().filter(|pod| !is_going(pod)).all(|pod| image(pod) == image_now && is_ready(pod))
        })
        .await;
    found
}

fn revision(deployment: &Deployment) -> &str {
    &deployment.metadata.annotations.as_ref().expect("annotations")[REVISION]
}

scenario! {
    async fn a_deployment_rolls_out_over_and_back(context) {
        let arena = context.arena();
        arena.create(deployment("web").replicas(3).image("one")).await;
        assert_eq!(revision(&rolled_out(arena, "one").await), "1");
        arena.patch::<Deployment>("web", with_image("two")).await;
        assert_eq!(revision(&rolled_out(arena, "two").await), "2");
        arena.patch::<Deployment>("web", with_image("one")).await;
        let back = rolled_out(arena, "one").await;
        assert_eq!(revision(&back), "3");
        assert_eq!(deployment_condition(&back, "Progressing"), Some(("True", "NewReplicaSetAvailable")));
        assert_eq!(deployment_condition(&back, "Available"), Some(("True", "MinimumReplicasAvailable")));
        let sets = arena.list::<ReplicaSet>("web").await;
        assert_eq!(sets.len(), 2, "the old ReplicaSet is used again");
        let mut counts: Vec<_> = sets.iter().map(|set| set.spec.as_ref().and_then(|spec| spec.replicas)).collect();
        counts.sort_unstable();
        assert_eq!(counts, [Some(0), Some(3)]);
    }
}

scenario! {
    async fn a_paused_deployment_waits_to_be_resumed(context) {
        let arena = context.arena();
        arena.create(deployment("web").replicas(2).image("one")).await;
        rolled_out(arena, "one").await;
        arena.patch::<Deployment>("web", json!({"spec": {"paused": true}})).await;
        arena.patch::<Deployment>("web", with_image("two")).await;
        let paused = |found: &Deployment| {
            deployment_condition(found, "Progressing") == Some(("Unknown", "DeploymentPaused"))
                && found.status.as_ref().and_then(|status| status.observed_generation) == found.metadata.generation
        };
        arena.wait("the pause to be noted", "web", paused).await;
        arena
            .never("a rollout", 1, async || {
                let sets = arena.list::<ReplicaSet>("web").await;
                (sets.len() > 1).then(|| format!("{sets:#?}"))
            })
            .await;
        arena.patch::<Deployment>("web", json!({"spec": {"paused": false}})).await;
        rolled_out(arena, "two").await;
    }
}

scenario! {
    async fn recreate_never_runs_old_and_new_together(context) {
        let arena = context.arena();
        arena.create(deployment("web").replicas(2).image("one").set("/spec/strategy/type", "Recreate")).await;
        rolled_out(arena, "one").await;
        arena.patch::<Deployment>("web", with_image("two")).await;
        let done = async || {
            let pods = arena.list::<Pod>("web").await;
            let running = |which: &str| pods.iter().any(|pod| phase(pod) == "Running" && image(pod) == which);
            assert!(!(running("one") && running("two")), "{pods:#?}");
            let found = arena.get::<Deployment>("web").await;
            if is_rolled_out(&found) && running("two") { Ok(()) } else { Err(format!("{:#?}", found.status)) }
        };
        arena.until("the new Pods", done).await;
    }
}

scenario! {
    async fn a_rollout_that_does_not_progress_is_reported(context) {
        let arena = context.arena();
        arena.create(deployment("web").replicas(2).image("one")).await;
        rolled_out(arena, "one").await;
        let broken = json!({"spec": {"progressDeadlineSeconds": 2, "template": {
            "metadata": {"annotations": {"sim.maar.io/ready-after": "9h"}}}}});
        arena.patch::<Deployment>("web", broken).await;
        let late = |found: &Deployment| {
            deployment_condition(found, "Progressing") == Some(("False", "ProgressDeadlineExceeded"))
        };
        let found = arena.wait("the deadline", "web", late).await;
        // A quarter of two, rounded down, may be missing: none.
        assert_eq!(found.status.and_then(|status| status.available_replicas), Some(2));
        arena.patch::<Deployment>("web", json!({"spec": {"template": {
            "metadata": {"annotations": {"sim.maar.io/ready-after": null}}}}})).await;
        rolled_out(arena, "one").await;
    }
}

scenario! {
    async fn a_deployment_is_scaled_by_its_subresource(context) {
        let arena = context.arena();
        arena.create(deployment("web").replicas(1)).await;
        let api = arena.api::<Deployment>();
        let patch = Patch::Merge(json!({"spec": {"replicas": 3}}));
        api.patch_scale("web", &PatchParams::default(), &patch).await.expect("it can be scaled");
        arena.wait("three replicas", "web", |found: &Deployment| {
            is_rolled_out(found) && found.spec.as_ref().and_then(|spec| spec.replicas) == Some(3)
        }).await;
        let scale = api.get_scale("web").await.expect("a scale");
        let status = scale.status.expect("a status");
        assert_eq!((status.replicas, status.selector.as_deref()), (3, Some("app=web")));
        let patch = Patch::Merge(json!({"spec": {"replicas": 0}}));
        api.patch_scale("web", &PatchParams::default(), &patch).await.expect("it can be scaled");
        arena.wait_all("no Pods", "web", <[Pod]>::is_empty).await;
    }
}
