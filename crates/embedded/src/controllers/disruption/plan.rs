//! The arithmetic of a budget.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::controllers::portion::{Round, portion};
use crate::controllers::view::{PodView, seconds_after, until};

/// How long an eviction may take to show before it is taken as not having happened.
const EVICTION_SECONDS: i64 = 120;

/// What there is.
#[derive(Debug)]
pub(crate) struct Observed<'a> {
    pub(crate) budget: &'a PodDisruptionBudget,
    pub(crate) pods: &'a [Arc<PodView>],
    /// How many Pods their controllers want.
    pub(crate) scale: i32,
    pub(crate) now: Timestamp,
}

/// How many Pods are expected, and how many of them must be healthy.
fn demands(spec: &PodDisruptionBudgetSpec, pods: i32, scale: i32) -> (i32, i32) {
    if let Some(most) = &spec.max_unavailable {
        let most = portion(most, scale, Round::Up).unwrap_or(0);
        return (scale, (scale - most).max(0));
    }
    match &spec.min_available {
        Some(IntOrString::Int(least)) => (pods, *least),
        Some(percent) => (scale, portion(percent, scale, Round::Up).unwrap_or(0)),
        None => (pods, 0),
    }
}

/// The status, and when to look again because an announced eviction may have come to nothing.
pub(crate) fn status(observed: &Observed<'_>) -> (PodDisruptionBudgetStatus, Option<Duration>) {
    let Observed { budget, pods, scale, now } = *observed;
    let spec = budget.spec.clone().unwrap_or_default();
    let before = budget.status.clone().unwrap_or_default();
    let (announced, again) = announced(&before, pods, now);
    let number = i32::try_from(pods.len()).unwrap_or(i32::MAX);
    let (expected, desired) = demands(&spec, number, scale);
    let healthy =
        pods.iter().filter(|pod| pod.is_ready() && !pod.is_deleting() && !announced.contains_key(pod.name()));
    let healthy = i32::try_from(healthy.count()).unwrap_or(i32::MAX);
    let allowed = if expected <= 0 { 0 } else { (healthy - desired).max(0) };
    let status = PodDisruptionBudgetStatus {
        current_healthy: Some(healthy),
        desired_healthy: Some(desired),
        disruptions_allowed: Some(allowed),
        expected_pods: Some(expected),
        disrupted_pods: Some(announced).filter(|announced| !announced.is_empty()),
        observed_generation: budget.metadata.generation,
        conditions: Some(vec![condition(&before, allowed > 0, budget.metadata.generation, now)]),
    };
    (status, again)
}

/// Evictions that were announced and have not happened yet.
fn announced(
    before: &PodDisruptionBudgetStatus,
    pods: &[Arc<PodView>],
    now: Timestamp,
) -> (BTreeMap<String, Time>, Option<Duration>) {
    let mut kept = BTreeMap::new();
    let mut again: Option<Duration> = None;
    for (name, since) in before.disrupted_pods.iter().flatten() {
        let end = seconds_after(since.0, EVICTION_SECONDS);
        let there = pods.iter().any(|pod| pod.name() == name && !pod.is_deleting());
        if there && end > now {
            kept.insert(name.clone(), since.clone());
            let wait = until(end, now);
            again = Some(again.map_or(wait, |known| known.min(wait)));
        }
    }
    (kept, again)
}

fn condition(
    before: &PodDisruptionBudgetStatus,
    allowed: bool,
    generation: Option<i64>,
    now: Timestamp,
) -> Condition {
    let kind = "DisruptionAllowed";
    let status = if allowed { "True" } else { "False" };
    let known =
        before.conditions.iter().flatten().find(|known| known.type_ == kind && known.status == status);
    Condition {
        type_: kind.into(),
        status: status.into(),
        reason: if allowed { "SufficientPods" } else { "InsufficientPods" }.into(),
        message: String::new(),
        observed_generation: generation,
        last_transition_time: known.map_or(Time(now), |known| known.last_transition_time.clone()),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "tables of JSON literals read better by value")]

    use serde_json::{Value, from_value, json};

    use super::*;
    use crate::controllers::view::tests::{noon, pod};

    fn budget(spec: Value, status: Value) -> PodDisruptionBudget {
        from_value(json!({"metadata": {"name": "b", "generation": 1}, "spec": spec, "status": status}))
            .unwrap()
    }

    fn pods(healthy: usize, sick: usize) -> Vec<Arc<PodView>> {
        let ready = (0..healthy).map(|number| Arc::new(pod(&format!("h{number}")).ready_for(5)));
        ready.chain((0..sick).map(|number| Arc::new(pod(&format!("s{number}"))))).collect()
    }

    #[test]
    fn budgets_allow_what_is_left_over() {
        let rows = [
            (json!({"minAvailable": 2}), 3, 0, 3, (3, 2, 1)),
            (json!({"minAvailable": 2}), 2, 1, 3, (2, 2, 0)),
            (json!({"minAvailable": "50%"}), 3, 0, 5, (3, 3, 0)),
            (json!({"minAvailable": "50%"}), 5, 0, 5, (5, 3, 2)),
            (json!({"maxUnavailable": 1}), 3, 0, 3, (3, 2, 1)),
            (json!({"maxUnavailable": 1}), 1, 0, 3, (1, 2, 0)),
            (json!({"maxUnavailable": "30%"}), 10, 0, 10, (10, 7, 3)),
            (json!({"maxUnavailable": 5}), 3, 0, 3, (3, 0, 3)),
            (json!({"maxUnavailable": 1}), 0, 0, 0, (0, 0, 0)),
        ];
        for (spec, healthy, sick, scale, want) in rows {
            let budget = budget(spec.clone(), json!(null));
            let pods = pods(healthy, sick);
            let (status, _) = status(&Observed { budget: &budget, pods: &pods, scale, now: noon() });
            let got = (status.current_healthy, status.desired_healthy, status.disruptions_allowed);
            assert_eq!(got, (Some(want.0), Some(want.1), Some(want.2)), "{spec}");
        }
    }

    #[test]
    fn announced_evictions_count_until_they_happen_or_come_to_nothing() {
        let announced = json!({"disruptedPods": {"h0": "2026-01-01T11:59:00Z", "gone": "2026-01-01T11:59:00Z",
            "h1": "2026-01-01T11:58:00Z"}, "currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0});
        let budget = budget(json!({"minAvailable": 1}), announced);
        let pods = pods(3, 0);
        let (status, again) = status(&Observed { budget: &budget, pods: &pods, scale: 3, now: noon() });
        assert_eq!(status.disrupted_pods.unwrap().into_keys().collect::<Vec<_>>(), ["h0"]);
        assert_eq!((status.current_healthy, status.disruptions_allowed), (Some(2), Some(1)));
        assert_eq!(again, Some(Duration::from_mins(1)));
    }
}
