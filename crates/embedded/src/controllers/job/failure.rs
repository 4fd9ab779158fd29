//! Why a Pod failed and what that means for its Job: the pod failure policy and the waiting time before retries.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::{Job, PodFailurePolicyOnExitCodesRequirement, PodFailurePolicyRule};

use crate::controllers::view::{ContainerStatusView, PodView};

const FIRST_WAIT: SignedDuration = SignedDuration::from_secs(10);
const LONGEST_WAIT: SignedDuration = SignedDuration::from_mins(10);

/// What a failed Pod means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It counts towards the limit.
    Count,
    /// It does not count.
    Ignore,
    /// Its index is not tried again.
    FailIndex,
    /// The whole Job fails, with this explanation.
    FailJob(String),
}

/// Whether Pods are replaced only when they have failed, not as soon as they are being deleted.
pub(crate) fn waits_for_failure(job: &Job) -> bool {
    let Some(spec) = &job.spec else { return false };
    spec.pod_failure_policy.is_some() || spec.pod_replacement_policy.as_deref() == Some("Failed")
}

/// Whether a Pod counts as failed.
pub(crate) fn is_failed(pod: &PodView, job: &Job) -> bool {
    pod.is_failed() || (!waits_for_failure(job) && pod.is_deleting() && !pod.is_succeeded())
}

/// Applies the first rule of the policy that matches.
pub(crate) fn verdict(job: &Job, pod: &PodView) -> Verdict {
    let policy = job.spec.as_ref().and_then(|spec| spec.pod_failure_policy.as_ref());
    let rules = policy.map(|policy| policy.rules.as_slice()).unwrap_or_default();
    for (number, rule) in rules.iter().enumerate() {
        if let Some(reason) = matches(rule, pod) {
            return match rule.action.as_str() {
                "Ignore" => Verdict::Ignore,
                "FailIndex" => Verdict::FailIndex,
                "FailJob" => Verdict::FailJob(format!("{reason} matching FailJob rule at index {number}")),
                _ => Verdict::Count,
            };
        }
    }
    Verdict::Count
}

/// What about the Pod matches the rule, in words.
fn matches(rule: &PodFailurePolicyRule, pod: &PodView) -> Option<String> {
    let which = format!("{}/{}", pod.metadata.namespace, pod.name());
    if let Some(codes) = &rule.on_exit_codes {
        let all = pod.status.container_statuses.iter().chain(&pod.status.init_container_statuses);
        let (container, code) = all.into_iter().find_map(|container| exit_code(container, codes))?;
        return Some(format!("Container {container} for pod {which} failed with exit code {code}"));
    }
    let patterns = rule.on_pod_conditions.as_deref().unwrap_or_default();
    let found = pod.status.conditions.iter().find(|condition| {
        patterns.iter().any(|pattern| {
            let status = pattern.status.as_deref().unwrap_or("True");
            pattern.type_ == condition.kind && status == condition.status
        })
    })?;
    Some(format!("Pod {which} has condition {}", found.kind))
}

fn exit_code<'a>(
    container: &'a ContainerStatusView,
    wanted: &PodFailurePolicyOnExitCodesRequirement,
) -> Option<(&'a str, i32)> {
    let code = container.state.terminated.as_ref()?.exit_code;
    let named = wanted.container_name.as_ref().is_none_or(|name| *name == container.name);
    let listed = wanted.values.contains(&code);
    let matching = match wanted.operator.as_str() {
        "In" => listed,
        "NotIn" => !listed,
        _ => false,
    };
    (code != 0 && named && matching).then_some((container.name.as_str(), code))
}

/// How often Pods failed since one last succeeded, which decides how long to wait before the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Backoff {
    pub(crate) failures: u32,
    pub(crate) last: Option<Timestamp>,
}

impl Backoff {
    /// The record after these Pods ended.
    pub(crate) fn after(mut self, succeeded: &[&PodView], failed: &[&PodView]) -> Self {
        let last_success = succeeded.iter().filter_map(|pod| finished_at(pod)).max();
        if !succeeded.is_empty() {
            self = Self::default();
        }
        let mut times: Vec<Timestamp> = failed.iter().filter_map(|pod| finished_at(pod)).collect();
        times.retain(|time| last_success.is_none_or(|success| *time > success));
        self.failures = self.failures.saturating_add(u32::try_from(times.len()).unwrap_or(u32::MAX));
        self.last = times.into_iter().max().or(self.last);
        self
    }

