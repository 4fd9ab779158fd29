//! News of changes, for all who listen.

use std::sync::Arc;

use maar_api::v1alpha1::{AIJob, Workspace};
use tokio::sync::broadcast;

/// How many changes a listener may be behind; one further behind is told to read everything again.
const BEHIND: usize = 1024;

/// What a change is about.
#[derive(Debug, Clone)]
pub(crate) enum Topic {
    Workspace(Arc<Workspace>),
    Job(Arc<AIJob>),
    /// A node, or who is on it.
    Node(String),
}

/// One change.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) topic: Topic,
    /// It is no longer there.
    pub(crate) gone: bool,
}

/// Where changes are told. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Changes(broadcast::Sender<Change>);

impl Default for Changes {
    fn default() -> Self {
        Self(broadcast::channel(BEHIND).0)
    }
}

impl Changes {
    pub(crate) fn tell(&self, topic: Topic, gone: bool) {
        // Nobody listening is fine.
        let _ = self.0.send(Change { topic, gone });
    }

    pub(crate) fn listen(&self) -> broadcast::Receiver<Change> {
        self.0.subscribe()
    }
}
