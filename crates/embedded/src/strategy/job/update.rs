//! What may change about a Job: a suspended one is more flexible than a running one.

use maar_machinery::error::{FieldError, Path};
use serde_json::Value;

use super::super::check::{self, Errors};
use super::super::value::{child, flag, integer, items, make_child, restore};
use super::status::is_true;

pub(super) fn validate(errors: &mut Errors, new: &Value, old: &Value) {
    let path = Path::Text("spec");
    let (now, before) = (&new["spec"], &old["spec"]);
    completions(errors, &path.field("completions"), now, before);
    for field in [
        "selector",
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
        "managedBy",
        "successPolicy",
    ] {
        check::immutable(errors, &path.field(field), &now[field], &before[field]);
    }
    template(errors, &path.field("template"), now, old);
}

fn completions(errors: &mut Errors, path: &Path<'_>, new: &Value, old: &Value) {
    if new["completionMode"] != "Indexed" {
        check::immutable(errors, path, &new["completions"], &old["completions"]);
        return;
    }
    let completions = integer(&new["completions"]);
    if completions != integer(&old["completions"])
        && completions.is_some()
        && completions != integer(&new["parallelism"])
    {
        let detail = "can only be modified in tandem with spec.parallelism";
        errors.push(FieldError::invalid(path, new["completions"].clone(), detail));
    }
}

/// While a Job is suspended and none of its Pods is there, it may still be told where to run and with how much.
fn template(errors: &mut Errors, path: &Path<'_>, new: &Value, old: &Value) {
    let status = &old["status"];
    let idle = integer(&status["active"]).unwrap_or_default() == 0
        && (status["startTime"].is_null() || is_true(status, "Suspended"));
    let template = &new["template"];
    if !flag(&old["spec"]["suspend"]) || !idle {
        check::immutable(errors, path, template, &old["spec"]["template"]);
        return;
    }
    let mut allowed = old["spec"]["template"].clone();
    take_directives(&mut allowed, template);
    take_resources(&mut allowed, template);
    check::immutable(errors, &path.field("spec"), &template["spec"], &allowed["spec"]);
}

fn take_directives(allowed: &mut Value, new: &Value) {
    let Some(spec) = allowed.get_mut("spec") else { return };
    for field in ["nodeSelector", "tolerations", "schedulingGates"] {
        restore(spec, &new["spec"], field);
    }
    let Some(spec) = spec.as_object_mut() else { return };
    if let Some(affinity) = make_child(spec, "affinity") {
        affinity.remove("nodeAffinity");
        if let Some(node) = new["spec"]["affinity"].get("nodeAffinity") {
            affinity.insert("nodeAffinity".to_owned(), node.clone());
        }
    }
    if new["spec"]["affinity"].is_null()
        && child(spec, "affinity").is_some_and(|affinity| affinity.is_empty())
    {
        spec.remove("affinity");
    }
}

fn take_resources(allowed: &mut Value, new: &Value) {
    for list in ["containers", "initContainers"] {
        let given = items(&new["spec"][list]);
        let Some(containers) = allowed["spec"].get_mut(list).and_then(Value::as_array_mut) else { continue };
        if containers.len() != given.len() {
            continue;
        }
        for (container, given) in containers.iter_mut().zip(given) {
            if container["name"] == given["name"] {
                restore(container, given, "resources");
            }
        }
    }
}
