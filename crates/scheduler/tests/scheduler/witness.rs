//! Somebody who looks at every revision.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, ResourceExt as _,
    api::{WatchEvent, WatchParams},
};
use maar_testkit::read::phase;
use maar_testkit::scenario::Arena;
use tokio::task::JoinHandle;

/// A card of a node.
type Card = (String, u16);

/// A Pod as it was at some revision, or that it was gone.
pub(crate) struct Seen {
    pub(crate) pod: Pod,
    pub(crate) gone: bool,
}

impl Seen {
    /// It holds nothing any more.
    pub(crate) fn has_ended(&self) -> bool {
        self.gone || matches!(phase(&self.pod), "Succeeded" | "Failed")
    }
}

/// Follows the Pods of a scenario from their first revision on.
pub(crate) struct Witness {
    task: JoinHandle<()>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Witness {
    pub(crate) fn of(arena: &Arena) -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let task = tokio::spawn(follow(arena.api(), Arc::clone(&seen)));
        Self { task, seen }
    }

    /// Everything that was seen, in order.
    pub(crate) fn history(self) -> Vec<Seen> {
        self.task.abort();
        std::mem::take(&mut *self.seen.lock().expect("nobody panics while noting"))
    }

    /// When a card had more than it can bear.
    pub(crate) fn finish(self) -> Vec<String> {
        let mut pods: BTreeMap<String, Pod> = BTreeMap::new();
        let mut faults = Vec::new();
        for seen in self.history() {
            let (name, version) = (seen.pod.name_any(), seen.pod.resource_version().unwrap_or_default());
            if seen.has_ended() {
                pods.remove(&name);
            } else {
                pods.insert(name, seen.pod);
            }
            let found = overfull(pods.values());
            if !found.is_empty() {
                faults.push(format!("at {version}: {found:?}"));
            }
        }
        faults
    }
}

async fn follow(api: Api<Pod>, all: Arc<Mutex<Vec<Seen>>>) {
    let mut version = "0".to_owned();
    loop {
        let stream = api.watch(&WatchParams::default(), &version).await.expect("Pods can be watched");
        let mut stream = std::pin::pin!(stream);
        while let Some(Ok(event)) = stream.next().await {
            let (pod, gone) = match event {
                WatchEvent::Added(pod) | WatchEvent::Modified(pod) => (pod, false),
                WatchEvent::Deleted(pod) => (pod, true),
                WatchEvent::Bookmark(_) | WatchEvent::Error(_) => continue,
            };
            version = pod.resource_version().unwrap_or_default();
            all.lock().expect("nobody panics while noting").push(Seen { pod, gone });
        }
    }
}

/// Cards of which more than all is taken, with who holds them.
pub(crate) fn overfull<'a>(pods: impl Iterator<Item = &'a Pod>) -> BTreeMap<Card, Vec<String>> {
    let mut taken: BTreeMap<Card, (u32, Vec<String>)> = BTreeMap::new();
    for pod in pods.filter(|pod| !matches!(phase(pod), "Succeeded" | "Failed")) {
        for (card, milli) in held(pod) {
            let (sum, holders) = taken.entry(card).or_default();
            *sum += milli;
            holders.push(pod.name_any());
        }
    }
    taken
        .into_iter()
        .filter(|(_, (sum, _))| *sum > 1000)
        .map(|(card, (_, holders))| (card, holders))
        .collect()
}

/// The cards a Pod holds, with how many thousandths of each.
pub(crate) fn held(pod: &Pod) -> Vec<(Card, u32)> {
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
    let cards = pod.annotations().get("maar.io/cards").and_then(|cards| cards.split_once('='));
    let (Some(node), Some((_, cards))) = (node, cards) else { return Vec::new() };
    let (numbers, part) = cards.split_once(':').unwrap_or((cards, "1"));
    let milli = (part.parse::<f64>().expect("a part of a card") * 1000.0).round();
    let milli = format!("{milli}").parse().expect("thousandths");
    numbers.split(',').map(|index| ((node.clone(), index.parse().expect("a card")), milli)).collect()
}
