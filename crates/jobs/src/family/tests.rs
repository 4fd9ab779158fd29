use jiff::{SignedDuration, Timestamp};
use maar_api::{
    names,
    v1alpha1::{AIJob, AIJobStatus, JobPhase, JobType},
};
use proptest::prelude::*;
use serde_json::json;

use super::{FamilyPlan, FamilyView, indices, plan};
use crate::{
    job::fixture::{Build, job, start},
    name,
};

struct Family {
    job: AIJob,
    children: Vec<AIJob>,
    now: Timestamp,
}

impl Family {
    fn new(build: Build) -> Self {
        Self { job: build.build(), children: Vec::new(), now: start() }
    }

    fn step(&mut self) -> FamilyPlan {
        let view = FamilyView { job: &self.job, children: &self.children, on_server: None, now: self.now };
        let mut plan = plan(&view);
        if plan.doubtful {
            let there = self.children.iter().filter_map(super::index).collect();
            plan = super::plan(&FamilyView { on_server: Some(&there), ..view });
        }
        self.children.extend(plan.create.clone());
        for cancelled in &plan.cancel {
            let child = self.children.iter_mut().find(|one| name::of(one) == name::of(cancelled)).unwrap();
            child.spec.cancel = true;
        }
        self.children.retain(|one| plan.delete.iter().all(|gone| name::of(gone) != name::of(one)));
        self.job.status = Some(plan.status.clone());
        plan
    }

    fn end(&mut self, name: &str, phase: JobPhase) {
        let child = self.children.iter_mut().find(|one| name::of(one) == name).unwrap();
        child.status = Some(AIJobStatus { phase, ..AIJobStatus::default() });
    }

    fn names(&self) -> Vec<&str> {
        self.children.iter().map(name::of).collect()
    }

    fn pass(&mut self, minutes: i64) {
        self.now = self.now.saturating_add(SignedDuration::from_mins(minutes)).unwrap();
    }

    fn phase(&self) -> JobPhase {
        self.job.status.as_ref().unwrap().phase
    }
}

fn array(indices: &str) -> Build {
    job(JobType::Single).task("main", 1).set("/array", json!({ "indices": indices, "parallelism": 2 }))
}

#[test]
fn an_array_makes_a_few_at_a_time_and_counts_their_ends() {
    let mut family = Family::new(array("0-2"));
    family.step();
    assert_eq!(family.names(), ["train-0", "train-1"]);
    assert_eq!(family.children[1].metadata.labels.as_ref().unwrap()[names::LABEL_ARRAY_INDEX], "1");
    assert!(family.children[0].spec.array.is_none());
    family.step();
    assert_eq!(family.names().len(), 2);
    family.end("train-0", JobPhase::Completed);
    family.step();
    assert_eq!(family.names().len(), 3);
    family.end("train-1", JobPhase::Failed);
    family.end("train-2", JobPhase::Completed);
    family.step();
    assert_eq!(family.phase(), JobPhase::Failed);
    let message = family.job.status.unwrap().message.unwrap();
    assert_eq!(message, "of 3 jobs 0 are under way, 2 ended well, 1 did not");
}

#[test]
fn an_array_gives_up_after_too_many_failures_and_can_be_cancelled() {
    let mut family = Family::new(array("0-9").set("/array/failuresAllowed", 0));
    family.step();
    family.end("train-0", JobPhase::Failed);
    assert_eq!(family.step().cancel.len(), 1);
    assert_eq!((family.phase(), family.names().len()), (JobPhase::Terminating, 2));
    family.end("train-1", JobPhase::Aborted);
    family.step();
    assert_eq!(family.phase(), JobPhase::Failed);
    let mut family = Family::new(array("0-9"));
    family.step();
    family.job.spec.cancel = true;
    assert_eq!(family.step().cancel.len(), 2);
    family.end("train-0", JobPhase::Aborted);
    family.end("train-1", JobPhase::Aborted);
    family.step();
    assert_eq!(family.phase(), JobPhase::Aborted);
}

