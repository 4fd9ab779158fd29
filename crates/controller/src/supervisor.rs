//! Tasks that must not end.
//!
//! A role is a handful of long-running tasks. If one of them returns, fails or panics before shutdown was asked for,
//! the others are stopped and the caller learns which one it was and why; half a process is never left running.

use std::{any::Any, collections::BTreeMap, error::Error as StdError, future::Future, time::Duration};

use tokio::{
    task::{Id, JoinError, JoinSet},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::error::chain;

/// What a task's failure is passed around as.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// Why a supervised set of tasks ended.
#[derive(Debug, thiserror::Error)]
pub enum Ended {
    /// A task returned although nobody had asked it to.
    #[error("task {task:?} ended although nothing asked it to")]
    Returned {
        /// Which task.
        task: String,
    },
    /// A task failed.
    #[error("task {task:?} failed")]
    Failed {
        /// Which task.
        task: String,
        /// Why.
        source: BoxError,
    },
    /// A task panicked.
    #[error("task {task:?} panicked: {message}")]
    Panicked {
        /// Which task.
        task: String,
        /// What it said.
        message: String,
    },
    /// Some tasks did not stop in time and were cut off.
    #[error("stopped waiting after {waited:?} for tasks that did not end: {}", tasks.join(", "))]
    Stuck {
        /// Which tasks.
        tasks: Vec<String>,
        /// How long they were given.
        waited: Duration,
    },
}

/// Runs named tasks until the first one ends or `shutdown` is cancelled.
#[derive(Debug)]
pub struct Supervisor {
    tasks: JoinSet<Result<(), BoxError>>,
    names: BTreeMap<Id, String>,
    shutdown: CancellationToken,
    drain: Duration,
}

impl Supervisor {
    /// Tasks watch `shutdown`; after it is cancelled they have `drain` to end.
    pub fn new(shutdown: CancellationToken, drain: Duration) -> Self {
        Self { tasks: JoinSet::new(), names: BTreeMap::new(), shutdown, drain }
    }

    /// The token that tells tasks to stop.
    pub fn shutdown(&self) -> &CancellationToken {
        &self.shutdown
    }

    /// Starts a task under a name that people will read.
    pub fn spawn<E, F>(&mut self, name: impl Into<String>, task: F)
    where
        E: Into<BoxError>,
        F: Future<Output = Result<(), E>> + Send + 'static,
    {
        let handle = self.tasks.spawn(async move { task.await.map_err(Into::into) });
        self.names.insert(handle.id(), name.into());
    }

    /// Waits for shutdown or the first task that ends by itself, then stops the rest.
    pub async fn run(mut self) -> Result<(), Ended> {
        let first = tokio::select! {
            biased;
            () = self.shutdown.cancelled() => None,
            Some(result) = self.tasks.join_next_with_id() => {
                let (task, how) = self.told(result);
                Some(how.err().unwrap_or(Ended::Returned { task }))
            }
        };
        if let Some(ended) = &first {
            tracing::error!("{}; stopping", chain(ended));
        }
        self.shutdown.cancel();
        let drained = self.drain().await;
        first.map_or(drained, Err)
    }

    /// Waits for all tasks, and reports the first failure among them.
    async fn drain(&mut self) -> Result<(), Ended> {
        let waited = self.drain;
        let ended = timeout(waited, self.join_all()).await;
        ended.unwrap_or_else(|_| {
            self.tasks.abort_all();
            Err(Ended::Stuck { tasks: self.names.values().cloned().collect(), waited })
        })
    }

    async fn join_all(&mut self) -> Result<(), Ended> {
        let mut first = Ok(());
        while let Some(result) = self.tasks.join_next_with_id().await {
            let (task, how) = self.told(result);
            match how {
                Ok(()) => tracing::debug!(task, "task ended"),
                Err(ended) => {
                    tracing::warn!("while stopping: {}", chain(&ended));
                    first = first.and(Err(ended));
                }
            }
        }
        first
    }

    fn told(&mut self, result: Result<(Id, Result<(), BoxError>), JoinError>) -> (String, Result<(), Ended>) {
        let id = result.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
        let task = self.names.remove(&id).unwrap_or_default();
        let how = match result {
            Ok((_, Ok(()))) => Ok(()),
            Ok((_, Err(source))) => Err(Ended::Failed { task: task.clone(), source }),
            Err(error) => Err(Ended::Panicked { task: task.clone(), message: panic_text(error) }),
        };
        (task, how)
    }
}

/// The words of a panic.
pub(crate) fn panic_text(error: JoinError) -> String {
    error
        .try_into_panic()
        .map_or_else(|cancelled| cancelled.to_string(), |payload| payload_text(payload.as_ref()))
}

fn payload_text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without text".to_owned())
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, future::pending, io};

    use super::*;

    fn supervisor() -> Supervisor {
        Supervisor::new(CancellationToken::new(), Duration::from_secs(5))
    }

    async fn until(stop: CancellationToken) -> Result<(), Infallible> {
        stop.cancelled().await;
        Ok(())
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_returns_ends_the_others_and_is_named() {
        let mut supervisor = supervisor();
        let stop = supervisor.shutdown().clone();
        supervisor.spawn("other", until(stop.clone()));
        supervisor.spawn("watch pods", async { Ok::<_, Infallible>(()) });
        let ended = supervisor.run().await.unwrap_err();
        assert_eq!(ended.to_string(), "task \"watch pods\" ended although nothing asked it to");
        assert!(stop.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_carries_its_cause() {
        let mut supervisor = supervisor();
        supervisor.spawn("serve metrics", async { Err(io::Error::other("address in use")) });
        let ended = supervisor.run().await.unwrap_err();
        assert_eq!(chain(&ended), "task \"serve metrics\" failed: address in use");
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_is_reported_with_its_words() {
        let mut supervisor = supervisor();
        supervisor.spawn::<Infallible, _>("plan", async { panic!("index {} is gone", 7) });
        let ended = supervisor.run().await.unwrap_err();
        assert_eq!(ended.to_string(), "task \"plan\" panicked: index 7 is gone");
    }

    #[tokio::test(start_paused = true)]
    async fn shutdown_waits_for_work_and_is_no_error() {
        let mut supervisor = supervisor();
        let stop = supervisor.shutdown().clone();
        let (sent, mut seen) = tokio::sync::mpsc::channel(1);
        supervisor.spawn("slow", async move {
            stop.cancelled().await;
            tokio::time::sleep(Duration::from_secs(4)).await;
            sent.send(()).await
        });
        supervisor.shutdown().cancel();
        supervisor.run().await.unwrap();
        assert!(seen.try_recv().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn tasks_that_do_not_stop_are_cut_off_and_named() {
        let mut supervisor = supervisor();
        supervisor.spawn("deaf", pending::<Result<(), Infallible>>());
        supervisor.spawn("fine", until(supervisor.shutdown().clone()));
        supervisor.shutdown().cancel();
        let started = tokio::time::Instant::now();
        let ended = supervisor.run().await.unwrap_err();
        assert_eq!(started.elapsed(), Duration::from_secs(5));
        assert_eq!(ended.to_string(), "stopped waiting after 5s for tasks that did not end: deaf");
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_while_stopping_is_reported() {
        let mut supervisor = supervisor();
        let stop = supervisor.shutdown().clone();
        supervisor.spawn("flush", async move {
            stop.cancelled().await;
            Err(io::Error::other("disk full"))
        });
        supervisor.shutdown().cancel();
        assert_eq!(chain(&supervisor.run().await.unwrap_err()), "task \"flush\" failed: disk full");
    }
}
