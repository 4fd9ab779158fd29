//! What people are told: phase, counts, times, nodes, cards, conditions.

use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::{api::core::v1::Pod, apimachinery::pkg::apis::meta::v1::Time};
use kube::ResourceExt as _;
use maar_api::v1alpha1::{
    AIJobSpec, AIJobStatus, CardUse, CleanupRule, JobPhase, TaskStatus, condition_types, reasons,
};

use super::{
    done::Done,
    observe::{Seen, State, is_current},
    plan::{Plan, View},
};
use crate::{
    card,
    cleanup::ending,
    status::{Say, bounded, set_condition, whole},
};

/// So many nodes, and cards of so many Pods, are named: an object has only so much room.
const MOST_PLACES: usize = 1000;

/// The phase of a job that is being stopped, or is.
pub(crate) fn stopping_phase(reason: &str, done: bool) -> JobPhase {
    match (reason, done) {
        (reasons::SUCCEEDED, false) => JobPhase::Completing,
        (reasons::SUCCEEDED, true) => JobPhase::Completed,
        (reasons::CANCELLED, false) => JobPhase::Aborting,
        (reasons::CANCELLED, true) => JobPhase::Aborted,
        (reasons::SUSPENDED, false) => JobPhase::Suspending,
        (reasons::SUSPENDED, true) => JobPhase::Suspended,
        (cleaned, false) if CleanupRule::of_reason(cleaned).is_some() => JobPhase::Aborting,
        (cleaned, true) if CleanupRule::of_reason(cleaned).is_some() => JobPhase::Aborted,
        (_, false) => JobPhase::Terminating,
        (_, true) => JobPhase::Failed,
    }
}

/// Nothing runs any more.
pub(crate) fn ended(view: &View<'_>, plan: &mut Plan) {
    let status = &mut plan.status;
    status.stop = None;
    if status.phase == JobPhase::Suspended {
        status.attempt_start_time = None;
    } else {
        status.completion_time = Some(Time(whole(view.now)));
        if let Some(ttl) = view.spec().ttl_seconds_after_finished {
            plan.look_again(jiff::SignedDuration::from_secs(ttl));
        }
    }
}

/// Completes the status after the decisions.
pub(crate) fn fill(view: &View<'_>, seen: &[Seen<'_>], plan: &mut Plan) {
    let before = view.status();
    let stopping = plan.status.stop.is_some()
        || plan.status.phase.is_final()
        || plan.status.phase == JobPhase::Suspended;
    plan.status.tasks = counts(view.spec(), seen, &plan.status, &plan.done);
    let running: i32 = plan.status.tasks.iter().map(|task| task.running).sum();
    plan.status.ready = Some(format!("{running}/{}", view.spec().replicas()));
    if !stopping {
        going_on(view, seen, plan);
    }
    places(seen.iter().map(|pod| pod.pod), &mut plan.status);
    let status = &mut plan.status;
    if status.message.is_none() {
        // Why it is being stopped is why it has ended.
        let same =
            status.reason == before.reason && (status.phase == before.phase || status.phase.is_final());
        status.message = before.message.filter(|_| same).or_else(|| Some(sentence(view.spec(), status)));
    }
    status.message = status.message.as_deref().map(bounded);
    if status.phase != before.phase || status.last_transition_time.is_none() {
        status.last_transition_time = Some(Time(whole(view.now)));
    }
    conditions(status, view.job.metadata.generation, view.now);
}

