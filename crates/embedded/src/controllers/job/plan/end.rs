//! Whether and how a Job ends.

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::JobCondition;

use super::super::failure::{Verdict, is_failed, verdict};
use super::super::indexes;
use super::{FAILURE_TARGET, SUCCESS_CRITERIA_MET, Step, condition};
use crate::controllers::view::{seconds_after, until};

impl Step<'_> {
    /// An end that was decided in an earlier step and is not reached yet.
    pub(super) fn standing_end(&self) -> Option<JobCondition> {
        let conditions = self.status.conditions.as_deref().unwrap_or_default();
        let standing = |kind: &str| conditions.iter().find(|one| one.type_ == kind && one.status == "True");
        standing(SUCCESS_CRITERIA_MET).or_else(|| standing(FAILURE_TARGET)).cloned()
    }

    pub(super) fn new_end(&mut self) -> Option<JobCondition> {
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

    pub(super) fn policy_failure(&self) -> Option<String> {
        self.observed.pods.iter().filter(|pod| is_failed(pod, self.observed.job)).find_map(
            |pod| match verdict(self.observed.job, pod) {
                Verdict::FailJob(message) => Some(message),
                _ => None,
            },
        )
    }

    pub(super) fn is_past_backoff_limit(&self) -> bool {
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
            .fold(0, i32::saturating_add);
        if limit == 0 { restarts > 0 } else { restarts >= limit }
    }

    pub(super) fn deadline(&self) -> Option<Timestamp> {
        let seconds = self.spec.active_deadline_seconds.filter(|_| !self.is_suspended())?;
        Some(seconds_after(self.status.start_time.as_ref()?.0, seconds))
    }

    pub(super) fn success_rule(&self) -> Option<usize> {
        let succeeded = self.succeeded_indexes.as_ref().filter(|indexes| !indexes.is_empty())?;
        let rules = &self.spec.success_policy.as_ref()?.rules;
        let enough = |found: usize, wanted: Option<i32>| {
            wanted.is_some_and(|wanted| usize::try_from(wanted).is_ok_and(|wanted| found >= wanted))
        };
        rules.iter().position(|rule| match &rule.succeeded_indexes {
            Some(text) => {
                // By ranges: written down, a rule may name more indexes than fit into memory.
                let (mut required, mut found) = (0, 0);
                for range in indexes::ranges(text, self.completions.unwrap_or(0)) {
                    required += range.clone().count();
                    found += succeeded.range(range).count();
                }
                required > 0 && (found == required || enough(found, rule.succeeded_count))
            }
            None => enough(succeeded.len(), rule.succeeded_count),
        })
    }

    pub(super) fn is_complete(&self) -> bool {
        let enough = match self.completions {
            None => self.succeeded > 0,
            Some(completions) => self.succeeded >= completions,
        };
        enough && self.active_after == 0
    }
}
