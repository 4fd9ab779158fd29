//! Lives of jobs, without a cluster.

use maar_api::{names, v1alpha1::JobType};
use proptest::prelude::*;
use serde_json::json;

use super::fixture::{World, job};
use super::problems;

fn ddp() -> World {
    World::new(job(JobType::PyTorch).task("master", 1).task("worker", 2))
}

/// A job whose Pods run.
fn running(mut world: World) -> World {
    world.settle();
    world.all_become("Running");
    world.settle();
    assert_eq!(world.stands().0, "Running");
    world
}

#[test]
fn a_job_goes_from_pending_to_running_to_completed() {
    let mut world = ddp();
    world.settle();
    assert_eq!(world.names(), ["train-master-0", "train-worker-0", "train-worker-1"]);
    assert_eq!(world.stands(), ("Pending".to_owned(), "WaitingForNodes".to_owned()));
    world.become_("train-master-0", "Running");
    world.settle();
    assert_eq!(world.stands().0, "Pending", "the minimum is all three");
    world.all_become("Running");
    world.settle();
    assert_eq!(world.stands().0, "Running");
    let status = world.job.status.clone().unwrap();
    assert_eq!((status.ready.as_deref(), status.nodes), (Some("3/3"), vec!["node-1".to_owned()]));
    world.become_("train-master-0", "Succeeded");
    let plan = world.step();
    assert_eq!(world.stands(), ("Completing".to_owned(), "Succeeded".to_owned()));
    assert_eq!(plan.delete.len(), 2, "workers are not needed any more");
    world.sweep();
    world.settle();
    assert_eq!(world.stands(), ("Completed".to_owned(), "Succeeded".to_owned()));
    assert_eq!(world.names(), ["train-master-0"], "its log stays");
    assert!(world.job.status.unwrap().completion_time.is_some());
}

#[test]
fn all_tasks_that_decide_have_to_end_well() {
    let rows = [
        (
            job(JobType::TensorFlow).task("ps", 1).task("chief", 1).task("worker", 1),
            ["train-chief-0", "train-worker-0"],
        ),
        (
            job(JobType::DeepSpeed)
                .task("launcher", 1)
                .task("worker", 1)
                .task("judge", 1)
                .set("/successTasks", json!(["launcher", "judge"])),
            ["train-launcher-0", "train-judge-0"],
        ),
    ];
    for (built, [first, second]) in rows {
        let mut world = running(World::new(built));
        world.become_(first, "Succeeded");
        world.settle();
        assert_eq!(world.stands().0, "Running", "{second} still works");
        world.become_(second, "Succeeded");
        world.settle();
        assert_eq!(world.stands(), ("Completed".to_owned(), "Succeeded".to_owned()));
    }
    let mut world = running(World::new(job(JobType::DeepSpeed).task("launcher", 1).task("worker", 2)));
    world.become_("train-launcher-0", "Succeeded");
    world.settle();
    assert_eq!(world.stands().0, "Completed", "workers wait for the launcher and never end by themselves");
}

#[test]
fn a_failure_begins_the_job_again_after_a_back_off_and_then_ends_it() {
    let mut world =
        World::new(job(JobType::PyTorch).task("worker", 2).set("/retries", 1).set("/backoffSeconds", 30));
    world = running(world);
    world.become_("train-worker-1", "Failed");
    let plan = world.step();
    assert_eq!(world.stands(), ("Restarting".to_owned(), "PodFailed".to_owned()));
    assert_eq!(plan.delete.len(), 2, "both are made again");
    let message = world.job.status.clone().unwrap().message.unwrap();
    assert_eq!(message, "container main of Pod train-worker-1 ended with 3");
    world.sweep();
    world.settle();
    assert!(world.names().is_empty(), "the wait is not over");
    world.pass(31);
    world.settle();
    assert_eq!(world.names().len(), 2);
    assert!(world.pods.iter().all(|pod| pod.metadata.labels.as_ref().unwrap()[names::LABEL_ATTEMPT] == "1"));
    world.all_become("Running");
    world.settle();
    world.become_("train-worker-0", "Failed");
    world.settle();
    assert_eq!(world.stands(), ("Failed".to_owned(), "RetriesExhausted".to_owned()));
    assert_eq!(world.names(), ["train-worker-0"], "what failed can be looked at");
    assert_eq!(world.job.status.unwrap().retries, 1);
}

