//! Tells followers that the store has moved on, in the order in which they began to wait.
//!
//! Tokio's own watch channel wakes its receivers in a random order, and then one seed would have many histories.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// How far the store is.
#[derive(Debug)]
pub(super) struct Progress {
    revision: AtomicU64,
    notify: Notify,
}

impl Progress {
    pub(super) fn new(revision: u64) -> Arc<Self> {
        Arc::new(Self { revision: AtomicU64::new(revision), notify: Notify::new() })
    }

    pub(super) fn set(&self, revision: u64) {
        self.revision.store(revision, Ordering::Release);
        self.notify.notify_waiters();
    }

    pub(super) fn follow(self: &Arc<Self>) -> Follower {
        Follower { seen: self.revision.load(Ordering::Acquire), progress: Arc::clone(self) }
    }
}

/// Somebody who wants to know when the store moves on.
#[derive(Debug)]
pub struct Follower {
    progress: Arc<Progress>,
    seen: u64,
}

impl Follower {
    /// From now on only later changes count.
    pub fn catch_up(&mut self) {
        self.seen = self.progress.revision.load(Ordering::Acquire);
    }

    /// Waits until there is a change that has not been seen. Safe to drop and call again.
    pub async fn changed(&mut self) {
        loop {
            let notified = self.progress.notify.notified();
            tokio::pin!(notified);
            // Registered before looking, so that no change can slip in between.
            notified.as_mut().enable();
            let now = self.progress.revision.load(Ordering::Acquire);
            if now != self.seen {
                self.seen = now;
                return;
            }
            notified.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[tokio::test]
    async fn a_change_is_told_once_and_not_missed() {
        let progress = Progress::new(1);
        let mut follower = progress.follow();
        progress.set(2);
        follower.changed().await;
        assert!(futures::poll!(std::pin::pin!(follower.changed())).is_pending());
        progress.set(3);
        progress.set(4);
        follower.catch_up();
        assert!(futures::poll!(std::pin::pin!(follower.changed())).is_pending());
    }

    #[tokio::test]
    async fn followers_are_woken_in_the_order_in_which_they_wait() {
        let progress = Progress::new(1);
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for number in 0..50 {
            let (mut follower, order) = (progress.follow(), Arc::clone(&order));
            tasks.push(tokio::spawn(async move {
                follower.changed().await;
                order.lock().unwrap().push(number);
            }));
            tokio::task::yield_now().await;
        }
        progress.set(2);
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), (0..50).collect::<Vec<_>>());
    }
}
