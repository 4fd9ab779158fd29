//! Pods: the state of all containers in one word.

use serde_json::{Value, json};

use super::{NONE, flag, is_true, items, name, number, text, text_or};
use crate::table::age::Now;

pub(in crate::table) fn cells(pod: &Value, now: Now) -> Vec<Value> {
    let summary = Summary::of(pod);
    let ready = format!("{}/{}", summary.ready, summary.total);
    let restarts = match (summary.restarts, summary.last_restart) {
        (restarts @ 1.., Some(time)) => format!("{restarts} ({} ago)", now.since_text(time)),
        (restarts, _) => restarts.to_string(),
    };
    let address =
        items(&pod["status"]["podIPs"]).first().map_or(NONE.into(), |address| text_or(&address["ip"], NONE));
    vec![
        name(pod),
        ready.into(),
        summary.reason.into(),
        restarts.into(),
        now.age(pod),
        address,
        text_or(&pod["spec"]["nodeName"], NONE),
        text_or(&pod["status"]["nominatedNodeName"], NONE),
        readiness_gates(pod),
    ]
}

/// A row of a Pod that has ended says so, which lets clients hide it.
pub(in crate::table) fn condition(pod: &Value) -> Option<Value> {
    let (reason, message) = match text(&pod["status"]["phase"]) {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!({"type": "Completed", "status": "True", "reason": reason, "message": message}))
}

fn readiness_gates(pod: &Value) -> Value {
    let gates = items(&pod["spec"]["readinessGates"]);
    if gates.is_empty() {
        return NONE.into();
    }
    let open = gates.iter().filter(|gate| is_true(pod, text(&gate["conditionType"]))).count();
    format!("{open}/{}", gates.len()).into()
}

/// What the containers of a Pod come to.
struct Summary<'a> {
    reason: String,
    ready: usize,
    total: usize,
    restarts: i64,
    last_restart: Option<&'a str>,
}

impl<'a> Summary<'a> {
    fn of(pod: &'a Value) -> Self {
        let sidecars =
            items(&pod["spec"]["initContainers"]).iter().filter(|container| is_sidecar(container)).count();
        let mut summary = Summary {
            reason: initial_reason(pod),
            ready: 0,
            total: items(&pod["spec"]["containers"]).len() + sidecars,
            restarts: 0,
            last_restart: None,
        };
        let initializing = summary.add_init_containers(pod);
        if !initializing || is_true(pod, "Initialized") {
            summary.keep_sidecar_restarts(pod);
            summary.add_containers(pod);
        }
        if !pod["metadata"]["deletionTimestamp"].is_null() {
            if pod["status"]["reason"] == "NodeLost" {
                "Unknown".clone_into(&mut summary.reason);
            } else if !matches!(text(&pod["status"]["phase"]), "Succeeded" | "Failed") {
                "Terminating".clone_into(&mut summary.reason);
            }
        }
        summary
    }

    fn count_restarts(&mut self, status: &'a Value) {
        self.restarts += number(&status["restartCount"]);
        let ended = status["lastState"]["terminated"]["finishedAt"].as_str();
        // Times of one form compare as texts do.
        if ended > self.last_restart {
            self.last_restart = ended;
        }
    }

    /// Goes through the init containers up to the one that is still at work; says whether there is one.
    fn add_init_containers(&mut self, pod: &'a Value) -> bool {
        let all = items(&pod["spec"]["initContainers"]);
        for (index, status) in items(&pod["status"]["initContainerStatuses"]).iter().enumerate() {
            self.count_restarts(status);
            let state = &status["state"];
            let ended = &state["terminated"];
            if !ended.is_null() && number(&ended["exitCode"]) == 0 {
                continue;
            }
            if is_sidecar_status(pod, status) && flag(&status["started"]) {
                self.ready += usize::from(flag(&status["ready"]));
                continue;
            }
            let waiting = text(&state["waiting"]["reason"]);
            self.reason = if !ended.is_null() {
                format!("Init:{}", end_reason(ended))
            } else if !waiting.is_empty() && waiting != "PodInitializing" {
                format!("Init:{waiting}")
            } else {
                format!("Init:{index}/{}", all.len())
            };
            return true;
        }
        false
    }

    /// Once the Pod is initialized, restarts of what initialized it no longer count.
    fn keep_sidecar_restarts(&mut self, pod: &'a Value) {
        self.restarts = 0;
        self.last_restart = None;
        for status in items(&pod["status"]["initContainerStatuses"]) {
            if is_sidecar_status(pod, status) {
                self.count_restarts(status);
            }
        }
    }

    fn add_containers(&mut self, pod: &'a Value) {
        let mut running = false;
        let mut failure = None;
        for status in items(&pod["status"]["containerStatuses"]).iter().rev() {
            self.count_restarts(status);
            let state = &status["state"];
            let ended = &state["terminated"];
            let waiting = text(&state["waiting"]["reason"]);
            if !waiting.is_empty() {
                waiting.clone_into(&mut self.reason);
            } else if !ended.is_null() {
                self.reason = end_reason(ended);
                if number(&ended["exitCode"]) != 0 {
                    failure = Some(self.reason.clone());
                }
            } else if flag(&status["ready"]) && !state["running"].is_null() {
                running = true;
                self.ready += 1;
            }
        }
        // One container that has ended does not make a Pod that has.
        if self.reason == "Completed" {
            if running && is_true(pod, "Ready") {
                "Running".clone_into(&mut self.reason);
            } else if let Some(failure) = failure {
                self.reason = failure;
            } else if running {
                "NotReady".clone_into(&mut self.reason);
            }
        }
    }
}

fn initial_reason(pod: &Value) -> String {
    let status = &pod["status"];
    let gated =
        |condition: &Value| condition["type"] == "PodScheduled" && condition["reason"] == "SchedulingGated";
    if items(&status["conditions"]).iter().any(gated) {
        return "SchedulingGated".to_owned();
    }
    match text(&status["reason"]) {
        "" => text(&status["phase"]).to_owned(),
        reason => reason.to_owned(),
    }
}

fn end_reason(ended: &Value) -> String {
    match (text(&ended["reason"]), number(&ended["signal"])) {
        ("", 0) => format!("ExitCode:{}", number(&ended["exitCode"])),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn is_sidecar(container: &Value) -> bool {
    container["restartPolicy"] == "Always"
}

fn is_sidecar_status(pod: &Value, status: &Value) -> bool {
    items(&pod["spec"]["initContainers"])
        .iter()
        .any(|container| container["name"] == status["name"] && is_sidecar(container))
}
