//! Watch: the events of a table after a revision, as a stream that can be resumed.

mod definition;

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use maar_machinery::error::FieldError;
use tokio::time::{Instant, Sleep};

use self::definition::{Definition, State};
use super::read::revision_error;
use super::{ListOptions, Selection};
use crate::hooks::DEFINITIONS;
use crate::request::Query;
use crate::resource::Resource;
use crate::server::Server;
use crate::status::ApiError;
use crate::store::{Entry, Event, Follower, RevisionError, Store};

/// How often a quiet watch says how far it is.
const BOOKMARK_EVERY: Duration = Duration::from_mins(1);
/// How long a watch lasts if the client does not say: long, but not so long that it outlives its rights.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(40);
/// Longer than any client has patience, and short enough to be added to a moment.
const LONGEST_TIMEOUT: Duration = Duration::from_hours(24);

/// The options of a watch request.
#[derive(Clone, Debug)]
pub(crate) struct WatchOptions {
    selection: Selection,
    namespace: Option<String>,
    /// Events after this; none for "from the current state".
    after: Option<u64>,
    initial_events: bool,
    /// Whether the end of the initial events is marked.
    mark_initial: bool,
    bookmarks: bool,
    timeout: Duration,
}

impl WatchOptions {
    pub(crate) fn parse(
        resource: &Resource,
        namespace: Option<&str>,
        query: &Query,
    ) -> Result<Self, ApiError> {
        check_options(query)?;
        let version = query.text("resourceVersion").map(|text| {
            text.parse::<u64>().map_err(|_| {
                ApiError::unclassified(format!("resourceVersion: {text:?} is not a valid revision"))
            })
        });
        let version = version.transpose()?.filter(|version| *version > 0);
        let send_initial = query.flag("sendInitialEvents");
        // None, said as nought, is what is usual.
        let timeout = query.number("timeoutSeconds")?.filter(|seconds| *seconds > 0);
        let timeout = timeout.map_or(DEFAULT_TIMEOUT, Duration::from_secs).min(LONGEST_TIMEOUT);
        Ok(Self {
            selection: Selection::parse(resource, query)?,
            namespace: namespace.map(ToOwned::to_owned),
            after: version,
            initial_events: send_initial.unwrap_or(version.is_none()),
            mark_initial: send_initial == Some(true),
            bookmarks: query.flag("allowWatchBookmarks").unwrap_or(false),
            timeout,
        })
    }
}

