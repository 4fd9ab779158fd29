//! Where readings come from.

use std::collections::BTreeMap;

use futures::{StreamExt as _, stream};
use jiff::Timestamp;
use kube::Client;
use maar_jobs::{Prometheus, UseError, node_metrics, samples};

use super::{
    History, Maker, Reading, STEP, STEPS,
    history::MINUTES,
    reading::{MetricNames, OfNode},
};

/// Nodes asked at a time.
const PARALLEL: usize = 16;
/// A reading that is older than this says nothing of now, in seconds.
const FRESH: i64 = 180;

/// Where the use of cards is known from.
#[derive(Debug, Clone, Default)]
pub enum CardSource {
    /// It is not known.
    #[default]
    Nothing,
    /// The nodes' own metrics, through the API server.
    Nodes,
    /// Prometheus, which scrapes the makers' exporters.
    Prometheus(Prometheus),
}

/// Readings by node.
pub(super) type Readings = BTreeMap<String, OfNode>;

impl CardSource {
    /// What it says now of the cards of `nodes`.
    pub(super) async fn read(
        &self,
        client: &Client,
        names: &MetricNames,
        nodes: Vec<String>,
        now: Timestamp,
    ) -> Result<Readings, UseError> {
        match self {
            Self::Nothing => Ok(Readings::new()),
            Self::Nodes => Ok(from_nodes(client, names, nodes).await),
            Self::Prometheus(prometheus) => {
                let cards = format!("{{__name__=~\"{}\"}}", names.all().join("|"));
                // Values that stopped coming would stay for five minutes otherwise.
                let question =
                    format!("max by (__name__, {}) (last_over_time({cards}[{FRESH}s]))", labels(names));
                let mut readings = Readings::new();
                for series in prometheus.query(&question, now.as_second()).await? {
                    let Some(metric) = series.labels.get("__name__") else { continue };
                    let Some(node) = names.node_of(&series.labels) else { continue };
                    let of_node = readings.entry(node.to_owned()).or_default();
                    names.take(of_node, metric, &series.labels, series.value);
                }
                Ok(readings)
            }
        }
    }

    /// What the source knows of the past; only Prometheus does.
    pub(super) async fn past(&self, names: &MetricNames, now: Timestamp) -> Result<Past, UseError> {
        let Self::Prometheus(prometheus) = self else { return Ok(Past::default()) };
        let (now, mut past) = (now.as_second(), Past::default());
        let day = (now - STEP * i64::try_from(STEPS).unwrap_or_default(), now);
        let hour = (now - 60 * i64::try_from(MINUTES).unwrap_or_default(), now);
        for maker in [Maker::Nvidia, Maker::Ascend] {
            let metrics = names.of(maker);
            let about = format!("max by ({})", labels(names));
            // Asked at the ends of steps, for the mean of the step that ends there.
            let steps = format!("{about} (avg_over_time({}[{STEP}s]))", metrics.utilisation);
            let ends = (day.0.div_euclid(STEP) * STEP, day.1.div_euclid(STEP) * STEP);
            past.steps
                .extend(prometheus.range(&steps, ends, STEP).await?.into_iter().map(|one| (maker, one)));
            let minutes = format!("{about} ({})", metrics.utilisation);
            past.uses.extend(prometheus.range(&minutes, hour, 60).await?.into_iter().map(|one| (maker, one)));
            let memory = format!("{about} ({})", metrics.memory_used);
            past.memory
                .extend(prometheus.range(&memory, hour, 60).await?.into_iter().map(|one| (maker, one)));
        }
        Ok(past)
    }
}

/// Series of the past.
#[derive(Debug, Default)]
pub(super) struct Past {
    steps: Vec<(Maker, maar_jobs::Points)>,
    uses: Vec<(Maker, maar_jobs::Points)>,
    memory: Vec<(Maker, maar_jobs::Points)>,
}

impl Past {
    pub(super) fn fill(self, names: &MetricNames, history: &mut History) {
        let about = |maker, labels: &BTreeMap<String, String>| {
            Some((names.node_of(labels)?.to_owned(), names.card_of(maker, labels)?))
        };
        for (maker, series) in self.steps {
            let Some((node, card)) = about(maker, &series.labels) else { continue };
            for (time, value) in series.points.into_iter().filter(|(_, value)| value.is_finite()) {
                history.add_step(&node, card, time - 1, value);
            }
        }
        let uses = self.uses.into_iter().map(|one| (one, true));
        for ((maker, series), is_use) in uses.chain(self.memory.into_iter().map(|one| (one, false))) {
            let Some((node, card)) = about(maker, &series.labels) else { continue };
            for (time, value) in series.points.into_iter().filter(|(_, value)| value.is_finite()) {
                let reading = if is_use {
                    Reading { utilisation: Some(value), ..Reading::default() }
                } else {
                    Reading { memory_used: Some(value), ..Reading::default() }
                };
                history.add_minute(&node, card, time, &reading);
            }
        }
    }
}

/// All labels that say which card of which node it is: what a maker does not have is left out by Prometheus.
fn labels(names: &MetricNames) -> String {
    let mut all: Vec<&str> = names.node.iter().map(String::as_str).collect();
    all.extend([names.nvidia.index.as_str(), names.ascend.index.as_str()]);
    all.dedup();
    all.join(", ")
}

async fn from_nodes(client: &Client, names: &MetricNames, nodes: Vec<String>) -> Readings {
    let read = |node: String| async move {
        let text = node_metrics(client, &node).await?;
        let mut readings = OfNode::new();
        for (metric, labels, value) in samples(&text, |metric| names.knows(metric)) {
            names.take(&mut readings, metric, &labels, value);
        }
        Some((node, readings))
    };
    stream::iter(nodes).map(read).buffer_unordered(PARALLEL).filter_map(std::future::ready).collect().await
}
