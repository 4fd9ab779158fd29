//! Card use from the nodes themselves: what their kubelets show through the API server.
//!
//! Simulated nodes show the metrics of their cards there, so `maar up` knows what is idle without a Prometheus. What was
//! seen is kept in memory: after a start nothing is known until a window has passed.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt as _, future::BoxFuture, stream};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Node;
use kube::{Api, Client, ResourceExt as _, api::ListParams};
use parking_lot::Mutex;

use super::card_use::{CardUse, EXPORTERS, Readings, UseError, subject};
use super::exposition;
use crate::policy::later;

/// Nodes asked at a time.
const PARALLEL: usize = 16;
/// Looks further apart than this leave a gap.
const GAP: SignedDuration = SignedDuration::from_mins(3);

/// Namespace, Pod and card.
type Subject = (String, String, String);

/// See the module.
#[derive(Clone)]
pub struct NodeCards {
    client: Client,
    seen: std::sync::Arc<Mutex<History>>,
}

impl std::fmt::Debug for NodeCards {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("NodeCards").finish_non_exhaustive()
    }
}

impl NodeCards {
    /// Asks the nodes of this cluster.
    pub fn new(client: Client) -> Self {
        Self { client, seen: std::sync::Arc::default() }
    }

    async fn read(&self, node: String) -> Vec<(Subject, f64)> {
        // A node that cannot be asked leaves a gap in what is known of its cards, which is what it is.
        let Some(text) = node_metrics(&self.client, &node).await else { return Vec::new() };
        let wanted = |name: &str| EXPORTERS.iter().any(|exporter| exporter.metric == name);
        exposition::samples(&text, wanted)
            .filter_map(|(_, labels, value)| {
                Some((subject(|name| labels.get(name).map(String::as_str))?, value))
            })
            .collect()
    }
}

/// The metrics that a node shows, through the API server (right `get` on `nodes/proxy`); none if it does not answer.
pub async fn node_metrics(client: &Client, node: &str) -> Option<String> {
    let path = format!("/api/v1/nodes/{node}/proxy/metrics");
    let request = http::Request::get(path).body(Vec::new()).ok()?;
    client.request_text(request).await.ok()
}

impl CardUse for NodeCards {
    fn look(&self, now: Timestamp, longest: SignedDuration) -> BoxFuture<'_, Result<(), UseError>> {
        Box::pin(async move {
            let nodes: Api<Node> = Api::all(self.client.clone());
            let nodes = nodes.list_metadata(&ListParams::default()).await;
            let nodes = nodes.map_err(|error| UseError(format!("listing nodes: {error}")))?.items;
            let reads = stream::iter(nodes).map(|node| self.read(node.name_any())).buffered(PARALLEL);
            let samples: Vec<(Subject, f64)> = reads.flat_map(stream::iter).collect().await;
            self.seen.lock().add(now, longest, samples);
            Ok(())
        })
    }

    fn highest(&self, now: Timestamp, window: SignedDuration) -> BoxFuture<'_, Result<Readings, UseError>> {
        let readings = self.seen.lock().highest(now, window);
        Box::pin(std::future::ready(Ok(readings)))
    }
}

/// What was seen of each card, in the order of time.
#[derive(Debug, Default)]
struct History(BTreeMap<Subject, Vec<(Timestamp, f64)>>);

impl History {
    fn add(&mut self, now: Timestamp, longest: SignedDuration, samples: Vec<(Subject, f64)>) {
        let mut known = BTreeSet::new();
        for (about, value) in samples {
            // Two containers of a Pod may share a card.
            if known.insert(about.clone()) {
                self.0.entry(about).or_default().push((now, value));
            }
        }
        // One sample from before the longest window is needed to know that it is covered.
        let oldest = later(now, -longest - GAP);
        self.0.retain(|_, all| {
            all.retain(|(time, _)| *time >= oldest);
            !all.is_empty()
        });
    }

    fn highest(&self, now: Timestamp, window: SignedDuration) -> Readings {
        let start = later(now, -window);
        let mut readings = Readings::new();
        for ((namespace, pod, _), all) in &self.0 {
            let highest = all.iter().filter(|(time, _)| *time >= start).map(|(_, value)| *value);
            let highest = highest.fold(0.0, f64::max);
            let known = is_covered(all, start, now).then_some(highest);
            readings.entry((namespace.clone(), pod.clone())).or_default().push(known);
        }
        readings
    }
}

/// Whether no time between the two is further than a gap from the look before it.
fn is_covered(all: &[(Timestamp, f64)], start: Timestamp, now: Timestamp) -> bool {
    let mut last = start;
    for (time, _) in all.iter().filter(|(time, _)| *time >= later(start, -GAP)) {
        if time.duration_since(last) > GAP {
            return false;
        }
        last = last.max(*time);
    }
    // The first look must not be later than the start, or what was before it is not known.
    all.first().is_some_and(|(time, _)| *time <= start) && now.duration_since(last) <= GAP
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: i64) -> Timestamp {
        later(Timestamp::constant(1_767_225_600, 0), SignedDuration::from_mins(minute))
    }

    fn seen(minutes: &[(i64, f64)]) -> History {
        let mut history = History::default();
        for (minute, value) in minutes {
            let about = ("lab".to_owned(), "a".to_owned(), "GPU-1".to_owned());
            history.add(at(*minute), SignedDuration::from_mins(10), vec![(about, *value)]);
        }
        history
    }

    fn use_of(history: &History, minute: i64) -> Option<f64> {
        let window = SignedDuration::from_mins(10);
        history.highest(at(minute), window).into_values().flatten().next().flatten()
    }

    #[test]
    fn a_window_is_known_when_it_was_seen_whole() {
        let even: Vec<(i64, f64)> = (0..=12).step_by(2).map(|minute| (minute, 0.0)).collect();
        assert_eq!(use_of(&seen(&even[..5]), 8), None, "it was seen for eight minutes only");
        assert_eq!(use_of(&seen(&even), 12), Some(0.0));
        assert_eq!(use_of(&seen(&even), 16), None, "the last look is too long ago");
        let mut busy = even.clone();
        busy[4].1 = 40.0;
        assert_eq!(use_of(&seen(&busy), 12), Some(40.0));
        let gap: Vec<(i64, f64)> =
            even.iter().filter(|(minute, _)| !(4..8).contains(minute)).copied().collect();
        assert_eq!(use_of(&seen(&gap), 12), None);
    }

    #[test]
    fn what_is_old_is_forgotten() {
        let mut history = seen(&[(0, 1.0), (20, 2.0)]);
        assert_eq!(history.0.values().map(Vec::len).sum::<usize>(), 1);
        history.add(at(60), SignedDuration::from_mins(10), Vec::new());
        assert!(history.0.is_empty());
    }
}
