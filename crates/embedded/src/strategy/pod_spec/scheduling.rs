//! Where a Pod may go: affinity, tolerations, spreading, gates.

use maar_machinery::error::{FieldError, Path};
use serde_json::Value;

use super::super::check::{self, Errors};
use super::super::value::{integer, is_set, items, text};
use super::super::{name, selector};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

pub(super) fn validate(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    if is_set(&spec["affinity"]) {
        affinity(errors, &path.field("affinity"), &spec["affinity"]);
    }
    tolerations(errors, &path.field("tolerations"), items(&spec["tolerations"]));
    spreading(errors, &path.field("topologySpreadConstraints"), items(&spec["topologySpreadConstraints"]));
    let list = path.field("schedulingGates");
    let gates = items(&spec["schedulingGates"]);
    for (index, gate) in gates.iter().enumerate() {
        check::text_follows(errors, &list.index(index), text(&gate["name"]), name::qualified);
        if gates[..index].iter().any(|other| other["name"] == gate["name"]) {
            errors.push(FieldError::duplicate(list.index(index), gate["name"].clone()));
        }
    }
}

fn affinity(errors: &mut Errors, path: &Path<'_>, affinity: &Value) {
    let node = &affinity["nodeAffinity"];
    let node_path = path.field("nodeAffinity");
    if !node[REQUIRED].is_null() {
        validate_node_selector(errors, &node_path.field(REQUIRED), &node[REQUIRED]);
    }
    let list = node_path.field(PREFERRED);
    for (index, term) in items(&node[PREFERRED]).iter().enumerate() {
        let path = list.index(index);
        weight(errors, &path.field("weight"), &term["weight"]);
        validate_term(errors, &path.field("preference"), &term["preference"]);
    }
    for direction in ["podAffinity", "podAntiAffinity"] {
        let path = path.field(direction);
        let list = path.field(REQUIRED);
        for (index, term) in items(&affinity[direction][REQUIRED]).iter().enumerate() {
            pod_term(errors, &list.index(index), term);
        }
        let list = path.field(PREFERRED);
        for (index, term) in items(&affinity[direction][PREFERRED]).iter().enumerate() {
            let path = list.index(index);
            weight(errors, &path.field("weight"), &term["weight"]);
            pod_term(errors, &path.field("podAffinityTerm"), &term["podAffinityTerm"]);
        }
    }
}

fn weight(errors: &mut Errors, path: &Path<'_>, weight: &Value) {
    if !(1..=100).contains(&integer(weight).unwrap_or_default()) {
        errors.push(FieldError::invalid(path, weight.clone(), "must be in the range 1-100"));
    }
}

/// Checks a selector of nodes, of which one term must match.
pub(in super::super) fn validate_node_selector(errors: &mut Errors, path: &Path<'_>, selector: &Value) {
    let list = path.field("nodeSelectorTerms");
    let terms = items(&selector["nodeSelectorTerms"]);
    if terms.is_empty() {
        errors.push(FieldError::required(list, "must have at least one node selector term"));
    }
    for (index, term) in terms.iter().enumerate() {
        validate_term(errors, &list.index(index), term);
    }
}

/// Checks one term of a selector of nodes.
pub(in super::super) fn validate_term(errors: &mut Errors, path: &Path<'_>, term: &Value) {
    let list = path.field("matchExpressions");
    for (index, expression) in items(&term["matchExpressions"]).iter().enumerate() {
        node_expression(errors, &list.index(index), expression);
    }
    let list = path.field("matchFields");
    for (index, field) in items(&term["matchFields"]).iter().enumerate() {
        node_field(errors, &list.index(index), field);
    }
}

