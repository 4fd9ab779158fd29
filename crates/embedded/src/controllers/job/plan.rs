//! One step of a Job: which Pods to make and delete, which that ended to count, and whether it is over.
//!
//! A Pod that ended is counted exactly once although steps may be cut off anywhere: its uid is written to the
//! status as uncounted, then its finalizer is removed, then the uid is turned into a count. [`plan`] is the first
//! half up to removing finalizers, [`fold`] the second.

mod count;
mod end;
mod manage;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{Job, JobCondition, JobSpec, JobStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::failure::{Backoff, Verdict, is_failed, verdict};
use super::indexes::{Indexes, index_of};
use super::pods;
use crate::controllers::view::PodView;

pub(crate) use count::fold;

/// The most Pods made or deleted in one go.
pub(crate) const BURST: usize = 500;
/// The most uids written to the status at a time.
const MOST_UNCOUNTED: usize = 500;

pub(crate) const COMPLETE: &str = "Complete";
pub(crate) const FAILED: &str = "Failed";
const SUCCESS_CRITERIA_MET: &str = "SuccessCriteriaMet";
const FAILURE_TARGET: &str = "FailureTarget";
const SUSPENDED: &str = "Suspended";

/// What there is.
#[derive(Debug)]
pub(crate) struct Observed<'a> {
    pub(crate) job: &'a Job,
    pub(crate) pods: &'a [Arc<PodView>],
    pub(crate) backoff: Backoff,
    pub(crate) now: Timestamp,
}

/// A Pod to be made.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Creation {
    pub(crate) index: Option<i32>,
    /// The failed Pod of the same index.
    pub(crate) replaces: Option<Arc<PodView>>,
}

/// What to do.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) create: Vec<Creation>,
    pub(crate) delete: Vec<Arc<PodView>>,
    /// Whether the deleted Pods are not to be counted: they were surplus.
    pub(crate) uncounted_deletes: bool,
    /// The status to write first.
    pub(crate) status: JobStatus,
    /// The Pods to take the finalizer off then.
    pub(crate) release: Vec<Arc<PodView>>,
    /// How the Job ends, once everything is counted and nothing is terminating.
    pub(crate) end: Option<JobCondition>,
    /// Suspended or resumed, if that changed.
    pub(crate) event: Option<(&'static str, &'static str)>,
    pub(crate) backoff: Backoff,
    pub(crate) again: Option<Duration>,
}

/// Whether a Job is over.
pub(crate) fn is_finished(job: &Job) -> bool {
    let conditions = job.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|one| (one.type_ == COMPLETE || one.type_ == FAILED) && one.status == "True")
}

/// Plans one step of a Job that is not over.
pub(crate) fn plan(observed: &Observed<'_>) -> Plan {
    let mut step = Step::new(observed);
    step.start();
    step.end = step.standing_end().or_else(|| step.new_end());
    if step.end.is_some() {
        step.plan.delete.clone_from(&step.active);
        step.terminating += step.active.len();
        step.ready = 0;
        step.active_after = 0;
    } else {
        let managed = observed.job.metadata.deletion_timestamp.is_none();
        if managed {
            step.manage();
        }
        if step.is_complete() {
            step.end = Some(condition(
                SUCCESS_CRITERIA_MET,
                "CompletionsReached",
                "Reached expected number of succeeded pods",
                observed.now,
            ));
        } else if managed {
            step.note_suspension();
        }
    }
    step.track();
    step.plan
}

struct Step<'a> {
    observed: &'a Observed<'a>,
    spec: JobSpec,
    status: JobStatus,
    active: Vec<Arc<PodView>>,
    active_after: usize,
    ready: usize,
    terminating: usize,
    succeeded: i32,
    failed: i32,
    completions: Option<i32>,
    succeeded_indexes: Option<Indexes>,
    failed_indexes: Option<Indexes>,
    /// The last failed Pod of each index that is to be tried again; it is kept until its successor is there.
    delayed: BTreeMap<i32, Arc<PodView>>,
    end: Option<JobCondition>,
    plan: Plan,
}

impl<'a> Step<'a> {
    fn new(observed: &'a Observed<'a>) -> Self {
        let job = observed.job;
        let spec = job.spec.clone().unwrap_or_default();
        let status = job.status.clone().unwrap_or_default();
        let active: Vec<Arc<PodView>> = observed.pods.iter().filter(|pod| pod.is_active()).cloned().collect();
        let mut step = Self {
            observed,
            active_after: active.len(),
            ready: active.iter().filter(|pod| pod.is_ready()).count(),
            terminating: observed.pods.iter().filter(|pod| pod.is_terminating()).count(),
            active,
            succeeded: 0,
            failed: 0,
            completions: spec.completions,
            succeeded_indexes: None,
            failed_indexes: None,
            delayed: BTreeMap::new(),
            end: None,
            plan: Plan::default(),
            spec,
            status,
        };
        step.count_ended();
        step.count_indexes();
        step
    }

    fn is_indexed(&self) -> bool {
        self.spec.completion_mode.as_deref() == Some("Indexed")
    }

    fn is_suspended(&self) -> bool {
        self.spec.suspend == Some(true)
    }

    fn uncounted(&self) -> (BTreeSet<String>, BTreeSet<String>) {
        let uncounted = self.status.uncounted_terminated_pods.clone().unwrap_or_default();
        let set = |list: Option<Vec<String>>| list.unwrap_or_default().into_iter().collect();
        (set(uncounted.succeeded), set(uncounted.failed))
    }

    fn has_valid_index(&self, pod: &PodView) -> bool {
        !self.is_indexed() || index_of(pod).is_some_and(|index| index < self.completions.unwrap_or(0))
    }

    fn start(&mut self) {
        if self.status.start_time.is_none() && !self.is_suspended() {
            self.status.start_time = Some(Time(self.observed.now));
        }
        self.status.uncounted_terminated_pods.get_or_insert_default();
    }

    fn note_suspension(&mut self) {
        let suspended = self.is_suspended();
        let (status, reason, message) = if suspended {
            ("True", "JobSuspended", "Job suspended")
        } else {
            ("False", "JobResumed", "Job resumed")
        };
        let conditions = self.status.conditions.get_or_insert_default();
        let now = self.observed.now;
        match conditions.iter_mut().find(|one| one.type_ == SUSPENDED) {
            Some(known) if known.status == status => return,
            Some(known) => {
                *known = condition(SUSPENDED, reason, message, now);
                known.status = status.into();
            }
            // A Job that never was suspended has nothing to say about it.
            None if !suspended => {
                if conditions.is_empty() {
                    self.status.conditions = None;
                }
                return;
            }
            None => conditions.push(condition(SUSPENDED, reason, message, now)),
        }
        self.plan.event = Some(if suspended { ("Suspended", message) } else { ("Resumed", message) });
        self.status.start_time = (!suspended).then_some(Time(now));
    }
}

fn is_index_lost(job: &Job, pod: &PodView, limit: i32) -> bool {
    is_failed(pod, job)
        && match verdict(job, pod) {
            Verdict::FailIndex => true,
            Verdict::Ignore => false,
            _ => pods::failures_before(pod) >= limit,
        }
}

fn condition(kind: &str, reason: &str, message: &str, now: Timestamp) -> JobCondition {
    JobCondition {
        type_: kind.to_owned(),
        status: "True".into(),
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()),
        last_probe_time: Some(Time(now)),
        last_transition_time: Some(Time(now)),
    }
}
