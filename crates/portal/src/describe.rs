//! An object as a page of text, as `kubectl describe` shows it: for people who are used to that. Pure.
//!
//! Values of environments are not shown: such pages are pasted into chats.

use std::fmt::Write as _;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, ContainerState, ContainerStatus, Pod, Volume};
use kube::ResourceExt as _;
use serde_json::Value;

use crate::pod::{EventView, LAST_APPLIED};

/// What is described.
#[derive(Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) kind: &'a str,
    /// The whole object.
    pub(crate) object: &'a Value,
    pub(crate) pods: &'a [Pod],
    pub(crate) events: &'a [EventView],
    pub(crate) now: Timestamp,
}

/// The page.
pub(crate) fn describe(subject: &Subject<'_>) -> String {
    let mut text = String::new();
    let at = |pointer: &str| subject.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    line(&mut text, 0, "Name", at("/metadata/name"));
    line(&mut text, 0, "Namespace", at("/metadata/namespace"));
    line(&mut text, 0, "Kind", subject.kind);
    map(&mut text, "Labels", subject.object.pointer("/metadata/labels"));
    let mut annotations = subject.object.pointer("/metadata/annotations").cloned();
    // It holds all that was applied, values of the environment among it.
    if let Some(annotations) = annotations.as_mut().and_then(Value::as_object_mut) {
        annotations.remove(LAST_APPLIED);
    }
    map(&mut text, "Annotations", annotations.as_ref());
    line(&mut text, 0, "Created", at("/metadata/creationTimestamp"));
    for (title, pointer) in [
        ("User", "/spec/user"),
        ("Account", "/spec/account"),
        ("Image", "/spec/image"),
        ("State", "/spec/state"),
        ("Phase", "/status/phase"),
        ("Reason", "/status/reason"),
        ("Message", "/status/message"),
        ("Node", "/status/node"),
        ("Cards", "/status/cards"),
    ] {
        if !at(pointer).is_empty() {
            line(&mut text, 0, title, at(pointer));
        }
    }
    conditions(&mut text, 0, subject.object.pointer("/status/conditions"));
    for pod in subject.pods {
        describe_pod(&mut text, pod);
    }
    events(&mut text, subject.events, subject.now);
    text
}

fn line(text: &mut String, depth: usize, title: &str, value: &str) {
    let width = 16_usize.saturating_sub(depth);
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(text, "{}{:<width$} {value}", " ".repeat(depth), format!("{title}:"));
}

fn map(text: &mut String, title: &str, value: Option<&Value>) {
    let entries = value.and_then(Value::as_object).into_iter().flatten();
    for (index, (name, value)) in entries.enumerate() {
        let title = if index == 0 { format!("{title}:") } else { String::new() };
        let _ = writeln!(text, "{title:<16} {name}={}", value.as_str().unwrap_or_default());
    }
}

fn conditions(text: &mut String, depth: usize, value: Option<&Value>) {
    let all = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if all.is_empty() {
        return;
    }
    let space = " ".repeat(depth);
    let _ = writeln!(text, "{space}Conditions:");
    for one in all {
        let word = |name: &str| one.get(name).and_then(Value::as_str).unwrap_or_default();
        let because = [word("reason"), word("message")].into_iter().filter(|word| !word.is_empty());
        let because = because.collect::<Vec<_>>().join(": ");
        let _ = writeln!(text, "{space}  {:<16} {:<8} {because}", word("type"), word("status"));
    }
}

fn describe_pod(text: &mut String, pod: &Pod) {
    let (spec, status) = (pod.spec.clone().unwrap_or_default(), pod.status.clone().unwrap_or_default());
    let _ = writeln!(text, "Pod {}:", pod.name_any());
    for (title, value) in [
        ("Phase", status.phase),
        ("Node", spec.node_name),
        ("IP", status.pod_ip),
        ("Started", status.start_time.map(|time| time.0.to_string())),
        ("Reason", status.reason),
        ("Message", status.message),
        ("Scheduler", spec.scheduler_name),
    ] {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            line(text, 2, title, &value);
        }
    }
    conditions(text, 2, serde_json::to_value(status.conditions).ok().as_ref());
    let statuses = status.container_statuses.unwrap_or_default();
    for container in &spec.containers {
        let known = statuses.iter().find(|one| one.name == container.name);
        describe_container(text, container, known);
    }
    for (index, volume) in spec.volumes.iter().flatten().enumerate() {
        if index == 0 {
            let _ = writeln!(text, "  Volumes:");
        }
        let _ = writeln!(text, "    {:<16} {}", volume.name, source(volume));
    }
}

