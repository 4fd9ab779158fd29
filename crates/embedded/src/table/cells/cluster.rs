//! Nodes, namespaces, data, access.

use serde_json::Value;

use super::{NONE, flag, is_true, items, length, name, number, text, text_or};
use crate::table::age::{Now, words};

const ROLE_PREFIX: &str = "node-role.kubernetes.io/";
const ROLE_LABEL: &str = "kubernetes.io/role";

/// Kinds of which only name and age are shown.
pub(in crate::table) fn named(object: &Value, now: Now) -> Vec<Value> {
    vec![name(object), now.age(object)]
}

pub(in crate::table) fn node(object: &Value, now: Now) -> Vec<Value> {
    let info = &object["status"]["nodeInfo"];
    let unknown = "<unknown>";
    let mut kernel = text_or(&info["kernelVersion"], unknown);
    if !text(&info["architecture"]).is_empty() {
        kernel = format!("{} ({})", text(&kernel), text(&info["architecture"])).into();
    }
    vec![
        name(object),
        node_status(object).into(),
        roles(object),
        now.age(object),
        text(&info["kubeletVersion"]).into(),
        address(object, "InternalIP"),
        address(object, "ExternalIP"),
        text_or(&info["osImage"], unknown),
        kernel,
        text_or(&info["containerRuntimeVersion"], unknown),
    ]
}

fn node_status(object: &Value) -> String {
    let known = items(&object["status"]["conditions"]).iter().any(|condition| condition["type"] == "Ready");
    let status = match (known, is_true(object, "Ready")) {
        (true, true) => "Ready",
        (true, false) => "NotReady",
        (false, _) => "Unknown",
    };
    if flag(&object["spec"]["unschedulable"]) {
        format!("{status},SchedulingDisabled")
    } else {
        status.to_owned()
    }
}

fn roles(object: &Value) -> Value {
    let labels = object["metadata"]["labels"].as_object();
    let mut roles: Vec<&str> = labels
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| match key.strip_prefix(ROLE_PREFIX) {
            Some(role) => Some(role),
            None => (key == ROLE_LABEL).then(|| text(value)),
        })
        .filter(|role| !role.is_empty())
        .collect();
    roles.sort_unstable();
    roles.dedup();
    text_or(&roles.join(",").into(), NONE)
}

fn address(object: &Value, kind: &str) -> Value {
    let addresses = items(&object["status"]["addresses"]);
    addresses
        .iter()
        .find(|address| address["type"] == kind)
        .map_or(NONE.into(), |found| found["address"].clone())
}

pub(in crate::table) fn namespace(object: &Value, now: Now) -> Vec<Value> {
    vec![name(object), object["status"]["phase"].clone(), now.age(object)]
}

pub(in crate::table) fn config_map(object: &Value, now: Now) -> Vec<Value> {
    let keys = length(&object["data"]) + length(&object["binaryData"]);
    vec![name(object), keys.into(), now.age(object)]
}

pub(in crate::table) fn secret(object: &Value, now: Now) -> Vec<Value> {
    vec![name(object), object["type"].clone(), length(&object["data"]).into(), now.age(object)]
}

pub(in crate::table) fn resource_quota(object: &Value, now: Now) -> Vec<Value> {
    let status = &object["status"];
    let used = |resource: &str| status["used"][resource].as_str().unwrap_or("0").to_owned();
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    for (resource, most) in status["hard"].as_object().into_iter().flatten() {
        let column = if resource.starts_with("limits.") { &mut limits } else { &mut requests };
        column.push(format!("{resource}: {}/{}", used(resource), text(most)));
    }
    vec![name(object), requests.join(", ").into(), limits.join(", ").into(), now.age(object)]
}

pub(in crate::table) fn priority_class(object: &Value, now: Now) -> Vec<Value> {
    vec![
        name(object),
        number(&object["value"]).into(),
        flag(&object["globalDefault"]).into(),
        now.age(object),
        text(&object["preemptionPolicy"]).into(),
    ]
}

pub(in crate::table) fn lease(object: &Value, now: Now) -> Vec<Value> {
    vec![name(object), text(&object["spec"]["holderIdentity"]).into(), now.age(object)]
}

pub(in crate::table) fn binding(object: &Value, now: Now) -> Vec<Value> {
    let role = &object["roleRef"];
    let subjects = |kind: &str| -> Value {
        let of_kind = items(&object["subjects"]).iter().filter(|subject| subject["kind"] == kind);
        let names = of_kind.map(|subject| match kind {
            "ServiceAccount" => format!("{}/{}", text(&subject["namespace"]), text(&subject["name"])),
            _ => text(&subject["name"]).to_owned(),
        });
        names.collect::<Vec<_>>().join(", ").into()
    };
    vec![
        name(object),
        format!("{}/{}", text(&role["kind"]), text(&role["name"])).into(),
        now.age(object),
        subjects("User"),
        subjects("Group"),
        subjects("ServiceAccount"),
    ]
}

pub(in crate::table) fn signing_request(object: &Value, now: Now) -> Vec<Value> {
    let spec = &object["spec"];
    let has = |kind: &str| items(&object["status"]["conditions"]).iter().any(|other| other["type"] == kind);
    let mut state = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied".to_owned(),
        (false, true) => "Approved".to_owned(),
        (false, false) => "Pending".to_owned(),
    };
    if has("Failed") {
        state.push_str(",Failed");
    }
    if !text(&object["status"]["certificate"]).is_empty() {
        state.push_str(",Issued");
    }
    vec![
        name(object),
        now.age(object),
        text_or(&spec["signerName"], NONE),
        text(&spec["username"]).into(),
        spec["expirationSeconds"].as_i64().map_or(NONE.into(), |seconds| words(seconds).into()),
        state.into(),
    ]
}

pub(in crate::table) fn webhooks(object: &Value, now: Now) -> Vec<Value> {
    vec![name(object), length(&object["webhooks"]).into(), now.age(object)]
}