#[test]
fn a_child_that_is_deleted_is_not_made_again() {
    let mut family = Family::new(array("0-2"));
    family.step();
    family.end("train-0", JobPhase::Completed);
    family.step();
    // One that had ended and one that runs: the first has ended well whoever tidies up, the second was stopped.
    family.children.retain(|one| name::of(one) == "train-2");
    family.step();
    assert_eq!(family.names(), ["train-2"]);
    let count = family.job.status.clone().unwrap().array.unwrap();
    assert_eq!((count.active, count.succeeded, count.failed), (1, 1, 1));
    assert_eq!((count.succeeded_indices.as_str(), count.failed_indices.as_str()), ("0", "1"));
    family.end("train-2", JobPhase::Completed);
    family.step();
    assert_eq!(family.phase(), JobPhase::Failed);
    assert_eq!(family.job.status.unwrap().array.unwrap().succeeded_indices, "0,2");
}

#[test]
fn a_child_that_the_watch_does_not_show_is_neither_deleted_nor_made_twice() {
    let mut family = Family::new(array("0-1"));
    family.step();
    family.step();
    let shown = [family.children[0].clone()];
    let view = FamilyView { job: &family.job, children: &shown, on_server: None, now: family.now };
    let guess = plan(&view);
    assert!(guess.doubtful && guess.create.is_empty(), "{guess:#?}");
    let there = [0, 1].into();
    let told = plan(&FamilyView { on_server: Some(&there), ..view });
    let count = told.status.array.unwrap();
    assert_eq!((told.create.len(), count.active, count.failed), (0, 2, 0));
}

fn hourly(concurrency: &str) -> Build {
    job(JobType::Single).task("main", 1).set(
        "/schedule",
        json!({ "cron": "0 * * * *", "concurrency": concurrency, "historyLimit": 1, "startingDeadlineSeconds": 300 }),
    )
}

#[test]
fn a_schedule_makes_one_job_each_time_and_keeps_few() {
    let mut family = Family::new(hourly("Forbid"));
    family.step();
    assert!(family.children.is_empty());
    assert_eq!(family.phase(), JobPhase::Scheduled);
    family.pass(61);
    let plan = family.step();
    assert_eq!(plan.create.len(), 1);
    assert_eq!(plan.again.unwrap().as_secs(), 59 * 60 + 1);
    assert!(family.step().create.is_empty(), "once is enough");
    let first = family.names()[0].to_owned();
    assert_eq!(first, format!("train-{}", (start().as_second() / 60) + 60));
    family.pass(60);
    assert!(family.step().create.is_empty(), "the one before is not over");
    family.end(&first, JobPhase::Completed);
    family.pass(60);
    family.step();
    let second = family.names()[1].to_owned();
    family.end(&second, JobPhase::Completed);
    family.step();
    assert_eq!(family.names(), [second]);
}

#[test]
fn a_schedule_replaces_leaves_out_what_is_late_and_rests() {
    let mut family = Family::new(hourly("Replace"));
    family.pass(60);
    family.step();
    family.pass(60);
    let plan = family.step();
    assert_eq!((plan.cancel.len(), plan.create.len()), (1, 1));
    // Made, but not written down: the same controller comes back and neither makes nor cancels it again.
    family.job.status.as_mut().unwrap().schedule.as_mut().unwrap().last_time = None;
    let plan = family.step();
    assert_eq!((plan.cancel.len(), plan.create.len()), (0, 0));
    family.pass(70);
    assert!(family.step().create.is_empty(), "ten minutes late is too late");
    family.job.spec.suspend = true;
    family.pass(60);
    family.step();
    family.job.spec.suspend = false;
    assert!(family.step().create.is_empty(), "times that passed meanwhile are left out");
    assert_eq!(family.phase(), JobPhase::Scheduled);
}

