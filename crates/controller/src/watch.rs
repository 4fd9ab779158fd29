//! Lists and watches that say how they are doing.
//!
//! [`Watch::stream`] never ends and never fails: it lists, follows, reconnects with back-off and lists again when the
//! server has forgotten the version, and meanwhile reports to its health check what is really going on, bookmarks
//! included. (kube's own watcher swallows bookmarks and successful reconnects, so that a quiet watch and a dead one look
//! alike from outside.) Its events are kube's, so they feed kube's reflector stores.
//!
//! Objects are decoded one by one behind a guard, [`Guarded`]: a malformed one reaches the consumer as such, with its
//! metadata, and does not stop the rest.

mod change;
mod guarded;
mod lines;
#[cfg(test)]
mod tests;

use std::{collections::VecDeque, fmt::Debug, time::Duration};

use futures::{
    Stream, StreamExt as _,
    stream::{BoxStream, unfold},
};
use kube::{
    Api, Resource,
    api::{ListParams, WatchEvent, WatchParams},
    core::Status,
    runtime::{
        reflector::{Store, store::Writer},
        watcher::Event,
    },
};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep, timeout};

pub use self::guarded::Guarded;
use crate::{
    backoff::Backoff,
    environment::Environment,
    error::{Categorized, Error, Refusal, chain},
    health::{Check, Patience},
    metrics::{WatchFailureLabels, WatchLabel},
};

/// How long one page of a list may take.
const LIST: Duration = Duration::from_mins(1);
/// The server ends each watch after this time; up to a fifth less, by chance.
const FOLLOW: Duration = Duration::from_secs(290);
/// Servers send a bookmark about every minute; a connection without even those is made again, it may be dead.
const SILENCE: Duration = Duration::from_secs(150);
/// So often a list that is older than what was seen is asked for again; then the server has been set back on purpose.
const BACKWARDS: u32 = 8;
/// A connection that ends earlier without having carried anything counts as failed; none is made sooner after another.
const BRIEF: Duration = Duration::from_secs(1);

/// How patient readiness is with a watch.
const PATIENCE: Patience = Patience {
    failing: Duration::from_secs(10),
    silence: Duration::from_mins(3),
    hanging: Duration::from_mins(5),
};

/// What is watched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Label selector.
    pub labels: Option<String>,
    /// Field selector.
    pub fields: Option<String>,
}

/// What a watch carries: an object that says so itself if it could not be read. Usually a [`Guarded`] one; who has to
/// read very many can bring a type that reads less.
pub trait Received: Resource + Clone + Debug + DeserializeOwned + Send + 'static {
    /// The object alone, if nothing is wrong with it.
    type Plain: DeserializeOwned;

    /// What an object is behind the guard.
    fn whole(object: Self::Plain) -> Self;

    /// What is wrong with it.
    fn malformed(&self) -> Option<String>;
}

impl<K> Received for Guarded<K>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    type Plain = K;

    fn whole(object: K) -> Self {
        Self(Ok(object))
    }

    fn malformed(&self) -> Option<String> {
        self.0.as_ref().err().map(ToString::to_string)
    }
}

/// A list and watch of one kind.
pub struct Watch<K> {
    name: &'static str,
    api: Api<K>,
    selection: Selection,
    environment: Environment,
    health: Check,
    state: State<K>,
    failures: u32,
    objects: usize,
    reported: Option<Instant>,
    /// The newest version heard of; a list that is older would take back what was told.
    newest: u64,
}

/// Where a watch is.
enum State<K> {
    /// Nothing is known.
    Start,
    /// Reading pages.
    Listing { page: VecDeque<K>, next: Option<String>, version: Option<String> },
    /// Everything up to the version is known.
    Listed { version: String },
    /// Following changes since the version.
    Following {
        version: String,
        stream: BoxStream<'static, kube::Result<WatchEvent<K>>>,
        since: Instant,
        carried: bool,
    },
}

