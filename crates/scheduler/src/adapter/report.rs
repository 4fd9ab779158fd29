//! What people are told: numbers, and one event per group that waits or has to go, never one per Pod and pass.

mod rota;
mod stops;
mod waiting;

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::api::core::v1::ObjectReference;
use maar_controller::{
    Context,
    events::{News, Recorder, Severity},
};
use tokio::time::Instant;

use self::{
    stops::Stop,
    waiting::{Told, Waiters},
};
use super::{
    evict::Evict,
    world::{Waiting, World},
};
use crate::{
    core::Core,
    explain::plural,
    metrics::{ReasonLabel, SchedulerMetrics, StateLabel},
    model::{GroupId, Millis},
};

/// Most events in one report.
const EVENTS: usize = 20;
/// Who has to go is told this often at most, apart from reports.
const PAUSE: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug)]
pub(crate) struct Reporter {
    recorder: Recorder,
    metrics: SchedulerMetrics,
    /// What was last said about a Pod that waits, by uid.
    said: BTreeMap<String, String>,
    waiters: Waiters,
    /// Those who were asked to go since the last time that was told.
    stops: Vec<Stop>,
    /// When that was.
    told: Option<Instant>,
}

impl Reporter {
    pub(crate) fn new(context: &Context, metrics: SchedulerMetrics) -> Self {
        let waiters = Waiters::new(context.client.clone());
        Self {
            recorder: context.recorder.clone(),
            metrics,
            said: BTreeMap::new(),
            waiters,
            stops: Vec::new(),
            told: None,
        }
    }

    pub(crate) fn report(&mut self, core: &mut Core, world: &World, now: Millis) {
        let (refused, held) = (world.waiting(core, true), world.waiting(core, false));
        self.count(core, refused.len(), held.len());
        self.tell(refused.iter().chain(&held));
        self.tell_of_all_stops();
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

    /// Notes that a Pod has to go, and why; told with the others of its pass.
    pub(crate) fn stops(&mut self, core: &Core, world: &World, evict: &Evict) {
        let ledger = core.ledger();
        let owner = ledger.pod(evict.id).and_then(|state| ledger.group(state.pod.group));
        let owner = owner.and_then(|state| world.reference(&state.group.name));
        let claimant = evict.claimant.map(|claimant| {
            ledger.group(claimant).map_or_else(|| "others".to_owned(), |state| state.group.name.clone())
        });
        self.stops.push(Stop::of(evict, owner, claimant));
    }

    /// Tells the owners of all who have to go, or leaves it to the next report if that was done just now: where many go
    /// one after the other, each would be an event of its own.
    pub(crate) fn tell_of_stops(&mut self) {
        let now = Instant::now();
        if !self.stops.is_empty() && self.told.is_none_or(|at| now - at >= PAUSE) {
            self.told = Some(now);
            self.tell_of_all_stops();
        }
    }

    /// The same in any case.
    pub(crate) fn tell_of_all_stops(&mut self) {
        for (about, news) in stops::events(&std::mem::take(&mut self.stops)) {
            self.recorder.record_about(about, news);
        }
    }

    /// Tells that a gang stands with some of its Pods placed and others not.
    pub(crate) fn stalled(&self, core: &Core, world: &World, group: GroupId, placed: u32, minimum: u32) {
        let Some(state) = core.ledger().group(group) else { return };
        tracing::warn!(group = state.group.name, placed, minimum, "a gang stands half placed");
        if let Some(about) = world.reference(&state.group.name) {
            let have = plural(placed, "has", "have");
            let note = format!("{placed} of at least {minimum} Pods {have} a node, and the others find none");
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
