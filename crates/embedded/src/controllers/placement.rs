//! Which nodes a Pod may be on: taints, node selectors and required node affinity.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodSpec, Taint, Toleration,
};

pub(crate) const NO_SCHEDULE: &str = "NoSchedule";
pub(crate) const NO_EXECUTE: &str = "NoExecute";

/// Whether a toleration covers a taint.
pub(crate) fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let (key, effect) = (text(&toleration.key), text(&toleration.effect));
    if !effect.is_empty() && effect != taint.effect {
        return false;
    }
    let exists = toleration.operator.as_deref() == Some("Exists");
    if key.is_empty() {
        return exists;
    }
    key == taint.key && (exists || text(&toleration.value) == text(&taint.value))
}

/// The first taint of these effects that no toleration covers.
pub(crate) fn untolerated<'a>(
    taints: &'a [Taint],
    tolerations: &[Toleration],
    effects: &[&str],
) -> Option<&'a Taint> {
    taints
        .iter()
        .filter(|taint| effects.contains(&taint.effect.as_str()))
        .find(|taint| !tolerations.iter().any(|toleration| tolerates(toleration, taint)))
}

/// Whether a node has the labels and the name a Pod requires.
pub(crate) fn affinity_allows(spec: &PodSpec, name: &str, labels: &BTreeMap<String, String>) -> bool {
    let selector = spec.node_selector.iter().flatten();
    if selector.into_iter().any(|(key, value)| labels.get(key) != Some(value)) {
        return false;
    }
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let required =
        affinity.and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref());
    required.is_none_or(|required| selector_matches(required, name, labels))
}

/// Terms are alternatives.
pub(crate) fn selector_matches(
    selector: &NodeSelector,
    name: &str,
    labels: &BTreeMap<String, String>,
) -> bool {
    selector.node_selector_terms.iter().any(|term| term_matches(term, name, labels))
}

/// An empty term matches nothing.
pub(crate) fn term_matches(term: &NodeSelectorTerm, name: &str, labels: &BTreeMap<String, String>) -> bool {
    let expressions = term.match_expressions.as_deref().unwrap_or_default();
    let fields = term.match_fields.as_deref().unwrap_or_default();
    if expressions.is_empty() && fields.is_empty() {
        return false;
    }
    let label = |requirement: &NodeSelectorRequirement| labels.get(&requirement.key).map(String::as_str);
    expressions.iter().all(|requirement| requirement_holds(requirement, label(requirement)))
        && fields.iter().all(|field| field.key == "metadata.name" && requirement_holds(field, Some(name)))
}

fn requirement_holds(requirement: &NodeSelectorRequirement, value: Option<&str>) -> bool {
    let values = requirement.values.as_deref().unwrap_or_default();
    let named = |value: &str| values.iter().any(|wanted| wanted == value);
    let compared = |test: fn(&i64, &i64) -> bool| {
        let number = value.and_then(|value| value.parse::<i64>().ok());
        let bound = values.first().and_then(|value| value.parse::<i64>().ok());
        number.zip(bound).is_some_and(|(number, bound)| test(&number, &bound))
    };
    match requirement.operator.as_str() {
        "In" => value.is_some_and(named),
        "NotIn" => !value.is_some_and(named),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => compared(i64::gt),
        "Lt" => compared(i64::lt),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    #[test]
    fn tolerations_cover_taints() {
        let taint: Taint = from_value(json!({"key": "gpu", "value": "yes", "effect": "NoSchedule"})).unwrap();
        let rows = [
            (json!({"operator": "Exists"}), true),
            (json!({"key": "gpu", "operator": "Exists"}), true),
            (json!({"key": "gpu", "value": "yes"}), true),
            (json!({"key": "gpu", "operator": "Equal", "value": "no"}), false),
            (json!({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}), false),
            (json!({"key": "cpu", "operator": "Exists"}), false),
            (json!({}), false),
        ];
        for (toleration, want) in rows {
            let read: Toleration = from_value(toleration.clone()).unwrap();
            assert_eq!(tolerates(&read, &taint), want, "{toleration}");
        }
    }

    #[test]
    fn node_affinity_is_alternatives_of_requirements() {
        let labels = BTreeMap::from([("zone".into(), "a".into()), ("cards".into(), "8".into())]);
        let allows = |terms: Value| {
            let spec: PodSpec = from_value(json!({"containers": [], "affinity": {"nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}}))
            .unwrap();
            affinity_allows(&spec, "n1", &labels)
        };
        let term = |key: &str, operator: &str, values: Value| json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
        assert!(allows(json!([term("zone", "In", json!(["a", "b"]))])));
        assert!(!allows(json!([term("zone", "NotIn", json!(["a"]))])));
        assert!(allows(json!([term("arch", "NotIn", json!(["a"]))])));
        assert!(allows(json!([term("arch", "Exists", json!([])), term("cards", "Gt", json!(["4"]))])));
        assert!(!allows(json!([term("cards", "Lt", json!(["8"]))])));
        assert!(!allows(json!([{}])));
        assert!(allows(
            json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}])
        ));
        let selector: PodSpec = from_value(json!({"containers": [], "nodeSelector": {"zone": "b"}})).unwrap();
        assert!(!affinity_allows(&selector, "n1", &labels));
    }
}