#[test]
fn why_a_job_has_failed_stays_said_while_the_rest_of_it_is_stopped() {
    let mut world = running(World::new(job(JobType::PyTorch).task("worker", 2)));
    world.become_("train-worker-1", "Failed");
    world.step();
    let said = "container main of Pod train-worker-1 ended with 3; no retry is left";
    assert_eq!(world.stands(), ("Terminating".to_owned(), "RetriesExhausted".to_owned()));
    assert_eq!(world.job.status.clone().unwrap().message.as_deref(), Some(said));
    world.sweep();
    world.settle();
    assert_eq!(world.stands().0, "Failed");
    assert_eq!(world.job.status.unwrap().message.as_deref(), Some(said));
}

#[test]
fn a_failure_is_counted_once_however_often_it_is_looked_at() {
    let mut world =
        World::new(job(JobType::Single).task("main", 3).set("/restartPolicy", "Task").set("/retries", 5));
    world = running(world);
    world.become_("train-main-1", "Failed");
    for _ in 0..3 {
        // The deletion is not carried out: somebody else's finalizer holds the Pod.
        let status = world.plan().status;
        world.job.status = Some(status);
    }
    assert_eq!(world.job.status.clone().unwrap().retries, 1);
    world.settle();
    world.pass(11);
    world.settle();
    assert_eq!(world.names(), ["train-main-0", "train-main-1", "train-main-2"]);
    let untouched = world.pods.iter().filter(|pod| pod.status.is_some()).count();
    assert_eq!(untouched, 2, "the others run on");
}

#[test]
fn tasks_may_lose_pods_down_to_their_minimum() {
    let mut world = running(World::new(
        job(JobType::Single).task("main", 3).set("/restartPolicy", "Never").set("/tasks/0/min", 2),
    ));
    world.become_("train-main-0", "Failed");
    world.settle();
    assert_eq!(world.stands().0, "Running");
    world.become_("train-main-1", "Succeeded");
    world.become_("train-main-2", "Succeeded");
    world.settle();
    assert_eq!(world.stands().0, "Completed");
    let mut world = running(World::new(job(JobType::Single).task("main", 3).set("/restartPolicy", "Never")));
    world.become_("train-main-0", "Failed");
    world.settle();
    assert_eq!(world.stands().0, "Failed");
}

#[test]
fn a_preempted_job_is_queued_again_and_loses_no_retry() {
    let mut world = running(ddp());
    for pod in &mut world.pods {
        let all = pod.metadata.annotations.get_or_insert_default();
        all.insert(names::ANNOTATION_STOP_REASON.to_owned(), "Preempted".to_owned());
        pod.metadata.deletion_timestamp =
            Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(world.now));
    }
    world.step();
    assert_eq!(world.stands(), ("Preempted".to_owned(), "Preempted".to_owned()));
    world.sweep();
    world.settle();
    assert_eq!((world.stands().0.as_str(), world.names().len()), ("Preempted", 3));
    let status = world.job.status.clone().unwrap();
    assert_eq!((status.preemptions, status.retries, status.attempt), (1, 0, 1));
    world.all_become("Running");
    world.settle();
    assert_eq!(world.stands().0, "Running");
}

#[test]
fn who_fails_because_another_was_taken_away_takes_no_retry() {
    for taken in ["Preempted", "PodLost"] {
        let mut world = running(ddp());
        world.pods[1].metadata.deletion_timestamp =
            Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(world.now));
        if taken == "Preempted" {
            let all = world.pods[1].metadata.annotations.get_or_insert_default();
            all.insert(names::ANNOTATION_STOP_REASON.to_owned(), taken.to_owned());
        }
        // Its peers miss it at once, and are seen together with it.
        world.become_("train-master-0", "Failed");
        world.step();
        assert_eq!(world.stands().1, taken);
        let status = world.job.status.clone().unwrap();
        assert_eq!((status.retries, status.attempt), (0, 1), "{taken}");
    }
}

