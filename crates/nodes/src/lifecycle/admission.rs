//! Whether a kubelet takes on a Pod that somebody assigned to its node.

pub(crate) mod affinity;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Taint, Toleration};
use maar_quantities::{Quantity, ResourceList, resources};
use serde::Deserialize;
use serde_json::Value;

use super::Verdict;
use crate::pod::Template;

/// What is known of the node when a Pod arrives.
#[derive(Debug, Clone)]
pub(crate) struct Place<'a> {
    pub(crate) name: &'a str,
    pub(crate) labels: &'a BTreeMap<String, String>,
    pub(crate) taints: &'a [Taint],
    pub(crate) allocatable: &'a ResourceList,
    /// What the Pods taken on so far ask for.
    pub(crate) used: &'a ResourceList,
    /// How many they are.
    pub(crate) pods: i64,
}

/// Refuses a Pod that does not fit, with the reason the kubelet gives.
pub(crate) fn check(spec: &Value, template: &Template, place: &Place<'_>) -> Result<(), Verdict> {
    check_resources(template, place)?;
    if !affinity::matches(spec, place.name, place.labels) {
        let message = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector";
        return Err(rejection("NodeAffinity", message));
    }
    let tolerations = Vec::<Toleration>::deserialize(&spec["tolerations"]).unwrap_or_default();
    let evicting = place.taints.iter().filter(|taint| taint.effect == "NoExecute");
    for taint in evicting {
        if !tolerations.iter().any(|toleration| tolerates(toleration, taint)) {
            let message = "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate";
            return Err(rejection("TaintToleration", message));
        }
    }
    Ok(())
}

fn rejection(reason: &str, message: &str) -> Verdict {
    Verdict { reason: reason.into(), message: format!("Pod was rejected: {message}").into() }
}

fn check_resources(template: &Template, place: &Place<'_>) -> Result<(), Verdict> {
    let one = Quantity::from_units(1);
    let pods = ("pods", one, Quantity::from_units(place.pods));
    let asked = template.requests.iter().map(|(name, amount)| (&**name, *amount, place.used.get(name)));
    for (name, requested, used) in std::iter::once(pods).chain(asked) {
        // Extended resources that the node does not know are somebody else's business, as in the real kubelet.
        let unknown = resources::is_extended(name) && !place.allocatable.contains(name);
        let capacity = place.allocatable.get(name);
        if requested.is_zero() || unknown || used + requested <= capacity {
            continue;
        }
        let number = |amount: Quantity| if name == resources::CPU { amount.millis() } else { amount.value() };
        let message = format!(
            "Node didn't have enough resource: {name}, requested: {}, used: {}, capacity: {}",
            number(requested),
            number(used),
            number(capacity)
        );
        return Err(rejection(&format!("OutOf{name}"), &message));
    }
    Ok(())
}

fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let key = toleration.key.as_deref().unwrap_or_default();
    let operator = toleration.operator.as_deref().unwrap_or("Equal");
    let effect = toleration.effect.as_deref().unwrap_or_default();
    let value = toleration.value.as_deref().unwrap_or_default();
    let key_matches = if key.is_empty() { operator == "Exists" } else { key == taint.key };
    let value_matches = operator == "Exists" || value == taint.value.as_deref().unwrap_or_default();
    key_matches && value_matches && (effect.is_empty() || effect == taint.effect)
}

#[cfg(test)]
mod tests;
