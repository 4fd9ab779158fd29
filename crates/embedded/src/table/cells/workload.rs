//! Controllers of Pods.

use serde_json::Value;

use super::{NONE, containers, flag, is_true, items, labels, length, name, number, selector, text, text_or};
use crate::table::age::{Now, between};

pub(in crate::table) fn pod_template(object: &Value, _now: Now) -> Vec<Value> {
    let template = &object["template"];
    let [names, images] = containers(template);
    vec![name(object), names, images, labels(&template["metadata"]["labels"])]
}

fn ready(object: &Value) -> Value {
    format!("{}/{}", number(&object["status"]["readyReplicas"]), number(&object["spec"]["replicas"])).into()
}

pub(in crate::table) fn deployment(object: &Value, now: Now) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let [names, images] = containers(&spec["template"]);
    vec![
        name(object),
        ready(object),
        number(&status["updatedReplicas"]).into(),
        number(&status["availableReplicas"]).into(),
        now.age(object),
        names,
        images,
        selector(&spec["selector"], "<invalid>", ""),
    ]
}

pub(in crate::table) fn replica_set(object: &Value, now: Now) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let [names, images] = containers(&spec["template"]);
    vec![
        name(object),
        number(&spec["replicas"]).into(),
        number(&status["replicas"]).into(),
        number(&status["readyReplicas"]).into(),
        now.age(object),
        names,
        images,
        selector(&spec["selector"], "<error>", NONE),
    ]
}

pub(in crate::table) fn stateful_set(object: &Value, now: Now) -> Vec<Value> {
    let [names, images] = containers(&object["spec"]["template"]);
    vec![name(object), ready(object), now.age(object), names, images]
}

pub(in crate::table) fn daemon_set(object: &Value, now: Now) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let [names, images] = containers(&spec["template"]);
    vec![
        name(object),
        number(&status["desiredNumberScheduled"]).into(),
        number(&status["currentNumberScheduled"]).into(),
        number(&status["numberReady"]).into(),
        number(&status["updatedNumberScheduled"]).into(),
        number(&status["numberAvailable"]).into(),
        labels(&spec["template"]["spec"]["nodeSelector"]),
        now.age(object),
        names,
        images,
        selector(&spec["selector"], "<error>", NONE),
    ]
}

pub(in crate::table) fn controller_revision(object: &Value, now: Now) -> Vec<Value> {
    let owners = items(&object["metadata"]["ownerReferences"]);
    let controller = owners.iter().find(|owner| flag(&owner["controller"])).map_or_else(
        || NONE.to_owned(),
        |owner| {
            let kind = text(&owner["kind"]).to_lowercase();
            let group = text(&owner["apiVersion"]).split_once('/').map(|(group, _)| format!(".{group}"));
            format!("{kind}{}/{}", group.unwrap_or_default(), text(&owner["name"]))
        },
    );
    vec![name(object), controller.into(), number(&object["revision"]).into(), now.age(object)]
}

pub(in crate::table) fn job(object: &Value, now: Now) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let [names, images] = containers(&spec["template"]);
    let done = number(&status["succeeded"]);
    let completions = match (spec["completions"].as_i64(), number(&spec["parallelism"])) {
        (Some(wanted), _) => format!("{done}/{wanted}"),
        (None, parallel @ 2..) => format!("{done}/1 of {parallel}"),
        (None, _) => format!("{done}/1"),
    };
    let start = &status["startTime"];
    let duration = match (start.is_null(), status["completionTime"].is_null()) {
        (true, _) => String::new(),
        (false, true) => now.since(start),
        (false, false) => between(start, &status["completionTime"]).unwrap_or_default(),
    };
    vec![
        name(object),
        job_status(object).into(),
        completions.into(),
        duration.into(),
        now.age(object),
        names,
        images,
        selector(&spec["selector"], "<error>", NONE),
    ]
}

fn job_status(object: &Value) -> &'static str {
    if is_true(object, "Complete") {
        "Complete"
    } else if is_true(object, "Failed") {
        "Failed"
    } else if !object["metadata"]["deletionTimestamp"].is_null() {
        "Terminating"
    } else if is_true(object, "Suspended") {
        "Suspended"
    } else if is_true(object, "FailureTarget") {
        "FailureTarget"
    } else if is_true(object, "SuccessCriteriaMet") {
        "SuccessCriteriaMet"
    } else {
        "Running"
    }
}

pub(in crate::table) fn cron_job(object: &Value, now: Now) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let job = &spec["jobTemplate"]["spec"];
    let [names, images] = containers(&job["template"]);
    let last = &status["lastScheduleTime"];
    let suspended = match spec["suspend"].as_bool() {
        Some(true) => "True",
        Some(false) => "False",
        None => "<unset>",
    };
    vec![
        name(object),
        spec["schedule"].clone(),
        text_or(&spec["timeZone"], NONE),
        suspended.into(),
        length(&status["active"]).into(),
        if last.is_null() { NONE.into() } else { now.since(last).into() },
        now.age(object),
        names,
        images,
        selector(&job["selector"], "<error>", NONE),
    ]
}

pub(in crate::table) fn disruption_budget(object: &Value, now: Now) -> Vec<Value> {
    let bound = |value: &Value| match value {
        Value::Null => "N/A".into(),
        Value::String(text) => text.as_str().into(),
        other => Value::from(other.to_string()),
    };
    vec![
        name(object),
        bound(&object["spec"]["minAvailable"]),
        bound(&object["spec"]["maxUnavailable"]),
        number(&object["status"]["disruptionsAllowed"]).into(),
        now.age(object),
    ]
}