#[test]
fn a_notice_of_the_scheduler_is_left_alone() {
    let mut world = running(ddp());
    for pod in &mut world.pods {
        let all = pod.metadata.annotations.get_or_insert_default();
        all.insert(names::ANNOTATION_STOP_AT.to_owned(), "2026-01-01T01:00:00Z".to_owned());
        all.insert(names::ANNOTATION_STOP_REASON.to_owned(), "Preempted".to_owned());
    }
    let plan = world.step();
    assert!(plan.calm.is_empty() && plan.delete.is_empty());
    assert_eq!(world.stands().0, "Running", "until it happens");
}

#[test]
fn saving_work_and_ending_well_on_eviction_is_not_success() {
    let mut world = running(World::new(job(JobType::Single).task("main", 1)));
    let deleted = |world: &mut World, status: serde_json::Value| {
        let now = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(world.now);
        world.pods[0].metadata.deletion_timestamp = Some(now);
        world.pods[0].metadata.deletion_grace_period_seconds = Some(30);
        world.pods[0].status = serde_json::from_value(status).unwrap();
    };
    let ended = |at: jiff::Timestamp| {
        json!({ "phase": "Succeeded", "containerStatuses": [{ "name": "main", "image": "i", "imageID": "", "ready": false,
            "restartCount": 0, "state": { "terminated": { "exitCode": 0, "finishedAt": at.to_string() } } }] })
    };
    world.pass(100);
    let mut early = world.clone();
    let now = world.now;
    deleted(&mut world, ended(now));
    world.step();
    assert_eq!(world.stands(), ("Restarting".to_owned(), "PodLost".to_owned()));
    let before = early.now.saturating_sub(jiff::SignedDuration::from_secs(60)).unwrap();
    deleted(&mut early, ended(before));
    early.step();
    assert_eq!(early.stands().1, "Succeeded", "it had ended before it was deleted");
}

#[test]
fn a_job_that_ended_well_is_not_suspended() {
    let mut world = running(World::new(job(JobType::Single).task("main", 1)));
    world.all_become("Succeeded");
    world.job.spec.suspend = true;
    world.settle();
    assert_eq!(world.stands().0, "Completed");
}

#[test]
fn a_pod_that_vanishes_takes_its_gang_with_it_but_only_for_sure() {
    let mut world = running(ddp());
    world.pods.remove(1);
    assert!(world.plan().doubtful, "it was not seen, which may be the fault of the view");
    world.step();
    assert_eq!(world.stands(), ("Restarting".to_owned(), "PodLost".to_owned()));
    assert_eq!(world.job.status.clone().unwrap().retries, 0);
    world.sweep();
    world.pass(11);
    world.settle();
    assert_eq!(world.names().len(), 3);
    assert!(!world.plan().doubtful);
}

#[test]
fn more_replicas_are_not_lost_ones() {
    let mut world = running(World::new(job(JobType::Single).task("main", 2).set("/restartPolicy", "Never")));
    world.job.spec.tasks[0].replicas = 4;
    world.settle();
    assert_eq!(world.job.status.clone().unwrap().attempt, 0);
    assert_eq!(world.names().len(), 4);
    world.job.spec.tasks[0].replicas = 1;
    world.settle();
    assert_eq!(world.names(), ["train-main-0"]);
    assert_eq!(world.stands().0, "Running");
}

