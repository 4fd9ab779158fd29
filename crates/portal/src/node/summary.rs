//! The cluster in a few numbers. Pure.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use maar_api::v1alpha1::{AIJob, CleanupStatus, JobPhase, Workspace, WorkspacePhase};
use schemars::JsonSchema;
use serde::Serialize;

use super::view::{CardView, CardsView, NodeView};

/// Nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct NodeCounts {
    ready: usize,
    total: usize,
}

/// Cards of one kind and model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct CardCounts {
    /// The resource that counts them.
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    total: usize,
    /// Somebody is on it.
    used: usize,
    /// Of these, how many are given out in parts.
    shared: usize,
    /// Nobody is on it, and its node takes work.
    free: usize,
}

/// Jobs and workspaces.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct WorkCounts {
    running: usize,
    pending: usize,
    suspended: usize,
}

/// What is the same for everybody.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Summary {
    nodes: NodeCounts,
    cards: Vec<CardCounts>,
    work: WorkCounts,
}

/// What is the asker's own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Mine {
    pub(super) workspaces: usize,
    pub(super) jobs: usize,
    pub(super) cards: usize,
}

/// Something the asker should know.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Message {
    /// What it is about: `cleanup`.
    kind: &'static str,
    /// `workspace` or `job`.
    object: &'static str,
    namespace: String,
    name: String,
    /// Which rule of clean-up.
    rule: String,
    /// The account whose policy it is.
    account: String,
    /// When it is ended, unless the reason is gone by then.
    #[schemars(with = "String")]
    at: Timestamp,
}

/// The first page.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FirstPage {
    #[serde(flatten)]
    pub(super) cluster: Summary,
    pub(super) mine: Mine,
    pub(super) messages: Vec<Message>,
}

impl Message {
    /// The warning of a clean-up policy.
    pub(super) fn cleanup(object: &'static str, namespace: &str, name: String, told: &CleanupStatus) -> Self {
        Self {
            kind: "cleanup",
            object,
            namespace: namespace.to_owned(),
            name,
            rule: told.rule.to_string(),
            account: told.account.clone(),
            at: told.end_time.0,
        }
    }
}

impl Summary {
    pub(super) fn of<'a>(
        nodes: impl Iterator<Item = &'a NodeView>,
        jobs: &[Arc<AIJob>],
        workspaces: &[Arc<Workspace>],
    ) -> Self {
        let mut made = Self::default();
        let mut cards: BTreeMap<(String, Option<String>), CardCounts> = BTreeMap::new();
        for node in nodes {
            made.nodes.total += 1;
            made.nodes.ready += usize::from(node.ready);
            for kind in &node.cards {
                let key = (kind.resource.clone(), node.model.clone());
                let counts = cards.entry(key).or_insert_with(|| CardCounts {
                    kind: kind.resource.clone(),
                    model: node.model.clone(),
                    ..CardCounts::default()
                });
                count(counts, node, kind);
            }
        }
        made.cards = cards.into_values().collect();
        for job in jobs {
            match job.status.as_ref().map(|status| status.phase).unwrap_or_default() {
                JobPhase::Running | JobPhase::Restarting => made.work.running += 1,
                JobPhase::Prequeue | JobPhase::Pending | JobPhase::Preempted => made.work.pending += 1,
                JobPhase::Suspended | JobPhase::Suspending => made.work.suspended += 1,
                _ => {}
            }
        }
        for desk in workspaces {
            match desk.status.as_ref().map(|status| status.phase).unwrap_or_default() {
                WorkspacePhase::Running => made.work.running += 1,
                WorkspacePhase::Pending | WorkspacePhase::Starting => made.work.pending += 1,
                WorkspacePhase::Suspended | WorkspacePhase::Stopping => made.work.suspended += 1,
                WorkspacePhase::Failed => {}
            }
        }
        made
    }
}

fn count(counts: &mut CardCounts, node: &NodeView, kind: &CardsView) {
    let (cards, used) = (&kind.cards, kind.held());
    let shared = |card: &&CardView| card.holders.iter().any(|holder| holder.share.is_some());
    counts.total += cards.len();
    counts.used += used;
    counts.shared += cards.iter().filter(shared).count();
    if node.ready && node.schedulable {
        counts.free += cards.len() - used;
    }
}
