//! News of changes, for all who listen.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
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
    /// A volume of a namespace, by its name.
    Volume(String, String),
    /// An application of a namespace, by its name.
    App(String, String),
    /// What is used of the quota of a namespace.
    Quota(String),
    /// An account, or what it uses.
    Account(String),
}

/// One change.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) topic: Topic,
    /// It is no longer there.
    pub(crate) gone: bool,
    /// What is sent of it, the same to all who may see it: written by the first who has a listener for it.
    text: OnceLock<Bytes>,
}

impl Change {
    /// What is sent of it.
    pub(crate) fn text(&self, write: impl FnOnce() -> Bytes) -> Bytes {
        self.text.get_or_init(write).clone()
    }
}

/// Where changes are told. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Changes(broadcast::Sender<Arc<Change>>);

impl Default for Changes {
    fn default() -> Self {
        Self(broadcast::channel(BEHIND).0)
    }
}

impl Changes {
    pub(crate) fn tell(&self, topic: Topic, gone: bool) {
        // Nobody listening is fine.
        let _ = self.0.send(Arc::new(Change { topic, gone, text: OnceLock::new() }));
    }

    pub(crate) fn listen(&self) -> broadcast::Receiver<Arc<Change>> {
        self.0.subscribe()
    }
}
