//! The one task that runs all Pods of a set of nodes: it feeds the table and makes its requests.

use std::sync::Arc;

use futures::{
    StreamExt,
    stream::{BoxStream, FuturesUnordered},
};
use jiff::Timestamp;
use kube::{
    Api, Client,
    runtime::{WatchStreamExt, watcher},
};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{back_off::BackOff, clock::Clock, pod::PodObject, requests, runtime::Runtime, table::Table};

/// Requests under way at a time. In process there is no waiting, so this matters only over a network.
const PARALLEL_WRITES: usize = 32;
/// Watch events taken before looking at anything else.
const BATCH: usize = 256;

/// A table that several tasks use.
pub(crate) type SharedTable<R> = Arc<Mutex<Table<R>>>;

type PodEvent = Result<watcher::Event<PodObject>, watcher::Error>;

/// What the task works with.
#[derive(Clone)]
pub(crate) struct PodLoop<R> {
    pub(crate) client: Client,
    pub(crate) table: SharedTable<R>,
    pub(crate) clock: Clock,
    /// Rung when the table was changed from elsewhere.
    pub(crate) bell: Arc<Notify>,
    /// Rung when all Pods must be looked at again.
    pub(crate) relist: Arc<Notify>,
    /// Only Pods that match; `spec.nodeName!=` for all that are assigned.
    pub(crate) fields: String,
}

impl<R: Runtime> PodLoop<R> {
    /// Runs until `shutdown`.
    pub(crate) async fn run(self, shutdown: CancellationToken) {
        let mut events = self.watch();
        let mut writes = FuturesUnordered::new();
        loop {
            let wake =
                self.turn(|write| writes.push(requests::write(self.client.clone(), write)), writes.len());
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return,
                Some((write, outcome)) = writes.next(), if !writes.is_empty() => {
                    self.table.lock().written(&write, outcome, self.clock.now());
                }
                chunk = events.next() => match chunk {
                    Some(chunk) => self.enter(chunk),
                    None => return tracing::error!("the watch on pods ended for good"),
                },
                () = self.bell.notified() => {}
                () = self.relist.notified() => events = self.watch(),
                () = self.clock.sleep_until(wake) => {}
            }
        }
    }

    fn watch(&self) -> BoxStream<'static, Vec<PodEvent>> {
        let config = watcher::Config::default().fields(&self.fields);
        let pods = Api::<PodObject>::all(self.client.clone());
        watcher(pods, config).backoff(BackOff::default()).ready_chunks(BATCH).boxed()
    }

    /// Does what is due and starts requests; returns when to come back.
    fn turn(&self, mut start: impl FnMut(crate::table::Write), running: usize) -> Option<Timestamp> {
        let now = self.clock.now();
        let mut table = self.table.lock();
        table.run_due(now);
        for _ in running..PARALLEL_WRITES {
            let Some(write) = table.next_write(now) else { break };
            start(write);
        }
        table.next_due()
    }

    fn enter(&self, chunk: Vec<PodEvent>) {
        let now = self.clock.now();
        let mut table = self.table.lock();
        for event in chunk {
            match event {
                Ok(watcher::Event::Init) => table.list_began(),
                Ok(watcher::Event::InitApply(pod) | watcher::Event::Apply(pod)) => {
                    table.pod_changed(&pod, now);
                }
                Ok(watcher::Event::InitDone) => table.list_ended(),
                Ok(watcher::Event::Delete(pod)) => {
                    if let Some(uid) = pod.metadata.uid.as_deref() {
                        table.pod_gone(uid);
                    }
                }
                Err(error) => tracing::warn!("watching pods: {error}"),
            }
        }
    }
}
