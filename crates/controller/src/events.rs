//! Kubernetes events: what happened to an object, for people.
//!
//! Events are cheap to record and expensive to store, so the recorder never blocks, merges repetitions into one Event
//! with a series, limits each object's rate, and forgets what it has no room for; what is lost is counted.
//! `aggregate` decides what to write; this file writes it, in `events.k8s.io/v1`.

mod aggregate;
mod bucket;

use std::{fmt, time::Duration};

use jiff::Timestamp;
use k8s_openapi::{
    api::{
        core::v1::ObjectReference,
        events::v1::{Event, EventSeries},
    },
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::{
    Api, Client, Resource,
    api::{ObjectMeta, Patch, PatchParams, PostParams},
};
use maar_api::names::MANAGED_BY;
use serde_json::json;
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use self::aggregate::{Aggregator, Effect, Occurrence};
use crate::{
    backoff::Backoff,
    environment::Environment,
    error::{Categorized, Category, Error, chain},
    metrics::EventLabel,
};

pub use self::aggregate::Limits;

/// Events waiting to be looked at; more are dropped.
const QUEUE: usize = 1024;
/// How often repetitions are written down.
const FLUSH: Duration = Duration::from_secs(10);
/// How often a write is tried.
const ATTEMPTS: u32 = 3;
/// How long one attempt may take.
const ATTEMPT: Duration = Duration::from_secs(5);
/// The API allows notes of 1024 bytes.
const LONGEST_NOTE: usize = 1024;

/// Whether an event is good or bad news.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Expected.
    Normal,
    /// Somebody should look.
    Warning,
}

impl Severity {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct News {
    /// Good or bad.
    pub severity: Severity,
    /// Why, in one `PascalCase` word: a constant.
    pub reason: &'static str,
    /// What was done or tried, in one `PascalCase` word: a constant.
    pub action: &'static str,
    /// A sentence for people; cut at 1024 bytes. The same sentence merges into one Event.
    pub note: String,
}

/// Records events. Clones write to the same queue.
#[derive(Debug, Clone)]
pub struct Recorder {
    sender: mpsc::Sender<(ObjectReference, News)>,
    environment: Environment,
}

/// Writes what recorders recorded.
pub struct EventWriter {
    client: Client,
    /// What writes, such as `maar.io/scheduler`.
    controller: String,
    /// Which process of it.
    instance: String,
    receiver: mpsc::Receiver<(ObjectReference, News)>,
    aggregator: Aggregator,
    environment: Environment,
}

impl fmt::Debug for EventWriter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("EventWriter").field("controller", &self.controller).finish_non_exhaustive()
    }
}

impl Recorder {
    /// A recorder and its writer, which must be run.
    pub fn new(
        client: Client,
        controller: &str,
        instance: &str,
        limits: Limits,
        environment: Environment,
    ) -> (Self, EventWriter) {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let writer = EventWriter {
            client,
            controller: cut(controller, 128),
            instance: cut(instance, 128),
            receiver,
            aggregator: Aggregator::new(limits),
            environment: environment.clone(),
        };
        (Self { sender, environment }, writer)
    }

    /// Records that `news` happened to `object`.
    pub fn record<K: Resource<DynamicType = ()>>(&self, object: &K, news: News) {
        self.record_about(object.object_ref(&()), news);
    }

    /// Records that `news` happened to the object referred to.
    pub fn record_about(&self, about: ObjectReference, mut news: News) {
        news.note = cut(&news.note, LONGEST_NOTE);
        if self.sender.try_send((about, news)).is_err() {
            count(&self.environment, "overflowed");
        }
    }
}

