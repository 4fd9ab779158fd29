//! What to do next: job, Pods and time in, writes out.

use std::{collections::HashSet, time::Duration};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use maar_api::v1alpha1::{AIJob, AIJobSpec, AIJobStatus, StopStatus, reasons};

use super::{
    decide::{self, Decision, is_timed},
    done::Done,
    observe::{Seen, is_current, observe},
    outcome,
};
use crate::{kind::Place, name, pod::render};

/// What is known of a job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) job: &'a AIJob,
    /// All Pods with its label that it owns.
    pub(crate) pods: &'a [Pod],
    pub(crate) now: Timestamp,
}

impl View<'_> {
    pub(crate) fn spec(&self) -> &AIJobSpec {
        &self.job.spec
    }

    pub(crate) fn status(&self) -> AIJobStatus {
        self.job.status.clone().unwrap_or_default()
    }
}

/// What to write: first the status, then the rest.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plan {
    pub(crate) status: AIJobStatus,
    /// Service, files and secret must be there.
    pub(crate) objects: bool,
    pub(crate) create: Vec<Pod>,
    /// Pods to be told that they will be stopped: by when, and why.
    pub(crate) notify: Vec<Pod>,
    /// Pods whose notice is taken back.
    pub(crate) calm: Vec<Pod>,
    pub(crate) delete: Vec<Pod>,
    /// The job itself is to go.
    pub(crate) expired: bool,
    /// When to look again even if nothing changes.
    pub(crate) again: Option<Duration>,
    /// Work that is done and need not be done again.
    pub(crate) done: Done,
    /// A Pod is held to be lost because it was not seen: make sure before acting.
    pub(crate) doubtful: bool,
}

impl Plan {
    /// Looks again after `wait`, or earlier.
    pub(crate) fn look_again(&mut self, wait: SignedDuration) {
        // Rounded up, so that it is never a moment too early.
        let wait = Duration::from_secs(u64::try_from(wait.as_secs()).unwrap_or(0) + 1);
        self.again = Some(self.again.map_or(wait, |again| again.min(wait)));
    }
}

/// What to do with a valid job that runs Pods itself.
pub(crate) fn plan(view: &View<'_>) -> Plan {
    let seen = observe(view.spec(), view.pods);
    let before = view.status();
    if before.phase.is_final() {
        return after_the_end(view, before, &seen);
    }
    let mut plan = Plan { status: before, ..Plan::default() };
    plan.status.observed_generation = view.job.metadata.generation;
    plan.status.message = None;
    forget_replaced(&mut plan.status, &seen);
    plan.done = Done::of(view.spec(), &plan.status, &seen);
    let attempt = plan.status.attempt;
    let decision = decide::decide(view, &seen, &mut plan);
    if plan.status.attempt != attempt {
        plan.done.forget();
    }
    match decision {
        Decision::Stop(stop) => stopping(view, &seen, &mut plan, stop),
        Decision::GoOn => going_on(view, &seen, &mut plan),
    }
    outcome::fill(view, &seen, &mut plan);
    plan
}

/// Replaced Pods that are gone need not be remembered.
fn forget_replaced(status: &mut AIJobStatus, seen: &[Seen<'_>]) {
    status.replaced.retain(|uid| seen.iter().any(|pod| pod.uid() == uid));
}

fn stopping(view: &View<'_>, seen: &[Seen<'_>], plan: &mut Plan, stop: StopStatus) {
    let active: Vec<&Seen<'_>> = seen.iter().filter(|pod| pod.is_active()).collect();
    let wait = stop.at.0.duration_since(view.now);
    if wait.is_positive() && !active.is_empty() {
        let text = stop.at.0.to_string();
        let unaware = active.iter().filter(|pod| !pod.going && pod.stop_at() != Some(text.as_str()));
        plan.notify = unaware.map(|pod| pod.pod.clone()).collect();
        plan.look_again(wait);
    } else {
        plan.delete = active.iter().filter(|pod| !pod.going).map(|pod| pod.pod.clone()).collect();
    }
    plan.status.phase = outcome::stopping_phase(&stop.reason, active.is_empty());
    plan.status.reason = Some(stop.reason.clone());
    plan.status.retry_time = None;
    if active.is_empty() {
        outcome::ended(view, plan);
    } else {
        plan.status.stop = Some(stop);
    }
}

fn going_on(view: &View<'_>, seen: &[Seen<'_>], plan: &mut Plan) {
    plan.status.stop = None;
    let leaving: Vec<&Seen<'_>> = seen.iter().filter(|pod| !is_current(pod, &plan.status)).collect();
    plan.delete = leaving.iter().filter(|pod| !pod.going).map(|pod| pod.pod.clone()).collect();
    // Suspensions are taken back, and ends of which there is no talk any more; the scheduler's notices are not ours to
    // take.
    let is_ours = |reason: &str| reason == reasons::SUSPENDED || is_timed(reason);
    let told = seen
        .iter()
        .filter(|pod| is_current(pod, &plan.status) && !pod.going && pod.stop_reason().is_some_and(is_ours));
    plan.calm = told.map(|pod| pod.pod.clone()).collect();
    let wait = plan.status.retry_time.as_ref().map(|time| time.0.duration_since(view.now));
    if let Some(wait) = wait.filter(SignedDuration::is_positive) {
        plan.look_again(wait);
        return;
    }
    plan.status.retry_time = None;
    // A new attempt begins when the old one is gone whole: its hosts have the same names.
    if leaving.iter().any(|pod| pod.attempt < plan.status.attempt) {
        return;
    }
    for place in missing(view, seen, &plan.done) {
        plan.create.push(render(&place, plan.status.attempt));
    }
    plan.objects = !plan.create.is_empty();
}

/// Places of the job for which there is no Pod of any attempt, and whose work is not done.
pub(crate) fn missing<'a>(view: &View<'a>, seen: &[Seen<'_>], done: &Done) -> Vec<Place<'a>> {
    let job = view.job;
    let names: HashSet<&str> = seen.iter().map(Seen::name).collect();
    let places = job.spec.tasks.iter().enumerate().flat_map(|(at, task)| {
        let left = (0..task.replicas).filter(move |index| !done.has(at, *index));
        left.map(move |index| Place { job, task, index })
    });
    places
        .filter(|place| !names.contains(&*name::pod(name::of(job), &place.task.name, place.index)))
        .collect()
}

/// A job that is over: nothing may run any more, and at last it goes itself.
fn after_the_end(view: &View<'_>, status: AIJobStatus, seen: &[Seen<'_>]) -> Plan {
    let mut plan = Plan { status, ..Plan::default() };
    let left = seen.iter().filter(|pod| pod.is_active() && !pod.going);
    plan.delete = left.map(|pod| pod.pod.clone()).collect();
    match stay(view.spec(), &plan.status, view.now) {
        Stay::ForEver => {}
        Stay::For(wait) => plan.again = Some(wait),
        Stay::Over => plan.expired = true,
    }
    plan
}

/// How long a job that is over is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stay {
    ForEver,
    For(Duration),
    /// It goes now.
    Over,
}

/// How long a job that is over is still there.
pub(crate) fn stay(spec: &AIJobSpec, status: &AIJobStatus, now: Timestamp) -> Stay {
    let Some(ttl) = spec.ttl_seconds_after_finished else { return Stay::ForEver };
    let ended = status.completion_time.as_ref().map_or(now, |time| time.0);
    let left = ttl - now.duration_since(ended).as_secs();
    u64::try_from(left)
        .ok()
        .filter(|left| *left > 0)
        .map_or(Stay::Over, |left| Stay::For(Duration::from_secs(left)))
}
