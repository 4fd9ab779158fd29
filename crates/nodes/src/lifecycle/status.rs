//! A life as the `status` of a Pod.

use std::net::IpAddr;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{
    ContainerLife, Exit, Life, State, after,
    condition::{self, Kind},
};
use crate::{
    ids,
    pod::{Container, Pod, Role, template::Amounts},
};

/// What a status says that does not depend on the Pod.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Host {
    /// What precedes container identifiers: `sim` or `local`.
    pub(crate) scheme: &'static str,
    /// Address of the node.
    pub(crate) address: IpAddr,
}

/// The status as the API should show it; fields of others are not in it.
pub(crate) fn render(pod: &Pod, life: &Life, host: Host, now: Timestamp) -> Value {
    let mut status = Map::new();
    let mut put = |name: &str, value: Value| status.insert(name.to_owned(), value);
    put("phase", json!(life.phase.as_str()));
    if let Some(generation) = pod.generation {
        put("observedGeneration", json!(generation));
    }
    let verdict =
        life.verdict.as_deref().filter(|verdict| life.phase.is_terminal() && !verdict.reason.is_empty());
    if let Some(verdict) = verdict {
        put("reason", json!(verdict.reason));
        put("message", json!(verdict.message));
    }
    put("conditions", Kind::ALL.into_iter().map(|kind| condition_value(pod, life, kind)).collect());
    put("startTime", json!(seconds(life.started)));
    put("hostIP", json!(host.address));
    put("hostIPs", json!([{ "ip": host.address }]));
    if let Some(ip) = shown_ip(pod, life, host) {
        put("podIP", json!(ip));
        put("podIPs", json!([{ "ip": ip }]));
    }
    let first_main = pod.template.first_main();
    let statuses = |positions: std::ops::Range<usize>| -> Value {
        positions.map(|position| container_value(pod, life, position, host, now)).collect()
    };
    if first_main > 0 {
        put("initContainerStatuses", statuses(0..first_main));
    }
    put("containerStatuses", statuses(first_main..life.containers.len()));
    Value::Object(status)
}

fn shown_ip(pod: &Pod, life: &Life, host: Host) -> Option<IpAddr> {
    if pod.template.host_network {
        return Some(host.address);
    }
    life.ip.filter(|_| life.containers.iter().any(ContainerLife::has_run))
}

fn condition_value(pod: &Pod, life: &Life, kind: Kind) -> Value {
    let condition = condition::evaluate(pod, life, kind);
    let mut value = json!({
        "type": kind.as_str(),
        "status": if condition.holds { "True" } else { "False" },
        "lastProbeTime": null,
        "lastTransitionTime": seconds(life.conditions[kind as usize].1),
    });
    if let Some(generation) = pod.generation {
        value["observedGeneration"] = json!(generation);
    }
    // A strategic merge keeps what is not mentioned, so what no longer holds is taken away by name.
    value["reason"] = json!(condition.reason);
    value["message"] = json!(condition.message);
    value
}

fn container_value(pod: &Pod, life: &Life, position: usize, host: Host, now: Timestamp) -> Value {
    let (container, own) = (&pod.template.containers[position], &life.containers[position]);
    let ran = own.has_run();
    let image_id = format!("{}@sha256:{}", container.image, ids::digest(&["image", &container.image]));
    let completed = matches!(&own.state, State::Exited(exit) if exit.code == 0);
    let mut value = json!({
        "name": &*container.name,
        "image": &*container.image,
        "imageID": if ran { image_id } else { String::new() },
        "ready": if container.role == Role::Init { completed } else { own.ready },
        "started": own.up && matches!(own.state, State::Running { .. }),
        "restartCount": own.restarts,
        "state": state_value(pod, life, position, host, now),
        "lastState": {},
    });
    if let Some(run) = shown_run(own) {
        value["containerID"] = json!(container_id(pod, container, run, host));
    }
    let waits = matches!(own.state, State::Exited(_)) && is_backing_off(pod, life, position, now);
    let before = if waits { own.latest_exit() } else { own.last.as_deref() };
    if let Some(exit) = before {
        value["lastState"] = json!({ "terminated": exit_value(pod, container, exit, host) });
    }
    if !container.requests.is_empty() || !container.limits.is_empty() {
        value["resources"] = resources_value(container);
    }
    if !container.requests.is_empty() {
        value["allocatedResources"] = amounts_value(&container.requests);
    }
    value
}

