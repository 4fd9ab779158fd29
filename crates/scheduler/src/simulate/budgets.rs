//! Disruption budgets over time: in a cluster the API server keeps count, in a simulation nobody else does.

use crate::{
    core::{Core, DisruptionBudget},
    filter::matches_selector,
    model::{Pod, PodPhase},
};

/// Tells the core how many Pods each budget lets go now. Who has a place counts as healthy.
pub(super) fn follow(core: &mut Core, recorded: &[DisruptionBudget]) {
    if recorded.is_empty() {
        return;
    }
    let now = |budget: &DisruptionBudget| {
        let healthy = core.ledger().pods().filter(|(_, state)| is_healthy(budget, &state.pod)).count();
        let healthy = u32::try_from(healthy).unwrap_or(u32::MAX);
        DisruptionBudget { allowed: healthy.saturating_sub(budget.desired), ..budget.clone() }
    };
    let budgets = recorded.iter().map(now).collect();
    core.set_budgets(budgets);
}

fn is_healthy(budget: &DisruptionBudget, pod: &Pod) -> bool {
    matches!(pod.phase, PodPhase::Placed { .. })
        && !pod.terminating
        && *pod.namespace == *budget.namespace
        && matches_selector(&budget.selector, &pod.labels)
}
