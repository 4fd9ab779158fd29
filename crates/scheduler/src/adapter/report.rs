//! What people are told: numbers, and one event per group that waits, never one per Pod and pass.

mod waiting;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ObjectReference;
use maar_controller::{
    Context,
    events::{News, Recorder, Severity},
};

use self::waiting::{Told, Waiters};
use super::{
    evict::Evict,
    world::{Waiting, World},
};
use crate::{
    core::Core,
    metrics::{ReasonLabel, SchedulerMetrics, StateLabel},
    model::{GroupId, Millis},
};

/// Most events in one report.
const EVENTS: usize = 20;

/// See the module.
#[derive(Debug)]
pub(crate) struct Reporter {
    recorder: Recorder,
    metrics: SchedulerMetrics,
    /// What was last said about a Pod that waits, by uid.
    said: BTreeMap<String, String>,
    waiters: Waiters,
}

impl Reporter {
    pub(crate) fn new(context: &Context, metrics: SchedulerMetrics) -> Self {
        let waiters = Waiters::new(context.client.clone());
        Self { recorder: context.recorder.clone(), metrics, said: BTreeMap::new(), waiters }
    }

    pub(crate) fn report(&mut self, core: &mut Core, world: &World, now: Millis) {
        let (refused, held) = (world.waiting(core, true), world.waiting(core, false));
        self.count(core, refused.len(), held.len());
        self.tell(refused.iter().chain(&held));
        if !world.is_complete() {
            return;
        }
        for Told { about, text } in self.waiters.look(core, world, now) {
            self.recorder.record_about(about, unschedulable(text));
        }
        for (reason, groups) in self.waiters.reasons() {
            let groups = i64::try_from(groups).unwrap_or(i64::MAX);
            self.metrics.waiting.get_or_create(&ReasonLabel { reason }).set(groups);
        }
    }

    /// Tells a Pod's owner that it has to go, and why.
    pub(crate) fn evicting(&self, core: &Core, evict: &Evict) {
        let at = evict.at.strftime("%FT%TZ");
        let note = match evict.claimant {
            Some(claimant) => {
                let claimant = core.ledger().group(claimant).map_or("others", |state| &state.group.name);
                format!("has to make room for {claimant}; it will be stopped at {at}")
            }
            None => format!("holds a card that another Pod was given before it; it will be stopped at {at}"),
        };
        let about = pod_reference(&evict.namespace, &evict.name, &evict.uid);
        let news = News { severity: Severity::Warning, reason: evict.reason, action: "Evicting", note };
        self.recorder.record_about(about, news);
    }

    /// Tells that a gang stands with some of its Pods placed and others not.
    pub(crate) fn stalled(&self, core: &Core, world: &World, group: GroupId, placed: u32, minimum: u32) {
        let Some(state) = core.ledger().group(group) else { return };
        tracing::warn!(group = state.group.name, placed, minimum, "a gang stands half placed");
        if let Some(about) = world.reference(&state.group.name) {
            let note = format!("{placed} of at least {minimum} Pods have a node, and the others find none");
            self.recorder.record_about(about, News { reason: "GangStalled", ..unschedulable(note) });
        }
    }

    fn count(&self, core: &Core, refused: usize, held: usize) {
        let ledger = core.ledger();
        let (mut pending, mut placed, mut groups) = (0, 0, 0);
        for group in ledger.groups() {
            pending += group.pending.len();
            placed += group.placed.len();
            groups += usize::from(!group.pending.is_empty());
        }
        let figure = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        for (state, count) in [("pending", pending), ("placed", placed), ("held", held), ("refused", refused)]
        {
            self.metrics.pods.get_or_create(&StateLabel { state }).set(figure(count));
        }
        self.metrics.groups.set(figure(groups));
        self.metrics.nodes.set(figure(ledger.node_count()));
    }

    /// Tells the owners of Pods that wait for something else than a place; each thing once.
    fn tell<'a>(&mut self, waiting: impl Iterator<Item = &'a Waiting>) {
        let mut before = std::mem::take(&mut self.said);
        let mut events = 0;
        for pod in waiting {
            let said = before.remove(&pod.uid);
            if said.as_deref() != Some(&pod.why) {
                if events == EVENTS {
                    // Its turn comes with the next report.
                    continue;
                }
                events += 1;
                self.recorder.record_about(
                    pod_reference(&pod.namespace, &pod.name, &pod.uid),
                    unschedulable(pod.why.to_string()),
                );
            }
            self.said.insert(pod.uid.clone(), pod.why.to_string());
        }
    }
}

fn pod_reference(namespace: &str, name: &str, uid: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Pod".to_owned()),
        namespace: Some(namespace.to_owned()),
        name: Some(name.to_owned()),
        uid: Some(uid.to_owned()),
        ..ObjectReference::default()
    }
}

fn unschedulable(note: String) -> News {
    News { severity: Severity::Warning, reason: "FailedScheduling", action: "Scheduling", note }
}