/// Refuses options of a watch that contradict each other.
fn check_options(query: &Query) -> Result<(), ApiError> {
    const MATCH: &str = "resourceVersionMatch";
    let mut errors = Vec::new();
    let matching = query.text(MATCH);
    let send_initial = query.flag("sendInitialEvents").is_some();
    if send_initial && matching != Some("NotOlderThan") {
        errors.push(FieldError::forbidden(MATCH, "sendInitialEvents needs it to be NotOlderThan"));
    }
    if let Some(matching) = matching {
        if !send_initial {
            errors.push(FieldError::forbidden(MATCH, "belongs to sendInitialEvents"));
        }
        if matching != "NotOlderThan" {
            errors.push(FieldError::not_supported(MATCH, matching, ["NotOlderThan"]));
        }
        if query.text("continue").is_some() {
            errors.push(FieldError::forbidden(MATCH, "does not go with a continue token"));
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(ApiError::invalid_options("ListOptions", &errors)) }
}

/// One event of a watch.
#[derive(Debug)]
pub(crate) enum WatchEvent {
    Added(Arc<Entry>),
    Modified(Arc<Entry>),
    Deleted(Arc<Entry>),
    /// How far the watch is; `true` at the end of the initial events.
    Bookmark(u64, bool),
    /// The watch cannot go on.
    Failed(ApiError),
}

/// A watch in progress.
#[derive(Debug)]
pub(crate) struct WatchStream {
    store: Arc<Store>,
    table: Arc<str>,
    /// Of a custom kind.
    definition: Option<Definition>,
    options: WatchOptions,
    at: u64,
    waiting: VecDeque<WatchEvent>,
    changes: Follower,
    deadline: Instant,
    next_bookmark: Instant,
    /// Kept between events: to set a timer for each would cost more than the event.
    timer: Pin<Box<Sleep>>,
    ended: bool,
}

impl Server {
    pub(crate) fn watch(
        &self,
        resource: &Arc<Resource>,
        options: WatchOptions,
    ) -> Result<WatchStream, ApiError> {
        let definitions = resource.is_custom().then_some(DEFINITIONS);
        let changes = self.store.follow_tables(definitions.into_iter().chain([&*resource.table]));
        let mut waiting = VecDeque::new();
        let mut at = options.after.unwrap_or(0);
        let current = self.store.revision();
        if options.initial_events {
            if at > current {
                return Err(revision_error(RevisionError::Future { requested: at, current }));
            }
            let listing = self.list(
                resource,
                options.namespace.as_deref(),
                &ListOptions::selecting(options.selection.clone()),
            )?;
            at = listing.revision;
            waiting.extend(listing.rows.into_iter().map(WatchEvent::Added));
            if options.mark_initial && options.bookmarks {
                waiting.push_back(WatchEvent::Bookmark(at, true));
            }
        } else if options.after.is_none() {
            at = current;
        }
        let now = Instant::now();
        Ok(WatchStream {
            store: Arc::clone(&self.store),
            table: Arc::clone(&resource.table),
            definition: Definition::of(resource, self.shared_registry()),
            at,
            waiting,
            changes,
            deadline: now + options.timeout,
            next_bookmark: now + BOOKMARK_EVERY,
            timer: Box::pin(tokio::time::sleep_until(now + options.timeout)),
            ended: false,
            options,
        })
    }
}

impl WatchStream {
    /// The next events, at least one; none when the watch has run its time.
    pub(crate) async fn next(&mut self) -> Option<Vec<WatchEvent>> {
        loop {
            if !self.waiting.is_empty() {
                return Some(self.waiting.drain(..).collect());
            }
            if self.ended {
                return None;
            }
            // Marked as seen before looking, so that a change in between wakes the wait below.
            self.changes.catch_up();
            self.collect();
            self.heed_definition();
            if self.ended || !self.waiting.is_empty() {
                continue;
            }
            let wake =
                if self.options.bookmarks { self.next_bookmark.min(self.deadline) } else { self.deadline };
            if self.timer.deadline() != wake {
                self.timer.as_mut().reset(wake);
            }
            tokio::select! {
                biased;
                // Whoever is about to write goes first: under load, watchers then send several events at a time.
                () = self.changes.changed() => tokio::task::yield_now().await,
                () = self.timer.as_mut() => self.on_timer(),
            }
        }
    }

    /// Ends a watch whose kind is no longer what it was, for clients to begin anew from where they are. What a kind
    /// that is gone has left behind is shown: nobody can ask for it any more.
    fn heed_definition(&mut self) {
        match self.definition.as_mut().map_or(State::Same, Definition::state) {
            State::Same => {}
            State::Gone => self.ended = true,
            State::Other => {
                self.waiting.clear();
                self.ended = true;
            }
        }
    }

    fn on_timer(&mut self) {
        let now = Instant::now();
        if now >= self.deadline {
            self.ended = true;
        } else if now >= self.next_bookmark {
            self.next_bookmark = now + BOOKMARK_EVERY;
            // Other tables may have moved on, and the watch with them.
            self.collect();
            if !self.ended {
                self.waiting.push_back(WatchEvent::Bookmark(self.at, false));
            }
        }
    }

    fn collect(&mut self) {
        // A watch may start at a revision that is still to come.
        if self.at > self.store.revision() {
            return;
        }
        match self.store.events_after(&self.table, self.at) {
            Ok((events, complete_to)) => {
                self.waiting.extend(events.iter().filter_map(|event| self.options.view(event)));
                self.at = complete_to;
            }
            Err(error) => {
                self.waiting.push_back(WatchEvent::Failed(revision_error(error)));
                self.ended = true;
            }
        }
    }
}

impl WatchOptions {
    /// An event as a watcher with this selection sees it: objects enter and leave its view.
    fn view(&self, event: &Event) -> Option<WatchEvent> {
        let visible = |entry: &Entry| {
            self.namespace.as_ref().is_none_or(|namespace| **namespace == *entry.meta.namespace)
                && self.selection.matches(entry)
        };
        let before = event.previous.as_ref().is_some_and(|previous| visible(previous));
        let after = !event.deleted && visible(&event.entry);
        let entry = Arc::clone(&event.entry);
        match (before, after) {
            (false, false) => None,
            (false, true) => Some(WatchEvent::Added(entry)),
            (true, true) => Some(WatchEvent::Modified(entry)),
            (true, false) if event.deleted => Some(WatchEvent::Deleted(entry)),
            // It left the view: shown as it last was in view, at the revision of the change.
            (true, false) => {
                let previous = event.previous.as_ref()?;
                Some(WatchEvent::Deleted(Arc::new(previous.at_revision(entry.revision))))
            }
        }
    }
}
