//! Events as `kubectl describe` shows them: what a controller did, and why it could not.
//!
//! Whoever records does not wait until it is written: that may take as long as the slowest webhook, and concerns
//! nobody but who reads it. A task of its own ([`Recorder::writer`]) writes; what it cannot keep up with is lost.

mod correlation;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use correlation::{Correlation, Decision, Occurrence};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use parking_lot::Mutex;
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio_util::sync::CancellationToken;

use super::runner::survive;
use crate::local::{Kind, Local};
use crate::server::Server;
use crate::status::ApiError;

/// The most that may wait to be written.
const MOST_WAITING: usize = 1000;

/// Records what one component does.
#[derive(Clone, Debug)]
pub(crate) struct Recorder(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    local: Local,
    component: String,
    correlation: Mutex<Correlation>,
    /// To the task that writes, if there is one.
    outbox: OnceLock<mpsc::Sender<Note>>,
    lost: AtomicU64,
}

/// Something to be written.
#[derive(Debug)]
struct Note {
    about: ObjectReference,
    kind: &'static str,
    reason: &'static str,
    message: String,
    at: Timestamp,
}

/// The reference of a typed object.
pub(crate) fn reference<K: Kind>(object: &K) -> ObjectReference {
    let metadata = object.meta();
    ObjectReference {
        api_version: Some(K::api_version(&()).into_owned()),
        kind: Some(K::kind(&()).into_owned()),
        namespace: metadata.namespace.clone(),
        name: metadata.name.clone(),
        uid: metadata.uid.clone(),
        resource_version: metadata.resource_version.clone(),
        ..ObjectReference::default()
    }
}

/// The reference of a Pod known by name.
pub(crate) fn pod_reference(namespace: &str, name: &str, uid: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".into()),
        kind: Some("Pod".into()),
        namespace: Some(namespace.to_owned()),
        name: Some(name.to_owned()),
        uid: Some(uid.to_owned()),
        ..ObjectReference::default()
    }
}

impl Recorder {
    pub(crate) fn new(server: &Arc<Server>, component: &str) -> Self {
        Self(Arc::new(Inner {
            local: Local::new(Arc::clone(server), component),
            component: component.to_owned(),
            correlation: Mutex::default(),
            outbox: OnceLock::new(),
            lost: AtomicU64::new(0),
        }))
    }

    /// The task that writes, until `stop`. Without it everybody writes what they record.
    pub(crate) fn writer(&self, stop: CancellationToken) -> impl Future<Output = ()> + use<> {
        let (outbox, mut notes) = mpsc::channel::<Note>(MOST_WAITING);
        let inner = Arc::clone(&self.0);
        // A second writer has nothing to write: its sender is dropped here.
        let _ = inner.outbox.set(outbox);
        async move {
            let write = async {
                while let Some(note) = notes.recv().await {
                    if let Err(panic) = survive(inner.write(note)).await {
                        tracing::error!(component = inner.component, panic, "recording an event panicked");
                    }
                }
            };
            stop.run_until_cancelled(write).await;
        }
    }

    /// Something went as it should.
    pub(crate) async fn normal(&self, about: &ObjectReference, reason: &'static str, message: String) {
        self.record(about, "Normal", reason, message).await;
    }

    /// Something did not.
    pub(crate) async fn warning(&self, about: &ObjectReference, reason: &'static str, message: String) {
        self.record(about, "Warning", reason, message).await;
    }

    async fn record(
        &self,
        about: &ObjectReference,
        kind: &'static str,
        reason: &'static str,
        mut message: String,
    ) {
        truncate(&mut message, 1024);
        let inner = &self.0;
        let note =
            Note { about: about.clone(), kind, reason, message, at: inner.local.server().world.clock.now() };
        let Some(outbox) = inner.outbox.get() else { return inner.write(note).await };
        let Err(TrySendError::Full(note)) = outbox.try_send(note) else { return };
        // The writer may just not have had its turn.
        tokio::task::yield_now().await;
        if outbox.try_send(note).is_err() {
            let lost = inner.lost.fetch_add(1, Ordering::Relaxed) + 1;
            if lost.is_power_of_two() {
                tracing::warn!(
                    component = inner.component,
                    events.lost = lost,
                    "events come faster than they are written"
                );
            }
        }
    }
}

impl Inner {
    /// Events are worth a try and never worth a failure.
    async fn write(&self, note: Note) {
        let Note { about, kind, reason, message, at } = note;
        let identity = about.uid.clone().unwrap_or_else(|| about.name.clone().unwrap_or_default());
        let mut occurrence = Occurrence { about: identity, kind, reason, message };
        let decision = self.correlation.lock().observe(&mut occurrence, at);
        let result = match decision {
            Decision::Drop => return,
            Decision::Create { message } => self.create(&about, &occurrence, message, at).await,
            Decision::Count { name, message, count } => {
                match self.count(&about, &name, &message, count, at).await {
                    Err(error) if error.is_not_found() => {
                        self.correlation.lock().forget(&occurrence);
                        self.create(&about, &occurrence, message, at).await
                    }
                    result => result,
                }
            }
        };
        if let Err(error) = result {
            tracing::debug!(%error, reason, "an event could not be recorded");
        }
    }

    async fn create(
        &self,
        about: &ObjectReference,
        occurrence: &Occurrence,
        message: String,
        now: Timestamp,
    ) -> Result<(), ApiError> {
        let subject = about.name.clone().unwrap_or_default();
        let name = format!("{subject}.{:016x}", self.local.server().world.below(u64::MAX));
        let event = Event {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                namespace: Some(namespace(about)),
                ..ObjectMeta::default()
            },
            involved_object: about.clone(),
            reason: Some(occurrence.reason.to_owned()),
            message: Some(message),
            type_: Some(occurrence.kind.to_owned()),
            count: Some(1),
            first_timestamp: Some(Time(now)),
            last_timestamp: Some(Time(now)),
            source: Some(EventSource { component: Some(self.component.clone()), host: None }),
            reporting_component: Some(self.component.clone()),
            reporting_instance: Some(String::new()),
            ..Event::default()
        };
        self.local.create(&event).await?;
        self.correlation.lock().created(occurrence, &name);
        Ok(())
    }

    async fn count(
        &self,
        about: &ObjectReference,
        name: &str,
        message: &str,
        count: i32,
        now: Timestamp,
    ) -> Result<(), ApiError> {
        let change = |event: &mut Event| {
            event.count = Some(count);
            event.message = Some(message.to_owned());
            event.last_timestamp = Some(Time(now));
        };
        self.local.modify(&namespace(about), name, change).await.map(|_| ())
    }
}

/// Events about cluster-scoped objects are kept in `default`.
fn namespace(about: &ObjectReference) -> String {
    about.namespace.clone().filter(|namespace| !namespace.is_empty()).unwrap_or_else(|| "default".into())
}

fn truncate(text: &mut String, most: usize) {
    if text.len() > most {
        let mut end = most - 3;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str("...");
    }
}