/// Which run of the container the identifier names: the current one, or the last one that was.
fn shown_run(own: &ContainerLife) -> Option<u32> {
    match &own.state {
        State::Running { .. } => Some(own.restarts),
        State::Exited(exit) => Some(exit.run),
        State::Idle | State::Starting { .. } | State::Refused { .. } => {
            own.last.as_ref().map(|exit| exit.run)
        }
    }
}

/// Whether the container ended and is waited with before it is started again.
pub(crate) fn is_backing_off(pod: &Pod, life: &Life, position: usize, now: Timestamp) -> bool {
    let own = &life.containers[position];
    match &own.state {
        State::Exited(exit) => {
            let restarts = pod.template.restarts(&pod.template.containers[position], exit.code);
            restarts
                && life.end.is_none()
                && !life.phase.is_terminal()
                && after(exit.finished, own.back_off()) > now
        }
        _ => false,
    }
}

fn state_value(pod: &Pod, life: &Life, position: usize, host: Host, now: Timestamp) -> Value {
    let (container, own) = (&pod.template.containers[position], &life.containers[position]);
    let creating = || {
        let blocked = pod.template.first_main() > 0 && !matches!(own.state, State::Starting { .. });
        json!({ "waiting": { "reason": if blocked { "PodInitializing" } else { "ContainerCreating" } } })
    };
    match &own.state {
        State::Idle | State::Starting { .. } => creating(),
        State::Refused { verdict, .. } => {
            json!({ "waiting": { "reason": verdict.reason, "message": verdict.message } })
        }
        State::Running { since, .. } => json!({ "running": { "startedAt": seconds(*since) } }),
        State::Exited(_) if is_backing_off(pod, life, position, now) => {
            let message = format!(
                "back-off {} restarting failed container={} pod={}_{}({})",
                go_duration(own.back_off()),
                container.name,
                pod.name,
                pod.namespace,
                pod.uid
            );
            json!({ "waiting": { "reason": "CrashLoopBackOff", "message": message } })
        }
        State::Exited(exit) => json!({ "terminated": exit_value(pod, container, exit, host) }),
    }
}

fn exit_value(pod: &Pod, container: &Container, exit: &Exit, host: Host) -> Value {
    let mut value = json!({
        "exitCode": exit.code,
        "reason": exit.reason,
        "containerID": container_id(pod, container, exit.run, host),
    });
    if let Some(started) = exit.started {
        value["startedAt"] = json!(seconds(started));
        value["finishedAt"] = json!(seconds(exit.finished));
    }
    if let Some(message) = &exit.message {
        value["message"] = json!(message);
    }
    value
}

fn resources_value(container: &Container) -> Value {
    let mut value = Map::new();
    if !container.limits.is_empty() {
        value.insert("limits".into(), amounts_value(&container.limits));
    }
    if !container.requests.is_empty() {
        value.insert("requests".into(), amounts_value(&container.requests));
    }
    Value::Object(value)
}

fn amounts_value(amounts: &Amounts) -> Value {
    Value::Object(amounts.iter().map(|(name, text)| (name.to_string(), json!(text))).collect())
}

/// The identifier of one run of a container.
pub(crate) fn container_id(pod: &Pod, container: &Container, run: u32, host: Host) -> String {
    format!("{}://{}", host.scheme, ids::digest(&[&pod.uid, &container.name, &run.to_string()]))
}

/// Whole seconds, as the API writes times.
pub(crate) fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// `2m40s`, as the kubelet words its waits.
fn go_duration(duration: std::time::Duration) -> String {
    match (duration.as_secs() / 60, duration.as_secs() % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, seconds) => format!("{minutes}m{seconds}s"),
    }
}
