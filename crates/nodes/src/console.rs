//! What the kubelet's HTTP API asks of whoever runs the containers.

use std::{fmt, io, sync::Arc};

use bytes::Bytes;
use futures::{future::BoxFuture, stream::BoxStream};
use jiff::Timestamp;
use maar_streams::{ExecSession, LogOptions, StreamSet, dial::BoxedIo};

use crate::{
    lifecycle::{ContainerLife, Exit, State},
    pod::Pod,
};

/// A container that a request is about, as it was when the request came.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) pod: Arc<Pod>,
    /// Position of the container in its Pod.
    pub(crate) position: usize,
    pub(crate) life: ContainerLife,
}

impl Target {
    pub(crate) fn container(&self) -> &str {
        &self.pod.template.containers[self.position].name
    }

    /// The run that a log request is about: the current or last one, or the one before.
    pub(crate) fn run(&self, previous: bool) -> Option<Run> {
        let of_exit =
            |exit: &Exit| Some(Run { number: exit.run, since: exit.started?, until: Some(exit.finished) });
        match (&self.life.state, previous) {
            (State::Running { since, .. }, false) => {
                Some(Run { number: self.life.restarts, since: *since, until: None })
            }
            (State::Exited(exit), false) => of_exit(exit),
            _ => self.life.last.as_deref().and_then(of_exit),
        }
    }

    /// Why there is no log to read.
    pub(crate) fn no_log(&self, previous: bool) -> ConsoleError {
        let (container, pod) = (self.container(), &self.pod.name);
        ConsoleError::BadRequest(if previous {
            format!("previous terminated container {container:?} in pod {pod:?} not found")
        } else {
            format!("container {container:?} in pod {pod:?} is waiting to start: ContainerCreating")
        })
    }

    pub(crate) fn is_running(&self) -> bool {
        matches!(self.life.state, State::Running { .. })
    }
}

/// One run of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) number: u32,
    pub(crate) since: Timestamp,
    pub(crate) until: Option<Timestamp>,
}

/// Why a request cannot be answered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConsoleError {
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// The request makes no sense at the moment.
    #[error("{0}")]
    BadRequest(String),
    /// Something broke on our side.
    #[error("{0}")]
    Internal(String),
    /// The node is cut off. In process it cannot be dialed; one listener for all nodes has to say so.
    #[error("{0}")]
    Unreachable(String),
}

/// What a container uses.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Usage {
    /// Processor time since the start.
    pub(crate) cpu_seconds: f64,
    /// Cores at the moment.
    pub(crate) cpu_cores: f64,
    pub(crate) memory_bytes: f64,
}

/// An exec or attach that was accepted.
pub(crate) struct Terminal {
    pub(crate) session: ExecSession,
    pub(crate) streams: StreamSet,
}

impl fmt::Debug for Terminal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Terminal").field("streams", &self.streams).finish_non_exhaustive()
    }
}

/// Log text as it becomes available.
pub(crate) type LogText = BoxStream<'static, io::Result<Bytes>>;

/// See the module.
pub(crate) trait Console: Send + Sync + 'static {
    /// The log of a container.
    fn logs(&self, target: Target, options: LogOptions) -> BoxFuture<'static, Result<LogText, ConsoleError>>;

    /// Runs a command in a container until it ends or the client goes away.
    fn exec(&self, target: Target, command: Vec<String>, terminal: Terminal) -> BoxFuture<'static, ()>;

    /// Joins the streams of the container's own process.
    fn attach(&self, target: Target, terminal: Terminal) -> BoxFuture<'static, ()>;

    /// Connects to a port of the Pod.
    fn connect(&self, pod: Arc<Pod>, port: u16) -> BoxFuture<'static, io::Result<BoxedIo>>;

    /// What a container uses at `now`.
    fn usage(&self, target: &Target, now: Timestamp) -> Usage;
}
