//! Node selectors and required node affinity.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{NodeSelector, NodeSelectorRequirement, NodeSelectorTerm};
use serde::Deserialize;
use serde_json::Value;

/// Whether the Pod's `nodeSelector` and required affinity accept the node.
pub(crate) fn matches(spec: &Value, node: &str, labels: &BTreeMap<String, String>) -> bool {
    let selector = BTreeMap::<String, String>::deserialize(&spec["nodeSelector"]).unwrap_or_default();
    let selected = selector.iter().all(|(key, value)| labels.get(key) == Some(value));
    let required = &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    selected && (required.is_null() || any_term_matches(required, node, labels))
}

/// Terms are alternatives; a term without requirements matches nothing.
fn any_term_matches(required: &Value, node: &str, labels: &BTreeMap<String, String>) -> bool {
    NodeSelector::deserialize(required).is_ok_and(|selector| {
        selector.node_selector_terms.iter().any(|term| term_matches(term, node, labels))
    })
}

fn term_matches(term: &NodeSelectorTerm, node: &str, labels: &BTreeMap<String, String>) -> bool {
    let expressions = term.match_expressions.as_deref().unwrap_or_default();
    let fields = term.match_fields.as_deref().unwrap_or_default();
    let own_field = |key: &str| (key == "metadata.name").then_some(node);
    !(expressions.is_empty() && fields.is_empty())
        && expressions.iter().all(|wanted| holds(wanted, labels.get(&wanted.key).map(String::as_str)))
        && fields.iter().all(|wanted| holds(wanted, own_field(&wanted.key)))
}

fn holds(wanted: &NodeSelectorRequirement, value: Option<&str>) -> bool {
    let values = wanted.values.as_deref().unwrap_or_default();
    let listed = |value: &str| values.iter().any(|candidate| candidate == value);
    let numbers = || {
        let own = value?.parse::<i64>().ok()?;
        let [limit] = values else { return None };
        Some((own, limit.parse::<i64>().ok()?))
    };
    match wanted.operator.as_str() {
        "In" => value.is_some_and(listed),
        "NotIn" => !value.is_some_and(listed),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => numbers().is_some_and(|(own, limit)| own > limit),
        "Lt" => numbers().is_some_and(|(own, limit)| own < limit),
        _ => false,
    }
}
