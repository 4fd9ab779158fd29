//! What may change about a Pod: hardly anything.

use maar_machinery::error::{FieldError, Path};
use serde_json::Value;

use super::super::check::{self, Errors};
use super::super::pod_spec;
use super::super::value::{Object, child, differs, entries, integer, items, restore, text};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

const CHANGEABLE: &str = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
    `spec.tolerations` (only additions to existing tolerations),\
    `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// Checks a change of a Pod's specification.
pub(super) fn validate(errors: &mut Errors, new: &Value, old: &Value) {
    let path = Path::Text("spec");
    for list in ["containers", "initContainers"] {
        if items(&new[list]).len() != items(&old[list]).len() {
            let detail = "pod updates may not add or remove containers";
            errors.push(FieldError::forbidden(path.field(list), detail));
            return;
        }
    }
    if !deadline(errors, &path.field("activeDeadlineSeconds"), new, old) {
        return;
    }
    pod_spec::validate_added_tolerations(
        errors,
        &path.field("tolerations"),
        &new["tolerations"],
        &old["tolerations"],
    );
    removed_gates(
        errors,
        &path.field("schedulingGates"),
        items(&new["schedulingGates"]),
        items(&old["schedulingGates"]),
    );
    if new == old {
        return;
    }
    let mut rest = new.clone();
    undo_allowed(&mut rest, old);
    if !items(&old["schedulingGates"]).is_empty() {
        undo_gated(errors, &path, &mut rest, old);
    }
    let changed = changed_fields(&rest, old);
    if !changed.is_empty() {
        let detail = format!(
            "pod updates may not change fields other than {CHANGEABLE}; changed: {}",
            changed.join(", ")
        );
        errors.push(FieldError::forbidden(path, detail));
    }
}

fn deadline(errors: &mut Errors, path: &Path<'_>, new: &Value, old: &Value) -> bool {
    let field = "activeDeadlineSeconds";
    match (integer(&new[field]), integer(&old[field])) {
        (Some(now), _) if !(0..=i64::from(i32::MAX)).contains(&now) => {
            check::between(errors, path, &new[field], 0, i64::from(i32::MAX));
            false
        }
        (Some(now), Some(before)) if before < now => {
            errors.push(FieldError::invalid(path, now, "must be less than or equal to previous value"));
            false
        }
        (None, Some(_)) => {
            let detail = "must not update from a positive integer to nil value";
            errors.push(FieldError::invalid(path, Value::Null, detail));
            true
        }
        _ => true,
    }
}

fn removed_gates(errors: &mut Errors, path: &Path<'_>, new: &[Value], old: &[Value]) {
    for (index, gate) in new.iter().enumerate() {
        if !old.iter().any(|other| other["name"] == gate["name"]) {
            let detail =
                format!("only deletion is allowed, but found new scheduling gate '{}'", text(&gate["name"]));
            let path = path.index(index);
            errors.push(FieldError::forbidden(path.field("name"), detail));
        }
    }
}

/// Takes back the changes that are always allowed, so that only the others remain.
fn undo_allowed(spec: &mut Value, old: &Value) {
    for list in ["containers", "initContainers"] {
        let Some(containers) = spec.get_mut(list).and_then(Value::as_array_mut) else { continue };
        for (container, before) in containers.iter_mut().zip(items(&old[list])) {
            restore(container, before, "image");
        }
    }
    for field in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        restore(spec, old, field);
    }
    let grace = "terminationGracePeriodSeconds";
    if integer(&old[grace]).is_some_and(|seconds| seconds < 0) && integer(&spec[grace]) == Some(1) {
        restore(spec, old, grace);
    }
}

/// A Pod that waits at its gates may still be told more closely where to go.
fn undo_gated(errors: &mut Errors, path: &Path<'_>, spec: &mut Value, old: &Value) {
    if differs(&spec["nodeSelector"], &old["nodeSelector"]) {
        let kept = |(key, value): (&str, &Value)| spec["nodeSelector"].get(key) == Some(value);
        if !entries(&old["nodeSelector"]).all(kept) {
            let detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
            errors.push(FieldError::invalid(
                path.field("nodeSelector"),
                spec["nodeSelector"].clone(),
                detail,
            ));
        }
        restore(spec, old, "nodeSelector");
    }
    let before = &old["affinity"]["nodeAffinity"];
    if differs(&spec["affinity"]["nodeAffinity"], before) {
        narrowed(errors, path, &spec["affinity"]["nodeAffinity"], before);
        let Some(fields) = spec.as_object_mut() else { return };
        restore_node_affinity(fields, old);
    }
}

fn restore_node_affinity(spec: &mut Object, old: &Value) {
    if let Some(affinity) = super::super::value::make_child(spec, "affinity") {
        affinity.remove("nodeAffinity");
        if let Some(before) = old["affinity"].get("nodeAffinity") {
            affinity.insert("nodeAffinity".to_owned(), before.clone());
        }
    }
    if old["affinity"].is_null() && child(spec, "affinity").is_some_and(|affinity| affinity.is_empty()) {
        spec.remove("affinity");
    }
}

fn narrowed(errors: &mut Errors, path: &Path<'_>, new: &Value, old: &Value) {
    if old[REQUIRED].is_null() {
        return;
    }
    let (new_terms, old_terms) =
        (items(&new[REQUIRED]["nodeSelectorTerms"]), items(&old[REQUIRED]["nodeSelectorTerms"]));
    let affinity = path.field("affinity");
    let node = affinity.field("nodeAffinity");
    let required = node.field(REQUIRED);
    let path = required.field("nodeSelectorTerms");
    if !old_terms.is_empty() && old_terms.len() != new_terms.len() {
        let detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        errors.push(FieldError::invalid(path, new_terms.to_vec(), detail));
        return;
    }
    for (index, (now, before)) in new_terms.iter().zip(old_terms).enumerate() {
        if !only_adds(now, before) {
            let detail = "only additions are allowed (no mutations or deletions)";
            errors.push(FieldError::invalid(path.index(index), now.clone(), detail));
        }
    }
}

fn only_adds(new: &Value, old: &Value) -> bool {
    let lists = ["matchExpressions", "matchFields"];
    // An empty term matches nothing; with expressions it would match something.
    if lists.iter().all(|list| items(&old[list]).is_empty()) {
        return lists.iter().all(|list| items(&new[list]).is_empty());
    }
    lists.iter().all(|list| items(&new[list]).starts_with(items(&old[list])))
}

/// The names of the fields of two specifications that differ.
fn changed_fields(new: &Value, old: &Value) -> Vec<String> {
    let mut changed: Vec<String> = Vec::new();
    let names = entries(new).chain(entries(old)).map(|(name, _)| name);
    for name in names {
        if differs(&new[name], &old[name]) && !changed.iter().any(|other| other == name) {
            changed.push(name.to_owned());
        }
    }
    changed.sort();
    changed
}
