//! A plain scheduler for `default-scheduler`: filters and scores as kube-scheduler does by default, one Pod after
//! another, by priority. It does not preempt: a Pod of high priority waits like any other until there is room.
//!
//! The state of the cluster is kept in memory ([`ledger`]) and follows the store event by event; a cycle takes
//! Pods from the [`queue`] and finds each a node ([`place`]). What was decided is written by a look at each of them, so that a slow
//! webhook holds up the Pods it is asked about and no others; until then their room is spoken for.

mod filter;
mod ledger;
mod place;
mod queue;
mod request;
mod score;
mod volumes;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use filter::Volumes;
use futures::future::BoxFuture;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use ledger::Ledger;
use parking_lot::Mutex;
use place::{Placement, Turn};
use queue::{End, Queue};
use request::Request;
use serde_json::json;

use super::base::Base;
use super::recorder::{Recorder, pod_reference};
use super::view::{NodeView, until};
use super::volume::{self, SELECTED_NODE};
use super::{Again, Controller};
use crate::resource::Subresource;
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Entry, Event, Key};

/// The name Pods ask for this scheduler by.
const NAME: &str = "default-scheduler";
/// How many Pods are decided about before events are looked at again.
const BATCH: usize = 200;
/// How many decisions are written at a time.
const WRITERS: usize = 100;
/// The table of the keys of Pods that were decided about.
const DECIDED: &str = "scheduling-decided";

#[derive(Debug)]
pub(crate) struct Scheduler {
    base: Base,
    state: Mutex<State>,
    fields: Fields,
    cycle: Key,
}

/// Where in an entry's facts the fields of a Pod are.
#[derive(Debug)]
struct Fields {
    node: usize,
    scheduler: usize,
    phase: usize,
}

#[derive(Debug, Default)]
struct State {
    ledger: Ledger,
    queue: Queue,
    turn: Turn,
    /// Pods that were placed while nobody waited: what they take is read when it matters. Where another scheduler
    /// does the work, that is never.
    unread: BTreeMap<String, Arc<Entry>>,
    /// Why Pods of a kind do not fit anywhere, until something changes that may help.
    hopeless: HashMap<u64, String>,
    /// What was decided and is not written yet, by Pod.
    decided: BTreeMap<String, Decided>,
    /// What is to be looked at because of that.
    due: Vec<Key>,
}

#[derive(Clone, Debug)]
struct Decided {
    request: Arc<Request>,
    outcome: Outcome,
}

/// What became of one Pod.
#[derive(Clone, Debug)]
enum Outcome {
    Bind(String),
    Stuck(String),
    /// Its volumes come first.
    WaitForVolumes {
        node: String,
        claims: Vec<(String, Option<String>)>,
    },
}

impl Scheduler {
    pub(crate) fn new(server: &Arc<Server>) -> Self {
        let base = Base::new(server, NAME);
        let resource = base.local.resource::<Pod>();
        let position =
            |path: &str| resource.field_paths.iter().position(|known| known == path).unwrap_or(usize::MAX);
        let fields = Fields {
            node: position("spec.nodeName"),
            scheduler: position("spec.schedulerName"),
            phase: position("status.phase"),
        };
        let cycle = Key { table: "scheduling-cycle".into(), row: "".into() };
        Self { base, state: Mutex::default(), fields, cycle }
    }

    fn field(entry: &Entry, index: usize) -> &str {
        entry.meta.fields.get(index).map_or("", |text| text)
    }

