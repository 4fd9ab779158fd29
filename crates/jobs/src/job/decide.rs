//! Whether to stop, to try again, or to go on.
//!
//! Each end of a Pod is counted once: what is counted is written into the status (a higher attempt, or the Pod's uid
//! among the replaced) before the Pod is taken away.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use maar_api::v1alpha1::{AIJobSpec, AIJobStatus, JobPhase, RestartPolicy, StopStatus, TaskSpec, reasons};

use super::{
    done::Done,
    lost::Losses,
    observe::{Seen, State, is_current},
    plan::{Plan, View},
};
use crate::{cleanup::is_fresh, kind, status::whole};

/// No wait before a retry is longer.
pub(super) const LONGEST_BACK_OFF: i64 = 600;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Decision {
    /// Pods are to be stopped, for a reason and at a time.
    Stop(StopStatus),
    /// There shall be Pods.
    GoOn,
}

pub(crate) fn decide(view: &View<'_>, seen: &[Seen<'_>], plan: &mut Plan) -> Decision {
    let current: Vec<Seen<'_>> = seen.iter().filter(|pod| is_current(pod, &plan.status)).copied().collect();
    let succeeded = has_succeeded(view.spec(), &current, &plan.done);
    if let Some(stop) = ending(view, &plan.status, succeeded) {
        return Decision::Stop(stop);
    }
    // What ends while it is being suspended ends because of that.
    let resting = plan.status.stop.as_ref().is_some_and(|stop| stop.reason == reasons::SUSPENDED);
    if succeeded && !resting {
        plan.status.message = Some("all Pods that decide have ended well".to_owned());
        return stop(reasons::SUCCEEDED, view.now);
    }
    if let Some(told) = plan.status.cleanup.as_ref()
        && is_fresh(Some(told), view.job.metadata.generation)
    {
        let reason = told.rule.reason();
        return Decision::Stop(noticed(view, &plan.status, reason));
    }
    if view.spec().suspend {
        return Decision::Stop(noticed(view, &plan.status, reasons::SUSPENDED));
    }
    if plan.status.phase == JobPhase::Suspended {
        resume(view.spec(), &mut plan.status, view.now);
        return Decision::GoOn;
    }
    if is_resized(view.spec(), &current, &plan.status) {
        begin_again(&mut plan.status, JobPhase::Restarting, reasons::RESIZED, view.now);
        let message = "the number of its Pods was changed, and they were told another one when they started";
        plan.status.message = Some(format!("{message}; all Pods are made again"));
        return Decision::GoOn;
    }
    let losses = Losses::of(view, seen, &current, plan);
    // Programs that start together fail together: who fails beside one that was taken away fails because of that.
    if !losses.is_whole()
        && let Some(message) = failed_for_good(view.spec(), &mut plan.status, &current, view.now)
    {
        plan.status.message = Some(message);
        return stop(reasons::RETRIES_EXHAUSTED, view.now);
    }
    losses.count(view, plan);
    match out_of_time(view, &plan.status) {
        Some(Timeout::Now(stop)) => Decision::Stop(stop),
        Some(Timeout::Later(wait)) => {
            plan.look_again(wait);
            Decision::GoOn
        }
        None => Decision::GoOn,
    }
}

fn stop(reason: &str, at: Timestamp) -> Decision {
    Decision::Stop(StopStatus { reason: reason.to_owned(), at: Time(whole(at)) })
}

/// Whether a stop for this reason is because time is up.
pub(crate) fn is_timed(reason: &str) -> bool {
    [reasons::MAX_RUN_TIME, reasons::DEADLINE].contains(&reason)
}