#[test]
fn programs_that_were_told_how_many_they_are_begin_again_when_that_changes() {
    let rows = [
        (job(JobType::PyTorch).task("master", 1).task("worker", 2), 1),
        (job(JobType::TensorFlow).task("chief", 1).task("worker", 2), 1),
        (job(JobType::Mpi).task("launcher", 1).task("worker", 2), 1),
        (job(JobType::DeepSpeed).task("launcher", 1).task("worker", 2), 1),
    ];
    for (build, task) in rows {
        for replicas in [1, 3] {
            let mut world = running(World::new(build.clone()));
            world.job.spec.tasks[task].replicas = replicas;
            world.step();
            assert_eq!(world.stands(), ("Restarting".to_owned(), "Resized".to_owned()));
            world.sweep();
            world.settle();
            let status = world.job.status.clone().unwrap();
            assert_eq!((status.attempt, status.retries), (1, 0), "{:?}", world.job.spec.job_type);
            assert_eq!(world.names().len(), 1 + usize::try_from(replicas).unwrap());
            world.all_become("Running");
            world.settle();
            assert_eq!((world.stands().0.as_str(), world.job.status.unwrap().attempt), ("Running", 1));
        }
    }
}

#[test]
fn programs_that_find_each_other_while_they_run_grow_and_shrink() {
    let elastic = json!({ "elastic": { "minPods": 1, "maxPods": 4 } });
    for build in [
        job(JobType::PyTorch).task("worker", 2).set("/launch", elastic),
        job(JobType::Ray).task("head", 1).task("worker", 2),
    ] {
        let mut world = running(World::new(build));
        let last = world.job.spec.tasks.len() - 1;
        for replicas in [3, 1] {
            world.job.spec.tasks[last].replicas = replicas;
            world.settle();
            world.all_become("Running");
            world.settle();
            let status = world.job.status.clone().unwrap();
            assert_eq!((world.stands().0.as_str(), status.attempt), ("Running", 0));
            assert_eq!(status.tasks[last].running, replicas);
        }
    }
}

fn elastic(least: i32) -> World {
    let launch = json!({ "elastic": { "minPods": least, "maxPods": 4 } });
    World::new(job(JobType::PyTorch).task("worker", 4).set("/launch", launch))
}

#[test]
fn an_elastic_job_runs_with_as_few_as_it_goes_on_with_and_ends_with_the_pod_they_meet_at() {
    let mut world = elastic(2);
    world.settle();
    world.become_("train-worker-0", "Running");
    world.settle();
    assert_eq!(world.stands().0, "Pending");
    world.become_("train-worker-2", "Running");
    world.settle();
    assert_eq!(world.stands().0, "Running", "the others come when there is room");
    world.become_("train-worker-2", "Succeeded");
    world.settle();
    assert_eq!(world.stands().0, "Running");
    world.become_("train-worker-0", "Succeeded");
    world.settle();
    world.sweep();
    world.settle();
    assert_eq!(world.stands().0, "Completed", "who came now would meet nobody");
}

#[test]
fn an_elastic_job_goes_on_without_a_pod_it_has_lost_but_not_without_the_one_they_meet_at() {
    let attempt = |world: &World| world.job.status.as_ref().unwrap().attempt;
    let evicted = |world: &mut World, names: &[&str]| {
        let time = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(world.now);
        for pod in &mut world.pods {
            if names.contains(&pod.metadata.name.as_deref().unwrap()) {
                pod.metadata.deletion_timestamp = Some(time.clone());
            }
        }
        world.step();
    };
    let mut world = running(elastic(2));
    evicted(&mut world, &["train-worker-3"]);
    assert_eq!((world.stands().0.as_str(), attempt(&world)), ("Running", 0));
    world.sweep();
    assert!(!world.plan().doubtful, "nor when it has gone without a trace");
    world.pass(60);
    world.settle();
    assert_eq!(world.names().len(), 4, "it is made again: {:?}", world.names());
    let mut world = running(elastic(2));
    evicted(&mut world, &["train-worker-0"]);
    assert_eq!((world.stands().0.as_str(), attempt(&world)), ("Restarting", 1));
    let mut world = running(elastic(3));
    evicted(&mut world, &["train-worker-2", "train-worker-3"]);
    assert_eq!((world.stands().0.as_str(), attempt(&world)), ("Restarting", 1), "too few are left");
}