#[test]
fn times_that_pass_while_a_schedule_is_suspended_are_left_out_though_nobody_looks() {
    let mut family = Family::new(hourly("Allow").set("/schedule/startingDeadlineSeconds", json!(null)));
    family.pass(61);
    family.step();
    family.job.spec.suspend = true;
    family.step();
    let before = family.job.status.clone();
    family.pass(1);
    family.step();
    assert_eq!(family.job.status, before, "nothing to write");
    // Nothing changes, so nobody looks, for three hours and a half.
    family.pass(210);
    family.job.spec.suspend = false;
    assert!(family.step().create.is_empty());
    family.pass(60);
    assert_eq!(family.step().create.len(), 1, "the next one is made");
}

#[test]
fn a_schedule_that_is_changed_makes_nothing_for_times_before_the_change() {
    let mut family = Family::new(hourly("Allow").set("/schedule/startingDeadlineSeconds", json!(null)));
    family.pass(61);
    assert_eq!(family.step().create.len(), 1);
    family.pass(40);
    family.job.spec.schedule.as_mut().unwrap().cron = "30 * * * *".to_owned();
    assert!(family.step().create.is_empty(), "half past one was not asked for when it was half past one");
    family.pass(50);
    assert_eq!(family.step().create.len(), 1, "half past two was");
    family.job.spec.schedule.as_mut().unwrap().time_zone = "Asia/Kolkata".to_owned();
    family.pass(25);
    assert!(family.step().create.is_empty(), "nor is it half past anything there");
    family.pass(10);
    assert_eq!(family.step().create.len(), 1, "three o'clock is half past eight in Kolkata");
}

#[test]
fn a_cancelled_schedule_ends_whatever_it_says_and_goes_after_its_time() {
    let mut family = Family::new(hourly("Allow").set("/ttlSecondsAfterFinished", 100));
    family.pass(60);
    family.step();
    let child = family.names()[0].to_owned();
    family.job.spec.schedule.as_mut().unwrap().cron = "often".to_owned();
    family.job.spec.cancel = true;
    assert_eq!(family.step().cancel.len(), 1);
    assert_eq!(family.phase(), JobPhase::Aborting);
    family.end(&child, JobPhase::Aborted);
    family.step();
    assert_eq!(family.phase(), JobPhase::Aborted);
    let plan = family.step();
    assert!(!plan.expired && plan.again.is_some());
    family.pass(2);
    assert!(family.step().expired);
}

#[test]
fn indices_that_are_taken_out_are_cancelled_and_the_array_ends() {
    let mut family = Family::new(array("0-9").set("/array/parallelism", 10));
    family.step();
    assert_eq!(family.names().len(), 10);
    for index in 0..9 {
        family.end(&format!("train-{index}"), JobPhase::Completed);
    }
    family.job.spec.array.as_mut().unwrap().indices = "0-2".to_owned();
    let cancelled = family.step().cancel;
    assert_eq!(cancelled.iter().map(name::of).collect::<Vec<_>>(), ["train-9"]);
    assert_eq!(family.phase(), JobPhase::Running, "one is still on its way out");
    family.end("train-9", JobPhase::Aborted);
    family.step();
    assert_eq!(
        (family.phase(), family.job.status.unwrap().ready.unwrap().as_str()),
        (JobPhase::Completed, "3/3")
    );
}

#[test]
fn indices_are_numbers_and_ranges() {
    assert_eq!(indices("0-3,7,10-20:5,2").unwrap(), [0, 1, 2, 3, 7, 10, 15, 20]);
    for wrong in ["", "a", "3-1", "1-5:0", "0-4000000000", "-1"] {
        assert!(indices(wrong).is_err(), "{wrong}");
    }
}

proptest! {
    #[test]
    fn indices_are_ascending_and_few(text in "[0-9,:-]{1,20}") {
        if let Ok(all) = indices(&text) {
            prop_assert!(all.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert!(all.len() <= 10_000 && !all.is_empty());
        }
    }
}