fn counts(spec: &AIJobSpec, seen: &[Seen<'_>], status: &AIJobStatus, done: &Done) -> Vec<TaskStatus> {
    let mut tasks: Vec<TaskStatus> = spec
        .tasks
        .iter()
        .enumerate()
        .map(|(at, task)| TaskStatus {
            name: task.name.clone(),
            replicas: task.replicas,
            succeeded: i32::try_from(done.count(at)).unwrap_or(i32::MAX),
            succeeded_indices: done.text(at),
            ..TaskStatus::default()
        })
        .collect();
    for pod in seen {
        let Some(task) = pod.task.map(|at| &mut tasks[at]) else { continue };
        let count = match pod.state {
            // Counted already.
            State::Succeeded if is_current(pod, status) => continue,
            _ if pod.going => &mut task.stopping,
            State::Waiting => &mut task.pending,
            State::Starting => &mut task.starting,
            State::Running | State::Succeeded if !is_current(pod, status) => &mut task.stopping,
            State::Running | State::Succeeded => &mut task.running,
            State::Failed => &mut task.failed,
        };
        *count += 1;
    }
    tasks
}

/// The phase of a job that shall have Pods.
fn going_on(view: &View<'_>, seen: &[Seen<'_>], plan: &mut Plan) {
    let spec = view.spec();
    let current: Vec<&Seen<'_>> = seen.iter().filter(|pod| is_current(pod, &plan.status)).collect();
    let enough = enough(spec, &current, &plan.done);
    let complete = current.iter().filter(|pod| !is_done(pod, &plan.done)).count()
        + done_count(spec, &plan.done)
        == usize::try_from(spec.replicas()).unwrap_or(usize::MAX);
    let status = &mut plan.status;
    let started = status.attempt_start_time.is_some();
    if status.queued_time.is_none() {
        status.queued_time = Some(Time(whole(view.now)));
    }
    if enough && (started || complete) {
        let now = Time(whole(view.now));
        status.phase = JobPhase::Running;
        status.reason = Some(reasons::MINIMUM_RUNNING.to_owned());
        status.start_time.get_or_insert_with(|| now.clone());
        status.attempt_start_time.get_or_insert(now);
        if !started && spec.max_run_seconds.is_some() {
            // The end of the run is known from now on.
            plan.look_again(jiff::SignedDuration::ZERO);
        }
        return;
    }
    let leaving = seen.iter().any(|pod| !is_current(pod, status));
    if status.phase == JobPhase::Preempted {
        return;
    }
    if leaving || status.retry_time.is_some() || (started && !complete) {
        let reason = status.reason.take().filter(|_| status.phase == JobPhase::Restarting);
        status.reason = Some(reason.unwrap_or_else(|| reasons::POD_FAILED.to_owned()));
        status.phase = JobPhase::Restarting;
        return;
    }
    if !complete && status.reason.as_deref() == Some(reasons::REFUSED) {
        // Said by the last try to make them; this one may go better.
        return;
    }
    status.phase = JobPhase::Pending;
    let waiting = current.iter().any(|pod| pod.state == State::Waiting);
    let reason = match (complete, waiting) {
        (false, _) => reasons::CREATING,
        (true, true) => reasons::WAITING_FOR_NODES,
        (true, false) => reasons::STARTING,
    };
    status.reason = Some(reason.to_owned());
}

fn is_done(pod: &Seen<'_>, done: &Done) -> bool {
    pod.task.is_some_and(|at| done.has(at, pod.index))
}

fn done_count(spec: &AIJobSpec, done: &Done) -> usize {
    (0..spec.tasks.len()).map(|at| done.count(at)).sum()
}

/// Whether of every task, and of the job, enough Pods run or have ended well.
fn enough(spec: &AIJobSpec, current: &[&Seen<'_>], done: &Done) -> bool {
    let count = |at: usize| {
        let here = current.iter().filter(|pod| pod.task == Some(at) && !pod.going);
        here.filter(|pod| pod.state == State::Running && !is_done(pod, done)).count() + done.count(at)
    };
    let counts: Vec<i32> =
        (0..spec.tasks.len()).map(|at| i32::try_from(count(at)).unwrap_or(i32::MAX)).collect();
    let total: i32 = counts.iter().sum();
    let all = spec.tasks.iter().zip(&counts).all(|(task, count)| *count >= spec.minimum_of(task));
    all && total >= spec.minimum()
}

/// Nodes and cards of the Pods that are left; those of the end are kept when the Pods are gone.
pub(crate) fn places<'a>(pods: impl Iterator<Item = &'a Pod>, status: &mut AIJobStatus) {
    let mut nodes = BTreeSet::new();
    let mut cards = Vec::new();
    for pod in pods {
        let Some(node) = pod.spec.as_ref().and_then(|spec| spec.node_name.clone()) else { continue };
        if let Some(held) = card::held(pod) {
            cards.push(CardUse { pod: pod.name_any(), node: node.clone(), cards: held });
        }
        nodes.insert(node);
    }
    if nodes.is_empty() && status.phase.is_final() {
        return;
    }
    cards.truncate(MOST_PLACES);
    status.nodes = nodes.into_iter().take(MOST_PLACES).collect();
    status.cards = cards;
}

