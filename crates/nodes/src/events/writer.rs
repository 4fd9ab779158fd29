//! The one task that writes the Events of a set of nodes.

use jiff::Timestamp;
use kube::{
    Client,
    api::{Patch, PatchParams, PostParams},
    core::Request,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    Note,
    ledger::{Entry, Ledger},
};
use crate::{
    lifecycle::status::seconds,
    requests::{self, RequestError},
};

/// See the module.
pub(crate) struct EventWriter {
    client: Client,
    inbox: mpsc::Receiver<Note>,
    ledger: Ledger,
}

impl EventWriter {
    pub(crate) fn new(client: Client, inbox: mpsc::Receiver<Note>, now: Timestamp) -> Self {
        Self { client, inbox, ledger: Ledger::new(now) }
    }

    /// Writes until `shutdown`. What happens while nodes stop is not told, as when a machine goes down.
    pub(crate) async fn run(mut self, shutdown: CancellationToken) {
        while let Some(Some(note)) = shutdown.run_until_cancelled(self.inbox.recv()).await {
            self.take(&note).await;
        }
    }

    async fn take(&mut self, note: &Note) {
        let outcome = match self.ledger.enter(note) {
            Entry::HeldBack => return tracing::debug!("an event is held back: there are too many"),
            Entry::Create { name } => self.create(note, &name).await,
            Entry::Count { name, count } => match self.count(note, &name, count).await {
                // Events expire.
                Err(error) if error.code() == Some(404) => {
                    self.ledger.forget(note);
                    match self.ledger.enter(note) {
                        Entry::Create { name } => self.create(note, &name).await,
                        _ => return,
                    }
                }
                other => other,
            },
        };
        // A namespace that is being deleted takes none, and nobody would read it.
        if let Err(error) = outcome {
            tracing::debug!(pod.name = &*note.subject.name, "an event could not be written: {error}");
        }
    }

    async fn create(&self, note: &Note, name: &str) -> Result<(), RequestError> {
        let body = event(note, name).to_string().into_bytes();
        requests::post(&self.client, collection(note).create(&PostParams::default(), body)).await
    }

    async fn count(&self, note: &Note, name: &str, count: u32) -> Result<(), RequestError> {
        let patch = Patch::Merge(json!({ "count": count, "lastTimestamp": seconds(note.at) }));
        requests::post(&self.client, collection(note).patch(name, &PatchParams::default(), &patch)).await
    }
}

/// Events about nodes live in the default namespace.
fn namespace(note: &Note) -> &str {
    Some(&*note.subject.namespace).filter(|namespace| !namespace.is_empty()).unwrap_or("default")
}

fn collection(note: &Note) -> Request {
    Request::new(format!("/api/v1/namespaces/{}/events", namespace(note)))
}

fn event(note: &Note, name: &str) -> Value {
    let (subject, news, time) = (&note.subject, &note.news, seconds(note.at));
    let mut about = json!({ "kind": subject.kind, "name": &*subject.name, "uid": &*subject.uid });
    if !subject.namespace.is_empty() {
        about["namespace"] = json!(&*subject.namespace);
        about["apiVersion"] = json!("v1");
    }
    if !subject.field.is_empty() {
        about["fieldPath"] = json!(subject.field);
    }
    json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": { "name": name, "namespace": namespace(note) },
        "involvedObject": about,
        "type": news.severity.as_str(),
        "reason": news.reason,
        "message": news.message,
        "source": { "component": "kubelet", "host": &*note.node },
        "reportingComponent": "kubelet",
        "reportingInstance": &*note.node,
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    })
}
