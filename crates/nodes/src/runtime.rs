//! What runs containers: the simulation or this machine.

use std::sync::Arc;

use jiff::Timestamp;

use crate::{
    lifecycle::{
        self, Action, Happening, Life, Report, Step, What, earlier, resume::Survival, status::is_backing_off,
    },
    pod::Pod,
};

/// Reports and starts settle after a few rounds; more would mean that container and policy chase each other at one
/// instant, and the next wake-up carries on.
const ROUNDS: usize = 32;

/// Runs the containers of Pods whose life the state machine decides.
pub(crate) trait Runtime: Send + Sync + 'static {
    /// What precedes container identifiers.
    fn scheme(&self) -> &'static str;

    /// Whether containers outlive this process.
    fn survival(&self) -> Survival;

    /// What happened to the Pod's containers since the last call, up to `now`.
    fn observe(&self, pod: &Pod, life: &Life, now: Timestamp) -> Observation;

    /// Does what the state machine asked for. The outcome comes back through [`Runtime::observe`].
    fn perform(&self, pod: &Pod, life: &Life, action: &Action);

    /// The Pod is gone: nothing of it may be left.
    fn forget(&self, pod: &Pod);

    /// These are all Pods there are, by uid: what is kept of others may go.
    fn listed(&self, _: &dyn Fn(&str) -> bool) {}

    /// Pods, by uid, that something happened to and that should be looked at.
    fn poked(&self) -> Vec<Arc<str>> {
        Vec::new()
    }
}

/// What a runtime saw.
#[derive(Debug, Default)]
pub(crate) struct Observation {
    /// By position of the container.
    pub(crate) reports: Vec<(usize, Report)>,
    /// When there will be something to see, if that is known.
    pub(crate) wake: Option<Timestamp>,
}

/// Brings a life up to `now`: what the runtime saw goes in, what follows from it is done.
pub(crate) fn advance<R: Runtime + ?Sized>(runtime: &R, pod: &Pod, life: &mut Life, now: Timestamp) -> Step {
    let mut news = Vec::new();
    for _ in 0..ROUNDS {
        let observation = runtime.observe(pod, life, now);
        let quiet = observation.reports.is_empty();
        let mut ended = Vec::new();
        for (container, report) in observation.reports {
            if matches!(report, Report::Exited { .. }) {
                ended.push(container);
            }
            news.extend(life.report(container, report));
        }
        let mut step = lifecycle::step(pod, life, now);
        news.append(&mut step.news);
        let waits = ended.into_iter().filter(|&position| is_backing_off(pod, life, position, now));
        news.extend(waits.map(|position| Happening { container: Some(position), what: What::BackOff }));
        for action in &step.actions {
            runtime.perform(pod, life, action);
        }
        if quiet && step.actions.is_empty() {
            step.wake = earlier(step.wake, observation.wake);
            return Step { news, ..step };
        }
    }
    Step { wake: Some(now), news, ..Step::default() }
}