/// A stop for good that people ask for, or one that was decided before.
fn ending(view: &View<'_>, status: &AIJobStatus, well: bool) -> Option<StopStatus> {
    let decided = match &status.stop {
        Some(stop) if stop.reason == reasons::SUSPENDED => None,
        // The end is told before it comes: until then work may end well, and people may give it more time.
        Some(stop) if is_timed(&stop.reason) && stop.at.0 > view.now => match out_of_time(view, status) {
            Some(Timeout::Now(stop)) if !well => Some(stop),
            _ => None,
        },
        decided => decided.clone(),
    };
    let succeeded = decided.as_ref().is_some_and(|stop| stop.reason == reasons::SUCCEEDED);
    if view.spec().cancel && !succeeded {
        return Some(noticed(view, status, reasons::CANCELLED));
    }
    decided
}

/// A stop after the notice that Pods are to have; one that stands already keeps its time.
fn noticed(view: &View<'_>, status: &AIJobStatus, reason: &str) -> StopStatus {
    let standing = status.stop.as_ref().filter(|stop| stop.reason == reason);
    let notice = SignedDuration::from_secs(view.spec().stop().notice());
    let at = standing.map_or_else(|| view.now.saturating_add(notice).unwrap_or(view.now), |stop| stop.at.0);
    StopStatus { reason: reason.to_owned(), at: Time(whole(at)) }
}

/// Programs that have to start together start together again; others go on where they were.
fn resume(spec: &AIJobSpec, status: &mut AIJobStatus, now: Timestamp) {
    if !is_piecemeal(spec) {
        status.attempt += 1;
    }
    status.attempt_start_time = None;
    status.queued_time = Some(Time(whole(now)));
    status.phase = JobPhase::Pending;
}

