//! Pods that are lost without having failed: they are made again, and no retry is taken for it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use maar_api::v1alpha1::{AIJobSpec, JobPhase, RestartPolicy, TaskSpec, reasons};

use super::{
    decide::{LONGEST_BACK_OFF, begin_again, policy, wait},
    observe::{Loss, Seen, State},
    plan::{Plan, View, missing},
};
use crate::{kind, status::whole};

/// What was lost.
#[derive(Debug)]
pub(super) struct Losses<'a> {
    /// Pods that are on their way out, or failed through no fault of theirs.
    going: Vec<(&'a Seen<'a>, Loss)>,
    /// One of them belongs to those that start together.
    whole: bool,
    /// A Pod is gone without a trace.
    vanished: bool,
}

impl<'a> Losses<'a> {
    pub(super) fn of(view: &View<'_>, seen: &[Seen<'_>], current: &'a [Seen<'a>], plan: &Plan) -> Self {
        let spec = view.spec();
        // Whose work is done is not missed.
        let undone = current.iter().filter(|pod| pod.task.is_none_or(|at| !plan.done.has(at, pod.index)));
        let going: Vec<_> = undone.filter_map(|pod| Some((pod, pod.loss()?))).collect();
        let together =
            |pod: &Seen<'_>| pod.task.is_some_and(|at| are_together(spec, &spec.tasks[at], pod.index));
        let started = plan.status.attempt_start_time.is_some();
        let whole = going.iter().any(|(pod, _)| together(pod) && (started || pod.state != State::Waiting));
        let too_few = started && too_few_are_left(spec, &going);
        Self { going, whole: whole || too_few, vanished: vanished(view, seen, plan) }
    }

    /// Whether all Pods have to be made again.
    pub(super) fn is_whole(&self) -> bool {
        self.whole || self.vanished
    }

    pub(super) fn count(&self, view: &View<'_>, plan: &mut Plan) {
        plan.doubtful = self.vanished && !self.whole;
        let now = view.now;
        let preempted = self.going.iter().any(|(_, loss)| *loss == Loss::Preempted);
        if self.is_whole() {
            self.begin_again(view, preempted, plan);
        } else if !self.going.is_empty() {
            plan.status.replaced.extend(self.going.iter().map(|(pod, _)| pod.uid().to_owned()));
            plan.status.queued_time = Some(Time(whole(now)));
        } else {
            return;
        }
        if preempted {
            plan.status.preemptions += 1;
        } else {
            // No retry is taken, so nothing else would slow down what is lost again and again.
            wait(&mut plan.status, now, view.spec().backoff_seconds.clamp(1, LONGEST_BACK_OFF));
        }
    }

    fn begin_again(&self, view: &View<'_>, preempted: bool, plan: &mut Plan) {
        let (phase, reason) = if preempted {
            (JobPhase::Preempted, reasons::PREEMPTED)
        } else {
            (JobPhase::Restarting, reasons::POD_LOST)
        };
        begin_again(&mut plan.status, phase, reason, view.now);
        let name = self.going.first().map_or("a Pod", |(pod, _)| pod.name());
        plan.status.message = Some(if preempted {
            "others took its place; it waits for a new one".to_owned()
        } else {
            format!("{name} was taken away or lost by its node; all Pods are made again")
        });
    }
}

/// Whether the others cannot go on without a Pod. Those of an elastic job can, unless it is the one where they meet.
fn are_together(spec: &AIJobSpec, task: &TaskSpec, index: i32) -> bool {
    let meeting = kind::of(spec.job_type).meeting(spec);
    let is_spare = meeting.is_some_and(|meeting| task.name != meeting || index != 0);
    policy(spec, task) != RestartPolicy::Task && !is_spare
}

/// Whether an elastic job has lost more than it can spare.
fn too_few_are_left(spec: &AIJobSpec, going: &[(&Seen<'_>, Loss)]) -> bool {
    let elastic = kind::of(spec.job_type).meeting(spec).is_some();
    elastic
        && spec.tasks.iter().enumerate().any(|(at, task)| {
            let lost = going.iter().filter(|(pod, _)| pod.task == Some(at)).count();
            let spare = usize::try_from(task.replicas - spec.minimum_of(task)).unwrap_or(0);
            policy(spec, task) != RestartPolicy::Task && lost > spare
        })
}

/// Whether a Pod is gone without a trace that a started attempt had, of a task that starts together.
fn vanished(view: &View<'_>, seen: &[Seen<'_>], plan: &Plan) -> bool {
    let status = &plan.status;
    if status.attempt_start_time.is_none() {
        return false;
    }
    missing(view, seen, &plan.done).iter().any(|place| {
        let known = status.tasks.iter().find(|task| task.name == place.task.name);
        are_together(view.spec(), place.task, place.index)
            && known.is_some_and(|task| place.index < task.replicas)
    })
}
