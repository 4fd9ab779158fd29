//! Runs one controller: follows its tables, keeps the set of keys that are due, reconciles one at a time or a few.

mod due;

#[cfg(test)]
mod tests;

use std::any::Any;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use due::Due;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Again, BoxController};
use crate::status::ApiError;
use crate::store::{Event, Follower, Key, Store};

const FIRST_RETRY: Duration = Duration::from_millis(5);
const LAST_RETRY: Duration = Duration::from_mins(1);

/// How a look at a key ended.
type Done = (Key, Result<Again, ApiError>);

/// The looks that wait for something.
type Looks = FuturesUnordered<BoxFuture<'static, Done>>;

/// Follows one table.
struct Follow {
    table: Arc<str>,
    at: u64,
}

/// Runs until `stop`.
pub(crate) async fn run(store: Arc<Store>, controller: BoxController, stop: CancellationToken) {
    let mut follower =
        if controller.every_table() { store.follow() } else { store.follow_tables(controller.tables()) };
    let mut follows: Vec<Follow> =
        controller.tables().into_iter().map(|table| Follow { table: table.into(), at: 0 }).collect();
    let mut due = Due::paced(controller.pace());
    let mut failures: HashMap<Key, u32> = HashMap::new();
    let mut looks = Looks::new();
    for follow in &mut follows {
        restart(&store, &controller, follow, &mut due);
    }
    loop {
        follower.catch_up();
        take_events(&store, &controller, &mut follows, &mut due);
        due.ring(Instant::now());
        if stop.is_cancelled() {
            break;
        }
        let Some(key) = due.pop() else {
            match wait(&mut follower, &mut looks, due.next_ring(), &stop).await {
                Woken::Stop => break,
                Woken::Settled(done) => settle(&controller, done, &mut due, &mut failures),
                Woken::News => {}
            }
            continue;
        };
        due.begin(&key, Instant::now());
        looks.push(look(Arc::clone(&controller), key).boxed());
        // Most looks end at once. Those that wait for somebody let others begin, as far as there are workers; where
        // there is but one, nothing else happens in the meantime.
        while let Some(done) = if looks.len() < controller.workers() {
            looks.next().now_or_never().flatten()
        } else {
            looks.next().await
        } {
            settle(&controller, done, &mut due, &mut failures);
        }
    }
    while looks.next().await.is_some() {}
}

/// Looks at one key. A panic is an error of that key: nobody else may suffer from it.
async fn look(controller: BoxController, key: Key) -> Done {
    let result = survive(async { controller.reconcile(&key).await }).await.unwrap_or_else(|panic| {
        let (controller, table) = (controller.name(), &key.table);
        tracing::error!(controller, %table, key = %key.row, panic, "a controller panicked over an object");
        Err(ApiError::internal(format!("{controller} panicked: {panic}")))
    });
    (key, result)
}

/// What comes of a future, or its last words if it panics.
pub(super) async fn survive<T>(future: impl Future<Output = T>) -> Result<T, String> {
    AssertUnwindSafe(future).catch_unwind().await.map_err(|panic| last_words(&*panic))
}

fn last_words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without a word").to_owned()
}

/// Why a controller that had nothing to do goes on.
enum Woken {
    Stop,
    Settled(Done),
    News,
}

/// Waits for a change, a timer or the end of a look.
async fn wait(
    follower: &mut Follower,
    looks: &mut Looks,
    ring: Option<Instant>,
    stop: &CancellationToken,
) -> Woken {
    let timer = async {
        match ring {
            Some(at) => tokio::time::sleep_until(at).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = stop.cancelled() => Woken::Stop,
        Some(done) = looks.next() => Woken::Settled(done),
        () = follower.changed() => Woken::News,
        () = timer => Woken::News,
    }
}

fn settle(controller: &BoxController, done: Done, due: &mut Due, failures: &mut HashMap<Key, u32>) {
    let (key, result) = done;
    due.end(&key);
    for key in controller.follow_up() {
        due.now(key);
    }
    match result {
        Ok(again) => {
            failures.remove(&key);
            if let Some(delay) = again {
                due.later(key, Instant::now() + delay);
            }
        }
        Err(error) => {
            let count = failures.entry(key.clone()).or_default();
            let delay = FIRST_RETRY.saturating_mul(1 << (*count).min(20)).min(LAST_RETRY);
            *count = count.saturating_add(1);
            tracing::debug!(controller = controller.name(), key = %key.row, %error, "will try again");
            due.later(key, Instant::now() + delay);
        }
    }
}

fn take_events(store: &Store, controller: &BoxController, follows: &mut Vec<Follow>, due: &mut Due) {
    if controller.every_table() {
        follow_new_tables(store, follows);
    }
    let behind = follows.iter_mut().any(|follow| !catch_up(store, controller, follow, due));
    if behind {
        // What one table no longer tells, the others may: an owner whose dependents are gone is still there.
        for follow in follows {
            restart(store, controller, follow, due);
        }
    }
}

/// The keys to look at because of an event. A panic costs that event, not the controller.
fn keys(controller: &BoxController, table: &str, event: &Event) -> Vec<Key> {
    let keys = std::panic::catch_unwind(AssertUnwindSafe(|| controller.keys(table, event)));
    keys.unwrap_or_else(|panic| {
        let (controller, name, panic) = (controller.name(), &event.entry.meta.name, last_words(&*panic));
        tracing::error!(controller, table, object = %name, panic, "a controller panicked over an event");
        Vec::new()
    })
}

/// A new table is followed from before its first row.
fn follow_new_tables(store: &Store, follows: &mut Vec<Follow>) {
    let tables = store.tables();
    if tables.len() == follows.len() {
        return;
    }
    for table in tables {
        if !follows.iter().any(|follow| follow.table == table) {
            follows.push(Follow { table, at: 0 });
        }
    }
}

/// Looks at everything there is, as after a start.
fn restart(store: &Store, controller: &BoxController, follow: &mut Follow, due: &mut Due) {
    controller.forget(&follow.table);
    let listing = store.list(&follow.table, None);
    follow.at = listing.revision;
    for entry in listing.rows {
        let event = Event { entry, previous: None, deleted: false };
        for key in keys(controller, &follow.table, &event) {
            due.now(key);
        }
    }
}

/// Takes the events since the last look; `false` if they are no longer kept.
fn catch_up(store: &Store, controller: &BoxController, follow: &mut Follow, due: &mut Due) -> bool {
    let Ok((events, complete_to)) = store.events_after(&follow.table, follow.at) else { return false };
    follow.at = complete_to;
    for event in events {
        for key in keys(controller, &follow.table, &event) {
            due.soon(key);
        }
    }
    true
}