#[test]
fn a_job_of_ten_thousand_pods_makes_each_once() {
    let mut world = World::new(job(JobType::Single).task("main", 10_000));
    assert_eq!(world.step().create.len(), 10_000);
    world.all_become("Running");
    assert!(world.step().create.is_empty());
    assert_eq!(world.stands().0, "Running");
    world.pods.remove(9_999);
    world.pods.remove(17);
    let lost = world.plan();
    assert_eq!((lost.doubtful, lost.status.attempt), (true, 1), "two have vanished");
}

#[test]
fn suspending_gives_notice_and_resuming_begins_anew() {
    let mut world = running(World::new(
        job(JobType::PyTorch).task("worker", 2).set("/stop", json!({ "noticeSeconds": 60 })),
    ));
    world.job.spec.suspend = true;
    let plan = world.step();
    assert_eq!((plan.notify.len(), plan.delete.len()), (2, 0));
    assert_eq!(world.stands(), ("Suspending".to_owned(), "Suspended".to_owned()));
    world.pass(30);
    assert!(world.step().delete.is_empty());
    world.pass(31);
    assert_eq!(world.step().delete.len(), 2);
    world.sweep();
    world.settle();
    assert_eq!((world.stands().0.as_str(), world.names().len()), ("Suspended", 0));
    world.pass(1000);
    world.job.spec.suspend = false;
    world.settle();
    assert_eq!((world.stands().0.as_str(), world.names().len()), ("Pending", 2));
    assert_eq!(world.job.status.unwrap().attempt, 1);
}

#[test]
fn a_suspension_that_is_taken_back_in_time_takes_back_the_notice() {
    let mut world = running(World::new(
        job(JobType::PyTorch).task("worker", 2).set("/stop", json!({ "noticeSeconds": 60 })),
    ));
    world.job.spec.suspend = true;
    world.step();
    world.job.spec.suspend = false;
    assert_eq!(world.step().calm.len(), 2);
    world.settle();
    assert_eq!((world.stands().0.as_str(), world.job.status.unwrap().attempt), ("Running", 0));
}

#[test]
fn a_job_that_begins_suspended_makes_nothing_until_it_is_resumed() {
    let mut world = World::new(job(JobType::PyTorch).task("worker", 2).set("/suspend", true));
    world.settle();
    assert_eq!((world.stands().0.as_str(), world.names().len()), ("Suspended", 0));
    world.job.spec.suspend = false;
    world.settle();
    assert_eq!((world.stands().0.as_str(), world.names().len()), ("Pending", 2));
}

#[test]
fn cancelling_ends_it_for_good() {
    let mut world = running(ddp());
    world.job.spec.cancel = true;
    world.settle();
    assert_eq!(world.stands(), ("Aborted".to_owned(), "Cancelled".to_owned()));
    assert!(world.names().is_empty());
    world.job.spec.suspend = true;
    world.settle();
    assert_eq!(world.stands().0, "Aborted");
}

#[test]
fn time_runs_out_with_notice() {
    let mut world = running(World::new(
        job(JobType::Single)
            .task("main", 1)
            .set("/maxRunSeconds", 600)
            .set("/stop", json!({ "noticeSeconds": 100 })),
    ));
    world.pass(499);
    assert!(world.step().notify.is_empty());
    world.pass(2);
    assert_eq!(world.step().notify.len(), 1);
    assert_eq!(world.step().notify.len(), 0, "once is enough");
    world.pass(100);
    world.settle();
    assert_eq!(world.stands(), ("Failed".to_owned(), "MaxRunTimeExceeded".to_owned()));
    let deadline = super::fixture::start().saturating_add(jiff::SignedDuration::from_secs(50)).unwrap();
    let mut world = World::new(job(JobType::Single).task("main", 1).set("/deadline", deadline.to_string()));
    world.settle();
    world.pass(51);
    world.settle();
    assert_eq!(world.stands(), ("Failed".to_owned(), "DeadlineExceeded".to_owned()), "also if it never ran");
}

