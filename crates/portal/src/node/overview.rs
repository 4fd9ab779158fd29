//! All nodes as of one moment of the cluster, and their bytes.
//!
//! Worked out once per change, and of a change only the nodes that it concerns; what was answered to an audience is kept
//! until the next one. Everybody else's question then costs a look into a table.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use bytes::Bytes;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt as _;
use parking_lot::Mutex;

use super::{
    kinds::CardKinds,
    summary::Summary,
    view::{Around, Holder, NodeView, view},
};
use crate::{
    answers::{Answers, Question},
    cards::{CardKey, Cards, Reading},
    live::{Live, PodFacts, Work},
};

/// Versions of everything that nodes are made of.
type Version = [u64; 5];
/// Pods, each with the end that is known of it.
type Ending = Vec<(Arc<PodFacts>, Option<Timestamp>)>;
/// Kind, namespace and name of work.
type WorkKey = (bool, String, String);

/// All nodes, as of one moment of the cluster.
#[derive(Debug, Default)]
pub(crate) struct Overview {
    kinds: CardKinds,
    made: Mutex<Arc<Made>>,
    answers: Answers<Option<Version>>,
}

/// Everything of one version.
#[derive(Debug, Default)]
pub(crate) struct Made {
    version: Option<Version>,
    /// In the order of their names.
    pub(super) nodes: Vec<Arc<Entry>>,
    pub(super) summary: Summary,
}

/// One node with all that it was made of.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) node: Arc<Node>,
    pub(super) pods: Ending,
    readings: Option<Arc<BTreeMap<CardKey, Reading>>>,
    pub(super) view: NodeView,
    /// For those who see everything, and for those who see no work.
    whole: Bytes,
    hidden: Bytes,
}

impl Overview {
    pub(crate) fn new(kinds: CardKinds) -> Self {
        Self { kinds, ..Self::default() }
    }

    /// Which resources are cards.
    pub(crate) const fn kinds(&self) -> &CardKinds {
        &self.kinds
    }

    pub(crate) fn get(&self, live: &Live, cards: &Cards, hide_names: bool) -> Arc<Made> {
        let version = version(live, cards);
        let before = Arc::clone(&self.made.lock());
        if before.version == Some(version) {
            return before;
        }
        // Not under the lock: who asks meanwhile makes it as well.
        let made = Arc::new(Made::of(version, (live, cards), &before, (&self.kinds, hide_names)));
        let mut last = self.made.lock();
        if last.version.is_none_or(|known| known <= version) {
            *last = Arc::clone(&made);
        }
        made
    }

    /// The answer to a question, made at most once for each audience while nothing changes.
    pub(super) fn answer<E>(
        &self,
        made: &Made,
        question: Question,
        work_out: impl FnOnce() -> Result<Bytes, E>,
    ) -> Result<Bytes, E> {
        self.answers.get(made.version, question, work_out)
    }
}

fn version(live: &Live, cards: &Cards) -> Version {
    [
        live.nodes.version(),
        live.pods.version(),
        live.jobs.version(),
        live.workspaces.version(),
        cards.version(),
    ]
}

impl Made {
    fn of(
        version: Version,
        (live, cards): (&Live, &Cards),
        before: &Self,
        shown: (&CardKinds, bool),
    ) -> Self {
        let (jobs, workspaces) = (live.jobs.list(None), live.workspaces.list(None));
        let cleaned = jobs
            .iter()
            .filter_map(|job| {
                let end = job.status.as_ref()?.cleanup.as_ref()?.end_time.0;
                Some(((true, job.namespace().unwrap_or_default(), job.name_any()), end))
            })
            .chain(workspaces.iter().filter_map(|one| {
                let end = one.status.as_ref()?.cleanup.as_ref()?.end_time.0;
                // No policy touches what is protected.
                let end = one.spec.protected_until.as_ref().map_or(end, |until| until.0.max(end));
                Some(((false, one.namespace().unwrap_or_default(), one.name_any()), end))
            }))
            .collect();
        let mut on = by_node(&live.pods.list(None), &cleaned);
        let known: HashMap<&str, &Arc<Entry>> =
            before.nodes.iter().map(|entry| (entry.view.name.as_str(), entry)).collect();
        let entry = |node: &Arc<Node>| {
            let name = node.name_any();
            let (pods, readings) = (on.remove(&name).unwrap_or_default(), cards.of_node(&name));
            match known.get(name.as_str()) {
                Some(same) if same.is_of(node, &pods, readings.as_ref()) => Arc::clone(same),
                _ => Arc::new(Entry::new(Arc::clone(node), pods, readings, shown)),
            }
        };
        let nodes: Vec<Arc<Entry>> = live.nodes.list(None).iter().map(entry).collect();
        let summary = Summary::of(nodes.iter().map(|entry| &entry.view), &jobs, &workspaces);
        Self { version: Some(version), nodes, summary }
    }

