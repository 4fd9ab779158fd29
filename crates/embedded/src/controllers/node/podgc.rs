//! Removes Pods that nobody else will: those of nodes that are gone, those that are to be deleted and were never placed
//! or are on a node out of service, and the oldest of very many that have ended.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, Pod};
use parking_lot::Mutex;

use super::eviction::disrupted;
use super::index::PodsByNode;
use crate::controllers::base::Base;
use crate::controllers::view::{PodView, until};
use crate::controllers::{Again, Controller};
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Entry, Event, Key};
use crate::verbs::DeleteOptions;

/// How long a node must be gone before its Pods are.
const QUARANTINE: SignedDuration = SignedDuration::from_secs(40);
/// How many ended Pods are kept.
const KEPT: usize = 12_500;
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

#[derive(Debug)]
pub(crate) struct PodGarbageCollector {
    base: Base,
    nodes: Arc<str>,
    table: Arc<str>,
    phase: usize,
    ended: Key,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    pods: PodsByNode,
    /// Since when a node is missed.
    missed: BTreeMap<String, Timestamp>,
    /// Ended Pods by age.
    ended: BTreeMap<(Option<Timestamp>, String), String>,
    ended_at: BTreeMap<String, Option<Timestamp>>,
}

impl PodGarbageCollector {
    pub(crate) fn new(server: &Arc<Server>) -> Self {
        let base = Base::new(server, "pod-garbage-collector");
        let nodes = Arc::clone(&base.local.resource::<Node>().table);
        let resource = base.local.resource::<Pod>();
        let phase = resource.field_paths.iter().position(|path| path == "status.phase").unwrap_or(usize::MAX);
        let state = State {
            pods: PodsByNode::new(&resource.field_paths),
            missed: BTreeMap::new(),
            ended: BTreeMap::new(),
            ended_at: BTreeMap::new(),
        };
        let ended = Key { table: "ended-pods".into(), row: "".into() };
        Self { base, nodes, table: Arc::clone(&resource.table), phase, ended, state: Mutex::new(state) }
    }

    async fn sync_node(&self, name: &str) -> Result<Again, ApiError> {
        if let Some(entry) = self.base.local.entry::<Node>("", name) {
            self.state.lock().missed.remove(name);
            if is_out_of_service(&entry) {
                self.clear_out_of_service(name).await?;
            }
            return Ok(None);
        }
        let now = self.base.now();
        let entries = self.state.lock().pods.on(name, self.base.store());
        if entries.is_empty() {
            self.state.lock().missed.remove(name);
            return Ok(None);
        }
        let since = *self.state.lock().missed.entry(name.to_owned()).or_insert(now);
        let end = since.saturating_add(QUARANTINE).unwrap_or(now);
        if end > now {
            return Ok(Some(until(end, now)));
        }
        for pod in entries.iter().filter_map(|entry| entry.view::<PodView>()) {
            let note = |pod: &mut Pod| disrupted(pod, "DeletionByPodGC", "PodGC: node no longer exists", now);
            self.fail(&pod, note).await?;
            self.remove(&pod).await?;
        }
        self.state.lock().missed.remove(name);
        Ok(None)
    }

    /// Somebody vouches that nothing runs there any more: what is to end has ended.
    async fn clear_out_of_service(&self, node: &str) -> Result<(), ApiError> {
        let entries = self.state.lock().pods.on(node, self.base.store());
        for entry in entries.iter().filter(|entry| entry.meta.deleting) {
            let Some(pod) = entry.view::<PodView>() else { continue };
            self.fail(&pod, |_| {}).await?;
            self.remove(&pod).await?;
        }
        Ok(())
    }

    /// Nobody will report how it ended.
    async fn fail(&self, pod: &PodView, note: impl Fn(&mut Pod) + Send + Sync) -> Result<(), ApiError> {
        if pod.is_terminal() {
            return Ok(());
        }
        let change = |pod: &mut Pod| {
            note(pod);
            pod.status.get_or_insert_default().phase = Some("Failed".into());
        };
        match self.base.local.modify_status(&pod.metadata.namespace, pod.name(), change).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    /// At once: there is no kubelet that would confirm.
    async fn remove(&self, pod: &PodView) -> Result<(), ApiError> {
        let options =
            DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::of_uid(&pod.metadata.uid) };
        match self.base.local.delete::<Pod>(&pod.metadata.namespace, pod.name(), &options).await {
            Err(error) if error.is_conflict() => Ok(()),
            result => result,
        }
    }

