//! Everything the kubelets of one set know: their nodes, the Pods on them, what is due and what is to be written.
//!
//! The table does no I/O. Watch events go in ([`Table::pod_changed`], [`Table::pod_gone`]), time goes in
//! ([`Table::run_due`]), and requests come out ([`Table::next_write`]), at most one at a time for each Pod; their
//! outcome goes back in ([`Table::written`]). The driver around it is in `pods`.
//!
//! Memory is bounded by the Pods on our nodes: about a kilobyte each, see the test at the end of `tests`.

mod cards;
mod entry;
mod node;
mod read;
#[cfg(test)]
mod tests;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap, HashMap, VecDeque},
    sync::Arc,
};

use jiff::Timestamp;
use serde_json::Value;

use crate::{
    events::Recorder,
    lifecycle::{Life, Phase, Verdict, admission, after, earlier, resume, status},
    pod::{Pod, PodObject, Templates},
    runtime::{self, Runtime},
};

pub(crate) use cards::CardHolder;
pub(crate) use entry::PodEntry;
pub(crate) use node::NodeEntry;

/// Waits after a failed write grow from this.
const RETRY_START: std::time::Duration = std::time::Duration::from_millis(500);
/// They do not grow beyond this.
const RETRY_LIMIT: std::time::Duration = std::time::Duration::from_secs(30);

/// See the module.
#[derive(Debug)]
pub(crate) struct Table<R> {
    pub(crate) runtime: Arc<R>,
    pub(crate) nodes: BTreeMap<Arc<str>, NodeEntry>,
    pods: HashMap<Arc<str>, PodEntry>,
    /// Namespace and name to uid, for the kubelet's HTTP API.
    names: HashMap<(Arc<str>, Box<str>), Arc<str>>,
    templates: Templates,
    due: BinaryHeap<Reverse<(Timestamp, Arc<str>)>>,
    outbox: VecDeque<Arc<str>>,
    /// Number of the list under way or of the last one; Pods not seen in it are gone.
    list: u32,
    /// Tells people what happens.
    pub(crate) events: Recorder,
}

/// A request to the API.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Write {
    pub(crate) uid: Arc<str>,
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Box<str>,
    pub(crate) request: Request,
}

/// What a [`Write`] does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Request {
    /// Patch the status with this.
    Status(Value),
    /// Delete the object for good.
    Delete,
}

/// How a [`Write`] went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// The object is not there, or is another one of the same name.
    Gone,
    /// Worth another try.
    Failed,
}

impl<R: Runtime> Table<R> {
    pub(crate) fn new(runtime: Arc<R>, events: Recorder) -> Self {
        Self {
            runtime,
            nodes: BTreeMap::new(),
            pods: HashMap::new(),
            names: HashMap::new(),
            templates: Templates::default(),
            due: BinaryHeap::new(),
            outbox: VecDeque::new(),
            list: 0,
            events,
        }
    }

    /// How many Pods are known.
    pub(crate) fn len(&self) -> usize {
        self.pods.len()
    }

    /// The Pod with that uid.
    pub(crate) fn pod(&self, uid: &str) -> Option<&PodEntry> {
        self.pods.get(uid)
    }

    /// The Pod of that name.
    pub(crate) fn pod_by_name(&self, namespace: &str, name: &str) -> Option<&PodEntry> {
        let uid = self.names.get(&(Arc::from(namespace), Box::from(name)))?;
        self.pods.get(uid)
    }

    /// Whether every Pod's status is written; what is due later does not count.
    pub(crate) fn is_quiet(&self) -> bool {
        self.outbox.is_empty() && !self.pods.values().any(|entry| entry.in_flight || entry.is_dirty())
    }

    /// A list of all Pods begins.
    pub(crate) fn list_began(&mut self) {
        self.list = self.list.wrapping_add(1);
    }

    /// A list of all Pods is complete: what was not in it is gone.
    pub(crate) fn list_ended(&mut self) {
        let list = self.list;
        let missing =
            self.pods.values().filter(|entry| entry.seen != list).map(|entry| entry.pod.uid.clone());
        let mut gone: Vec<_> = missing.collect();
        gone.sort_unstable();
        for uid in gone {
            self.pod_gone(&uid);
        }
        self.runtime.listed(&|uid| self.pods.contains_key(uid));
    }