    pub(super) fn node(&self, name: &str) -> Option<&Entry> {
        let found = self.nodes.binary_search_by(|entry| entry.view.name.as_str().cmp(name)).ok()?;
        self.nodes.get(found).map(|entry| &**entry)
    }
}

/// Pods that hold something, by node, each with the end that is known of it.
fn by_node(pods: &[Arc<PodFacts>], cleaned: &BTreeMap<WorkKey, Timestamp>) -> HashMap<String, Ending> {
    let mut on: HashMap<String, Ending> = HashMap::new();
    for pod in pods.iter().filter(|pod| pod.holds()) {
        let work = match &pod.work {
            _ if cleaned.is_empty() => None,
            Work::Job(name) => Some((true, pod.namespace.clone(), name.clone())),
            Work::Workspace(name) => Some((false, pod.namespace.clone(), name.clone())),
            Work::Other => None,
        };
        let end = work.and_then(|key| cleaned.get(&key)).copied();
        let end = [end, pod.ends].into_iter().flatten().min();
        let node = pod.node.as_deref().unwrap_or_default();
        match on.get_mut(node) {
            Some(known) => known.push((Arc::clone(pod), end)),
            None => drop(on.insert(node.to_owned(), vec![(Arc::clone(pod), end)])),
        }
    }
    on
}

impl Entry {
    fn new(
        node: Arc<Node>,
        pods: Ending,
        readings: Option<Arc<BTreeMap<CardKey, Reading>>>,
        (kinds, hide_names): (&CardKinds, bool),
    ) -> Self {
        let view = {
            let pods: Vec<(&PodFacts, Option<Timestamp>)> =
                pods.iter().map(|(pod, end)| (&**pod, *end)).collect();
            view(&node, &Around { pods: &pods, readings: readings.as_deref(), kinds })
        };
        let mut hidden = view.clone();
        hidden.hide(hide_names, |_| false);
        let (whole, hidden) = (json(&view), json(&hidden));
        Self { node, pods, readings, view, whole, hidden }
    }

    fn is_of(
        &self,
        node: &Arc<Node>,
        pods: &[(Arc<PodFacts>, Option<Timestamp>)],
        readings: Option<&Arc<BTreeMap<CardKey, Reading>>>,
    ) -> bool {
        let same_readings = match (&self.readings, readings) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        };
        let same = |one: &(Arc<PodFacts>, _), other: &(Arc<PodFacts>, _)| {
            Arc::ptr_eq(&one.0, &other.0) && one.1 == other.1
        };
        same_readings
            && Arc::ptr_eq(&self.node, node)
            && self.pods.len() == pods.len()
            && self.pods.iter().zip(pods).all(|(one, other)| same(one, other))
    }

    /// Its bytes for somebody who sees what `seen` says.
    pub(super) fn bytes(&self, all: bool, hide_names: bool, seen: impl Fn(&Holder) -> bool) -> Bytes {
        if all {
            return self.whole.clone();
        }
        if !self.view.holders().any(&seen) {
            return self.hidden.clone();
        }
        let mut own = self.view.clone();
        own.hide(hide_names, seen);
        json(&own)
    }
}

fn json(view: &NodeView) -> Bytes {
    serde_json::to_vec(view).expect("a view has only names and numbers").into()
}

#[cfg(test)]
mod tests {
    use kube::runtime::watcher::Event;
    use serde_json::json;

    use super::*;

    fn node(name: &str) -> Node {
        serde_json::from_value(json!({
            "metadata": { "name": name }, "status": { "allocatable": { "nvidia.com/gpu": "1" } },
        }))
        .unwrap()
    }

    fn pod(name: &str, on: &str) -> k8s_openapi::api::core::v1::Pod {
        serde_json::from_value(json!({
            "metadata": { "name": name, "namespace": "user-ada", "annotations": { "maar.io/cards": "nvidia.com/gpu=0" } },
            "spec": { "nodeName": on, "containers": [] }, "status": { "phase": "Running" },
        }))
        .unwrap()
    }

    #[test]
    fn only_nodes_that_a_change_concerns_are_made_anew() {
        let (live, cards, overview) = (Live::default(), Cards::default(), Overview::default());
        let (mut nodes, mut pods) = (live.nodes.writer(), live.pods.writer());
        for name in ["a", "b"] {
            nodes.take(Event::Apply(node(name)), Some);
        }
        let first = overview.get(&live, &cards, false);
        assert!(Arc::ptr_eq(&first, &overview.get(&live, &cards, false)), "nothing has changed");
        pods.take(Event::Apply(pod("x", "b")), |pod| {
            Some(PodFacts::of(&pod, &maar_jobs::PodKinds::default()))
        });
        let second = overview.get(&live, &cards, false);
        assert!(Arc::ptr_eq(&first.nodes[0], &second.nodes[0]));
        assert!(!Arc::ptr_eq(&first.nodes[1], &second.nodes[1]));
        assert_eq!(second.nodes[1].view.holders().count(), 1);
        assert_eq!(second.node("b").unwrap().view.name, "b");
    }
}
