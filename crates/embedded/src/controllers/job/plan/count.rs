//! Counting Pods that ended, once each, and writing the counts down.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::batch::v1::{JobCondition, JobStatus, UncountedTerminatedPods};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::super::failure::{Verdict, finished_at, is_failed, verdict};
use super::super::indexes::{self, Indexes, index_of};
use super::super::pods::{self, is_tracked};
use super::{COMPLETE, FAILED, FAILURE_TARGET, MOST_UNCOUNTED, Step, is_index_lost};
use crate::controllers::base::count;
use crate::controllers::view::PodView;

impl Step<'_> {
    /// Counts as if everything that ended were counted, and updates the waiting time.
    pub(super) fn count_ended(&mut self) {
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
        let more = |known: Option<i32>, count: usize| known.unwrap_or(0).saturating_add(number(count));
        self.succeeded = more(self.status.succeeded, succeeded.len() + counted_succeeded.len());
        self.failed = more(self.status.failed, counting + counted_failed.len());
    }

    pub(super) fn count_indexes(&mut self) {
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

    pub(super) fn count_failed_indexes(
        &mut self,
        tracked: &[&Arc<PodView>],
        succeeded: &Indexes,
        limit: i32,
    ) {
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

    /// Writes down what ended and may now go.
    pub(super) fn track(&mut self) {
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

    pub(super) fn write_down(&mut self, more_to_count: bool) {
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
    pub(super) fn clean_uncounted(&mut self) {
        let tracked = self.observed.pods.iter().filter(|pod| is_tracked(pod));
        let held: BTreeSet<&str> = tracked.map(|pod| pod.metadata.uid.as_str()).collect();
        turn_into_counts(&mut self.status, &held);
    }

    pub(super) fn may_go(&self, pod: &PodView) -> bool {
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
        let total = counter.unwrap_or(0).saturating_add(freed);
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