    /// Follows a Pod. Whether a cycle may have something to do.
    fn note_pod(&self, event: &Event) -> bool {
        let entry = &event.entry;
        let key = format!("{}/{}", entry.meta.namespace, entry.meta.name);
        let node = Self::field(entry, self.fields.node);
        let ended = event.deleted || matches!(Self::field(entry, self.fields.phase), "Succeeded" | "Failed");
        let mut state = self.state.lock();
        let state = &mut *state;
        if ended {
            state.queue.drop_pod(&key);
            let freed = state.unread.remove(&key).is_some() | state.ledger.remove(&key);
            return freed && state.stir(&self.base);
        }
        if !node.is_empty() {
            state.queue.drop_pod(&key);
            return state.note_placed(&key, entry, node, &self.base);
        }
        state.unread.remove(&key);
        if entry.meta.deleting || Self::field(entry, self.fields.scheduler) != NAME {
            state.queue.drop_pod(&key);
            return state.ledger.remove(&key) && state.stir(&self.base);
        }
        if !state.queue.is_under_way(&key, &entry.meta.uid) {
            state.ledger.remove(&key);
        }
        let Some(pod) = entry.typed::<Pod>() else { return false };
        let request = Request::read(pod, &mut state.ledger.names);
        state.queue.set(&key, request);
        true
    }

    fn note_node(&self, event: &Event) -> bool {
        let mut state = self.state.lock();
        if event.deleted {
            state.ledger.remove_node(&event.entry.meta.name);
            return false;
        }
        let Some(node) = event.entry.view::<NodeView>() else { return false };
        state.ledger.set_node(&node) && state.stir(&self.base)
    }

    fn note_namespace(&self, event: &Event) -> bool {
        let name = event.entry.meta.name.to_string();
        let mut state = self.state.lock();
        if event.deleted {
            state.ledger.namespaces.remove(&name);
        } else {
            let labels = event.entry.meta.labels.iter();
            let labels: BTreeMap<String, String> =
                labels.map(|(key, value)| (key.to_string(), value.to_string())).collect();
            state.ledger.namespaces.insert(name, labels);
        }
        false
    }

    /// Decides about the Pods that are next.
    fn run_cycle(&self) -> Again {
        self.state.lock().flush(self.base.now());
        for _ in 0..BATCH {
            let now = self.base.now();
            let Some((key, request)) = self.state.lock().queue.next(now) else { break };
            let outcome = self.decide(&request);
            let mut state = self.state.lock();
            if let Outcome::Bind(node) | Outcome::WaitForVolumes { node, .. } = &outcome {
                // Spoken for from here on, whatever comes in between.
                state.ledger.place(&key, &request, node);
            }
            state.due.push(Key { table: DECIDED.into(), row: key.as_str().into() });
            state.decided.insert(key, Decided { request, outcome });
        }
        let now = self.base.now();
        self.state.lock().queue.next_time(now).map(|time| until(time, now))
    }

    /// Writes what was decided about a Pod. Called again if it panics.
    async fn carry_out(&self, key: &str) {
        let Some(Decided { request, outcome }) = self.state.lock().decided.get(key).cloned() else { return };
        let written = self.write(key, &request, &outcome).await;
        let end = match (written, &outcome) {
            _ if !self.is_there(&request) => End::Gone,
            (Ok(()), Outcome::Bind(_)) => End::Placed,
            (Ok(()), Outcome::WaitForVolumes { .. }) => End::Excused,
            (Ok(()), Outcome::Stuck(_)) => End::Stuck,
            (Err(error), _) => {
                tracing::debug!(%error, pod = %key, "placing failed and is tried again");
                End::Failed
            }
        };
        let now = self.base.now();
        let mut state = self.state.lock();
        let state = &mut *state;
        if state.decided.get(key).is_some_and(|decided| decided.request.uid == request.uid) {
            state.decided.remove(key);
        }
        state.queue.end(key, &request.uid, end, now);
        if end == End::Placed {
            if state.welcome(&request, now) {
                state.due.push(self.cycle.clone());
            }
            return;
        }
        // The room is given back. Who waits for volumes comes again when they are bound, and those hold the node; they must not
        // stir each other.
        if state.ledger.remove_uid(key, &request.uid) && end != End::Excused {
            state.stir(&self.base);
        }
        state.due.push(self.cycle.clone());
    }

    /// Whether the store still has the Pod: what is under way is not told when all Pods are shown anew.
    fn is_there(&self, request: &Request) -> bool {
        let resource = self.base.local.resource::<Pod>();
        let key = Key::new(&resource.table, &request.namespace, &request.name);
        self.base.store().get(&key).is_some_and(|entry| *entry.meta.uid == *request.uid)
    }

