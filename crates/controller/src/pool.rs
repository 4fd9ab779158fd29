//! Bounded workers over a queue of keys.
//!
//! Keys name objects. The queue holds each at most once and hands it to one worker at a time; a key that is added
//! while it is being worked on runs again afterwards. Ready keys are served first come, first served; failed ones come
//! back after a growing delay of their own. [`WorkQueue`] is what watches feed, [`Pool::run`] works it off.
//!
//! `queue` holds the rules as a plain data structure; this file is the shell around it.

mod queue;

use std::{collections::BTreeMap, error::Error as StdError, fmt, future::Future, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    task::{Id, JoinError, JoinSet},
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use self::queue::{Again, Queue};
use crate::{
    backoff::Backoff,
    environment::Environment,
    error::{Categorized, Category, Retry, chain},
    metrics::{PoolLabel, PoolResultLabels},
    supervisor::panic_text,
};

/// Conflicts are retried at once, but a key that only ever conflicts must not spin.
const CONFLICTS_AT_ONCE: u32 = 3;

/// What can be queued.
pub trait Key: Clone + Ord + fmt::Display + Send + 'static {}
impl<K: Clone + Ord + fmt::Display + Send + 'static> Key for K {}

/// What to do with a key after work on it succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Nothing until it is added again.
    AwaitChange,
    /// Work on it again after this time, or earlier if it is added.
    After(Duration),
}

/// A pool could not go on.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// Work on a key panicked.
    #[error("work on {key} in pool {pool} panicked: {message}")]
    Panicked {
        /// The pool.
        pool: &'static str,
        /// The key.
        key: String,
        /// What the panic said.
        message: String,
    },
}

/// The entrance to a pool. Clones share one queue.
#[derive(Debug)]
pub struct WorkQueue<K>(Arc<Shared<K>>);

#[derive(Debug)]
struct Shared<K> {
    queue: Mutex<Queue<K>>,
    changed: Notify,
}

impl<K> Clone for WorkQueue<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K: Key> Default for WorkQueue<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Key> WorkQueue<K> {
    /// An empty queue.
    pub fn new() -> Self {
        Self(Arc::new(Shared { queue: Mutex::new(Queue::new()), changed: Notify::new() }))
    }

    /// Work on `key` as soon as its turn comes.
    pub fn add(&self, key: K) {
        self.change(|queue, now| queue.add(now, key));
    }

    /// Work on `key` after `delay`, or earlier if something else asks for that.
    pub fn add_after(&self, key: K, delay: Duration) {
        self.change(|queue, now| queue.add_at(now + delay, key));
    }

    /// Keys that are ready now, without delayed ones.
    pub fn depth(&self) -> usize {
        self.0.queue.lock().depth()
    }

    fn change<R>(&self, change: impl FnOnce(&mut Queue<K>, Instant) -> R) -> R {
        let result = change(&mut self.0.queue.lock(), Instant::now());
        self.0.changed.notify_one();
        result
    }
}

/// How a queue is worked off.
#[derive(Debug, Clone)]
pub struct Pool {
    /// Name in metrics and logs.
    pub name: &'static str,
    /// How many keys are worked on at the same time.
    pub workers: usize,
    /// Delays after failures.
    pub backoff: Backoff,
    /// Where jitter comes from and numbers go.
    pub environment: Environment,
}

struct Finished<K> {
    key: K,
    again: Option<Retry>,
    after: Option<Duration>,
}

impl Pool {
    /// Works off `queue` until `shutdown`, then waits for what is running. A panic in `work` ends the pool.
    pub async fn run<K, E, F, Work>(
        self,
        queue: WorkQueue<K>,
        shutdown: CancellationToken,
        work: Work,
    ) -> Result<(), PoolError>
    where
        K: Key,
        E: StdError + Categorized + Send + 'static,
        F: Future<Output = Result<Next, E>> + Send + 'static,
        Work: Fn(K) -> F,
    {
        let mut running = JoinSet::new();
        let mut keys = BTreeMap::new();
        loop {
            let stopping = shutdown.is_cancelled();
            if stopping && running.is_empty() {
                return Ok(());
            }
            if !stopping {
                self.start(&queue, &work, &mut running, &mut keys);
            }
            let due = if stopping { None } else { queue.0.queue.lock().next_due() };
            tokio::select! {
                biased;
                Some(ended) = running.join_next_with_id() => self.settle(&queue, &mut keys, ended)?,
                () = shutdown.cancelled(), if !stopping => {}
                () = queue.0.changed.notified(), if !stopping => {}
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
            }
        }
    }