    async fn sync_pod(&self, namespace: &str, name: &str) -> Result<Again, ApiError> {
        let unplaced = |pod: &Arc<PodView>| pod.is_deleting() && pod.spec.node_name.is_empty();
        if let Some(pod) = self.base.pod(namespace, name).filter(unplaced) {
            self.remove(&pod).await?;
        }
        Ok(None)
    }

    async fn sync_ended(&self) -> Result<Again, ApiError> {
        loop {
            let oldest = {
                let state = self.state.lock();
                if state.ended.len() <= KEPT {
                    return Ok(None);
                }
                state.ended.first_key_value().map(|(rank, key)| (rank.clone(), key.clone()))
            };
            let Some((rank, key)) = oldest else { return Ok(None) };
            let (namespace, name) = key.split_once('/').unwrap_or(("", &key));
            if let Some(pod) = self.base.pod(namespace, name) {
                self.remove(&pod).await?;
            }
            let mut state = self.state.lock();
            state.ended.remove(&rank);
            state.ended_at.remove(&key);
        }
    }

    fn note_ended(&self, state: &mut State, event: &Event) -> bool {
        let key = format!("{}/{}", event.entry.meta.namespace, event.entry.meta.name);
        let phase = event.entry.meta.fields.get(self.phase).map_or("", |phase| phase);
        let over = !event.deleted && matches!(phase, "Succeeded" | "Failed");
        if let Some(created) = state.ended_at.get(&key).copied() {
            if !over {
                state.ended_at.remove(&key);
                state.ended.remove(&(created, key));
            }
            return false;
        }
        if !over {
            return false;
        }
        let created = event.entry.view::<PodView>().and_then(|pod| pod.metadata.creation_timestamp);
        state.ended_at.insert(key.clone(), created);
        state.ended.insert((created, key.clone()), key);
        state.ended.len() > KEPT
    }

    /// The node of a Pod that its kubelet will not look after.
    fn node_key(&self, entry: &Entry, state: &State) -> Option<Key> {
        let node = state.pods.node_of(entry)?;
        let key = Key::new(&self.nodes, "", node);
        let lost = match self.base.store().get(&key) {
            None => true,
            Some(node) => entry.meta.deleting && is_out_of_service(&node),
        };
        lost.then_some(key)
    }
}

/// Whether a node is not ready and marked as one that will not come back by itself.
fn is_out_of_service(entry: &Entry) -> bool {
    // Nodes change often and are marked seldom.
    if !entry.mentions(OUT_OF_SERVICE) {
        return false;
    }
    let Some(node) = entry.typed::<Node>() else { return false };
    let mut taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    let mut conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    taints.any(|taint| taint.key == OUT_OF_SERVICE)
        && !conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

impl Controller for PodGarbageCollector {
    fn name(&self) -> &'static str {
        "pod-garbage-collector"
    }

    fn tables(&self) -> Vec<&'static str> {
        vec!["pods", "nodes"]
    }

    fn forget(&self, table: &str) {
        if table == "pods" {
            let mut state = self.state.lock();
            state.pods.clear();
            state.ended.clear();
            state.ended_at.clear();
        }
    }

    fn keys(&self, table: &str, event: &Event) -> Vec<Key> {
        if table == "nodes" {
            let came_or_went = event.deleted || event.previous.is_none();
            let key = Key::new(&self.nodes, "", &event.entry.meta.name);
            return if came_or_went || is_out_of_service(&event.entry) { vec![key] } else { Vec::new() };
        }
        let mut state = self.state.lock();
        state.pods.note(event);
        let mut keys: Vec<Key> = Vec::new();
        if self.note_ended(&mut state, event) {
            keys.push(self.ended.clone());
        }
        if event.deleted {
            return keys;
        }
        keys.extend(self.node_key(&event.entry, &state));
        if event.entry.meta.deleting && state.pods.node_of(&event.entry).is_none() {
            keys.push(Key::new(&self.table, &event.entry.meta.namespace, &event.entry.meta.name));
        }
        keys
    }

    fn reconcile<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<Again, ApiError>> {
        if key.table == self.nodes {
            Box::pin(self.sync_node(key.name()))
        } else if key.table == self.table {
            Box::pin(self.sync_pod(key.namespace(), key.name()))
        } else {
            Box::pin(self.sync_ended())
        }
    }
}
