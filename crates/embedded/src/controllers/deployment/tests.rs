//! Rollouts played through without a cluster: plan, pretend Pods follow, plan again.
#![expect(clippy::needless_pass_by_value, reason = "tables of JSON literals read better by value")]

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, ReplicaSetStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{from_value, json};

use super::plan::{Observed, Plan, plan};
use super::sets::{available, name, wanted};
use super::status;
use crate::controllers::view::tests::noon;

fn deployment(image: &str, replicas: i32, strategy: serde_json::Value) -> Deployment {
    from_value(json!({
        "metadata": {"name": "web", "namespace": "default", "uid": "d", "generation": 1},
        "spec": {"replicas": replicas, "revisionHistoryLimit": 1, "progressDeadlineSeconds": 600,
            "selector": {"matchLabels": {"app": "web"}}, "strategy": strategy,
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": image}]}}},
    }))
    .unwrap()
}

fn rolling(surge: i32, unavailable: i32) -> serde_json::Value {
    json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}})
}

/// A Deployment and what became of it so far.
struct World {
    deployment: Deployment,
    sets: Vec<ReplicaSet>,
    serial: i64,
}

impl World {
    fn new(deployment: Deployment) -> Self {
        Self { deployment, sets: Vec::new(), serial: 0 }
    }

    /// One step of the controller.
    fn step(&mut self, old_pods_run: bool) -> Plan {
        let observed = Observed { deployment: &self.deployment, sets: self.sets.clone(), old_pods_run };
        let plan = plan(observed);
        let (status, _) = status::status(&self.deployment, &plan, noon());
        self.deployment.status = Some(status);
        self.sets = plan.sets.clone();
        for set in &mut self.sets {
            if set.metadata.uid.is_none() {
                self.serial += 1;
                set.metadata.uid = Some(format!("rs-{}", self.serial));
                set.metadata.creation_timestamp =
                    Some(Time(noon() + jiff::SignedDuration::from_secs(self.serial)));
                set.metadata.generation = Some(1);
            }
        }
        self.sets.retain(|set| !plan.remove.contains(&name(set).to_owned()));
        plan
    }

    /// Pods follow: all of them run, and `healthy` says of which image they become available.
    fn pods_follow(&mut self, healthy: impl Fn(&str) -> bool) {
        for set in &mut self.sets {
            let image = set.spec.as_ref().unwrap().template.as_ref().unwrap().spec.as_ref().unwrap();
            let ok = healthy(image.containers[0].image.as_deref().unwrap());
            let size = wanted(set);
            let before = available(set).min(size);
            let count = if ok { size } else { before };
            set.status = Some(ReplicaSetStatus {
                replicas: size,
                ready_replicas: Some(count),
                available_replicas: Some(count),
                observed_generation: set.metadata.generation,
                ..ReplicaSetStatus::default()
            });
        }
    }

    fn settle(&mut self) {
        for _ in 0..100 {
            self.step(false);
            self.pods_follow(|_| true);
        }
    }

    fn sizes(&self) -> Vec<(String, i32)> {
        let image = |set: &ReplicaSet| {
            let spec = set.spec.as_ref().unwrap().template.as_ref().unwrap().spec.clone().unwrap();
            spec.containers[0].image.clone().unwrap()
        };
        self.sets.iter().map(|set| (image(set), wanted(set))).collect()
    }

    fn image(&mut self, image: &str) {
        let spec = self.deployment.spec.as_mut().unwrap();
        spec.template.spec.as_mut().unwrap().containers[0].image = Some(image.into());
        self.deployment.metadata.generation = self.deployment.metadata.generation.map(|number| number + 1);
    }

    fn replicas(&mut self, replicas: i32) {
        self.deployment.spec.as_mut().unwrap().replicas = Some(replicas);
        self.deployment.metadata.generation = self.deployment.metadata.generation.map(|number| number + 1);
    }

    fn progress(&self) -> String {
        let conditions = self.deployment.status.clone().unwrap().conditions.unwrap();
        let found = conditions.into_iter().find(|condition| condition.type_ == "Progressing");
        found.map(|condition| condition.reason.unwrap()).unwrap_or_default()
    }
}

fn sizes(list: &[(&str, i32)]) -> Vec<(String, i32)> {
    list.iter().map(|(image, size)| ((*image).to_owned(), *size)).collect()
}

#[test]
fn a_rolling_update_stays_within_its_bounds_at_every_step() {
    let mut world = World::new(deployment("a", 10, rolling(3, 2)));
    world.settle();
    assert_eq!(world.sizes(), sizes(&[("a", 10)]));
    assert_eq!(world.progress(), "NewReplicaSetAvailable");
    world.image("b");
    let mut steps = 0;
    while world.sizes() != sizes(&[("a", 0), ("b", 10)]) {
        world.step(false);
        let total: i32 = world.sets.iter().map(wanted).sum();
        assert!(total <= 13, "at most 13 replicas, not {:?}", world.sizes());
        world.pods_follow(|_| true);
        let up: i32 = world.sets.iter().map(available).sum();
        assert!(up >= 8, "at least 8 available, not {:?}", world.sizes());
        steps += 1;
        assert!(steps < 50, "never done: {:?}", world.sizes());
    }
    world.settle();
    assert_eq!(world.progress(), "NewReplicaSetAvailable");
}

