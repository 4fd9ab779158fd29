//! One step of a Job: which Pods to make and delete, which that ended to count, and whether it is over.
//!
//! A Pod that ended is counted exactly once although steps may be cut off anywhere: its uid is written to the
//! status as uncounted, then its finalizer is removed, then the uid is turned into a count. [`plan`] is the first
//! half up to removing finalizers, [`fold`] the second.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::{Job, JobCondition, JobSpec, JobStatus, UncountedTerminatedPods};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::failure::{self, Backoff, Verdict, finished_at, is_failed, verdict, waits_for_failure};
use super::indexes::{self, Indexes, index_of};
use super::pods::{self, is_tracked};
use crate::controllers::base::count;
use crate::controllers::view::{PodView, seconds_after, until};

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

    /// Counts as if everything that ended were counted, and updates the waiting time.
    fn count_ended(&mut self) {
        let job = self.observed.job;
        let (counted_succeeded, counted_failed) = self.uncounted();
        let fresh = |pod: &&Arc<PodView>, known: &BTreeSet<String>| {
            is_tracked(pod) && !known.contains(&pod.metadata.uid) && self.has_valid_index(pod)
        };
        let succeeded: Vec<&PodView> = self
            .observed
            .pods
            .iter()
            .filter(|pod| pod.is_succeeded() && fresh(pod, &counted_succeeded))
            .map(AsRef::as_ref)
            .collect();
        let failed: Vec<&PodView> = self
            .observed
            .pods
            .iter()
            .filter(|pod| is_failed(pod, job) && fresh(pod, &counted_failed))
            .map(AsRef::as_ref)
            .collect();
        let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
        let counting = failed.iter().filter(|pod| verdict(job, pod) != Verdict::Ignore).count();
        self.plan.backoff = self.observed.backoff.after(&succeeded, &failed);
        self.succeeded =
            self.status.succeeded.unwrap_or(0) + number(succeeded.len() + counted_succeeded.len());
        self.failed = self.status.failed.unwrap_or(0) + number(counting + counted_failed.len());
    }

    fn count_indexes(&mut self) {
        if !self.is_indexed() {
            return;
        }
        let completions = self.completions.unwrap_or(0);
        let pods = self.observed.pods.iter();
        let tracked: Vec<&Arc<PodView>> =
            pods.filter(|pod| is_tracked(pod) && self.has_valid_index(pod)).collect();
        let mut succeeded =
            indexes::parse(self.status.completed_indexes.as_deref().unwrap_or_default(), completions);
        succeeded.extend(tracked.iter().filter(|pod| pod.is_succeeded()).filter_map(|pod| index_of(pod)));
        self.succeeded = i32::try_from(succeeded.len()).unwrap_or(i32::MAX);
        if let Some(limit) = self.spec.backoff_limit_per_index {
            self.count_failed_indexes(&tracked, &succeeded, limit);
        }
        self.succeeded_indexes = Some(succeeded);
    }

    fn count_failed_indexes(&mut self, tracked: &[&Arc<PodView>], succeeded: &Indexes, limit: i32) {
        let job = self.observed.job;
        let text = self.status.failed_indexes.as_deref().unwrap_or_default();
        let mut failed = indexes::parse(text, self.completions.unwrap_or(0));
        let lost = |pod: &&&Arc<PodView>| is_index_lost(job, pod, limit);
        failed.extend(tracked.iter().filter(lost).filter_map(|pod| index_of(pod)));
        let busy: Indexes = self.active.iter().filter_map(|pod| index_of(pod)).collect();
        for pod in tracked.iter().filter(|pod| is_failed(pod, job)) {
            let Some(index) = index_of(pod) else { continue };
            if succeeded.contains(&index) || failed.contains(&index) || busy.contains(&index) {
                continue;
            }
            let rank = |pod: &PodView| (pods::all_failures_before(pod), finished_at(pod));
            if self.delayed.get(&index).is_none_or(|known| rank(known) <= rank(pod)) {
                self.delayed.insert(index, Arc::clone(pod));
            }
        }
        self.failed_indexes = Some(failed);
    }

    fn start(&mut self) {
        if self.status.start_time.is_none() && !self.is_suspended() {
            self.status.start_time = Some(Time(self.observed.now));
        }
        self.status.uncounted_terminated_pods.get_or_insert_default();
    }

    /// An end that was decided in an earlier step and is not reached yet.
    fn standing_end(&self) -> Option<JobCondition> {
        let conditions = self.status.conditions.as_deref().unwrap_or_default();
        let standing = |kind: &str| conditions.iter().find(|one| one.type_ == kind && one.status == "True");
        standing(SUCCESS_CRITERIA_MET).or_else(|| standing(FAILURE_TARGET)).cloned()
    }

    fn new_end(&mut self) -> Option<JobCondition> {
        let now = self.observed.now;
        let fail = |reason: &str, message: &str| Some(condition(FAILURE_TARGET, reason, message, now));
        if let Some(message) = self.policy_failure() {
            return fail("PodFailurePolicy", &message);
        }
        if self.is_past_backoff_limit() {
            return fail("BackoffLimitExceeded", "Job has reached the specified backoff limit");
        }
        match self.deadline() {
            Some(deadline) if deadline <= now => {
                return fail("DeadlineExceeded", "Job was active longer than specified deadline");
            }
            deadline => self.plan.again = deadline.map(|deadline| until(deadline, now)),
        }
        if let (Some(failed), Some(succeeded)) = (&self.failed_indexes, &self.succeeded_indexes) {
            let failures = i32::try_from(failed.len()).unwrap_or(i32::MAX);
            if self.spec.max_failed_indexes.is_some_and(|most| failures > most) {
                let message = "Job has exceeded the specified maximal number of failed indexes";
                return fail("MaxFailedIndexesExceeded", message);
            }
            let done = i32::try_from(failed.len() + succeeded.len()).unwrap_or(i32::MAX);
            if failures > 0 && done >= self.completions.unwrap_or(0) {
                return fail("FailedIndexes", "Job has failed indexes");
            }
        }
        let rule = self.success_rule()?;
        let message = format!("Matched rules at index {rule}");
        Some(condition(SUCCESS_CRITERIA_MET, "SuccessPolicy", &message, now))
    }

    fn policy_failure(&self) -> Option<String> {
        self.observed.pods.iter().filter(|pod| is_failed(pod, self.observed.job)).find_map(
            |pod| match verdict(self.observed.job, pod) {
                Verdict::FailJob(message) => Some(message),
                _ => None,
            },
        )
    }

    fn is_past_backoff_limit(&self) -> bool {
        let limit = self.spec.backoff_limit.unwrap_or(6);
        if self.failed > limit {
            return true;
        }
        let policy = self.spec.template.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref());
        if policy != Some("OnFailure") {
            return false;
        }
        let alive = self
            .observed
            .pods
            .iter()
            .filter(|pod| matches!(pod.status.phase.as_str(), "Running" | "Pending"));
        let restarts: i32 = alive
            .flat_map(|pod| pod.status.container_statuses.iter().chain(&pod.status.init_container_statuses))
            .map(|container| container.restart_count)
            .sum();
        if limit == 0 { restarts > 0 } else { restarts >= limit }
    }

    fn deadline(&self) -> Option<Timestamp> {
        let seconds = self.spec.active_deadline_seconds.filter(|_| !self.is_suspended())?;
        Some(seconds_after(self.status.start_time.as_ref()?.0, seconds))
    }

    fn success_rule(&self) -> Option<usize> {
        let succeeded = self.succeeded_indexes.as_ref().filter(|indexes| !indexes.is_empty())?;
        let rules = &self.spec.success_policy.as_ref()?.rules;
        let enough = |found: usize, wanted: Option<i32>| {
            wanted.is_some_and(|wanted| usize::try_from(wanted).is_ok_and(|wanted| found >= wanted))
        };
        rules.iter().position(|rule| match &rule.succeeded_indexes {
            Some(text) => {
                let required = indexes::parse(text, self.completions.unwrap_or(0));
                let found = required.intersection(succeeded).count();
                !required.is_empty() && (found == required.len() || enough(found, rule.succeeded_count))
            }
            None => enough(succeeded.len(), rule.succeeded_count),
        })
    }

    fn wanted_active(&self) -> usize {
        let parallelism = self.spec.parallelism.unwrap_or(1);
        let wanted = match self.completions {
            None if self.succeeded > 0 => return self.active.len(),
            None => parallelism,
            Some(completions) => (completions - self.succeeded).clamp(0, parallelism),
        };
        usize::try_from(wanted).unwrap_or(0)
    }

    fn manage(&mut self) {
        let surplus = if self.is_suspended() {
            self.active.clone()
        } else {
            let wanted = self.wanted_active();
            self.surplus(self.active.len().saturating_sub(wanted))
        };
        if !surplus.is_empty() {
            self.remove(surplus);
            return;
        }
        if self.is_suspended() {
            return;
        }
        let replacing = if waits_for_failure(self.observed.job) { self.terminating } else { 0 };
        let missing = self.wanted_active().saturating_sub(replacing + self.active.len());
        if missing > 0 {
            self.add(missing.min(BURST));
        }
    }

    fn remove(&mut self, mut surplus: Vec<Arc<PodView>>) {
        surplus.truncate(BURST);
        self.active_after -= surplus.len();
        self.terminating += surplus.len();
        self.ready -= surplus.iter().filter(|pod| pod.is_ready()).count();
        self.plan.delete = surplus;
        self.plan.uncounted_deletes = true;
    }

    /// Pods to remove: those with an index that is taken or too high, and as many as asked for.
    fn surplus(&self, at_least: usize) -> Vec<Arc<PodView>> {
        let mut active = self.active.clone();
        active.sort_by_key(|pod| (!pod.spec.node_name.is_empty(), pod.is_ready(), pod.metadata.name.clone()));
        let mut surplus = Vec::new();
        if self.is_indexed() {
            let mut taken = Indexes::new();
            // The Pod that got furthest keeps its index.
            for pod in active.iter().rev() {
                if !self.has_valid_index(pod) || index_of(pod).is_none_or(|index| !taken.insert(index)) {
                    surplus.push(Arc::clone(pod));
                }
            }
            active.retain(|pod| !surplus.iter().any(|gone| gone.metadata.uid == pod.metadata.uid));
        }
        let more = at_least.saturating_sub(surplus.len());
        surplus.extend(active.into_iter().take(more));
        surplus
    }

    fn add(&mut self, missing: usize) {
        let now = self.observed.now;
        if self.spec.backoff_limit_per_index.is_none() {
            let wait = self.plan.backoff.remaining(now);
            if wait > SignedDuration::ZERO {
                self.look_again(wait);
                return;
            }
        }
        let creations: Vec<Creation> =
            if self.is_indexed() { self.add_indexes(missing) } else { vec![Creation::default(); missing] };
        self.active_after += creations.len();
        self.plan.create = creations;
    }

    fn add_indexes(&mut self, missing: usize) -> Vec<Creation> {
        let mut busy: Indexes = self.active.iter().filter_map(|pod| index_of(pod)).collect();
        busy.extend(self.succeeded_indexes.iter().flatten());
        busy.extend(self.failed_indexes.iter().flatten());
        if waits_for_failure(self.observed.job) {
            let terminating = self.observed.pods.iter().filter(|pod| pod.is_terminating());
            busy.extend(terminating.filter_map(|pod| index_of(pod)));
        }
        let free = (0..self.completions.unwrap_or(0)).filter(|index| !busy.contains(index)).take(missing);
        let (mut creations, mut shortest) = (Vec::new(), None);
        for index in free {
            let replaces = self.delayed.get(&index).cloned();
            let wait = replaces.as_ref().map_or(SignedDuration::ZERO, |pod| {
                let failures = u32::try_from(pods::all_failures_before(pod) + 1).unwrap_or(1);
                failure::remaining(failures, finished_at(pod), self.observed.now)
            });
            if wait > SignedDuration::ZERO {
                shortest = Some(shortest.map_or(wait, |known: SignedDuration| known.min(wait)));
            } else {
                creations.push(Creation { index: Some(index), replaces });
            }
        }
        if let Some(wait) = shortest {
            self.look_again(wait);
        }
        creations
    }

    fn look_again(&mut self, wait: SignedDuration) {
        let wait = Duration::try_from(wait).unwrap_or_default();
        self.plan.again = Some(self.plan.again.map_or(wait, |known| known.min(wait)));
    }

    fn is_complete(&self) -> bool {
        let enough = match self.completions {
            None => self.succeeded > 0,
            Some(completions) => self.succeeded >= completions,
        };
        enough && self.active_after == 0
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

    /// Writes down what ended and may now go.
    fn track(&mut self) {
        self.clean_uncounted();
        let job = self.observed.job;
        let (known_succeeded, known_failed) = self.uncounted();
        let mut uncounted = self.status.uncounted_terminated_pods.clone().unwrap_or_default();
        let lost = self.end.as_ref().is_some_and(|end| end.type_ == FAILURE_TARGET);
        let mut written = 0;
        for pod in self.observed.pods.iter().filter(|pod| is_tracked(pod)) {
            if !self.may_go(pod) {
                continue;
            }
            if written >= MOST_UNCOUNTED {
                self.plan.again = Some(Duration::ZERO);
                break;
            }
            self.plan.release.push(Arc::clone(pod));
            let uid = &pod.metadata.uid;
            if pod.is_succeeded() && !known_failed.contains(uid) {
                if !self.is_indexed() && !known_succeeded.contains(uid) {
                    uncounted.succeeded.get_or_insert_default().push(uid.clone());
                    written += 1;
                }
            } else if (is_failed(pod, job) || lost)
                && !known_failed.contains(uid)
                && self.has_valid_index(pod)
                && verdict(job, pod) != Verdict::Ignore
            {
                uncounted.failed.get_or_insert_default().push(uid.clone());
                written += 1;
            }
        }
        self.status.uncounted_terminated_pods = Some(uncounted);
        self.write_down(written >= MOST_UNCOUNTED);
    }

    fn write_down(&mut self, more_to_count: bool) {
        if let Some(succeeded) = &self.succeeded_indexes {
            self.status.succeeded = count(succeeded.len());
            self.status.completed_indexes = Some(indexes::format(succeeded)).filter(|text| !text.is_empty());
            self.status.failed_indexes = self.failed_indexes.as_ref().map(indexes::format);
        }
        self.status.active = count(self.active_after);
        self.status.ready = i32::try_from(self.ready).ok();
        self.status.terminating = i32::try_from(self.terminating).ok();
        if let Some(end) = self.end.take() {
            let conditions = self.status.conditions.get_or_insert_default();
            if !conditions.iter().any(|known| known.type_ == end.type_) {
                conditions.push(end.clone());
            }
            let kind = if end.type_ == FAILURE_TARGET { FAILED } else { COMPLETE };
            let now = Some(Time(self.observed.now));
            let end = JobCondition {
                type_: kind.into(),
                last_probe_time: now.clone(),
                last_transition_time: now,
                ..end
            };
            self.plan.end = Some(end).filter(|_| !more_to_count);
        }
        self.plan.status = std::mem::take(&mut self.status);
    }

    /// Uncounted Pods that have lost their finalizer (or are gone) become counts.
    fn clean_uncounted(&mut self) {
        let tracked = self.observed.pods.iter().filter(|pod| is_tracked(pod));
        let held: BTreeSet<&str> = tracked.map(|pod| pod.metadata.uid.as_str()).collect();
        turn_into_counts(&mut self.status, &held);
    }

    fn may_go(&self, pod: &PodView) -> bool {
        let job = self.observed.job;
        if job.metadata.deletion_timestamp.is_some() || self.end.is_some() || pod.is_succeeded() {
            return true;
        }
        let held_back = index_of(pod)
            .and_then(|index| self.delayed.get(&index))
            .is_some_and(|kept| kept.metadata.uid == pod.metadata.uid);
        is_failed(pod, job) && !held_back
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

fn turn_into_counts(status: &mut JobStatus, held: &BTreeSet<&str>) {
    let Some(uncounted) = &mut status.uncounted_terminated_pods else { return };
    let fold = |list: &mut Option<Vec<String>>, counter: &mut Option<i32>| {
        let Some(uids) = list else { return };
        let before = uids.len();
        uids.retain(|uid| held.contains(uid.as_str()));
        let freed = i32::try_from(before - uids.len()).unwrap_or(0);
        if uids.is_empty() {
            *list = None;
        }
        let total = counter.unwrap_or(0) + freed;
        *counter = Some(total).filter(|total| *total != 0);
    };
    fold(&mut uncounted.succeeded, &mut status.succeeded);
    fold(&mut uncounted.failed, &mut status.failed);
}

/// The second half: counts Pods that were released, and ends the Job if nothing is left. `held` are the uids of
/// Pods that still carry the finalizer. Answers whether the Job ended.
pub(crate) fn fold(status: &mut JobStatus, held: &BTreeSet<&str>, end: Option<&JobCondition>) -> bool {
    turn_into_counts(status, held);
    let empty =
        |uncounted: &UncountedTerminatedPods| uncounted.failed.is_none() && uncounted.succeeded.is_none();
    let all_counted = status.uncounted_terminated_pods.as_ref().is_none_or(empty);
    let Some(end) = end.filter(|_| all_counted && status.terminating.unwrap_or(0) == 0) else { return false };
    if end.type_ == COMPLETE {
        status.completion_time.clone_from(&end.last_transition_time);
    }
    status.conditions.get_or_insert_default().push(end.clone());
    true
}
