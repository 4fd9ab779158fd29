//! Why groups wait: told to those who look at their status or events, when it has changed.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::Duration,
};

use jiff::Timestamp;
use k8s_openapi::{api::core::v1::ObjectReference, apimachinery::pkg::apis::meta::v1::Time};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, Patch, PatchParams},
};
use maar_api::v1alpha1::{AIJob, FilterCount, QueueStatus};
use maar_controller::error::chain;
use serde_json::json;
use tokio::{task::JoinSet, time::timeout};

use super::rota::{Rota, Said, TOLD};
use crate::{
    adapter::world::World,
    core::Core,
    explain::{Explanation, State},
    model::{GroupId, Millis},
};

/// How long a write may take.
const WRITE: Duration = Duration::from_secs(10);
/// Who writes into the status of jobs.
const MANAGER: &str = "maar-scheduler";
/// The longest sentence in a status.
const LONGEST: usize = 512;

/// See the module.
pub(super) struct Waiters {
    client: Client,
    rota: Rota,
    writing: JoinSet<()>,
}

impl fmt::Debug for Waiters {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Waiters").field("rota", &self.rota).finish_non_exhaustive()
    }
}

/// Something to be told.
pub(super) struct Told {
    pub(super) about: ObjectReference,
    pub(super) text: String,
}

impl Waiters {
    pub(super) fn new(client: Client) -> Self {
        Self { client, rota: Rota::default(), writing: JoinSet::new() }
    }

    /// Explains to some of those who wait; answers what is new.
    pub(super) fn look(&mut self, core: &mut Core, world: &World, now: Millis) -> Vec<Told> {
        while self.writing.try_join_next().is_some() {}
        let waiting = core.groups_waiting();
        self.clear(core, world, &waiting);
        // A server that is slow to take what was said hears less.
        let most = TOLD.saturating_sub(self.writing.len());
        let mut news = Vec::new();
        for Said { group, explanation, is_new } in self.rota.round(core, &waiting, most, now) {
            self.write(world, &explanation);
            if is_new && let Some(about) = subject(core, world, group) {
                news.push(Told { about, text: explanation.summary() });
            }
        }
        news
    }

    /// How many groups wait for which reason; of those who were told.
    pub(super) fn reasons(&self) -> BTreeMap<&'static str, usize> {
        let mut counts: BTreeMap<&'static str, usize> = REASONS.iter().map(|reason| (*reason, 0)).collect();
        for reason in self.rota.reasons() {
            *counts.entry(reason).or_default() += 1;
        }
        counts
    }

    /// Writes into the status of a job why it waits, if that is not what stands there.
    fn write(&mut self, world: &World, explanation: &Explanation) {
        let Some(written) = world.written(&explanation.group) else { return };
        let status = queue_status(explanation);
        if written.as_ref() != Some(&status) {
            self.send(&explanation.group, &json!({ "queue": status }));
        }
    }

    /// Takes back what stands in the status of jobs that do not wait any more.
    fn clear(&mut self, core: &Core, world: &World, waiting: &BTreeSet<GroupId>) {
        for name in world.jobs_with_reason() {
            let waits = core.ledger().find_group(name).is_some_and(|id| waiting.contains(&id));
            if !waits && self.writing.len() < TOLD {
                self.send(name, &json!({}));
            }
        }
    }

    fn send(&mut self, group: &str, status: &serde_json::Value) {
        let Some((namespace, name)) = group.split_once('/') else { return };
        // The answer is not looked at: as a job of the API, its templates would be read for nothing.
        let jobs = ApiResource::erase::<AIJob>(&());
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), namespace, &jobs);
        let name = name.to_owned();
        let body = json!({"apiVersion": maar_api::names::API_VERSION, "kind": "AIJob",
            "metadata": {"name": name, "namespace": namespace}, "status": status});
        self.writing.spawn(async move {
            let params = PatchParams::apply(MANAGER).force();
            let patch = Patch::Apply(&body);
            let written = timeout(WRITE, api.patch_status(&name, &params, &patch)).await;
            // It is tried again with the next explanation.
            if let Ok(Err(error)) = written {
                tracing::debug!(job = name, "writing why it waits: {}", chain(&error));
            }
        });
    }
}

/// The object that people look at: the job, the PodGroup, or the Pod itself.
fn subject(core: &Core, world: &World, id: GroupId) -> Option<ObjectReference> {
    let state = core.ledger().group(id)?;
    world.reference(&state.group.name).or_else(|| {
        let first = state.pending.first().or_else(|| state.placed.first())?;
        let pod = &core.ledger().pod(*first)?.pod;
        Some(super::pod_reference(&pod.namespace, &pod.name, &pod.uid))
    })
}

/// Why a group waits, as it stands in the status of a job.
fn queue_status(explanation: &Explanation) -> QueueStatus {
    let mut message = explanation.summary();
    message.truncate(message.floor_char_boundary(LONGEST));
    let filters = explanation.nodes.iter().flat_map(|nodes| &nodes.removed);
    let count = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    QueueStatus {
        position: explanation.queue.as_ref().map(|queue| count(queue.ahead.saturating_add(1))),
        reason: Some(reason(&explanation.state).to_owned()),
        message: Some(message),
        filters: filters
            .map(|one| FilterCount { filter: one.why.clone(), nodes: count(one.nodes) })
            .collect(),
        waits_for: explanation.must_end.iter().map(|ending| ending.name.clone()).collect(),
        estimated_start: explanation.start.and_then(next_minute).map(Time),
    }
}

/// To the minute: an estimate that moves by seconds is no news. Upwards, or it would be over before it comes.
fn next_minute(start: Millis) -> Option<Timestamp> {
    Timestamp::from_millisecond(start.saturating_add(59_999).div_euclid(60_000) * 60_000).ok()
}

/// All that [`reason`] says of groups that wait.
const REASONS: [&str; 9] = [
    "Suspended",
    "UnknownGroup",
    "WaitingForPods",
    "LimitReached",
    "NoRoom",
    "NeverFits",
    "MakingRoom",
    "DeadlinePassed",
    "Next",
];

/// Where a group stands, in one word.
pub(super) const fn reason(state: &State) -> &'static str {
    match state {
        State::Placed { .. } => "Placed",
        State::Suspended => "Suspended",
        State::Unknown => "UnknownGroup",
        State::WaitsForPods { .. } => "WaitingForPods",
        State::Limited { .. } => "LimitReached",
        State::NoRoom { .. } => "NoRoom",
        State::NeverFits { .. } => "NeverFits",
        State::MakingRoom { .. } => "MakingRoom",
        State::TooLate => "DeadlinePassed",
        State::Next => "Next",
    }
}