#[test]
fn a_finished_job_goes_after_its_time() {
    let mut world =
        running(World::new(job(JobType::Single).task("main", 1).set("/ttlSecondsAfterFinished", 100)));
    world.all_become("Succeeded");
    world.settle();
    assert!(!world.plan().expired);
    world.pass(101);
    assert!(world.plan().expired);
}

#[test]
fn what_makes_no_sense_is_named() {
    let wrong = job(JobType::Mpi)
        .task("worker", 2)
        .set("/minAvailable", 9)
        .set("/successTasks", json!(["nobody"]))
        .set("/schedule", json!({ "cron": "often" }))
        .set("/array", json!({ "indices": "3-1" }))
        .set("/tasks/0/template/spec/restartPolicy", "Always")
        .build();
    insta::assert_snapshot!(problems(&wrong).join("\n"));
    assert!(problems(&ddp().job).is_empty());
}

#[test]
fn what_would_be_passed_over_in_silence_is_named() {
    let single = || job(JobType::Single).task("main", 1);
    let rows = [
        (
            job(JobType::Mpi).task("launcher", 2).task("worker", 1),
            "tasks: launcher has 2 replicas, and a job of type MPI has one",
        ),
        (job(JobType::Ray).task("head", 3), "tasks: head has 3 replicas, and a job of type Ray has one"),
        (
            job(JobType::PyTorch).task("master", 2),
            "tasks: master has 2 replicas, and a job of type PyTorch has one",
        ),
        (
            job(JobType::TensorFlow).task("chief", 2),
            "tasks: chief has 2 replicas, and a job of type TensorFlow has one",
        ),
        (job(JobType::Ray).task("worker", 1), "tasks: head is missing, which a job of type Ray needs"),
        (
            job(JobType::PyTorch)
                .task("worker", 5)
                .set("/launch", json!({ "elastic": { "minPods": 1, "maxPods": 4 } })),
            "launch.elastic: there are 5 Pods, and minPods and maxPods allow 1 to 4",
        ),
        (
            single().set("/launch", json!({ "elastic": { "minPods": 1, "maxPods": 4 } })),
            "launch.elastic is for type PyTorch, and this is of type Single",
        ),
        (
            single().set("/ports", json!([{ "name": "http", "port": 80, "task": "nobody" }])),
            "ports: http is for task nobody, which is not a task",
        ),
        (
            single().set("/ports", json!([{ "name": "http", "port": 80 }, { "name": "http", "port": 81 }])),
            "ports: http is there twice",
        ),
        (
            single().set("/nodes", json!({ "include": ["b"], "exclude": ["a", "b"] })),
            "nodes: all that are included are excluded, too",
        ),
    ];
    for (build, want) in rows {
        assert_eq!(problems(&build.build()), [want]);
    }
}

#[test]
fn a_pod_that_ended_well_and_was_swept_away_is_not_made_again() {
    for policy in ["Job", "Task", "Never"] {
        let mut world =
            running(World::new(job(JobType::Single).task("main", 3).set("/restartPolicy", policy)));
        world.become_("train-main-1", "Succeeded");
        world.settle();
        world.pods.retain(|pod| pod.metadata.name.as_deref() != Some("train-main-1"));
        world.settle();
        assert_eq!(world.names(), ["train-main-0", "train-main-2"], "{policy}: its node was removed");
        let status = world.job.status.clone().unwrap();
        assert_eq!((status.attempt, world.stands().0.as_str()), (0, "Running"), "{policy}");
        assert_eq!(status.tasks[0].succeeded, 1, "{policy}");
        world.all_become("Succeeded");
        world.settle();
        assert_eq!(world.stands().0, "Completed", "{policy}");
    }
}