impl<K> Debug for Watch<K> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Watch").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<K> Watch<K>
where
    K: Received,
{
    /// A watch called `name` in health, logs and metrics.
    pub fn new(name: &'static str, api: Api<K>, selection: Selection, environment: Environment) -> Self {
        let health = environment.health.check(format!("watch {name}"), PATIENCE);
        let state = State::Start;
        Self {
            name,
            api,
            selection,
            environment,
            health,
            state,
            failures: 0,
            objects: 0,
            reported: None,
            newest: 0,
        }
    }

    /// The events, for ever. Each list begins with `Init` and ends with `InitDone`; objects that it does not name are gone.
    pub fn stream(self) -> impl Stream<Item = Event<K>> + Send {
        unfold(self, |mut watch| async {
            loop {
                if let Some(event) = watch.step().await {
                    return Some((event, watch));
                }
            }
        })
    }

    /// A store that follows the watch, and the events as they come; the store is updated as they are read.
    pub fn reflect(self) -> (Store<K>, impl Stream<Item = Event<K>> + Send)
    where
        K: Sync,
        K::DynamicType: Default + Eq + std::hash::Hash + Clone + Send + Sync,
    {
        let mut writer = Writer::<K>::default();
        let store = writer.as_reader();
        let events = self.stream().inspect(move |event| writer.apply_watcher_event(event));
        (store, events)
    }

    async fn step(&mut self) -> Option<Event<K>> {
        match std::mem::replace(&mut self.state, State::Start) {
            State::Start => {
                self.state = State::Listing { page: VecDeque::new(), next: None, version: None };
                Some(Event::Init)
            }
            State::Listing { mut page, next, version } => match (page.pop_front(), next, version) {
                (Some(object), next, version) => {
                    self.inspect(&object);
                    self.state = State::Listing { page, next, version };
                    Some(Event::InitApply(object))
                }
                (None, None, Some(version)) => {
                    self.listed();
                    self.state = State::Listed { version };
                    Some(Event::InitDone)
                }
                (None, next, _) => {
                    self.list(next).await;
                    None
                }
            },
            State::Listed { version } => {
                self.connect(version).await;
                None
            }
            State::Following { version, stream, since, carried } => {
                self.follow(version, stream, since, carried).await
            }
        }
    }

    async fn list(&mut self, next: Option<String>) {
        let Selection { labels, fields } = self.selection.clone();
        let first = next.is_none();
        let params = ListParams {
            label_selector: labels,
            field_selector: fields,
            limit: Some(500),
            continue_token: next,
            ..ListParams::default()
        };
        let (category, text) = match timeout(LIST, self.api.list(&params)).await {
            Ok(Ok(list)) => match list.metadata.resource_version.filter(|version| !version.is_empty()) {
                Some(version) if self.is_backwards(&version) => {
                    let newest = self.newest;
                    ("transient", format!("list {}: at version {version}, {newest} was seen", self.name))
                }
                Some(version) => return self.read_page(first, list.items, list.metadata.continue_, version),
                None => ("transient", format!("list {}: the server gave no resourceVersion", self.name)),
            },
            Ok(Err(error)) => (error.category().as_str(), self.text("list", error)),
            Err(_) => ("transient", format!("list {}: no answer in time", self.name)),
        };
        self.failed("list", category, text).await;
        if first {
            // Nothing of this list has been handed out, so it need not begin again.
            self.state = State::Listing { page: VecDeque::new(), next: None, version: None };
        }
    }

    fn read_page(&mut self, first: bool, items: Vec<K>, next: Option<String>, version: String) {
        self.failures = 0;
        self.objects = items.len() + if first { 0 } else { self.objects };
        let next = next.filter(|token| !token.is_empty());
        self.saw(&version);
        self.state = State::Listing { page: items.into(), next, version: Some(version) };
    }

    /// Whether a lagging server would take back what was told. Versions are numbers, and grow.
    fn is_backwards(&self, version: &str) -> bool {
        self.failures < BACKWARDS && version.parse::<u64>().is_ok_and(|version| version < self.newest)
    }

    fn saw(&mut self, version: &str) {
        self.newest = version.parse().map_or(self.newest, |version: u64| version.max(self.newest));
    }

    fn listed(&mut self) {
        self.environment.metrics.watch.lists.get_or_create(&self.label()).inc();
    }

    async fn connect(&mut self, version: String) {
        let seconds = FOLLOW.mul_f64(1.0 - 0.2 * self.environment.dice.fraction()).as_secs();
        let params = WatchParams {
            label_selector: self.selection.labels.clone(),
            field_selector: self.selection.fields.clone(),
            timeout: Some(u32::try_from(seconds).unwrap_or(u32::MAX)),
            bookmarks: true,
            ..WatchParams::default()
        };
        match timeout(LIST, lines::follow(&self.api, &params, &version)).await {
            Ok(Ok(stream)) => {
                self.heard(&version, true);
                let since = Instant::now();
                self.state = State::Following { version, stream, since, carried: false };
            }
            Ok(Err(kube::Error::Api(status))) if status.code == 410 => self.expired(&status),
            Ok(Err(error)) => {
                let (category, text) = (error.category().as_str(), self.text("watch", error));
                self.failed("watch", category, text).await;
                self.state = State::Listed { version };
            }
            Err(_) => {
                self.failed("watch", "transient", format!("watch {}: no answer in time", self.name)).await;
                self.state = State::Listed { version };
            }
        }
    }

    async fn follow(
        &mut self,
        version: String,
        mut stream: BoxStream<'static, kube::Result<WatchEvent<K>>>,
        since: Instant,
        carried: bool,
    ) -> Option<Event<K>> {
        let event = match timeout(SILENCE, stream.next()).await {
            Ok(Some(Ok(WatchEvent::Error(status)))) if status.code == 410 => {
                self.expired(&status);
                return None;
            }
            Ok(Some(Ok(WatchEvent::Error(status)))) => {
                let category = kube::Error::Api(status.clone().boxed()).category().as_str();
                let text = format!("watch {}: {}", self.name, Refusal(status.boxed()));
                return self.broken(version, category, text).await;
            }
            Ok(Some(Ok(event))) => event,
            Ok(Some(Err(error))) => {
                let (category, text) = (error.category().as_str(), self.text("watch", error));
                return self.broken(version, category, text).await;
            }
            Ok(None) if !carried && since.elapsed() < BRIEF => {
                let text = format!("watch {}: the server ended it at once", self.name);
                return self.broken(version, "transient", text).await;
            }
            Ok(None) => {
                sleep(BRIEF.saturating_sub(since.elapsed())).await;
                self.state = State::Listed { version };
                return None;
            }
            Err(_) => {
                // Some kinds have no bookmarks. Whether the connection is dead shows when the next one is made.
                tracing::debug!(watch = self.name, "nothing for {SILENCE:?}, connecting again");
                self.state = State::Listed { version };
                return None;
            }
        };
        self.failures = 0;
        let (version, event) = self.received(version, event);
        self.saw(&version);
        self.heard(&version, false);
        self.state = State::Following { version, stream, since, carried: true };
        event
    }

    /// The version to go on from, and what to hand out.
    fn received(&mut self, version: String, event: WatchEvent<K>) -> (String, Option<Event<K>>) {
        let event = match event {
            WatchEvent::Added(object) => {
                self.objects += 1;
                Event::Apply(object)
            }
            WatchEvent::Modified(object) => Event::Apply(object),
            WatchEvent::Deleted(object) => {
                self.objects = self.objects.saturating_sub(1);
                Event::Delete(object)
            }
            WatchEvent::Bookmark(bookmark) => return (bookmark.metadata.resource_version, None),
            // Taken care of by the caller.
            WatchEvent::Error(_) => return (version, None),
        };
        self.environment.metrics.watch.changes.get_or_create(&self.label()).inc();
        let (Event::Apply(object) | Event::Delete(object)) = &event else { return (version, None) };
        self.inspect(object);
        let version = object.meta().resource_version.clone().unwrap_or(version);
        (version, Some(event))
    }

    /// The server has forgotten the version; everything has to be listed again.
    fn expired(&mut self, status: &Status) {
        tracing::debug!(watch = self.name, "listing again: {}", status.message);
        self.count_failure("missing");
        self.state = State::Start;
    }

    async fn broken(&mut self, version: String, category: &'static str, text: String) -> Option<Event<K>> {
        self.failed("watch", category, text).await;
        self.state = State::Listed { version };
        None
    }

    /// Reports the failure and waits. Unless the caller sets another state, everything starts over.
    async fn failed(&mut self, verb: &str, category: &'static str, text: String) {
        self.failures = self.failures.saturating_add(1);
        let delay = Backoff::CONNECTION.delay(self.failures, &self.environment.dice);
        tracing::warn!(watch = self.name, category, "{text}; next {verb} in {delay:?}");
        self.count_failure(category);
        self.health.fail(text);
        self.reported = None;
        self.environment.metrics.watch.synced.get_or_create(&self.label()).set(0);
        sleep(delay).await;
    }

    /// The server spoke. Health is told at most once a second: a busy watch has other things to do.
    fn heard(&mut self, version: &str, connected: bool) {
        let now = Instant::now();
        if !connected && self.reported.is_some_and(|reported| now - reported < Duration::from_secs(1)) {
            return;
        }
        self.reported = Some(now);
        self.environment.metrics.watch.synced.get_or_create(&self.label()).set(1);
        self.health.ok(format!("{} objects at version {version}", self.objects));
    }

    fn inspect(&self, object: &K) {
        if let Some(invalid) = object.malformed() {
            self.environment.metrics.watch.malformed.get_or_create(&self.label()).inc();
            let name = object.meta().name.as_deref().unwrap_or_default();
            let namespace = object.meta().namespace.as_deref().unwrap_or_default();
            tracing::warn!(
                watch = self.name,
                object.namespace = namespace,
                object.name = name,
                "malformed object: {invalid}"
            );
        }
    }

    fn text(&self, verb: &str, error: kube::Error) -> String {
        chain(&Error::in_step(format!("{verb} {}", self.name), error))
    }

    fn label(&self) -> WatchLabel {
        WatchLabel { watch: self.name }
    }

    fn count_failure(&self, category: &'static str) {
        let labels = WatchFailureLabels { watch: self.name, category };
        self.environment.metrics.watch.failures.get_or_create(&labels).inc();
    }
}
