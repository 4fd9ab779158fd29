//! Runs one controller: follows its tables, keeps the set of keys that are due, reconciles one at a time.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Again, BoxController};
use crate::status::ApiError;
use crate::store::{Follower, Key, Store};

const FIRST_RETRY: Duration = Duration::from_millis(5);
const LAST_RETRY: Duration = Duration::from_mins(1);

/// Follows one table.
struct Follow {
    table: Arc<str>,
    at: u64,
}

/// Keys in the order they became due, each at most once.
#[derive(Default)]
struct Due {
    order: VecDeque<Key>,
    present: BTreeSet<Key>,
    /// Keys to be looked at later; a key has at most one such time, the earliest asked for.
    timers: BTreeMap<(Instant, u64), Key>,
    timer_of: HashMap<Key, (Instant, u64)>,
    next_timer: u64,
    /// The least time between two looks at one key, and when keys were looked at within that time.
    pace: Duration,
    looked: HashMap<Key, Instant>,
}

impl Due {
    /// As soon as the pace allows.
    fn soon(&mut self, key: Key) {
        match self.looked.get(&key) {
            Some(last) if !self.present.contains(&key) => {
                let at = *last + self.pace;
                self.later(key, at);
            }
            _ => self.now(key),
        }
    }

    /// Remembers that a key is being looked at, for as long as the pace asks for.
    fn look(&mut self, key: &Key, now: Instant) {
        if self.pace.is_zero() {
            return;
        }
        if self.looked.len() > 1024 {
            let pace = self.pace;
            self.looked.retain(|_, last| *last + pace > now);
        }
        self.looked.insert(key.clone(), now);
    }

    fn now(&mut self, key: Key) {
        if self.present.insert(key.clone()) {
            self.order.push_back(key);
        }
    }

    fn later(&mut self, key: Key, at: Instant) {
        if let Some(existing) = self.timer_of.get(&key) {
            if existing.0 <= at {
                return;
            }
            self.timers.remove(existing);
        }
        self.next_timer += 1;
        let slot = (at, self.next_timer);
        self.timer_of.insert(key.clone(), slot);
        self.timers.insert(slot, key);
    }

    fn ring(&mut self, now: Instant) {
        while let Some((&slot, _)) = self.timers.first_key_value() {
            if slot.0 > now {
                break;
            }
            if let Some(key) = self.timers.remove(&slot) {
                self.timer_of.remove(&key);
                self.now(key);
            }
        }
    }

    fn pop(&mut self) -> Option<Key> {
        let key = self.order.pop_front()?;
        self.present.remove(&key);
        Some(key)
    }

    fn next_ring(&self) -> Option<Instant> {
        self.timers.first_key_value().map(|(slot, _)| slot.0)
    }
}

/// Runs until `stop`.
pub(crate) async fn run(store: Arc<Store>, controller: BoxController, stop: CancellationToken) {
    let mut follower =
        if controller.every_table() { store.follow() } else { store.follow_tables(controller.tables()) };
    let mut follows: Vec<Follow> =
        controller.tables().into_iter().map(|table| Follow { table: table.into(), at: 0 }).collect();
    let mut due = Due { pace: controller.pace(), ..Due::default() };
    let mut failures: HashMap<Key, u32> = HashMap::new();
    for follow in &mut follows {
        restart(&store, &controller, follow, &mut due);
    }
    loop {
        follower.catch_up();
        if controller.every_table() {
            follow_new_tables(&store, &mut follows);
        }
        let behind = follows.iter_mut().any(|follow| !catch_up(&store, &controller, follow, &mut due));
        if behind {
            // What one table no longer tells, the others may: an owner whose dependents are gone is still there.
            for follow in &mut follows {
                restart(&store, &controller, follow, &mut due);
            }
        }
        due.ring(Instant::now());
        if stop.is_cancelled() {
            return;
        }
        let Some(key) = due.pop() else {
            if !wait(&mut follower, due.next_ring(), &stop).await {
                return;
            }
            continue;
        };
        due.look(&key, Instant::now());
        let result = controller.reconcile(&key).await;
        settle(&controller, key, result, &mut due, &mut failures);
    }
}

/// Waits for a change or a timer; `false` when it is time to stop.
async fn wait(follower: &mut Follower, ring: Option<Instant>, stop: &CancellationToken) -> bool {
    let timer = async {
        match ring {
            Some(at) => tokio::time::sleep_until(at).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = stop.cancelled() => false,
        () = follower.changed() => true,
        () = timer => true,
    }
}

fn settle(
    controller: &BoxController,
    key: Key,
    result: Result<Again, ApiError>,
    due: &mut Due,
    failures: &mut HashMap<Key, u32>,
) {
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
            *count += 1;
            tracing::debug!(controller = controller.name(), key = %key.row, %error, "will try again");
            due.later(key, Instant::now() + delay);
        }
    }
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
        let event = crate::store::Event { entry, previous: None, deleted: false };
        for key in controller.keys(&follow.table, &event) {
            due.now(key);
        }
    }
}

/// Takes the events since the last look; `false` if they are no longer kept.
fn catch_up(store: &Store, controller: &BoxController, follow: &mut Follow, due: &mut Due) -> bool {
    let Ok((events, complete_to)) = store.events_after(&follow.table, follow.at) else { return false };
    follow.at = complete_to;
    for event in events {
        for key in controller.keys(&follow.table, &event) {
            due.soon(key);
        }
    }
    true
}