fn node_expression(errors: &mut Errors, path: &Path<'_>, expression: &Value) {
    let values = items(&expression["values"]);
    let list = path.field("values");
    match text(&expression["operator"]) {
        "In" | "NotIn" if values.is_empty() => {
            errors.push(FieldError::required(list, "must be specified when `operator` is 'In' or 'NotIn'"));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(FieldError::forbidden(
            list,
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )),
        "Gt" | "Lt" if values.len() != 1 => {
            errors.push(FieldError::required(
                list,
                "must be specified single value when `operator` is 'Lt' or 'Gt'",
            ));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        other => {
            errors.push(FieldError::invalid(path.field("operator"), other, "not a valid selector operator"));
        }
    }
    check::text_follows(errors, &path.field("key"), text(&expression["key"]), name::qualified);
    for (index, value) in values.iter().enumerate() {
        check::text_follows(errors, &list.index(index), text(value), name::label_value);
    }
}

fn node_field(errors: &mut Errors, path: &Path<'_>, field: &Value) {
    let values = items(&field["values"]);
    let list = path.field("values");
    match text(&field["operator"]) {
        "In" | "NotIn" if values.len() == 1 => {}
        "In" | "NotIn" => {
            let detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
            errors.push(FieldError::required(list, detail));
        }
        other => {
            errors.push(FieldError::invalid(path.field("operator"), other, "not a valid selector operator"));
        }
    }
    if field["key"] != "metadata.name" {
        errors.push(FieldError::invalid(
            path.field("key"),
            text(&field["key"]),
            "not a valid field selector key",
        ));
        return;
    }
    for (index, value) in values.iter().enumerate() {
        check::text_follows(errors, &list.index(index), text(value), name::subdomain);
    }
}

fn pod_term(errors: &mut Errors, path: &Path<'_>, term: &Value) {
    selector::validate(errors, &path.field("labelSelector"), &term["labelSelector"]);
    selector::validate(errors, &path.field("namespaceSelector"), &term["namespaceSelector"]);
    for namespace in items(&term["namespaces"]) {
        check::text_follows(errors, &path.field("namespace"), text(namespace), name::label);
    }
    for list in ["matchLabelKeys", "mismatchLabelKeys"] {
        label_keys(errors, &path.field(list), items(&term[list]), &term["labelSelector"]);
    }
    let key = path.field("topologyKey");
    if text(&term["topologyKey"]).is_empty() {
        errors.push(FieldError::required(key, "can not be empty"));
    }
    check::text_follows(errors, &key, text(&term["topologyKey"]), name::qualified);
}

fn label_keys(errors: &mut Errors, path: &Path<'_>, keys: &[Value], selector: &Value) {
    if !keys.is_empty() && selector.is_null() {
        errors.push(FieldError::forbidden(path, "must not be specified when labelSelector is not set"));
    }
    for (index, key) in keys.iter().enumerate() {
        check::text_follows(errors, &path.index(index), text(key), name::qualified);
    }
}

fn tolerations(errors: &mut Errors, path: &Path<'_>, tolerations: &[Value]) {
    for (index, toleration) in tolerations.iter().enumerate() {
        let path = path.index(index);
        check::follows(errors, &path.field("key"), &toleration["key"], name::qualified);
        let operator = text(&toleration["operator"]);
        let operator_path = path.field("operator");
        if !is_set(&toleration["key"]) && operator != "Exists" {
            let detail =
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            errors.push(FieldError::invalid(operator_path, operator, detail));
        }
        let effect = &toleration["effect"];
        if !toleration["tolerationSeconds"].is_null() && effect != "NoExecute" {
            let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            errors.push(FieldError::invalid(path.field("effect"), text(effect), detail));
        }
        let value = text(&toleration["value"]);
        match operator {
            "" | "Equal" => check::text_follows(errors, &operator_path, value, name::label_value),
            "Exists" if !value.is_empty() => {
                let detail = "value must be empty when `operator` is 'Exists'";
                errors.push(FieldError::invalid(operator_path, value, detail));
            }
            "Exists" => {}
            other => errors.push(FieldError::not_supported(operator_path, other, ["Equal", "Exists"])),
        }
        if is_set(effect) {
            validate_taint_effect(errors, &path.field("effect"), effect);
        }
    }
}

/// Checks what a taint does, or what a toleration bears.
pub(in super::super) fn validate_taint_effect(errors: &mut Errors, path: &Path<'_>, effect: &Value) {
    check::required_one_of(errors, path, effect, &["NoSchedule", "PreferNoSchedule", "NoExecute"]);
}

/// Checks that tolerations were only added, or given another duration.
pub(in super::super) fn validate_added_tolerations(
    errors: &mut Errors,
    path: &Path<'_>,
    new: &Value,
    old: &Value,
) {
    let core = |toleration: &Value| {
        let mut core = toleration.clone();
        if let Some(fields) = core.as_object_mut() {
            fields.remove("tolerationSeconds");
        }
        core
    };
    let kept: Vec<Value> = items(new).iter().map(core).collect();
    if items(old).iter().any(|toleration| !kept.contains(&core(toleration))) {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        errors.push(FieldError::forbidden(path, detail));
    }
}

fn spreading(errors: &mut Errors, path: &Path<'_>, constraints: &[Value]) {
    for (index, constraint) in constraints.iter().enumerate() {
        let path = path.index(index);
        let skew = &constraint["maxSkew"];
        if integer(skew).unwrap_or_default() <= 0 {
            errors.push(FieldError::invalid(path.field("maxSkew"), skew.clone(), "must be greater than 0"));
        }
        let key = path.field("topologyKey");
        if text(&constraint["topologyKey"]).is_empty() {
            errors.push(FieldError::required(key, "can not be empty"));
        } else {
            check::text_follows(errors, &key, text(&constraint["topologyKey"]), name::qualified);
        }
        let action = &constraint["whenUnsatisfiable"];
        let actions = ["DoNotSchedule", "ScheduleAnyway"];
        check::required_one_of(errors, &path.field("whenUnsatisfiable"), action, &actions);
        let same = |other: &Value| {
            other["topologyKey"] == constraint["topologyKey"] && other["whenUnsatisfiable"] == *action
        };
        if constraints[index + 1..].iter().any(same) {
            let shown = format!("{{{}, {}}}", text(&constraint["topologyKey"]), text(action));
            errors.push(FieldError::duplicate(path.field("{topologyKey, whenUnsatisfiable}"), shown));
        }
        let domains = &constraint["minDomains"];
        check::at_least(errors, &path.field("minDomains"), domains, 1);
        if !domains.is_null() && action != "DoNotSchedule" {
            let detail =
                format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {}", text(action));
            errors.push(FieldError::invalid(path.field("minDomains"), domains.clone(), detail));
        }
        for policy in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            check::one_of(errors, &path.field(policy), &constraint[policy], &["Honor", "Ignore"]);
        }
        let keys = items(&constraint["matchLabelKeys"]);
        label_keys(errors, &path.field("matchLabelKeys"), keys, &constraint["labelSelector"]);
        selector::validate(errors, &path.field("labelSelector"), &constraint["labelSelector"]);
    }
}