#[test]
fn what_begins_again_forgets_what_had_ended_well() {
    let mut world = running(World::new(job(JobType::Single).task("main", 3).set("/retries", 1)));
    world.become_("train-main-1", "Succeeded");
    world.settle();
    world.become_("train-main-0", "Failed");
    world.settle();
    world.pass(11);
    world.settle();
    assert_eq!(world.names().len(), 3);
    assert_eq!(world.job.status.unwrap().tasks[0].succeeded, 0);
}

fn limited() -> World {
    running(World::new(
        job(JobType::Single)
            .task("main", 1)
            .set("/maxRunSeconds", 600)
            .set("/stop", json!({ "noticeSeconds": 100 })),
    ))
}

#[test]
fn ending_well_before_the_time_is_up_is_success_also_after_the_notice() {
    let mut world = limited();
    world.pass(550);
    assert_eq!(world.step().notify.len(), 1);
    assert_eq!(world.stands().0, "Terminating");
    world.all_become("Succeeded");
    world.settle();
    assert_eq!(world.stands(), ("Completed".to_owned(), "Succeeded".to_owned()));
    let mut world = limited();
    world.pass(550);
    world.step();
    world.all_become("Failed");
    world.settle();
    assert_eq!(world.stands().1, "MaxRunTimeExceeded", "who fails upon the notice gets no more time");
}

#[test]
fn more_time_given_during_the_notice_takes_the_notice_back() {
    let mut world = limited();
    world.pass(550);
    world.step();
    world.job.spec.max_run_seconds = Some(6000);
    assert_eq!(world.step().calm.len(), 1);
    world.settle();
    assert_eq!((world.stands().0.as_str(), world.names().len()), ("Running", 1));
    world.pass(5450);
    world.settle();
    assert_eq!(world.stands(), ("Failed".to_owned(), "MaxRunTimeExceeded".to_owned()));
}

#[test]
fn who_waits_for_a_new_pod_has_not_waited_since_the_beginning() {
    let mut world = running(World::new(job(JobType::Single).task("main", 2).set("/restartPolicy", "Task")));
    world.pass(36_000);
    let now = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(world.now);
    world.pods[0].metadata.deletion_timestamp = Some(now);
    world.settle();
    world.pass(11);
    world.settle();
    assert_eq!(world.stands().0, "Pending");
    let queued = world.job.status.unwrap().queued_time.unwrap().0;
    assert_eq!(world.now.duration_since(queued).as_secs(), 11, "not ten hours");
}

#[test]
fn a_suspended_job_that_made_no_sense_for_a_while_is_resumed_as_any_other() {
    let mut world = running(ddp());
    world.job.spec.suspend = true;
    world.settle();
    // What is said of a spec that makes no sense.
    world.job.status.as_mut().unwrap().reason = Some("Invalid".to_owned());
    world.pass(1000);
    world.job.spec.suspend = false;
    world.settle();
    let status = world.job.status.clone().unwrap();
    assert_eq!((status.attempt, world.stands().0.as_str()), (1, "Pending"));
    assert_eq!(status.queued_time.unwrap().0, world.now);
}

#[test]
fn a_status_names_only_so_many_places() {
    let mut world = World::new(job(JobType::Single).task("main", 1500));
    world.settle();
    world.all_become("Running");
    for (number, pod) in world.pods.iter_mut().enumerate() {
        pod.spec.as_mut().unwrap().node_name = Some(format!("node-{number}"));
        let all = pod.metadata.annotations.get_or_insert_default();
        all.insert(names::ANNOTATION_CARDS.to_owned(), "nvidia.com/gpu=0".to_owned());
    }
    world.settle();
    let status = world.job.status.unwrap();
    assert_eq!((status.nodes.len(), status.cards.len()), (1000, 1000));
}

#[test]
fn names_that_would_be_too_long_are_named() {
    let long = "a".repeat(38);
    let named = |mut build: super::fixture::Build| {
        build.0["metadata"]["name"] = json!(long);
        problems(&build.build()).join("; ")
    };
    let host = named(job(JobType::Single).task("a-task-of-20-letters", 10_000));
    assert!(host.contains("63"), "{host}");
    assert_eq!(named(job(JobType::Single).task("main", 1000)), "");
    let array = json!({ "indices": "0-9,300" });
    let array = named(job(JobType::Single).task("main", 1).set("/array", array));
    assert!(array.contains("-300") && array.contains("40"), "{array}");
    let schedule =
        named(job(JobType::Single).task("main", 1).set("/schedule", json!({ "cron": "0 * * * *" })));
    assert!(schedule.contains("40"), "{schedule}");
}