    fn start<K, E, F, Work>(
        &self,
        queue: &WorkQueue<K>,
        work: &Work,
        running: &mut JoinSet<Finished<K>>,
        keys: &mut BTreeMap<Id, String>,
    ) where
        K: Key,
        E: StdError + Categorized + Send + 'static,
        F: Future<Output = Result<Next, E>> + Send + 'static,
        Work: Fn(K) -> F,
    {
        let label = PoolLabel { pool: self.name };
        while running.len() < self.workers {
            let Some((key, waited)) = queue.0.queue.lock().take(Instant::now()) else { break };
            self.environment.metrics.pool.wait.get_or_create(&label).observe(waited.as_secs_f64());
            let span = tracing::info_span!("work", pool = self.name, key = %key);
            let name = key.to_string();
            let task = self.clone().timed(key.clone(), work(key)).instrument(span);
            keys.insert(running.spawn(task).id(), name);
        }
        self.environment.metrics.pool.depth.get_or_create(&label).set(gauge(queue.depth()));
        self.environment.metrics.pool.running.get_or_create(&label).set(gauge(running.len()));
    }

    /// This is the boundary where failures of work are logged and counted, once.
    async fn timed<K: Key, E: StdError + Categorized>(
        self,
        key: K,
        work: impl Future<Output = Result<Next, E>>,
    ) -> Finished<K> {
        let started = Instant::now();
        let result = work.await;
        let took = started.elapsed().as_secs_f64();
        self.environment.metrics.pool.work.get_or_create(&PoolLabel { pool: self.name }).observe(took);
        let outcome = result.as_ref().map_or_else(|error| error.category().as_str(), |_| "done");
        self.environment
            .metrics
            .pool
            .results
            .get_or_create(&PoolResultLabels { pool: self.name, result: outcome })
            .inc();
        match result {
            Ok(Next::AwaitChange) => Finished { key, again: None, after: None },
            Ok(Next::After(delay)) => Finished { key, again: None, after: Some(delay) },
            Err(error) => {
                log_failure(error.category(), &chain(&error));
                Finished { key, again: Some(error.category().retry()), after: None }
            }
        }
    }

    fn settle<K: Key>(
        &self,
        queue: &WorkQueue<K>,
        keys: &mut BTreeMap<Id, String>,
        ended: Result<(Id, Finished<K>), JoinError>,
    ) -> Result<(), PoolError> {
        let Finished { key, again, after } = match ended {
            Ok((id, finished)) => {
                keys.remove(&id);
                finished
            }
            Err(error) => {
                let key = keys.remove(&error.id()).unwrap_or_default();
                return Err(PoolError::Panicked { pool: self.name, key, message: panic_text(error) });
            }
        };
        let failures = queue.0.queue.lock().failures(&key);
        let again = match again {
            None => after.map_or(Again::AwaitChange, Again::After),
            Some(Retry::AwaitChange) => Again::AwaitChange,
            Some(Retry::AtOnce) if failures < CONFLICTS_AT_ONCE => Again::FailedAfter(Duration::ZERO),
            Some(Retry::AtOnce | Retry::BackOff) => {
                Again::FailedAfter(self.backoff.delay(failures.saturating_add(1), &self.environment.dice))
            }
        };
        queue.change(|queue, now| queue.finish(now, key, again));
        Ok(())
    }
}

/// Conflicts and lost leadership are part of normal life; the rest is worth a warning.
fn log_failure(category: Category, text: &str) {
    match category {
        Category::Conflict | Category::NotLeader => tracing::debug!(category = category.as_str(), "{text}"),
        _ => tracing::warn!(category = category.as_str(), "{text}"),
    }
}

fn gauge(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
