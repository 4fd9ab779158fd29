//! What containers and cards use, in the three forms people ask for.

use std::{fmt::Write, sync::Arc};

use axum::{
    Json,
    extract::{Extension, Query, State},
    response::{IntoResponse, Response},
};
use http::header::CONTENT_TYPE;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Kubelet, Scope, pods::Which};
use crate::{
    card::exporter::{self, Holder, Sample},
    console::{Console, ConsoleError, Target, Usage},
    lifecycle::{State as ContainerState, status::seconds},
    pod::Pod,
    runtime::Runtime,
    table::{CardHolder, NodeEntry},
};

/// The content type of Prometheus' text format.
const EXPOSITION: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A running container and what it uses.
struct Measured {
    target: Target,
    since: Timestamp,
    usage: Usage,
}

impl<R: Runtime, C: Console> Kubelet<R, C> {
    /// The running containers of a node, by Pod.
    fn measure(&self, node: &str, now: Timestamp) -> Vec<(Arc<Pod>, Vec<Measured>)> {
        let targets: Vec<(Arc<Pod>, Vec<Target>)> = {
            let table = self.table.lock();
            let Some(entry) = table.nodes.get(node) else { return Vec::new() };
            let entries = entry.pods().filter_map(|uid| table.pod(uid));
            entries
                .filter(|entry| !entry.life.is_finished())
                .map(|entry| {
                    let pod = Arc::new(entry.pod.clone());
                    let lives = entry.life.containers.iter().cloned().enumerate();
                    let targets =
                        lives.map(|(position, life)| Target { pod: pod.clone(), position, life }).collect();
                    (pod, targets)
                })
                .collect()
        };
        let measure = |target: Target| match target.life.state {
            ContainerState::Running { since, .. } => {
                let usage = self.console.usage(&target, now);
                Some(Measured { target, since, usage })
            }
            _ => None,
        };
        targets.into_iter().map(|(pod, list)| (pod, list.into_iter().filter_map(measure).collect())).collect()
    }
}

fn total<'a>(measured: impl IntoIterator<Item = &'a Measured>) -> Usage {
    measured.into_iter().fold(Usage::default(), |sum, one| Usage {
        cpu_seconds: sum.cpu_seconds + one.usage.cpu_seconds,
        cpu_cores: sum.cpu_cores + one.usage.cpu_cores,
        memory_bytes: sum.memory_bytes + one.usage.memory_bytes,
    })
}

/// `/stats/summary` of one node.
pub(super) async fn summary<R: Runtime, C: Console>(
    State(kubelet): State<Kubelet<R, C>>,
    Extension(scope): Extension<Scope>,
    Query(which): Query<Which>,
) -> Result<Json<Value>, ConsoleError> {
    let nodes = kubelet.nodes(&scope, &which)?;
    let [node] = nodes.as_slice() else {
        let message = format!("this kubelet serves {} nodes; say which one with ?node=", nodes.len());
        return Err(ConsoleError::BadRequest(message));
    };
    let now = kubelet.clock.now();
    let pods = kubelet.measure(node, now);
    let all = total(pods.iter().flat_map(|(_, containers)| containers));
    let pods: Vec<Value> = pods.iter().map(|(pod, containers)| pod_summary(pod, containers, now)).collect();
    let node = json!({ "nodeName": &**node, "cpu": cpu(all, now), "memory": memory(all, now) });
    Ok(Json(json!({ "node": node, "pods": pods })))
}