pub(crate) fn sentence(spec: &AIJobSpec, status: &AIJobStatus) -> String {
    let total = spec.replicas();
    let sum = |count: fn(&TaskStatus) -> i32| status.tasks.iter().map(count).sum::<i32>();
    match status.phase {
        JobPhase::Prequeue => "its Pods are not made yet".to_owned(),
        JobPhase::Pending => match status.reason.as_deref() {
            Some(reasons::WAITING_FOR_NODES) => {
                of_all(sum(|task| task.pending), total, "waits for a node", "wait for nodes")
            }
            Some(reasons::STARTING) => {
                of_all(sum(|task| task.starting), total, "is starting", "are starting")
            }
            _ => "its Pods are being made".to_owned(),
        },
        JobPhase::Running => of_all(sum(|task| task.running), total, "runs", "run"),
        JobPhase::Restarting => "Pods are made again".to_owned(),
        JobPhase::Completed => "all Pods that decide have ended well".to_owned(),
        JobPhase::Aborting | JobPhase::Aborted => {
            match status.reason.as_deref().and_then(CleanupRule::of_reason) {
                Some(rule) => ending(rule),
                None => "it was cancelled".to_owned(),
            }
        }
        JobPhase::Suspending | JobPhase::Suspended => "it is suspended; unset suspend to go on".to_owned(),
        JobPhase::Preempted => "others took its place; it waits for a new one".to_owned(),
        JobPhase::Scheduled => "it makes jobs by the clock".to_owned(),
        JobPhase::Completing | JobPhase::Terminating | JobPhase::Failed => match status.reason.as_deref() {
            Some(reasons::MAX_RUN_TIME) => "it ran longer than maxRunSeconds".to_owned(),
            Some(reasons::DEADLINE) => "its deadline has passed".to_owned(),
            _ => "Pods are being stopped".to_owned(),
        },
    }
}

/// What so many of all Pods do, in words that agree with the numbers.
fn of_all(count: i32, total: i32, one: &str, many: &str) -> String {
    match (count, total) {
        (1, 1) => format!("its Pod {one}"),
        (1, _) => format!("1 of {total} Pods {one}"),
        _ => format!("{count} of {total} Pods {many}"),
    }
}

pub(crate) fn conditions(status: &mut AIJobStatus, generation: Option<i64>, now: Timestamp) {
    let (reason, message) =
        (status.reason.clone().unwrap_or_default(), status.message.clone().unwrap_or_default());
    let running = matches!(status.phase, JobPhase::Running | JobPhase::Completing);
    let pending: i32 = status.tasks.iter().map(|task| task.pending).sum();
    let placed = status.tasks.iter().any(|task| task.starting + task.running + task.succeeded > 0);
    let all = &mut status.conditions;
    let valid = Say { kind: condition_types::VALID, holds: true, reason: reasons::AS_ASKED, message: "" };
    set_condition(all, generation, now, &valid);
    for (kind, holds) in [
        (condition_types::SCHEDULED, running || (placed && pending == 0)),
        (condition_types::RUNNING, running),
        (condition_types::FINISHED, status.phase.is_final()),
    ] {
        set_condition(all, generation, now, &Say { kind, holds, reason: &reason, message: &message });
    }
}

#[cfg(test)]
mod tests {
    use super::of_all;

    #[test]
    fn sentences_agree_in_number() {
        for (count, total, want) in [
            (1, 1, "its Pod runs"),
            (0, 1, "0 of 1 Pods run"),
            (1, 3, "1 of 3 Pods runs"),
            (2, 3, "2 of 3 Pods run"),
        ] {
            assert_eq!(of_all(count, total, "runs", "run"), want);
        }
    }
}