fn describe_container(text: &mut String, container: &Container, status: Option<&ContainerStatus>) {
    let _ = writeln!(text, "  Container {}:", container.name);
    line(text, 4, "Image", container.image.as_deref().unwrap_or_default());
    let words = |list: &Option<Vec<String>>| list.clone().unwrap_or_default().join(" ");
    for (title, value) in [("Command", words(&container.command)), ("Arguments", words(&container.args))] {
        if !value.is_empty() {
            line(text, 4, title, &value);
        }
    }
    if let Some(status) = status {
        line(text, 4, "State", &state(status.state.as_ref()));
        if let Some(last) = status.last_state.as_ref().filter(|last| last.terminated.is_some()) {
            line(text, 4, "Last state", &state(Some(last)));
        }
        line(text, 4, "Ready", if status.ready { "yes" } else { "no" });
        line(text, 4, "Restarts", &status.restart_count.to_string());
    }
    let resources = container.resources.clone().unwrap_or_default();
    for (title, list) in [("Requests", resources.requests), ("Limits", resources.limits)] {
        let all: Vec<String> =
            list.into_iter().flatten().map(|(name, amount)| format!("{name}={}", amount.0)).collect();
        if !all.is_empty() {
            line(text, 4, title, &all.join(" "));
        }
    }
    let names: Vec<&str> = container.env.iter().flatten().map(|variable| variable.name.as_str()).collect();
    if !names.is_empty() {
        line(text, 4, "Environment", &names.join(" "));
    }
    for mount in container.volume_mounts.iter().flatten() {
        let mode = if mount.read_only == Some(true) { "ro" } else { "rw" };
        line(text, 4, "Mount", &format!("{} from {} ({mode})", mount.mount_path, mount.name));
    }
}

fn state(state: Option<&ContainerState>) -> String {
    let Some(state) = state else { return "unknown".to_owned() };
    if let Some(running) = &state.running {
        let since = running.started_at.as_ref().map(|time| time.0.to_string()).unwrap_or_default();
        return format!("running since {since}");
    }
    if let Some(ended) = &state.terminated {
        let reason = ended.reason.as_deref().unwrap_or_default();
        return format!("ended with code {} {reason}", ended.exit_code).trim_end().to_owned();
    }
    let reason = state.waiting.as_ref().and_then(|waiting| waiting.reason.as_deref());
    format!("waiting {}", reason.unwrap_or_default()).trim_end().to_owned()
}

/// Where a volume comes from: the one field beside its name that is set.
fn source(volume: &Volume) -> String {
    let value = serde_json::to_value(volume).unwrap_or_default();
    let kind = value.as_object().into_iter().flatten().find(|(name, _)| *name != "name");
    let Some((kind, value)) = kind else { return String::new() };
    let named = ["claimName", "secretName", "name"].into_iter().find_map(|field| value.get(field)?.as_str());
    named.map_or_else(|| kind.clone(), |name| format!("{kind} {name}"))
}

fn events(text: &mut String, events: &[EventView], now: Timestamp) {
    if events.is_empty() {
        let _ = writeln!(text, "Events:          none");
        return;
    }
    let _ = writeln!(text, "Events:");
    for event in events {
        let age = event
            .at
            .map_or_else(|| "-".to_owned(), |at| format!("{}s", now.duration_since(at).as_secs().max(0)));
        let _ = writeln!(
            text,
            "  {:<8} {:<22} {age:>7} {:>4}x {}/{}: {}",
            event.event_type, event.reason, event.count, event.kind, event.name, event.message
        );
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_workspace_with_its_pod_in_text() {
        let object = json!({
            "metadata": { "name": "desk", "namespace": "user-ada", "labels": { "a": "b" }, "annotations": { "kubectl.kubernetes.io/last-applied-configuration": "hidden-value" },
                "creationTimestamp": "2026-01-01T00:00:00Z" },
            "spec": { "image": "busybox", "user": "ada", "account": "lab", "env": [{ "name": "TOKEN", "value": "hidden-value" }] },
            "status": { "phase": "Running", "node": "gpu-1", "conditions": [{ "type": "Ready", "status": "True", "reason": "Up" }] },
        });
        let pod: Pod = serde_json::from_value(json!({
            "metadata": { "name": "desk" },
            "spec": { "nodeName": "gpu-1", "volumes": [{ "name": "work", "persistentVolumeClaim": { "claimName": "desk-work" } }],
                "containers": [{ "name": "main", "image": "busybox", "command": ["sleep", "1d"],
                    "env": [{ "name": "TOKEN", "value": "hidden-value" }],
                    "resources": { "requests": { "cpu": "1" } },
                    "volumeMounts": [{ "name": "work", "mountPath": "/work" }] }] },
            "status": { "phase": "Running", "containerStatuses": [{ "name": "main", "image": "busybox", "imageID": "", "ready": true,
                "restartCount": 1, "state": { "running": { "startedAt": "2026-01-01T00:00:05Z" } },
                "lastState": { "terminated": { "exitCode": 137, "reason": "OOMKilled" } } }] },
        }))
        .unwrap();
        let now = "2026-01-01T00:01:00Z".parse().unwrap();
        let events = [EventView::made(
            "Warning",
            "BackOff",
            "again and again",
            ("Pod", "desk"),
            "2026-01-01T00:00:30Z".parse().ok(),
        )];
        let text =
            describe(&Subject { kind: "Workspace", object: &object, pods: &[pod], events: &events, now });
        assert!(!text.contains("hidden-value"));
        insta::assert_snapshot!(text);
    }
}