/// What may happen to a job.
#[derive(Debug, Clone, Copy)]
enum Happening {
    Phase(usize, &'static str),
    Evict(usize),
    Vanish(usize),
    Suspend(bool),
    Pass(i64),
    Sweep,
    Step,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        (0..3_usize, prop_oneof![Just("Running"), Just("Succeeded"), Just("Failed")])
            .prop_map(|(at, phase)| Happening::Phase(at, phase)),
        (0..3_usize).prop_map(Happening::Evict),
        (0..3_usize).prop_map(Happening::Vanish),
        any::<bool>().prop_map(Happening::Suspend),
        (0..100_i64).prop_map(Happening::Pass),
        Just(Happening::Sweep),
        Just(Happening::Step),
    ]
}

proptest! {
    #[test]
    fn whatever_happens_a_job_keeps_its_promises(
        policy in prop_oneof![Just("Never"), Just("Task"), Just("Job")],
        story in proptest::collection::vec(happening(), 0..60),
    ) {
        let mut world = World::new(job(JobType::Single).task("main", 3).set("/restartPolicy", policy).set("/retries", 2));
        let mut attempt = 0;
        for one in story {
            match one {
                Happening::Phase(at, phase) => if let Some(pod) = world.pods.get(at) {
                    let ended = pod.status.as_ref().and_then(|status| status.phase.as_deref())
                        .is_some_and(|phase| phase == "Succeeded" || phase == "Failed");
                    let name = pod.metadata.name.clone().unwrap();
                    if !ended { world.become_(&name, phase); }
                },
                Happening::Evict(at) => if let Some(pod) = world.pods.get_mut(at) {
                    pod.metadata.deletion_timestamp =
                        Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(world.now));
                },
                Happening::Vanish(at) => if at < world.pods.len() { world.pods.remove(at); },
                Happening::Suspend(suspend) => world.job.spec.suspend = suspend,
                Happening::Pass(seconds) => world.pass(seconds),
                Happening::Sweep => world.sweep(),
                Happening::Step => { world.step(); }
            }
            let status = world.job.status.clone().unwrap_or_default();
            prop_assert!(status.retries <= 2, "{status:?}");
            prop_assert!(status.attempt >= attempt);
            attempt = status.attempt;
            let names = world.names();
            let mut unique = names.clone();
            unique.dedup();
            prop_assert_eq!(&names, &unique, "one Pod per place");
            let attempts: std::collections::BTreeSet<_> = world.pods.iter()
                .filter(|pod| pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Running"))
                .filter(|pod| pod.metadata.deletion_timestamp.is_none())
                .map(|pod| pod.metadata.labels.as_ref().unwrap()[names::LABEL_ATTEMPT].clone()).collect();
            prop_assert!(attempts.len() <= 1 || policy == "Task", "two attempts run at once: {attempts:?}");
        }
        // Left alone it comes to rest, and looking again changes nothing.
        world.job.spec.suspend = false;
        world.settle();
        world.pass(1000);
        world.settle();
        let plan = world.plan();
        prop_assert_eq!(Some(plan.status), world.job.status.clone());
        let over = world.job.status.as_ref().is_some_and(|status| status.phase.is_final());
        let ended_well = |pod: &&k8s_openapi::api::core::v1::Pod| {
            pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Succeeded")
        };
        let done = world.job.status.as_ref().map_or(0, |status| status.tasks[0].succeeded);
        let left = world.pods.len() - world.pods.iter().filter(ended_well).count();
        prop_assert!(over || usize::try_from(done).unwrap() + left == 3, "{:#?}", world.job.status);
    }
}
