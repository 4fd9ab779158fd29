//! A component that can die and come back.

use std::future::{Future, pending};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kube::Client;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::Faults;

/// One life of a component: its name, and whether it has died.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    pub(super) name: Arc<str>,
    died: CancellationToken,
}

impl Instance {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.into(), died: CancellationToken::new() }
    }

    pub(super) fn die(&self) {
        self.died.cancel();
    }

    pub(super) async fn death(&self) {
        self.died.cancelled().await;
    }

    /// Does `work` while the component lives. The dead wait for ever: whatever is left of them reaches nobody.
    pub(super) async fn alive<T>(&self, work: impl Future<Output = T>) -> T {
        tokio::select! {
            biased;
            () = self.death() => pending().await,
            done = work => done,
        }
    }
}

/// A component under a small harness: when it crashes it is stopped, and a fresh one is started after a while.
#[derive(Debug)]
pub struct Component {
    starts: Arc<AtomicU64>,
    stop: CancellationToken,
    tasks: TaskTracker,
    _stop_on_drop: DropGuard,
}

impl Component {
    /// How often it was started.
    pub fn starts(&self) -> u64 {
        self.starts.load(Ordering::Relaxed)
    }

    /// Stops it for good, without giving it time.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tasks.wait().await;
    }
}

impl Faults {
    /// Runs a component with a client of its own until it is stopped or ends by itself. Whenever a crash meets it, its
    /// task is aborted, its client goes dead for whatever it may have spawned, and `restart` later it is started anew.
    pub fn run<Work>(
        &self,
        name: &str,
        restart: Duration,
        start: impl Fn(Client) -> Work + Send + 'static,
    ) -> Component
    where
        Work: Future<Output = ()> + Send + 'static,
    {
        let (starts, stop, tasks) =
            (Arc::new(AtomicU64::new(0)), CancellationToken::new(), TaskTracker::new());
        let lives = lives(self.clone(), Arc::from(name), restart, start, Arc::clone(&starts), stop.clone());
        tasks.spawn(lives);
        tasks.close();
        Component { starts, stop: stop.clone(), tasks, _stop_on_drop: stop.drop_guard() }
    }
}

async fn lives<Work>(
    faults: Faults,
    name: Arc<str>,
    restart: Duration,
    start: impl Fn(Client) -> Work + Send + 'static,
    starts: Arc<AtomicU64>,
    stop: CancellationToken,
) where
    Work: Future<Output = ()> + Send + 'static,
{
    loop {
        let instance = Instance::new(&name);
        let client = faults.client_of(&instance, crate::Cluster::admin());
        starts.fetch_add(1, Ordering::Relaxed);
        let mut work = tokio::spawn(start(client));
        let crashed = tokio::select! {
            biased;
            () = stop.cancelled() => false,
            () = instance.death() => true,
            _ = &mut work => return,
        };
        instance.die();
        work.abort();
        let _ = work.await;
        if !crashed {
            return;
        }
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = tokio::time::sleep(restart) => {}
        }
    }
}