/// Whether there are Pods that were told of another number of Pods than there shall be, and cannot be told anew.
fn is_resized(spec: &AIJobSpec, current: &[Seen<'_>], status: &AIJobStatus) -> bool {
    let other = |task: &TaskSpec| {
        let known = status.tasks.iter().find(|known| known.name == task.name);
        known.is_some_and(|known| known.replicas != task.replicas)
    };
    !current.is_empty() && kind::of(spec.job_type).is_rigid(spec) && spec.tasks.iter().any(other)
}

/// Whether each Pod may be made again by itself.
fn is_piecemeal(spec: &AIJobSpec) -> bool {
    spec.tasks.iter().all(|task| policy(spec, task) == RestartPolicy::Task)
}

pub(crate) fn policy(spec: &AIJobSpec, task: &TaskSpec) -> RestartPolicy {
    task.restart_policy.unwrap_or(spec.restart_policy)
}

fn has_succeeded(spec: &AIJobSpec, current: &[Seen<'_>], done: &Done) -> bool {
    kind::deciding(spec).into_iter().all(|name| {
        let Some(at) = spec.tasks.iter().position(|task| task.name == name) else { return false };
        let task = &spec.tasks[at];
        let failed = |pod: &&Seen<'_>| pod.task == Some(at) && pod.state == State::Failed;
        let badly = current.iter().filter(failed).filter(|pod| !done.has(at, pod.index)).count();
        let well = done.count(at);
        let all = usize::try_from(task.replicas).unwrap_or(usize::MAX);
        if spec.success_tasks.is_empty() && kind::of(spec.job_type).meeting(spec) == Some(name) {
            // Others may be fewer than asked for, and those who come late would meet nobody.
            return done.has(at, 0);
        }
        let enough = usize::try_from(spec.minimum_of(task)).unwrap_or(usize::MAX).max(1);
        well + badly == all && well >= enough
    })
}

/// Counts failures. Says why if no retry is left.
fn failed_for_good(
    spec: &AIJobSpec,
    status: &mut AIJobStatus,
    current: &[Seen<'_>],
    now: Timestamp,
) -> Option<String> {
    let failed: Vec<&Seen<'_>> =
        current.iter().filter(|pod| pod.state == State::Failed && pod.loss().is_none()).collect();
    let first = failed.first()?;
    let of = |wanted: RestartPolicy| {
        let tasks = |pod: &&&Seen<'_>| pod.task.is_some_and(|at| policy(spec, &spec.tasks[at]) == wanted);
        failed.iter().filter(tasks).copied().collect::<Vec<_>>()
    };
    let left = spec.retries - status.retries;
    let final_word = |pod: &Seen<'_>| Some(format!("{}; no retry is left", pod.failure()));
    if let Some(pod) = of(RestartPolicy::Never).into_iter().find(|pod| !is_spare(spec, pod, current)) {
        return Some(pod.failure());
    }
    if let Some(pod) = of(RestartPolicy::Job).first() {
        if left <= 0 {
            return final_word(pod);
        }
        status.retries += 1;
        back_off(spec, status, now);
        begin_again(status, JobPhase::Restarting, reasons::POD_FAILED, now);
        status.message = Some(first.failure());
        return None;
    }
    let alone = of(RestartPolicy::Task);
    let count = i32::try_from(alone.len()).unwrap_or(i32::MAX);
    if count > left {
        return alone.first().and_then(|pod| final_word(pod));
    }
    if count > 0 {
        status.retries += count;
        back_off(spec, status, now);
        status.replaced.extend(alone.iter().map(|pod| pod.uid().to_owned()));
        status.queued_time = Some(Time(whole(now)));
        status.message = Some(first.failure());
    }
    None
}

/// Whether the task can do without the Pod.
fn is_spare(spec: &AIJobSpec, pod: &Seen<'_>, current: &[Seen<'_>]) -> bool {
    let Some(task) = pod.task.map(|at| &spec.tasks[at]) else { return true };
    let failed =
        current.iter().filter(|other| other.task == pod.task && other.state == State::Failed).count();
    i32::try_from(failed).unwrap_or(i32::MAX) <= task.replicas - spec.minimum_of(task)
}

/// The next wait is twice as long as the one before.
fn back_off(spec: &AIJobSpec, status: &mut AIJobStatus, now: Timestamp) {
    let doublings = u32::try_from(status.retries.saturating_sub(1).clamp(0, 20)).unwrap_or(0);
    let seconds = spec.backoff_seconds.saturating_mul(1 << doublings).min(LONGEST_BACK_OFF);
    wait(status, now, seconds);
}

pub(super) fn wait(status: &mut AIJobStatus, now: Timestamp, seconds: i64) {
    let at = now.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(now);
    status.retry_time = Some(Time(whole(at)));
}

/// All Pods are to be made again.
pub(super) fn begin_again(status: &mut AIJobStatus, phase: JobPhase, reason: &str, now: Timestamp) {
    status.attempt += 1;
    status.attempt_start_time = None;
    status.queued_time = Some(Time(whole(now)));
    status.replaced.clear();
    status.phase = phase;
    status.reason = Some(reason.to_owned());
}

pub(crate) enum Timeout {
    /// It is time to give notice or to stop.
    Now(StopStatus),
    /// It will be.
    Later(SignedDuration),
}

pub(crate) fn out_of_time(view: &View<'_>, status: &AIJobStatus) -> Option<Timeout> {
    let spec = view.spec();
    let started = status.attempt_start_time.as_ref().map(|time| time.0);
    let longest = spec.max_run_seconds.map(SignedDuration::from_secs);
    let run_end = started.zip(longest).and_then(|(started, longest)| started.saturating_add(longest).ok());
    let deadline = spec.deadline.as_ref().map(|time| time.0);
    let ends = [(run_end, reasons::MAX_RUN_TIME), (deadline, reasons::DEADLINE)];
    let (end, reason) = ends.into_iter().filter_map(|(end, reason)| Some((end?, reason))).min()?;
    let notice = SignedDuration::from_secs(spec.stop().notice());
    let until = end.saturating_sub(notice).unwrap_or(end).duration_since(view.now);
    if until.is_positive() {
        return Some(Timeout::Later(until));
    }
    Some(Timeout::Now(StopStatus { reason: reason.to_owned(), at: Time(whole(end)) }))
}
