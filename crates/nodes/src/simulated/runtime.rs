//! Containers whose doings follow from annotations and the time.
//!
//! Nothing is stored: what happens to a container, and when, is computed from its state. That is why a simulated Pod
//! can be taken up again after a restart as if nothing had happened.

use std::time::Duration;

use jiff::Timestamp;

use crate::{
    lifecycle::{Action, ContainerLife, Life, Report, State, Stop, after, earlier, resume::Survival},
    pod::{Container, FailNow, Pod, Role},
    runtime::{Observation, Runtime},
};

/// Exit code of a process that a termination signal ended.
const TERMINATED: i32 = 143;
/// Exit code of a process that was killed.
const KILLED: i32 = 137;

/// The simulated runtime.
#[derive(Debug)]
pub(crate) struct Simulation {
    /// How long a container takes to start when its Pod does not say.
    pub(crate) start_delay: Duration,
}

/// Something that will happen.
struct Due {
    at: Timestamp,
    report: Report,
}

impl Runtime for Simulation {
    fn scheme(&self) -> &'static str {
        "sim"
    }

    fn survival(&self) -> Survival {
        Survival::Survives
    }

    fn observe(&self, pod: &Pod, life: &Life, now: Timestamp) -> Observation {
        let mut observation = Observation::default();
        for (position, own) in life.containers.iter().enumerate() {
            let Some(due) = self.next(pod, position, own) else { continue };
            if due.at <= now {
                observation.reports.push((position, due.report));
            } else {
                observation.wake = earlier(observation.wake, Some(due.at));
            }
        }
        observation
    }

    fn perform(&self, _: &Pod, _: &Life, _: &Action) {}

    fn forget(&self, _: &Pod) {}
}

impl Simulation {
    /// What happens next to a container, if it were left alone.
    fn next(&self, pod: &Pod, position: usize, own: &ContainerLife) -> Option<Due> {
        let container = &pod.template.containers[position];
        match &own.state {
            State::Starting { since } => Some(self.start(pod, container, own, *since)),
            State::Running { since, stop } => {
                let exit = exit(pod, position, own, *since, *stop);
                let progress = if stop.is_none() { progress(container, own, *since) } else { None };
                [exit, progress].into_iter().flatten().min_by_key(|due| due.at)
            }
            State::Idle | State::Refused { .. } | State::Exited(_) => None,
        }
    }

    fn start(&self, pod: &Pod, container: &Container, own: &ContainerLife, since: Timestamp) -> Due {
        if let Some(trouble) = &pod.template.trouble {
            let message = trouble.to_string();
            return Due {
                at: since,
                report: Report::Refused { at: since, reason: "CreateContainerConfigError", message },
            };
        }
        // The image is there already when the container starts again.
        let again = own.restarts > 0 || container.role == Role::Main && container_after_init(pod);
        let usual = if again { Duration::ZERO } else { self.start_delay };
        let at = after(since, container.behaviour.start_delay.filter(|_| own.restarts == 0).unwrap_or(usual));
        Due { at, report: Report::Started { at } }
    }
}

/// Whether init containers went before, so that the Pod's delay is already paid.
fn container_after_init(pod: &Pod) -> bool {
    pod.template.first_main() > 0
}

/// Up and ready, in this order.
fn progress(container: &Container, own: &ContainerLife, since: Timestamp) -> Option<Due> {
    if !own.up {
        return Some(Due {
            at: after(since, container.startup_delay.unwrap_or_default()),
            report: Report::Up,
        });
    }
    let delay = container.behaviour.ready_after.or(container.readiness_delay).unwrap_or_default();
    (!own.ready && container.role != Role::Init)
        .then(|| Due { at: after(since, delay), report: Report::Ready(true) })
}

fn exit(
    pod: &Pod,
    position: usize,
    own: &ContainerLife,
    since: Timestamp,
    stop: Option<Stop>,
) -> Option<Due> {
    let behaviour = &pod.template.containers[position].behaviour;
    let crash_code = if behaviour.exit_code == 0 { 1 } else { behaviour.exit_code };
    let planned = behaviour.run_time.map(|time| (after(since, time), behaviour.exit_code, None));
    let crash = behaviour.crash_after.map(|time| (after(since, time), crash_code, None));
    let stopped = stop.map(|stop| {
        let willing = after(stop.since, behaviour.stop_delay);
        if willing < stop.deadline || behaviour.stop_delay.is_zero() {
            (willing, TERMINATED, None)
        } else {
            (stop.deadline, KILLED, None)
        }
    });
    let failing = pod.fail.as_ref().filter(|failing| failing.runs.get(position) == Some(&own.restarts));
    let failed = failing.and_then(|failing| match failing.what {
        FailNow::Exit(code) => Some((failing.at.max(since), code, None)),
        FailNow::OutOfMemory => Some((failing.at.max(since), KILLED, Some("OOMKilled"))),
        FailNow::Evict(_) => None,
    });
    let (at, code, reason) =
        [failed, stopped, crash, planned].into_iter().flatten().min_by_key(|(at, _, _)| *at)?;
    Some(Due { at, report: Report::Exited { at, code, reason, message: None } })
}