#[test]
fn a_template_that_never_gets_ready_stops_the_rollout() {
    let mut world = World::new(deployment("a", 10, rolling(3, 2)));
    world.settle();
    world.image("b");
    for _ in 0..20 {
        world.step(false);
        world.pods_follow(|image| image == "a");
    }
    assert_eq!(world.sizes(), sizes(&[("a", 8), ("b", 5)]));
    assert_ne!(world.progress(), "NewReplicaSetAvailable");
    world.image("a");
    world.settle();
    assert_eq!(world.sizes(), sizes(&[("a", 10), ("b", 0)]));
    assert_eq!(super::sets::revision(&world.sets[0]), 3);
}

#[test]
fn recreate_waits_for_the_old_pods() {
    let mut world = World::new(deployment("a", 3, json!({"type": "Recreate"})));
    world.settle();
    world.image("b");
    world.step(true);
    assert_eq!(world.sizes(), sizes(&[("a", 0)]));
    world.pods_follow(|_| true);
    world.step(true);
    assert_eq!(world.sizes(), sizes(&[("a", 0)]), "Pods still run");
    world.step(false);
    assert_eq!(world.sizes(), sizes(&[("a", 0), ("b", 3)]));
}

#[test]
fn scaling_in_the_middle_of_a_rollout_keeps_the_proportion() {
    let mut world = World::new(deployment("a", 10, rolling(3, 2)));
    world.settle();
    world.image("b");
    for _ in 0..20 {
        world.step(false);
        world.pods_follow(|image| image == "a");
    }
    world.replicas(20);
    world.step(false);
    assert_eq!(world.sizes(), sizes(&[("a", 14), ("b", 9)]));
    world.replicas(0);
    world.step(false);
    assert_eq!(world.sizes(), sizes(&[("a", 0), ("b", 0)]));
}

#[test]
fn a_paused_deployment_scales_and_does_not_roll() {
    let mut world = World::new(deployment("a", 2, rolling(1, 0)));
    world.settle();
    world.deployment.spec.as_mut().unwrap().paused = Some(true);
    world.image("b");
    world.replicas(5);
    world.settle();
    assert_eq!(world.sizes(), sizes(&[("a", 5)]));
    assert_eq!(world.progress(), "DeploymentPaused");
    world.deployment.spec.as_mut().unwrap().paused = None;
    world.settle();
    assert_eq!(world.sizes(), sizes(&[("a", 0), ("b", 5)]));
}

#[test]
fn only_so_many_old_sets_are_kept() {
    let mut world = World::new(deployment("a", 1, rolling(1, 0)));
    for image in ["a", "b", "c", "d"] {
        world.image(image);
        world.settle();
    }
    assert_eq!(world.sizes(), sizes(&[("c", 0), ("d", 1)]));
}

#[test]
fn no_progress_until_the_deadline_is_reported() {
    let mut world = World::new(deployment("a", 1, rolling(1, 0)));
    world.step(false);
    world.pods_follow(|_| false);
    world.step(false);
    assert_eq!(world.progress(), "ReplicaSetUpdated");
    let later = noon() + jiff::SignedDuration::from_secs(601);
    let observed = Observed { deployment: &world.deployment, sets: world.sets.clone(), old_pods_run: false };
    let (status, again) = status::status(&world.deployment, &plan(observed), later);
    world.deployment.status = Some(status);
    assert_eq!(world.progress(), "ProgressDeadlineExceeded");
    assert_eq!(again, None);
}

#[test]
fn numbers_as_large_as_they_get_do_no_harm() {
    let most = i32::MAX;
    let surge = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "100%", "maxUnavailable": 0}});
    let mut world = World::new(deployment("a", most, surge));
    world.settle();
    assert_eq!(world.sizes(), sizes(&[("a", most)]));
    world.image("b");
    world.step(false);
    for set in &mut world.sets {
        let annotations = set.metadata.annotations.get_or_insert_default();
        annotations.insert("deployment.kubernetes.io/revision".into(), i64::MAX.to_string());
        annotations.insert("deployment.kubernetes.io/max-replicas".into(), i64::MAX.to_string());
        set.spec.as_mut().unwrap().replicas = Some(most);
        set.status.get_or_insert_default().available_replicas = Some(most);
    }
    world.step(false);
    world.replicas(most - 1);
    world.step(false);
    world.image("c");
    world.step(false);
    world.replicas(1);
    world.settle();
    assert_eq!(world.sizes().last(), sizes(&[("c", 1)]).last());
}