    /// A Pod is new or changed.
    pub(crate) fn pod_changed(&mut self, object: &PodObject, now: Timestamp) {
        let Some(node) = object.node_name().and_then(|name| self.nodes.get(name)) else { return };
        let (Some(uid), node) = (object.metadata.uid.as_deref(), node.name.clone()) else { return };
        let known = self.pods.contains_key(uid);
        let uid: Arc<str> = match self.pods.get_key_value(uid) {
            Some((uid, _)) => uid.clone(),
            None => uid.into(),
        };
        let outcome =
            if known { self.update(&uid, object, now) } else { self.take_on(&uid, &node, object, now) };
        if let Err(error) = outcome {
            tracing::warn!(pod.uid = &*uid, "a pod on node {node} cannot be read: {error}");
            return;
        }
        self.advance(&uid, now);
    }

    fn update(&mut self, uid: &Arc<str>, object: &PodObject, now: Timestamp) -> Result<(), String> {
        let Some(entry) = self.pods.get_mut(uid) else { return Ok(()) };
        entry.seen = self.list;
        entry.refresh(object, &mut self.templates, now)?;
        // Whoever gives a node up says that its Pods are not ready; the kubelet, back again, knows better.
        let shows = object.condition("Ready") == Some("True");
        if !entry.in_flight && entry.shown_ready.is_some_and(|ready| ready != shows) {
            entry.shown = None;
        }
        if resume::phase(&object.status) == Phase::Failed {
            let text = |field: &str| object.status[field].as_str().unwrap_or_default().into();
            let verdict = Verdict { reason: text("reason"), message: text("message") };
            entry.life.condemn_by_api(verdict, after(now, entry.pod.template.grace));
        }
        Ok(())
    }

    /// Accepts a Pod that is new to us, refuses it, or takes up its life where the API shows it.
    fn take_on(
        &mut self,
        uid: &Arc<str>,
        node: &Arc<str>,
        object: &PodObject,
        now: Timestamp,
    ) -> Result<(), String> {
        let mut entry = PodEntry::read(uid, node, object, &mut self.templates)?;
        let host = self.nodes.get(node).ok_or("its node is gone")?;
        let survival = self.runtime.survival();
        if let Some(life) = resume::resume(&entry.pod, &object.status, survival, now) {
            entry.life = life;
            entry.fail_is_old();
        } else {
            entry.life = admit(host, &entry.pod, object, now);
            if let Some(verdict) = &entry.life.verdict {
                self.events.tell_pod(&entry.pod, &verdict.happening(), self.runtime.scheme(), now);
            }
            resume::conditions(&mut entry.life, &object.status);
        }
        entry.refresh(object, &mut self.templates, now)?;
        entry.seen = self.list;
        let host = self.nodes.get_mut(node).ok_or("its node is gone")?;
        host.join(&entry.pod, &mut entry.life);
        let shown = status::render(&entry.pod, &entry.life, host.host(self.runtime.scheme()), now);
        entry.shown = read::covers(&object.status, &shown).then(|| entry::fingerprint(&shown));
        entry.shown_ready = entry.shown.map(|_| read::is_ready(&shown));
        self.names.insert((entry.pod.namespace.clone(), entry.pod.name.clone()), uid.clone());
        self.pods.insert(uid.clone(), entry);
        Ok(())
    }

    /// A Pod's object is no longer there.
    pub(crate) fn pod_gone(&mut self, uid: &str) {
        let Some(entry) = self.pods.remove(uid) else { return };
        let key = (entry.pod.namespace.clone(), entry.pod.name.clone());
        if self.names.get(&key).is_some_and(|named| **named == *uid) {
            self.names.remove(&key);
        }
        if let Some(node) = self.nodes.get_mut(&entry.pod.node) {
            node.leave(&entry.pod, entry.life.ip);
        }
        self.runtime.forget(&entry.pod);
    }

    /// Lives through everything that is due.
    pub(crate) fn run_due(&mut self, now: Timestamp) {
        for uid in self.runtime.poked() {
            self.advance(&uid, now);
        }
        while let Some(Reverse((time, _))) = self.due.peek()
            && *time <= now
            && let Some(Reverse((time, uid))) = self.due.pop()
        {
            let Some(entry) = self.pods.get_mut(&uid) else { continue };
            // A wake-up that was replaced by another one.
            if entry.wake != Some(time) {
                continue;
            }
            entry.wake = None;
            self.advance(&uid, now);
        }
    }

