//! Tells followers that tables they care about have moved on, in the order in which they began to wait.
//!
//! Tokio's own watch channel wakes its receivers in a random order, and then one seed would have many histories. And
//! it would wake everybody: with dozens of controllers, most of the work of a write would be telling those that do
//! not care.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

/// How many tables are told apart; the rest share the last place, so that their followers wake more than they must.
const PLACES: usize = 64;

/// A set of tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tables(u64);

impl Tables {
    const ALL: Self = Self(u64::MAX);

    pub(super) fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    fn places(self) -> impl Iterator<Item = usize> {
        (0..PLACES).filter(move |place| self.0 & (1 << place) != 0)
    }
}

/// How far the store is.
#[derive(Debug)]
pub(super) struct Progress {
    revision: AtomicU64,
    /// The last change of each place.
    changed: [AtomicU64; PLACES],
    places: Mutex<HashMap<Box<str>, usize>>,
    waiting: Mutex<Waiting>,
}

/// Who waits, longest first.
#[derive(Debug, Default)]
struct Waiting {
    queue: VecDeque<Waiter>,
    last_id: u64,
}

#[derive(Debug)]
struct Waiter {
    id: u64,
    tables: Tables,
    waker: Waker,
}

impl Progress {
    pub(super) fn new(revision: u64) -> Arc<Self> {
        Arc::new(Self {
            revision: AtomicU64::new(revision),
            changed: std::array::from_fn(|_| AtomicU64::new(revision)),
            places: Mutex::default(),
            waiting: Mutex::default(),
        })
    }

    /// Where changes of a table are noted: the last place if nobody ever followed it by name.
    pub(super) fn place(&self, table: &str) -> Tables {
        Tables(1 << self.places.lock().get(table).copied().unwrap_or(PLACES - 1))
    }

    /// The same, for a table that is to have a place of its own.
    fn own_place(&self, table: &str) -> Tables {
        let mut places = self.places.lock();
        let next = places.len().min(PLACES - 1);
        Tables(1 << *places.entry(table.into()).or_insert(next))
    }

    /// Notes how far these tables are. Called in the order of revisions.
    pub(super) fn set(&self, tables: Tables, revision: u64) {
        for place in tables.places() {
            self.changed[place].store(revision, Ordering::Release);
        }
        self.revision.store(revision, Ordering::Release);
    }

    /// Wakes whoever waits for these tables.
    pub(super) fn wake(&self, tables: Tables) {
        let mut woken = Vec::new();
        let mut waiting = self.waiting.lock();
        waiting.queue.retain(|waiter| {
            let concerned = waiter.tables.meets(tables);
            if concerned {
                woken.push(waiter.waker.clone());
            }
            !concerned
        });
        // Unlocked first: a waker may run code that waits again.
        drop(waiting);
        woken.into_iter().for_each(Waker::wake);
    }

    /// Follows every table there is and will be.
    pub(super) fn follow_all(self: &Arc<Self>) -> Follower {
        self.follower(Tables::ALL)
    }

    /// Follows some tables.
    pub(super) fn follow<'a>(self: &Arc<Self>, tables: impl IntoIterator<Item = &'a str>) -> Follower {
        let mut set = Tables::default();
        for table in tables {
            set.add(self.own_place(table));
        }
        self.follower(set)
    }

    fn follower(self: &Arc<Self>, tables: Tables) -> Follower {
        Follower { tables, seen: self.revision.load(Ordering::Acquire), progress: Arc::clone(self) }
    }

    /// The newest change of any of these tables.
    fn latest(&self, tables: Tables) -> u64 {
        if tables == Tables::ALL {
            return self.revision.load(Ordering::Acquire);
        }
        tables.places().map(|place| self.changed[place].load(Ordering::Acquire)).max().unwrap_or_default()
    }
}

/// Somebody who wants to know when tables move on.
#[derive(Debug)]
pub struct Follower {
    progress: Arc<Progress>,
    tables: Tables,
    seen: u64,
}

impl Follower {
    /// From now on only later changes count.
    pub fn catch_up(&mut self) {
        self.seen = self.progress.revision.load(Ordering::Acquire);
    }

