//! The conditions a kubelet writes.

use jiff::Timestamp;

use super::{ContainerLife, Life, Phase, State};
use crate::pod::{Container, Pod, Role};

/// How many there are.
pub(crate) const COUNT: usize = 5;

/// The kubelet's conditions, in the order it writes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    PodReadyToStartContainers,
    Initialized,
    Ready,
    ContainersReady,
    PodScheduled,
}

impl Kind {
    pub(crate) const ALL: [Self; COUNT] = [
        Self::PodReadyToStartContainers,
        Self::Initialized,
        Self::Ready,
        Self::ContainersReady,
        Self::PodScheduled,
    ];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::PodReadyToStartContainers => "PodReadyToStartContainers",
            Self::Initialized => "Initialized",
            Self::Ready => "Ready",
            Self::ContainersReady => "ContainersReady",
            Self::PodScheduled => "PodScheduled",
        }
    }
}

/// A condition without its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) holds: bool,
    pub(crate) reason: Option<&'static str>,
    pub(crate) message: Option<String>,
}

impl Condition {
    fn plain(holds: bool) -> Self {
        Self { holds, reason: None, message: None }
    }

    fn because(holds: bool, reason: &'static str) -> Self {
        Self { holds, reason: Some(reason), message: None }
    }

    fn listing(reason: &'static str, message: String) -> Self {
        Self { holds: false, reason: Some(reason), message: Some(message) }
    }
}

/// Enters the time of every condition that changed.
pub(super) fn refresh(pod: &Pod, life: &mut Life, now: Timestamp) {
    for kind in Kind::ALL {
        let holds = evaluate(pod, life, kind).holds;
        let entry = &mut life.conditions[kind as usize];
        if entry.0 != holds {
            *entry = (holds, now);
        }
    }
}

/// What the condition says at the moment.
pub(crate) fn evaluate(pod: &Pod, life: &Life, kind: Kind) -> Condition {
    match kind {
        Kind::PodReadyToStartContainers => {
            Condition::plain(!life.is_finished() && life.containers.iter().any(ContainerLife::has_run))
        }
        Kind::Initialized => initialized(pod, life),
        Kind::Ready => ready(pod, life),
        Kind::ContainersReady => containers_ready(pod, life),
        Kind::PodScheduled => Condition::plain(true),
    }
}

fn initialized(pod: &Pod, life: &Life) -> Condition {
    if life.phase == Phase::Succeeded {
        return Condition::because(true, "PodCompleted");
    }
    let first_main = pod.template.first_main();
    if life.containers[first_main..].iter().any(ContainerLife::has_run) {
        return Condition::plain(true);
    }
    let incomplete = names(pod, life, |container, own| match container.role {
        Role::Init => !matches!(&own.state, State::Exited(exit) if exit.code == 0),
        Role::Sidecar => !own.up,
        Role::Main => false,
    });
    match incomplete {
        Some(list) => Condition::listing(
            "ContainersNotInitialized",
            format!("containers with incomplete status: {list}"),
        ),
        None => Condition::plain(true),
    }
}

fn containers_ready(pod: &Pod, life: &Life) -> Condition {
    match life.phase {
        Phase::Succeeded => return Condition::because(false, "PodCompleted"),
        Phase::Failed => return Condition::because(false, "PodFailed"),
        Phase::Pending | Phase::Running => {}
    }
    match names(pod, life, |container, own| container.role != Role::Init && !own.ready) {
        Some(list) => {
            Condition::listing("ContainersNotReady", format!("containers with unready status: {list}"))
        }
        None => Condition::plain(true),
    }
}

fn ready(pod: &Pod, life: &Life) -> Condition {
    let containers = containers_ready(pod, life);
    if !containers.holds {
        return containers;
    }
    let messages: Vec<String> = pod
        .template
        .readiness_gates
        .iter()
        .zip(&pod.gates)
        .filter_map(|(gate, status)| match status.as_deref() {
            Some("True") => None,
            Some(status) => {
                Some(format!("the status of pod readiness gate {gate:?} is not \"True\", but {status}"))
            }
            None => Some(format!("corresponding condition of pod readiness gate {gate:?} does not exist.")),
        })
        .collect();
    if messages.is_empty() {
        Condition::plain(true)
    } else {
        Condition::listing("ReadinessGatesNotReady", messages.join(", "))
    }
}

/// `[a b]`: the names of the containers for which `pick` holds, or nothing.
fn names(pod: &Pod, life: &Life, pick: impl Fn(&Container, &ContainerLife) -> bool) -> Option<String> {
    let picked: Vec<&str> = pod
        .template
        .containers
        .iter()
        .zip(&life.containers)
        .filter(|(container, own)| pick(container, own))
        .map(|(container, _)| &*container.name)
        .collect();
    (!picked.is_empty()).then(|| format!("[{}]", picked.join(" ")))
}
