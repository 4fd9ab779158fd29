//! The parts of a Pod that the server works out.

use maar_quantities::resources::{HUGEPAGES_PREFIX, PodResources, is_pod_level};
use serde_json::{Value, json};

use super::super::value::{Object, child, is_set, items, items_mut, make_child};
use crate::world::World;

/// Fills requests and huge-page limits of the Pod as a whole from those of its containers.
pub(super) fn default_pod_level_resources(spec: &mut Object) {
    if !spec
        .get("resources")
        .is_some_and(|resources| is_set(&resources["limits"]) || is_set(&resources["requests"]))
    {
        return;
    }
    let containers = json!({"spec": {
        "containers": spec.get("containers").cloned().unwrap_or_default(),
        "initContainers": spec.get("initContainers").cloned().unwrap_or_else(|| json!([])),
    }});
    let Ok(sums) = PodResources::from_json(&containers) else { return };
    let Some(resources) = child(spec, "resources") else { return };
    let is_requested = |resources: &Object, name: &str| resources["requests"].get(name).is_some();
    resources.entry("requests").or_insert_with(|| json!({}));
    for (name, amount) in &sums.limits() {
        if name.starts_with(HUGEPAGES_PREFIX)
            && !is_requested(resources, name)
            && let Some(limits) = make_child(resources, "limits")
        {
            limits.entry(name.as_str()).or_insert_with(|| amount.to_string().into());
        }
    }
    let limits = resources.get("limits").and_then(Value::as_object).cloned().unwrap_or_default();
    if limits.is_empty() {
        return;
    }
    let Some(requests) = make_child(resources, "requests") else { return };
    for (name, amount) in &sums.requests() {
        if is_pod_level(name) && !name.starts_with(HUGEPAGES_PREFIX) {
            requests.entry(name.as_str()).or_insert_with(|| amount.to_string().into());
        }
    }
    for (name, amount) in limits {
        if is_pod_level(&name) {
            requests.entry(name).or_insert(amount);
        }
    }
}

/// What a Pod with scheduling gates says about itself from the start.
pub(super) fn gated_condition(spec: &Value, world: &World) -> Option<Value> {
    (!items(&spec["schedulingGates"]).is_empty()).then(|| {
        json!({
            "type": "PodScheduled",
            "status": "False",
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
            "lastProbeTime": null,
            "lastTransitionTime": world.now_text(),
        })
    })
}

/// Turns `matchLabelKeys` into terms of the selector beside them, with the values of this Pod.
pub(super) fn apply_label_keys(object: &mut Value) {
    let spec = &object["spec"];
    if spec["affinity"].is_null() && spec["topologySpreadConstraints"].is_null() {
        return;
    }
    let labels = object["metadata"]["labels"].clone();
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    for constraint in items_mut(spec, "topologySpreadConstraints") {
        add_terms(constraint, &labels);
    }
    let Some(affinity) = child(spec, "affinity") else { return };
    for direction in ["podAffinity", "podAntiAffinity"] {
        let Some(rules) = child(affinity, direction) else { continue };
        for term in items_mut(rules, "requiredDuringSchedulingIgnoredDuringExecution") {
            add_terms(term, &labels);
        }
        for weighted in items_mut(rules, "preferredDuringSchedulingIgnoredDuringExecution") {
            if let Some(term) = child(weighted, "podAffinityTerm") {
                add_terms(term, &labels);
            }
        }
    }
}

fn add_terms(term: &mut Object, labels: &Value) {
    let mut added: Vec<Value> = Vec::new();
    for (field, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        for key in term.get(field).map_or(&[][..], items) {
            if let Some(value) = key.as_str().and_then(|key| labels.get(key)) {
                added.push(json!({"key": key, "operator": operator, "values": [value]}));
            }
        }
    }
    let Some(selector) = child(term, "labelSelector") else { return };
    if added.is_empty() {
        return;
    }
    let expressions = selector.entry("matchExpressions").or_insert_with(|| json!([]));
    if let Some(expressions) = expressions.as_array_mut() {
        expressions.extend(added);
    }
}