    /// How long to wait still.
    pub(crate) fn remaining(self, now: Timestamp) -> SignedDuration {
        remaining(self.failures, self.last, now)
    }
}

/// How long to wait after so many failures, the last at that time.
pub(crate) fn remaining(failures: u32, last: Option<Timestamp>, now: Timestamp) -> SignedDuration {
    let Some(last) = last.filter(|_| failures > 0) else { return SignedDuration::ZERO };
    let doubled = 1i32 << (failures - 1).min(16);
    let wait = FIRST_WAIT.checked_mul(doubled).unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT);
    (wait - now.duration_since(last)).max(SignedDuration::ZERO)
}

/// When a Pod ended, as well as that is known.
pub(crate) fn finished_at(pod: &PodView) -> Option<Timestamp> {
    let ends: Vec<Option<Timestamp>> = pod
        .status
        .container_statuses
        .iter()
        .map(|container| container.state.terminated.as_ref().and_then(|ended| ended.finished_at))
        .collect();
    let all_ended = !ends.is_empty() && ends.iter().all(Option::is_some);
    let by_containers = ends.into_iter().flatten().max().filter(|_| all_ended);
    let unready = pod.condition("Ready").filter(|ready| ready.status == "False");
    by_containers
        .or_else(|| unready.and_then(|ready| ready.last_transition_time))
        .or(pod.metadata.deletion_timestamp)
        .or(pod.metadata.creation_timestamp)
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;
    use crate::controllers::view::TerminatedView;
    use crate::controllers::view::tests::{noon, pod};

    fn ended(code: i32, seconds_ago: i64) -> PodView {
        let mut pod = pod("p").phase("Failed");
        let mut status = ContainerStatusView { name: "main".into(), ..ContainerStatusView::default() };
        let finished_at = Some(noon() - SignedDuration::from_secs(seconds_ago));
        status.state.terminated = Some(TerminatedView { exit_code: code, finished_at });
        pod.status.container_statuses.push(status);
        pod
    }

    #[test]
    fn the_first_matching_rule_decides() {
        let job: Job = from_value(json!({"spec": {"template": {}, "podFailurePolicy": {"rules": [
            {"action": "FailJob", "onExitCodes": {"containerName": "main", "operator": "In", "values": [42]}},
            {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
            {"action": "FailIndex", "onExitCodes": {"operator": "NotIn", "values": [1, 2]}},
        ]}}}))
        .unwrap();
        let message =
            "Container main for pod default/p failed with exit code 42 matching FailJob rule at index 0";
        assert_eq!(verdict(&job, &ended(42, 0)), Verdict::FailJob(message.into()));
        assert_eq!(verdict(&job, &ended(1, 0)), Verdict::Count);
        assert_eq!(verdict(&job, &ended(3, 0)), Verdict::FailIndex);
        let mut disrupted = ended(1, 0);
        disrupted.status.conditions.push(crate::controllers::view::ConditionView {
            kind: "DisruptionTarget".into(),
            status: "True".into(),
            ..Default::default()
        });
        assert_eq!(verdict(&job, &disrupted), Verdict::Ignore);
    }

    #[test]
    fn waiting_doubles_and_a_success_ends_it() {
        let seconds = |record: Backoff| record.remaining(noon()).as_secs();
        let one = Backoff::default().after(&[], &[&ended(1, 0)]);
        assert_eq!(seconds(one), 10);
        let three = one.after(&[], &[&ended(1, 0), &ended(1, 0)]);
        assert_eq!(seconds(three), 40);
        let many = Backoff { failures: 90, last: Some(noon()) };
        assert_eq!(seconds(many), 600);
        assert_eq!(seconds(three.after(&[&ended(0, 0)], &[])), 0);
        assert_eq!(seconds(three.after(&[&ended(0, 5)], &[&ended(1, 1), &ended(1, 9)])), 9);
    }
}
