//! A recording of a live cluster: what `kubectl get … -A -o json` prints.
//!
//! Objects are read as the scheduler's watches read them, so everything counts that counts in a live cluster: accounts,
//! jobs, PodGroups, affinity, spread, volumes, disruption budgets. Pods that run keep their nodes and cards and stay,
//! unless a longest run time says when they end; Pods that wait are to be placed. Time begins with the recording.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use thiserror::Error;

use super::trace::{Recorded, Trace, TracePod};
use crate::{
    adapter::{ReplayError, Settings, replay},
    core::Core,
    model::{Group, Millis, Node, Pod, PodPhase, Window},
};

/// What has to be recorded.
const COMMAND: &str = "kubectl get nodes,pods,poddisruptionbudgets,accounts,aijobs -A -o json";

/// Why a recording cannot be read.
#[derive(Debug, Error)]
pub enum RecordingError {
    /// It is not a list of objects.
    #[error("{file}:{line}:{column}: {why}; a recording is what `{COMMAND}` prints")]
    Json {
        /// The file.
        file: String,
        /// Where in it, from 1.
        line: usize,
        /// Where in the line, from 1.
        column: usize,
        /// What is wrong.
        why: String,
    },
    /// It has no nodes.
    #[error("{file} has no nodes; record with `{COMMAND}`")]
    NoNodes {
        /// The file.
        file: String,
    },
    /// A Pod asks for what cannot be understood.
    #[error("{file}: Pod {pod}: {why}")]
    Pod {
        /// The file.
        file: String,
        /// The Pod.
        pod: String,
        /// What is wrong.
        why: String,
    },
}

#[derive(Deserialize)]
struct Listing<'a> {
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

/// Reads a recording.
pub fn read(file: &str, text: &str) -> Result<Trace, RecordingError> {
    let listing: Listing<'_> = serde_json::from_str(text).map_err(|error| malformed(file, (1, 1), &error))?;
    let objects: Vec<&str> = listing.items.iter().map(|item| item.get()).collect();
    let core = replay(&Settings::default(), &objects).map_err(|error| match error {
        ReplayError::Object { number, source } => malformed(file, position(text, objects[number]), &source),
        ReplayError::Pod { pod, why } => RecordingError::Pod { file: file.to_owned(), pod, why },
    })?;
    let trace = trace(&core);
    if trace.nodes.is_empty() {
        return Err(RecordingError::NoNodes { file: file.to_owned() });
    }
    Ok(trace)
}

/// An error of something that begins at a line and column of the file.
fn malformed(file: &str, begins: (usize, usize), error: &serde_json::Error) -> RecordingError {
    let column = if error.line() <= 1 { begins.1 - 1 + error.column() } else { error.column() };
    let line = begins.0 + error.line().saturating_sub(1);
    // The place it names itself is counted from the object on.
    let text = error.to_string();
    let why = text.split(" at line ").next().unwrap_or(&text).to_owned();
    RecordingError::Json { file: file.to_owned(), line, column, why }
}

/// The line and column, from 1, at which a part of a text begins.
fn position(text: &str, part: &str) -> (usize, usize) {
    let offset = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    let before = text.get(..offset).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before.len() - line_start + 1)
}

fn trace(core: &Core) -> Trace {
    let ledger = core.ledger();
    let now = ledger.pods().map(|(_, state)| newest(&state.pod)).max().unwrap_or(0);
    let nodes = ledger.nodes().filter(|state| state.present).map(|state| shifted(&state.node, now));
    let pods = ledger.pods().filter_map(|(_, state)| {
        let group = ledger.group(state.pod.group).map(|group| group.group.clone()).unwrap_or_default();
        traced(core, &state.pod, group, now)
    });
    Trace {
        resources: ledger.resources().clone(),
        kinds: ledger.kinds().to_vec(),
        nodes: nodes.collect(),
        pods: pods.collect(),
        accounts: core.tree().accounts().cloned().collect(),
        budgets: core.budgets().to_vec(),
        volumes: ledger.volumes().cloned().collect(),
    }
}

/// The latest that a Pod knows of.
fn newest(pod: &Pod) -> Millis {
    match pod.phase {
        PodPhase::Placed { since, .. } => since.max(pod.created),
        _ => pod.created,
    }
}

/// A node with its times counted from the recording on.
fn shifted(node: &Node, now: Millis) -> Node {
    let lent = node.lent.map(|window| Window { closes: window.closes.map(|closes| closes - now) });
    Node { lent, ..node.clone() }
}

/// A Pod of the recording; none if it has ended or waits for what no scheduler can give.
fn traced(core: &Core, pod: &Pod, group: Group, now: Millis) -> Option<TracePod> {
    let deadline = group.deadline.map(|deadline| deadline - now);
    let group = Group { created: group.created - now, deadline, ..group };
    let (node, ran) = match &pod.phase {
        PodPhase::Pending => (None, 0),
        PodPhase::Placed { node, since, .. } => {
            let name = core.ledger().node(*node).map(|state| state.node.name.as_str());
            (Some(name.unwrap_or_default().into()), now - since)
        }
        PodPhase::Gated | PodPhase::Ended | PodPhase::Failed => return None,
    };
    let rest = group.max_run.map(|longest| (longest - ran).max(0));
    // Who is being deleted is gone soon.
    let runs = if pod.terminating { Some(rest.unwrap_or(LEAVES_IN).min(LEAVES_IN)) } else { rest };
    let job = pod.labels.get(maar_api::names::LABEL_JOB).filter(|_| group.name.contains("/pod:"));
    Some(TracePod {
        name: format!("{}/{}", pod.namespace, pod.name).into(),
        shape: Arc::clone(&pod.shape),
        account: group.account.as_str().into(),
        user: group.user.as_str().into(),
        level: group.level,
        priority: group.priority,
        job: job.map(|job| format!("{}/{job}", pod.namespace).into()),
        arrives: 0,
        node,
        runs,
        recorded: Some(Arc::new(Recorded { pod: pod.clone(), group })),
    })
}

/// How long a Pod that is being deleted stays, if nothing better is known.
const LEAVES_IN: Millis = 30_000;

#[cfg(test)]
mod tests;
