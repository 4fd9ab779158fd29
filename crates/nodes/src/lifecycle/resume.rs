//! Taking up a life from what the API shows, after the kubelet was restarted.

use std::net::IpAddr;

use jiff::Timestamp;
use serde_json::Value;

use super::{
    ContainerLife, Exit, Life, Phase, State, Verdict,
    condition::{self, Kind},
};
use crate::pod::Pod;

/// Whether containers outlive the kubelet that started them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Survival {
    /// A simulated container runs as long as its Pod says.
    Survives,
    /// Processes of the local node end with it.
    Dies,
}

/// The life that `status` tells of, or nothing if no kubelet took the Pod on yet.
pub(crate) fn resume(pod: &Pod, status: &Value, survival: Survival, now: Timestamp) -> Option<Life> {
    let phase = phase(status);
    let started = time(&status["startTime"]);
    if started.is_none() && !phase.is_terminal() {
        return None;
    }
    let mut life = Life::new(pod.template.containers.len(), started.unwrap_or(now));
    life.phase = phase;
    life.ip = status["podIP"].as_str().and_then(|text| text.parse::<IpAddr>().ok());
    if let Some(reason) = status["reason"].as_str() {
        let message = status["message"].as_str().unwrap_or_default();
        life.verdict = Some(Box::new(Verdict { reason: reason.into(), message: message.into() }));
    }
    for field in ["initContainerStatuses", "containerStatuses"] {
        for shown in status[field].as_array().into_iter().flatten() {
            let position = shown["name"].as_str().and_then(|name| pod.template.position(name));
            if let Some(position) = position {
                life.containers[position] = container(shown, survival, now);
            }
        }
    }
    conditions(&mut life, status);
    Some(life)
}

/// Takes over the times of conditions that others, or a kubelet before us, wrote.
pub(crate) fn conditions(life: &mut Life, status: &Value) {
    for shown in status["conditions"].as_array().into_iter().flatten() {
        let kind = Kind::ALL.into_iter().find(|kind| shown["type"] == kind.as_str());
        if let (Some(kind), Some(changed)) = (kind, time(&shown["lastTransitionTime"])) {
            life.conditions[kind as usize] = (shown["status"] == "True", changed);
        }
    }
    debug_assert_eq!(life.conditions.len(), condition::COUNT);
}

pub(crate) fn phase(status: &Value) -> Phase {
    match status["phase"].as_str() {
        Some("Running") => Phase::Running,
        Some("Succeeded") => Phase::Succeeded,
        Some("Failed") => Phase::Failed,
        _ => Phase::Pending,
    }
}

fn time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

fn container(shown: &Value, survival: Survival, now: Timestamp) -> ContainerLife {
    let restarts = shown["restartCount"].as_u64().and_then(|count| u32::try_from(count).ok()).unwrap_or(0);
    let flag = |name: &str| shown[name].as_bool().unwrap_or(false);
    let mut life = ContainerLife { restarts, streak: restarts, ..ContainerLife::default() };
    let terminated = |state: &str, run: u32| {
        let value = &shown[state]["terminated"];
        value.is_object().then(|| Box::new(exit(value, run, now)))
    };
    life.last = terminated("lastState", restarts.saturating_sub(1));
    if let Some(since) = time(&shown["state"]["running"]["startedAt"]) {
        life.state = State::Running { since, stop: None };
        (life.up, life.ready) = (flag("started"), flag("ready"));
        if survival == Survival::Dies {
            life.state = State::Exited(Box::new(lost(since, restarts, now)));
            (life.up, life.ready, life.streak) = (false, false, restarts.saturating_add(1));
        }
    } else if let Some(exit) = terminated("state", restarts) {
        life.state = State::Exited(exit);
        life.streak = restarts.saturating_add(1);
    } else if let Some(exit) = terminated("lastState", restarts) {
        // It was waiting to be started again: the exit before is the one to wait after.
        life.state = State::Exited(exit);
        life.last = None;
        life.streak = restarts.saturating_add(1);
    }
    life
}

fn exit(value: &Value, run: u32, now: Timestamp) -> Exit {
    Exit {
        code: value["exitCode"].as_i64().and_then(|code| i32::try_from(code).ok()).unwrap_or(137),
        reason: value["reason"].as_str().unwrap_or("Error").into(),
        message: value["message"].as_str().map(Into::into),
        started: time(&value["startedAt"]),
        finished: time(&value["finishedAt"]).unwrap_or(now),
        run,
    }
}

/// It ran when we last looked and is gone now.
fn lost(since: Timestamp, run: u32, now: Timestamp) -> Exit {
    Exit {
        code: 137,
        reason: "ContainerStatusUnknown".into(),
        message: Some("The container could not be located when the pod was terminated".into()),
        started: Some(since),
        finished: now,
        run,
    }
}