impl EventWriter {
    /// Writes until `shutdown`, then once more what is still waiting.
    pub async fn run(mut self, shutdown: CancellationToken) {
        let mut flush = interval(FLUSH);
        flush.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = shutdown.cancelled() => break,
                Some((about, news)) = self.receiver.recv() => self.take(about, news).await,
                _ = flush.tick() => self.flush().await,
            }
        }
        while let Ok((about, news)) = self.receiver.try_recv() {
            self.take(about, news).await;
        }
        self.flush().await;
    }

    async fn take(&mut self, about: ObjectReference, news: News) {
        let occurrence = Occurrence { about: about.into(), news };
        let name = format!("{}.{:016x}", cut(&occurrence.about.name, 200), self.environment.dice.number());
        let now = self.environment.clock.now();
        match self.aggregator.record(Instant::now(), now, occurrence, name) {
            Effect::Create { name, occurrence } => self.create(&name, &occurrence, now).await,
            Effect::Merged => count(&self.environment, "merged"),
            Effect::Limited => count(&self.environment, "limited"),
        }
    }

    async fn create(&self, name: &str, occurrence: &Occurrence, now: Timestamp) {
        let event = self.event(name, occurrence, now);
        let api: Api<Event> = Api::namespaced(self.client.clone(), occurrence.about.event_namespace());
        let params = PostParams { field_manager: Some(MANAGED_BY.to_owned()), ..PostParams::default() };
        let result = self.persist(|| api.create(&params, &event)).await;
        self.settle("create", name, result);
    }

    async fn flush(&mut self) {
        for series in self.aggregator.flush(Instant::now()) {
            let api: Api<Event> = Api::namespaced(self.client.clone(), &series.namespace);
            let last = MicroTime(series.last);
            let body = json!({ "series": EventSeries { count: series.count, last_observed_time: last } });
            let params = PatchParams { field_manager: Some(MANAGED_BY.to_owned()), ..PatchParams::default() };
            let patch = Patch::Merge(&body);
            let result = self.persist(|| api.patch(&series.name, &params, &patch)).await;
            if matches!(&result, Err(Some(error)) if error.category() == Category::Missing) {
                // Events expire; the next occurrence begins a new one.
                self.aggregator.forget(&series.name);
            }
            self.settle("merge", &series.name, result);
        }
    }

    /// A few attempts; an event is not worth more.
    async fn persist<F>(&self, mut call: impl FnMut() -> F) -> Result<Event, Option<kube::Error>>
    where
        F: Future<Output = kube::Result<Event>>,
    {
        let mut attempt = 1;
        loop {
            let error = match timeout(ATTEMPT, call()).await {
                Ok(Ok(event)) => return Ok(event),
                Ok(Err(error)) if error.category() != Category::Transient => return Err(Some(error)),
                Ok(Err(error)) => Some(error),
                Err(_) => None,
            };
            if attempt == ATTEMPTS {
                return Err(error);
            }
            sleep(Backoff::QUICK.delay(attempt, &self.environment.dice)).await;
            attempt += 1;
        }
    }

    fn settle(&self, verb: &str, name: &str, result: Result<Event, Option<kube::Error>>) {
        match result {
            Ok(_) if verb == "create" => count(&self.environment, "created"),
            Ok(_) => {}
            Err(error) => {
                count(&self.environment, "failed");
                let step = format!("{verb} event {name}");
                let text = error.map_or_else(
                    || format!("{step}: no answer in time"),
                    |error| chain(&Error::in_step(step.clone(), error)),
                );
                tracing::debug!("{text}");
            }
        }
    }

    fn event(&self, name: &str, occurrence: &Occurrence, now: Timestamp) -> Event {
        let Occurrence { about, news } = occurrence;
        Event {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                namespace: Some(about.event_namespace().to_owned()),
                ..ObjectMeta::default()
            },
            event_time: Some(MicroTime(now)),
            reporting_controller: Some(self.controller.clone()),
            reporting_instance: Some(self.instance.clone()),
            action: Some(news.action.to_owned()),
            reason: Some(news.reason.to_owned()),
            type_: Some(news.severity.as_str().to_owned()),
            note: Some(news.note.clone()),
            regarding: Some(about.clone().into()),
            ..Event::default()
        }
    }
}

fn count(environment: &Environment, result: &'static str) {
    environment.metrics.events.events.get_or_create(&EventLabel { result }).inc();
}

/// At most `longest` bytes, cut between characters.
fn cut(text: &str, longest: usize) -> String {
    text[..text.floor_char_boundary(longest)].to_owned()
}

#[cfg(test)]
mod tests;
