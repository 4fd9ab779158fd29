//! Jobs played through without a cluster.
#![expect(clippy::needless_pass_by_value, reason = "tables of JSON literals read better by value")]

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::Job;
use serde_json::{Value, from_value, json};

use super::failure::Backoff;
use super::plan::{Observed, Plan, fold, is_finished, plan};
use super::pods::{self, TRACKING};
use crate::controllers::view::tests::noon;
use crate::controllers::view::{ContainerStatusView, PodView, TerminatedView};

/// A Job and its Pods, stepped by hand.
struct World {
    job: Job,
    pods: Vec<PodView>,
    backoff: Backoff,
    now: Timestamp,
    serial: usize,
}

impl World {
    fn new(spec: Value) -> Self {
        let mut job = json!({"metadata": {"name": "j", "namespace": "default", "uid": "j", "generation": 1},
            "spec": {"template": {"spec": {"containers": [{"name": "c"}], "restartPolicy": "Never"}},
                "parallelism": 1, "backoffLimit": 6}});
        for (key, member) in spec.as_object().unwrap() {
            job["spec"][key] = member.clone();
        }
        Self {
            job: from_value(job).unwrap(),
            pods: Vec::new(),
            backoff: Backoff::default(),
            now: noon(),
            serial: 0,
        }
    }

    fn step(&mut self) -> Plan {
        let views: Vec<Arc<PodView>> = self.pods.iter().cloned().map(Arc::new).collect();
        let observed = Observed { job: &self.job, pods: &views, backoff: self.backoff, now: self.now };
        let plan = plan(&observed);
        self.backoff = plan.backoff;
        for pod in &plan.delete {
            let gone = |one: &&mut PodView| one.metadata.uid == pod.metadata.uid;
            let pod = self.pods.iter_mut().find(gone).unwrap();
            pod.metadata.deletion_timestamp = Some(self.now);
            if plan.uncounted_deletes {
                pod.metadata.finalizers.clear();
            }
        }
        for creation in &plan.create {
            let made = pods::make_pod(&self.job, creation.index, creation.replaces.as_deref());
            let mut view: PodView = from_value(serde_json::to_value(made).unwrap()).unwrap();
            self.serial += 1;
            view.metadata.name = format!("p{}", self.serial);
            view.metadata.uid = format!("u{}", self.serial);
            view.metadata.creation_timestamp = Some(self.now);
            view.status.phase = "Running".into();
            self.pods.push(view);
        }
        for released in &plan.release {
            for pod in self.pods.iter_mut().filter(|pod| pod.metadata.uid == released.metadata.uid) {
                pod.metadata.finalizers.clear();
            }
        }
        let mut status = plan.status.clone();
        let held: BTreeSet<&str> = self
            .pods
            .iter()
            .filter(|pod| pod.metadata.finalizers.iter().any(|finalizer| finalizer == TRACKING))
            .map(|pod| pod.metadata.uid.as_str())
            .collect();
        fold(&mut status, &held, plan.end.as_ref());
        self.job.status = Some(status);
        // Kubelets and the API server end what is being deleted.
        self.pods
            .retain(|pod| pod.metadata.deletion_timestamp.is_none() || !pod.metadata.finalizers.is_empty());
        plan
    }

    fn end(&mut self, number: usize, code: i32) {
        let name = format!("p{number}");
        let pod = self.pods.iter_mut().find(|pod| pod.metadata.name == name).unwrap();
        pod.status.phase = if code == 0 { "Succeeded" } else { "Failed" }.into();
        let mut container = ContainerStatusView { name: "c".into(), ..ContainerStatusView::default() };
        container.state.terminated = Some(TerminatedView { exit_code: code, finished_at: Some(self.now) });
        pod.status.container_statuses = vec![container];
    }