    /// When there is something to do although nothing comes in.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.due.peek().map(|Reverse((time, _))| *time)
    }

    /// Brings one Pod up to `now` and queues its status if that changed.
    pub(crate) fn advance(&mut self, uid: &Arc<str>, now: Timestamp) {
        let Some(entry) = self.pods.get_mut(uid) else { return };
        let Some(node) = self.nodes.get_mut(&entry.pod.node) else { return };
        let step = runtime::advance(&*self.runtime, &entry.pod, &mut entry.life, now);
        // Nothing is heard of a node without network, and what happened meanwhile is old news when it is healed.
        if !node.failures.network {
            for happening in &step.news {
                self.events.tell_pod(&entry.pod, happening, self.runtime.scheme(), now);
            }
        }
        if entry.life.is_finished() {
            node.release(&entry.pod);
        }
        let shown = status::render(&entry.pod, &entry.life, node.host(self.runtime.scheme()), now);
        entry.want = entry::fingerprint(&shown);
        entry.remove = step.remove;
        if let Some(wake) = earlier(step.wake, entry.retry)
            && entry.wake.is_none_or(|known| wake < known)
        {
            entry.wake = Some(wake);
            self.due.push(Reverse((wake, uid.clone())));
        }
        if entry.is_dirty() && entry.retry.is_none_or(|retry| retry <= now) {
            entry.retry = None;
            Self::enqueue(&mut self.outbox, entry);
        }
    }

    fn enqueue(outbox: &mut VecDeque<Arc<str>>, entry: &mut PodEntry) {
        if !entry.queued && !entry.in_flight {
            entry.queued = true;
            outbox.push_back(entry.pod.uid.clone());
        }
    }

    /// The next request to make, if there is one.
    pub(crate) fn next_write(&mut self, now: Timestamp) -> Option<Write> {
        loop {
            let uid = self.outbox.pop_front()?;
            let Some(entry) = self.pods.get_mut(&uid) else { continue };
            entry.queued = false;
            let Some(node) = self.nodes.get(&entry.pod.node) else { continue };
            // A node without network writes nothing; it catches up when it is healed.
            if node.failures.network || !entry.is_dirty() || entry.in_flight {
                continue;
            }
            let shown = status::render(&entry.pod, &entry.life, node.host(self.runtime.scheme()), now);
            entry.want = entry::fingerprint(&shown);
            entry.in_flight = true;
            let request = if entry.shown == Some(entry.want) {
                Request::Delete
            } else {
                entry.writing = entry.want;
                Request::Status(shown)
            };
            let (namespace, name) = (entry.pod.namespace.clone(), entry.pod.name.clone());
            return Some(Write { uid, namespace, name, request });
        }
    }

    /// Enters how a request went.
    pub(crate) fn written(&mut self, write: &Write, outcome: Outcome, now: Timestamp) {
        if outcome == Outcome::Gone {
            return self.pod_gone(&write.uid);
        }
        let Some(entry) = self.pods.get_mut(&write.uid) else { return };
        entry.in_flight = false;
        match (outcome, &write.request) {
            (Outcome::Failed, _) => {
                entry.attempts = entry.attempts.saturating_add(1);
                let wait = RETRY_START.saturating_mul(1 << entry.attempts.min(8)).min(RETRY_LIMIT);
                entry.retry = Some(after(now, wait));
            }
            (_, Request::Status(status)) => {
                (entry.shown, entry.attempts) = (Some(entry.writing), 0);
                entry.shown_ready = Some(read::is_ready(status));
            }
            // The watch says when it is really gone; finalizers may keep it.
            (_, Request::Delete) => (entry.removed, entry.attempts) = (true, 0),
        }
        let uid = write.uid.clone();
        self.advance(&uid, now);
    }

    /// Something about a node changed that its Pods may have waited for.
    pub(crate) fn node_changed(&mut self, name: &str, now: Timestamp) {
        let Some(node) = self.nodes.get(name) else { return };
        let pods: Vec<Arc<str>> = node.pods().cloned().collect();
        for uid in pods {
            self.advance(&uid, now);
        }
    }

    /// Forgets a node and what ran on it.
    pub(crate) fn node_removed(&mut self, name: &str) {
        let Some(node) = self.nodes.get(name) else { return };
        let pods: Vec<Arc<str>> = node.pods().cloned().collect();
        for uid in pods {
            self.pod_gone(&uid);
        }
        self.nodes.remove(name);
    }
}

/// The life of a Pod that nobody took on before: it begins, or it is refused.
fn admit(node: &NodeEntry, pod: &Pod, object: &PodObject, now: Timestamp) -> Life {
    let containers = pod.template.containers.len();
    let leaving = object.metadata.deletion_timestamp.is_some();
    match admission::check(&object.spec, &pod.template, &node.place()) {
        Err(verdict) if !leaving => Life::rejected(containers, verdict, now),
        _ => Life::new(containers, now),
    }
}
