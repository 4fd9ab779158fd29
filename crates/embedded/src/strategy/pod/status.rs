//! What may be said about a Pod.

use maar_machinery::error::{FieldError, Path};
use serde_json::{Value, json};

use super::super::check::{self, Errors};
use super::super::name;
use super::super::value::{Object, integer, items, items_mut, text};

/// Checks a change of a Pod's status.
pub(super) fn validate(errors: &mut Errors, new: &Value, old: &Value) {
    let path = Path::Text("status");
    let (now, before) = (&new["status"], &old["status"]);
    let conditions = path.field("conditions");
    for (index, condition) in items(&now["conditions"]).iter().enumerate() {
        let kind = text(&condition["type"]);
        let path = conditions.index(index);
        check::text_follows(errors, &path.field("type"), kind, name::qualified);
    }
    let nominated = &now["nominatedNodeName"];
    if *nominated != before["nominatedNodeName"] {
        check::follows(errors, &path.field("nominatedNodeName"), nominated, name::subdomain);
    }
    check::non_negative(errors, &path.field("observedGeneration"), &now["observedGeneration"]);
    check::immutable(errors, &path.field("qosClass"), &now["qosClass"], &before["qosClass"]);
    for (statuses, containers) in
        [("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")]
    {
        transitions(
            errors,
            &path.field(statuses),
            items(&now[statuses]),
            items(&before[statuses]),
            &old["spec"],
            containers,
        );
    }
    addresses(errors, &path.field("podIPs"), &now["podIPs"]);
}

/// A container that has ended for good does not come back.
fn transitions(
    errors: &mut Errors,
    path: &Path<'_>,
    new: &[Value],
    old: &[Value],
    spec: &Value,
    containers: &str,
) {
    for (index, before) in old.iter().enumerate() {
        let ended = &before["state"]["terminated"];
        let Some(now) = new.iter().find(|now| now["name"] == before["name"]) else { continue };
        if ended.is_null() || !now["state"]["terminated"].is_null() {
            continue;
        }
        let container = items(&spec[containers]).iter().find(|container| container["name"] == before["name"]);
        let exit_code = integer(&ended["exitCode"]).unwrap_or_default();
        if !container.is_some_and(|container| restarts(container, spec, exit_code)) {
            let path = path.index(index);
            let detail = "may not be transitioned to non-terminated state";
            errors.push(FieldError::forbidden(path.field("state"), detail));
        }
    }
}

fn restarts(container: &Value, spec: &Value, exit_code: i64) -> bool {
    for rule in items(&container["restartPolicyRules"]) {
        let codes = &rule["exitCodes"];
        let listed = items(&codes["values"]).iter().any(|code| integer(code) == Some(exit_code));
        if listed == (codes["operator"] == "In") {
            return rule["action"] == "Restart";
        }
    }
    let own = text(&container["restartPolicy"]);
    match if own.is_empty() { text(&spec["restartPolicy"]) } else { own } {
        "Always" => true,
        "OnFailure" => exit_code != 0,
        _ => false,
    }
}

fn addresses(errors: &mut Errors, path: &Path<'_>, addresses: &Value) {
    for (index, address) in items(addresses).iter().enumerate() {
        check::text_follows(errors, &path.index(index), text(&address["ip"]), name::address);
    }
    if items(addresses).len() > 2 {
        let detail = "may specify no more than one IP for each IP family";
        errors.push(FieldError::invalid(path, addresses.clone(), detail));
    }
}

/// The times of a condition are always shown, and the first address counts twice.
pub(super) fn default(status: &mut Object) {
    for condition in items_mut(status, "conditions") {
        for field in ["lastProbeTime", "lastTransitionTime"] {
            condition.entry(field).or_insert(Value::Null);
        }
    }
    let first = text(status.get("podIP").unwrap_or(&Value::Null)).to_owned();
    let listed = status.get("podIPs").map_or(&Value::Null, |list| &list[0]["ip"]);
    if !first.is_empty() && text(listed) != first {
        status.insert("podIPs".to_owned(), json!([{"ip": first}]));
    }
}