    fn wait(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    fn conditions(&self) -> Vec<String> {
        let conditions =
            self.job.status.as_ref().and_then(|status| status.conditions.clone()).unwrap_or_default();
        conditions
            .into_iter()
            .map(|one| format!("{}={} {}", one.type_, one.status, one.reason.unwrap()))
            .collect()
    }

    fn counts(&self) -> (i32, i32, i32) {
        let status = self.job.status.clone().unwrap();
        (status.active.unwrap_or(0), status.succeeded.unwrap_or(0), status.failed.unwrap_or(0))
    }
}

#[test]
fn a_job_runs_until_enough_pods_succeeded() {
    let mut world = World::new(json!({"completions": 3, "parallelism": 2}));
    world.step();
    assert_eq!(world.counts(), (2, 0, 0));
    world.end(1, 0);
    world.end(2, 0);
    world.step();
    assert_eq!(world.counts(), (1, 2, 0), "only one is missing");
    world.end(3, 0);
    world.step();
    assert_eq!(world.counts(), (0, 3, 0));
    assert_eq!(
        world.conditions(),
        ["SuccessCriteriaMet=True CompletionsReached", "Complete=True CompletionsReached"]
    );
    assert!(world.job.status.as_ref().unwrap().completion_time.is_some());
    assert!(is_finished(&world.job));
}

#[test]
fn a_work_queue_is_done_when_one_succeeded_and_none_runs() {
    let mut world = World::new(json!({"parallelism": 2}));
    world.step();
    world.end(1, 0);
    world.step();
    assert_eq!(world.counts(), (1, 1, 0), "no new ones after the first success");
    assert!(!is_finished(&world.job));
    world.end(2, 0);
    world.step();
    assert!(is_finished(&world.job));
}

#[test]
fn failures_are_retried_after_a_while_and_only_so_often() {
    let mut world = World::new(json!({"completions": 1, "backoffLimit": 1}));
    world.step();
    world.end(1, 1);
    let plan = world.step();
    assert!(plan.create.is_empty());
    assert_eq!(plan.again.map(|wait| wait.as_secs()), Some(10));
    world.wait(10);
    world.step();
    assert_eq!(world.counts(), (1, 0, 1));
    world.end(2, 1);
    world.step();
    assert_eq!(
        world.conditions(),
        ["FailureTarget=True BackoffLimitExceeded", "Failed=True BackoffLimitExceeded"]
    );
    assert_eq!(world.counts(), (0, 0, 2));
}

#[test]
fn a_pod_is_counted_once_however_often_it_is_seen() {
    let mut world = World::new(json!({"completions": 2}));
    world.step();
    world.end(1, 0);
    let views: Vec<Arc<PodView>> = world.pods.iter().cloned().map(Arc::new).collect();
    let observed = Observed { job: &world.job, pods: &views, backoff: world.backoff, now: world.now };
    // The controller stops right after writing the status: the Pod still carries its finalizer.
    world.job.status = Some(plan(&observed).status);
    for _ in 0..3 {
        world.step();
    }
    assert_eq!(world.counts(), (1, 1, 0));
}

#[test]
fn indexes_are_worked_off_one_by_one() {
    let mut world = World::new(json!({"completions": 4, "parallelism": 2, "completionMode": "Indexed"}));
    world.step();
    world.end(2, 0);
    world.step();
    let indexes: Vec<String> =
        world.pods.iter().map(|pod| pod.label(super::indexes::INDEX).to_owned()).collect();
    assert_eq!(indexes, ["0", "1", "2"]);
    assert_eq!(world.job.status.as_ref().unwrap().completed_indexes.as_deref(), Some("1"));
    world.end(1, 0);
    world.end(3, 0);
    world.step();
    world.end(4, 0);
    world.step();
    assert_eq!(world.job.status.as_ref().unwrap().completed_indexes.as_deref(), Some("0-3"));
    assert!(is_finished(&world.job));
}

#[test]
fn each_index_has_its_own_limit() {
    let spec = json!({"completions": 2, "parallelism": 2, "completionMode": "Indexed", "backoffLimitPerIndex": 1,
        "backoffLimit": i32::MAX});
    let mut world = World::new(spec);
    world.step();
    world.end(1, 1);
    world.end(2, 0);
    world.step();
    assert_eq!(world.pods.len(), 2, "the index waits");
    world.wait(10);
    world.step();
    assert_eq!(world.counts(), (1, 1, 0), "the first failure is counted once its successor is seen");
    world.end(3, 1);
    world.step();
    let status = world.job.status.clone().unwrap();
    assert_eq!(
        (status.failed_indexes.as_deref(), status.completed_indexes.as_deref()),
        (Some("0"), Some("1"))
    );
    assert_eq!(world.conditions(), ["FailureTarget=True FailedIndexes", "Failed=True FailedIndexes"]);
}

#[test]
fn suspending_deletes_without_counting_and_resuming_starts_anew() {
    let mut world = World::new(json!({"completions": 2, "parallelism": 2, "activeDeadlineSeconds": 60}));
    let plan = world.step();
    assert_eq!(plan.again.map(|wait| wait.as_secs()), Some(60));
    world.job.spec.as_mut().unwrap().suspend = Some(true);
    world.wait(30);
    let plan = world.step();
    assert_eq!(plan.event.map(|event| event.0), Some("Suspended"));
    world.step();
    assert_eq!((world.counts(), world.pods.len()), ((0, 0, 0), 0));
    assert_eq!(world.job.status.as_ref().unwrap().start_time, None);
    world.wait(3600);
    world.job.spec.as_mut().unwrap().suspend = Some(false);
    world.step();
    assert_eq!(world.conditions(), ["Suspended=False JobResumed"]);
    assert_eq!(world.counts(), (2, 0, 0));
    world.wait(60);
    world.step();
    assert!(world.conditions().contains(&"FailureTarget=True DeadlineExceeded".to_owned()));
}

#[test]
fn the_end_waits_for_pods_that_are_terminating() {
    let mut world = World::new(json!({"completions": 2, "parallelism": 2, "backoffLimit": 0}));
    world.step();
    world.end(1, 1);
    let plan = world.step();
    assert_eq!(plan.delete.len(), 1);
    assert_eq!(world.conditions(), ["FailureTarget=True BackoffLimitExceeded"]);
    world.step();
    assert_eq!(world.conditions().len(), 2);
    assert_eq!(world.counts(), (0, 0, 2), "what was cut off counts as failed");
}

#[test]
fn a_success_policy_ends_early() {
    let spec = json!({"completions": 3, "parallelism": 3, "completionMode": "Indexed",
        "successPolicy": {"rules": [{"succeededIndexes": "0,2", "succeededCount": 1}]}});
    let mut world = World::new(spec);
    world.step();
    world.end(2, 0);
    world.step();
    assert!(world.conditions().is_empty(), "index 1 is not in the rule");
    world.end(3, 0);
    world.step();
    world.step();
    assert_eq!(world.conditions(), ["SuccessCriteriaMet=True SuccessPolicy", "Complete=True SuccessPolicy"]);
    assert_eq!(world.counts(), (0, 2, 0), "what was cut off does not count as failed");
}

#[test]
fn fewer_in_parallel_removes_the_surplus() {
    let mut world = World::new(json!({"completions": 5, "parallelism": 4}));
    world.step();
    world.job.spec.as_mut().unwrap().parallelism = Some(1);
    world.step();
    world.step();
    assert_eq!((world.counts(), world.pods.len()), ((1, 0, 0), 1));
}

#[test]
fn numbers_as_large_as_they_get_do_no_harm() {
    let most = i32::MAX;
    let spec = json!({"completions": most, "parallelism": 3, "completionMode": "Indexed",
        "backoffLimitPerIndex": most, "activeDeadlineSeconds": i64::MAX,
        "successPolicy": {"rules": [{"succeededIndexes": "1-2147483646"}]}});
    let mut world = World::new(spec);
    world.step();
    for pod in &mut world.pods {
        // One below the limit, so that the index is tried again and the counts go on.
        for (count, before) in
            [("job-index-failure-count", most - 1), ("job-index-ignored-failure-count", most)]
        {
            pod.metadata.annotations.insert(format!("batch.kubernetes.io/{count}"), before.to_string());
        }
    }
    world.end(1, 1);
    world.end(2, 0);
    world.step();
    world.wait(3600);
    let again = world.step();
    assert!(again.create.iter().any(|creation| creation.replaces.is_some()), "tried again after a while");
    assert_eq!(world.counts().1, 1);
    let mut plain = World::new(json!({"completions": most, "parallelism": most}));
    assert_eq!(plain.step().create.len(), 500, "the rest follows in later steps");
    plain.job.status.get_or_insert_default().succeeded = Some(most);
    plain.end(1, 0);
    plain.step();
    assert_eq!(plain.counts().1, most);
}