    /// Finds a node. Pure but for reading claims and volumes from the store.
    fn decide(&self, request: &Request) -> Outcome {
        let volumes = match self.volumes(request) {
            Ok(volumes) => volumes,
            Err(why) => {
                let nodes = self.state.lock().ledger.nodes();
                return Outcome::Stuck(format!("0/{nodes} nodes are available: {why}."));
            }
        };
        let mut state = self.state.lock();
        let state = &mut *state;
        state.read_placed(self.fields.node);
        if let Some(known) = state.hopeless.get(&request.signature) {
            return Outcome::Stuck(known.clone());
        }
        match place::place(&state.ledger, &mut state.turn, request, &volumes) {
            Ok(Placement { node, claims }) if claims.is_empty() => Outcome::Bind(node),
            Ok(Placement { node, claims }) => Outcome::WaitForVolumes { node, claims },
            Err(why) => {
                if !request.looks_at_others() {
                    state.hopeless.insert(request.signature, why.clone());
                }
                Outcome::Stuck(why)
            }
        }
    }

    fn volumes(&self, request: &Request) -> Result<Volumes, String> {
        if request.claims.is_empty() {
            return Ok(Volumes::default());
        }
        volumes::look_up(&self.base.local, request)
    }

    async fn write(&self, key: &str, request: &Request, outcome: &Outcome) -> Result<(), ApiError> {
        let about = pod_reference(&request.namespace, &request.name, &request.uid);
        match outcome {
            Outcome::Bind(node) => {
                self.base.local.bind(&request.namespace, &request.name, &request.uid, node).await?;
                let message = format!("Successfully assigned {key} to {node}");
                self.base.recorder.normal(&about, "Scheduled", message).await;
            }
            Outcome::WaitForVolumes { node, claims } => {
                for (claim, volume) in claims {
                    match volume {
                        Some(volume) => self.promise(&request.namespace, claim, volume).await?,
                        None => self.select_node(&request.namespace, claim, node).await?,
                    }
                }
            }
            Outcome::Stuck(why) => {
                self.report(request, why).await?;
                self.base.recorder.warning(&about, "FailedScheduling", why.clone()).await;
            }
        }
        Ok(())
    }

    /// Promises a volume to a claim; the volume binder does the rest.
    async fn promise(&self, namespace: &str, claim: &str, volume: &str) -> Result<(), ApiError> {
        let Some(claim) = self.base.local.get::<PersistentVolumeClaim>(namespace, claim) else {
            return Ok(());
        };
        let reference = volume::claim_reference(&claim);
        let change = |volume: &mut PersistentVolume| volume::promise(volume, &claim, &reference);
        self.base.local.modify("", volume, change).await.map(|_| ())
    }

    /// Tells the volume binder where a claim's Pod will be.
    async fn select_node(&self, namespace: &str, claim: &str, node: &str) -> Result<(), ApiError> {
        let change = |claim: &mut PersistentVolumeClaim| {
            claim.metadata.annotations.get_or_insert_default().insert(SELECTED_NODE.into(), node.to_owned());
        };
        self.base.local.modify(namespace, claim, change).await.map(|_| ())
    }