fn pod_summary(pod: &Pod, containers: &[Measured], now: Timestamp) -> Value {
    let sum = total(containers);
    let containers: Vec<Value> = containers
        .iter()
        .map(|one| {
            json!({
                "name": one.target.container(),
                "startTime": seconds(one.since),
                "cpu": cpu(one.usage, now),
                "memory": memory(one.usage, now),
            })
        })
        .collect();
    json!({
        "podRef": { "name": &*pod.name, "namespace": &*pod.namespace, "uid": &*pod.uid },
        "cpu": cpu(sum, now),
        "memory": memory(sum, now),
        "containers": containers,
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "usage is neither negative nor beyond 64 bits, and `as` saturates"
)]
fn whole(number: f64) -> u64 {
    number as u64
}

fn cpu(usage: Usage, now: Timestamp) -> Value {
    json!({
        "time": seconds(now),
        "usageNanoCores": whole(usage.cpu_cores * 1e9),
        "usageCoreNanoSeconds": whole(usage.cpu_seconds * 1e9),
    })
}

fn memory(usage: Usage, now: Timestamp) -> Value {
    let bytes = whole(usage.memory_bytes);
    json!({ "time": seconds(now), "usageBytes": bytes, "workingSetBytes": bytes, "rssBytes": bytes })
}

fn exposition(text: String) -> Response {
    ([(CONTENT_TYPE, EXPOSITION)], text).into_response()
}

/// `/metrics/resource`: what the metrics server reads.
pub(super) async fn resource<R: Runtime, C: Console>(
    State(kubelet): State<Kubelet<R, C>>,
    Extension(scope): Extension<Scope>,
    Query(which): Query<Which>,
) -> Result<Response, ConsoleError> {
    let now = kubelet.clock.now();
    let mut families = Families::default();
    for node in kubelet.nodes(&scope, &which)? {
        let pods = kubelet.measure(&node, now);
        let labels = match scope {
            Scope::Node(_) => String::new(),
            Scope::All => format!("{{node=\"{node}\"}}"),
        };
        families.add("node", &labels, total(pods.iter().flat_map(|(_, containers)| containers)));
        for (pod, containers) in &pods {
            let place = format!("namespace=\"{}\",pod=\"{}\"", pod.namespace, pod.name);
            families.add("pod", &format!("{{{place}}}"), total(containers));
            for one in containers {
                let labels = format!("{{container=\"{}\",{place}}}", one.target.container());
                families.add("container", &labels, one.usage);
                families.start(&labels, one.since);
            }
        }
    }
    Ok(exposition(families.render()))
}

/// Lines of one metric each, so that they stand together as the format demands.
#[derive(Default)]
struct Families {
    cpu: [String; 3],
    memory: [String; 3],
    starts: String,
}

const KINDS: [&str; 3] = ["node", "pod", "container"];

impl Families {
    fn add(&mut self, kind: &str, labels: &str, usage: Usage) {
        let Some(position) = KINDS.iter().position(|known| *known == kind) else { return };
        // Writing to a string cannot fail.
        let _ = writeln!(self.cpu[position], "{kind}_cpu_usage_seconds_total{labels} {}", usage.cpu_seconds);
        let _ =
            writeln!(self.memory[position], "{kind}_memory_working_set_bytes{labels} {}", usage.memory_bytes);
    }

    fn start(&mut self, labels: &str, since: Timestamp) {
        let _ = writeln!(self.starts, "container_start_time_seconds{labels} {}", since.as_second());
    }

    fn render(&self) -> String {
        let mut text = String::new();
        for (position, kind) in KINDS.iter().enumerate() {
            let _ = writeln!(
                text,
                "# HELP {kind}_cpu_usage_seconds_total Cumulative cpu time consumed by the {kind} in core-seconds"
            );
            let _ = writeln!(text, "# TYPE {kind}_cpu_usage_seconds_total counter");
            text.push_str(&self.cpu[position]);
            let _ = writeln!(
                text,
                "# HELP {kind}_memory_working_set_bytes Current working set of the {kind} in bytes"
            );
            let _ = writeln!(text, "# TYPE {kind}_memory_working_set_bytes gauge");
            text.push_str(&self.memory[position]);
        }
        text.push_str(
            "# HELP container_start_time_seconds Start time of the container since unix epoch in seconds\n",
        );
        text.push_str("# TYPE container_start_time_seconds gauge\n");
        text.push_str(&self.starts);
        text.push_str("# HELP resource_scrape_error 1 if there was an error while getting container metrics, 0 otherwise\n");
        text.push_str("# TYPE resource_scrape_error gauge\nresource_scrape_error 0\n");
        text
    }
}

/// `/metrics`: the cards, as their vendors' exporters show them.
pub(super) async fn metrics<R: Runtime, C: Console>(
    State(kubelet): State<Kubelet<R, C>>,
    Extension(scope): Extension<Scope>,
    Query(which): Query<Which>,
) -> Result<Response, ConsoleError> {
    let now = kubelet.clock.now();
    let nodes = kubelet.nodes(&scope, &which)?;
    let table = kubelet.table.lock();
    let entries = nodes.iter().filter_map(|name| table.nodes.get(name));
    let samples: Vec<Sample<'_>> =
        entries.flat_map(|node| samples(node, &|uid| table.pod(uid), kubelet.seed, now)).collect();
    Ok(exposition(exporter::render(&samples)))
}

fn samples<'a>(
    node: &'a NodeEntry,
    pod: &dyn Fn(&str) -> Option<&'a crate::table::PodEntry>,
    seed: u64,
    now: Timestamp,
) -> Vec<Sample<'a>> {
    let Some(board) = &node.cards else { return Vec::new() };
    let count = usize::try_from(board.kind.count).unwrap_or(0);
    (0..count)
        .map(|index| {
            // A container may hold several shares of one card; it is one series all the same.
            let mut holders: Vec<&CardHolder> = Vec::new();
            for holder in board.holders(index) {
                if !holders.contains(&holder) {
                    holders.push(holder);
                }
            }
            let mut loads = Vec::new();
            let mut names = Vec::new();
            let known = holders.into_iter().filter_map(|one| Some((pod(&one.uid)?, one.container)));
            for (entry, container) in known {
                if matches!(entry.life.containers[container].state, ContainerState::Running { .. }) {
                    loads.push(entry.pod.template.load);
                }
                names.push(Holder {
                    namespace: entry.pod.namespace.to_string(),
                    pod: entry.pod.name.to_string(),
                    container: entry.pod.template.containers[container].name.to_string(),
                });
            }
            let card = node.card(&board.kind, index, seed);
            Sample { reading: card.reading(&loads, now), card, holders: names }
        })
        .collect()
}
