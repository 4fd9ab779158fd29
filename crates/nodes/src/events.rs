//! What kubelets tell people: Events in the core group, worded as the real kubelet words them.
//!
//! Telling never blocks and never fails: a [`Recorder`] puts a [`Note`] into a bounded queue, one task for all nodes of
//! a set (`writer`) merges repetitions, holds back floods (`ledger`; pure) and writes the rest. Each Pod that starts
//! costs three Events, so a large set writes warnings only unless its profile says otherwise, see [`EventPolicy`].

mod ledger;
mod wording;
mod writer;

use std::{borrow::Cow, sync::Arc};

use jiff::Timestamp;
use serde::Deserialize;
use tokio::sync::mpsc;

use crate::{lifecycle::Happening, pod::Pod};

pub(crate) use writer::EventWriter;

/// Notes waiting to be looked at; more are dropped.
const QUEUE: usize = 4096;
/// The API's limit for messages.
const LONGEST_MESSAGE: usize = 1024;
/// Sets with more nodes than this write warnings only, unless told otherwise.
const SMALL_SET: u32 = 100;

/// Which Events the kubelets of a set write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventPolicy {
    /// Everything a real kubelet tells.
    All,
    /// Only what somebody should look at: back-offs, refusals, failed probes, evictions.
    Warnings,
    /// Nothing.
    None,
}

impl EventPolicy {
    /// What suits a set of that many nodes.
    pub(crate) fn usual(nodes: u32) -> Self {
        if nodes <= SMALL_SET { Self::All } else { Self::Warnings }
    }
}

/// Whether news are good or bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Severity {
    Normal,
    Warning,
}

impl Severity {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// A reason and a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct News {
    pub(crate) severity: Severity,
    pub(crate) reason: Cow<'static, str>,
    pub(crate) message: String,
}

impl News {
    pub(crate) fn normal(reason: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Normal, reason: reason.into(), message: message.into() }
    }

    pub(crate) fn warning(reason: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, reason: reason.into(), message: message.into() }
    }
}

/// What news are about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Subject {
    pub(crate) kind: &'static str,
    /// Empty for nodes.
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Box<str>,
    pub(crate) uid: Arc<str>,
    /// Such as `spec.containers{main}`; empty for the whole object.
    pub(crate) field: String,
}

/// News on their way to the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) node: Arc<str>,
    pub(crate) subject: Subject,
    pub(crate) news: News,
    pub(crate) at: Timestamp,
}

/// Takes news from everywhere. Clones write to one queue.
#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    policy: EventPolicy,
    sender: mpsc::Sender<Note>,
}

impl Recorder {
    /// A recorder, and the queue that a writer must empty.
    pub(crate) fn new(policy: EventPolicy) -> (Self, mpsc::Receiver<Note>) {
        let (sender, receiver) = mpsc::channel(QUEUE);
        (Self { policy, sender }, receiver)
    }

    fn wants(&self, severity: Severity) -> bool {
        match self.policy {
            EventPolicy::All => true,
            EventPolicy::Warnings => severity == Severity::Warning,
            EventPolicy::None => false,
        }
    }

    /// Tells what happened to a Pod; `scheme` says which kind of node it is on.
    pub(crate) fn tell_pod(&self, pod: &Pod, happening: &Happening, scheme: &str, now: Timestamp) {
        if !self.wants(wording::severity(happening)) {
            return;
        }
        for news in wording::news(pod, happening, scheme) {
            let subject = wording::subject(pod, happening.container);
            self.send(Note { node: pod.node.clone(), subject, news, at: now });
        }
    }

    /// Tells what happened to a node.
    pub(crate) fn tell_node(&self, node: &str, news: &News, now: Timestamp) {
        if !self.wants(news.severity) {
            return;
        }
        let name: Arc<str> = node.into();
        // Kubelets name their node by its name where others use the uid.
        let subject = Subject {
            kind: "Node",
            namespace: "".into(),
            name: node.into(),
            uid: name.clone(),
            field: String::new(),
        };
        self.send(Note { node: name, subject, news: news.clone(), at: now });
    }

    /// A full queue or an ended writer loses the note; nobody's life depends on it.
    fn send(&self, mut note: Note) {
        note.news.message.truncate(note.news.message.floor_char_boundary(LONGEST_MESSAGE));
        if self.sender.try_send(note).is_err() {
            tracing::debug!("an event was lost: the queue is full or the node has stopped");
        }
    }
}