    /// Writes the reason into the Pod, once.
    async fn report(&self, request: &Request, why: &str) -> Result<(), ApiError> {
        let resource = self.base.local.resource::<Pod>();
        let key = Key::new(&resource.table, &request.namespace, &request.name);
        let Some(entry) = self.base.store().get(&key) else { return Ok(()) };
        let pod = entry.value();
        let mut conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let known = conditions.iter().find(|condition| condition["type"] == "PodScheduled");
        if known.is_some_and(|known| known["message"] == why && known["status"] == "False") {
            return Ok(());
        }
        let since = known.filter(|known| known["status"] == "False").map_or_else(
            || json!(self.base.server().world.now_text()),
            |known| known["lastTransitionTime"].clone(),
        );
        conditions.retain(|condition| condition["type"] != "PodScheduled");
        conditions.push(json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": why, "lastTransitionTime": since}));
        let patch = json!({"status": {"conditions": conditions}});
        match self.base.local.merge(&resource, &key, Some(Subresource::Status), patch).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }
}

impl State {
    /// Takes note of a Pod on a node. Whether that may help those that wait.
    fn note_placed(&mut self, key: &str, entry: &Arc<Entry>, node: &str, base: &Base) -> bool {
        if let Some(placed) = self.ledger.placed.get_mut(key) {
            let same_labels =
                placed.labels.len() == entry.meta.labels.len()
                    && entry.meta.labels.iter().all(|(key, value)| {
                        placed.labels.get(&**key).is_some_and(|known| **known == **value)
                    });
            if *placed.uid == *entry.meta.uid && placed.node == node && same_labels {
                placed.deleting = entry.meta.deleting;
                return false;
            }
        }
        let moved = self.ledger.placed.contains_key(key);
        if !moved && self.queue.is_empty() {
            self.unread.insert(key.to_owned(), Arc::clone(entry));
            return false;
        }
        let Some(request) = self.place(key, entry, node) else { return false };
        if moved { self.stir(base) } else { self.welcome(&request, base.now()) }
    }

    /// A Pod was placed that others may have waited for. Whether there are any.
    fn welcome(&mut self, placed: &Request, now: Timestamp) -> bool {
        let Request { namespace, labels, .. } = placed;
        let namespace_labels = self.ledger.namespaces.get(namespace);
        self.queue.stir_lonely(now, |request| request.is_helped_by(namespace, namespace_labels, labels))
    }

    /// Those that have been stuck for too long are looked at anew.
    fn flush(&mut self, now: Timestamp) {
        if self.queue.flush(now) {
            self.hopeless.clear();
        }
    }

    /// Takes note of the Pods that were placed while nobody waited.
    fn read_placed(&mut self, node: usize) {
        for (key, entry) in std::mem::take(&mut self.unread) {
            self.place(&key, &entry, Scheduler::field(&entry, node));
        }
    }

    fn place(&mut self, key: &str, entry: &Entry, node: &str) -> Option<Request> {
        let request = Request::read(entry.typed::<Pod>()?, &mut self.ledger.names);
        self.ledger.place(key, &request, node);
        Some(request)
    }

    /// Something changed that may help those that wait. Whether there are any.
    fn stir(&mut self, base: &Base) -> bool {
        self.hopeless.clear();
        let now = base.now();
        self.queue.stir(now);
        self.queue.next_time(now).is_some()
    }
}

impl Controller for Scheduler {
    fn name(&self) -> &'static str {
        NAME
    }

    fn recorder(&self) -> Option<&Recorder> {
        Some(&self.base.recorder)
    }

    fn tables(&self) -> Vec<&'static str> {
        vec![
            "nodes",
            "namespaces",
            "pods",
            "persistentvolumeclaims",
            "persistentvolumes",
            "storageclasses.storage.k8s.io",
        ]
    }

    fn forget(&self, table: &str) {
        let mut state = self.state.lock();
        match table {
            "nodes" => state.ledger.forget_nodes(),
            "pods" => {
                let state = &mut *state;
                state.ledger.forget_pods(|key, uid| state.queue.is_under_way(key, uid));
                state.unread.clear();
                state.queue.clear();
            }
            "namespaces" => state.ledger.namespaces.clear(),
            _ => {}
        }
        state.hopeless.clear();
    }

    fn keys(&self, table: &str, event: &Event) -> Vec<Key> {
        let due = match table {
            "pods" => self.note_pod(event),
            "nodes" => self.note_node(event),
            "namespaces" => self.note_namespace(event),
            _ => self.state.lock().stir(&self.base),
        };
        if due { vec![self.cycle.clone()] } else { Vec::new() }
    }

    fn follow_up(&self) -> Vec<Key> {
        std::mem::take(&mut self.state.lock().due)
    }

    fn workers(&self) -> usize {
        WRITERS
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        Box::pin(async move {
            if *key == self.cycle {
                return Ok(self.run_cycle());
            }
            self.carry_out(&key.row).await;
            Ok(None)
        })
    }
}