    /// Waits until there is a change that has not been seen. Safe to drop and call again.
    pub async fn changed(&mut self) {
        self.seen = Changed { follower: self, id: None }.await;
    }
}

/// A wait for a change; gives the revision of that change.
struct Changed<'a> {
    follower: &'a Follower,
    /// The place in the queue, once there is one.
    id: Option<u64>,
}

impl Future for Changed<'_> {
    type Output = u64;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u64> {
        let follower = self.follower;
        // Locked before looking, so that no change can slip in between looking and waiting.
        let mut waiting = follower.progress.waiting.lock();
        let latest = follower.progress.latest(follower.tables);
        if latest > follower.seen {
            if let Some(id) = self.id.take() {
                waiting.queue.retain(|waiter| waiter.id != id);
            }
            return Poll::Ready(latest);
        }
        if let Some(waiter) = waiting.queue.iter_mut().find(|waiter| Some(waiter.id) == self.id) {
            waiter.waker.clone_from(context.waker());
        } else {
            waiting.last_id += 1;
            let waker = context.waker().clone();
            let waiter = Waiter { id: waiting.last_id, tables: follower.tables, waker };
            self.id = Some(waiter.id);
            waiting.queue.push_back(waiter);
        }
        Poll::Pending
    }
}

impl Drop for Changed<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.follower.progress.waiting.lock().queue.retain(|waiter| waiter.id != id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn change(progress: &Progress, table: &str, revision: u64) {
        let tables = progress.place(table);
        progress.set(tables, revision);
        progress.wake(tables);
    }

    fn is_pending(follower: &mut Follower) -> bool {
        use futures::FutureExt as _;
        follower.changed().now_or_never().is_none()
    }

    #[tokio::test]
    async fn a_change_is_told_once_and_not_missed() {
        let progress = Progress::new(1);
        for mut follower in [progress.follow_all(), progress.follow(["pods"])] {
            let before = progress.revision.load(Ordering::Acquire);
            change(&progress, "pods", before + 1);
            follower.changed().await;
            assert!(is_pending(&mut follower));
            change(&progress, "pods", before + 2);
            change(&progress, "pods", before + 3);
            follower.catch_up();
            assert!(is_pending(&mut follower));
        }
    }

    #[tokio::test]
    async fn only_followers_of_the_table_are_told() {
        let progress = Progress::new(1);
        let (mut pods, mut both) = (progress.follow(["pods"]), progress.follow(["pods", "nodes"]));
        let mut all = progress.follow_all();
        change(&progress, "nodes", 2);
        assert!(is_pending(&mut pods));
        assert!(!is_pending(&mut both));
        assert!(!is_pending(&mut all));
        // A table nobody knew of when the follower began.
        change(&progress, "widgets.example.com", 3);
        assert!(is_pending(&mut both));
        assert!(!is_pending(&mut all));
    }

    #[tokio::test]
    async fn tables_without_a_place_of_their_own_are_followed_too() {
        let progress = Progress::new(1);
        let names: Vec<String> = (0..100).map(|number| format!("table-{number}")).collect();
        let mut followers: Vec<Follower> =
            names.iter().map(|name| progress.follow([name.as_str()])).collect();
        for (number, name) in (2..).zip(&names) {
            change(&progress, name, number);
        }
        assert!(followers.iter_mut().all(|follower| !is_pending(follower)));
    }

    #[tokio::test]
    async fn a_wait_that_was_given_up_leaves_nothing_behind() {
        let progress = Progress::new(1);
        let mut follower = progress.follow(["pods"]);
        assert!(is_pending(&mut follower));
        assert!(progress.waiting.lock().queue.is_empty());
    }

    #[tokio::test]
    async fn followers_are_woken_in_the_order_in_which_they_wait() {
        let progress = Progress::new(1);
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for number in 0..50 {
            let (mut follower, order) = (progress.follow(["pods"]), Arc::clone(&order));
            tasks.push(tokio::spawn(async move {
                follower.changed().await;
                order.lock().unwrap().push(number);
            }));
            tokio::task::yield_now().await;
        }
        change(&progress, "pods", 2);
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), (0..50).collect::<Vec<_>>());
    }
}
