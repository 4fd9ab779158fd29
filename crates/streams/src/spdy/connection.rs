//! A SPDY session on a real connection: one task moves frames, any number of owners read and write streams.
//!
//! All state is behind one lock that is held only for memory operations. The task ([`driver`]) is
//! woken when there is something to send or room to read; owners of streams are woken by events.

mod driver;
mod stream;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::frame::{Headers, ResetStatus};
use super::session::{Event, Role, Session};
use crate::dial::BoxedIo;

pub(crate) use stream::SpdyStream;

/// A handle on the connection. When it and every stream are dropped the connection is closed.
#[derive(Debug)]
pub(crate) struct Connection {
    shared: Arc<Shared>,
    closed: CancellationToken,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    session: Session,
    driver: Option<Waker>,
    /// The driver does not read because the session did not want more.
    input_paused: bool,
    accepting: Option<Waker>,
    readers: BTreeMap<u32, Waker>,
    writers: BTreeMap<u32, Waker>,
    /// Close once everything queued is sent.
    closing: bool,
    /// The [`Connection`] is gone: close when the last stream is dropped.
    unowned: bool,
}

impl Shared {
    /// Does something to the session, then wakes whoever it concerns.
    fn with<T>(&self, action: impl FnOnce(&mut State) -> T) -> T {
        let mut wakers = Vec::new();
        let result = {
            let mut state = self.state.lock();
            let result = action(&mut state);
            state.collect_wakers(&mut wakers);
            result
        };
        // Outside the lock: a woken task may run at once on another thread and want it.
        wakers.into_iter().for_each(Waker::wake);
        result
    }
}

impl State {
    fn collect_wakers(&mut self, wakers: &mut Vec<Waker>) {
        for event in self.session.take_events() {
            match event {
                Event::Readable(id) => wakers.extend(self.readers.remove(&id)),
                Event::Writable(id) => wakers.extend(self.writers.remove(&id)),
                Event::AllWritable => wakers.extend(std::mem::take(&mut self.writers).into_values()),
                Event::Incoming => wakers.extend(self.accepting.take()),
            }
        }
        if self.unowned && !self.session.has_owners() && !self.closing {
            self.session.go_away(0);
            self.closing = true;
        }
        if self.session.has_output() || self.closing || self.input_paused {
            wakers.extend(self.driver.take());
        }
    }
}

impl Connection {
    /// Starts the task that serves the connection.
    pub(crate) fn start(io: BoxedIo, role: Role) -> Self {
        let state = State {
            session: Session::new(role),
            driver: None,
            input_paused: false,
            accepting: None,
            readers: BTreeMap::new(),
            writers: BTreeMap::new(),
            closing: false,
            unowned: false,
        };
        let shared = Arc::new(Shared { state: Mutex::new(state) });
        let closed = CancellationToken::new();
        let guard = closed.clone().drop_guard();
        let driving = shared.clone();
        tokio::spawn(async move {
            let _closed_on_every_path = guard;
            driver::run(io, &driving).await;
        });
        Self { shared, closed }
    }

    /// Cancelled when the connection is gone.
    pub(crate) fn closed(&self) -> CancellationToken {
        self.closed.clone()
    }

    /// Waits for the peer to open a stream; `None` when it cannot any more.
    pub(crate) async fn accept(&self) -> Option<IncomingStream> {
        let (id, headers) = std::future::poll_fn(|context| self.poll_incoming(context)).await?;
        Some(IncomingStream { id, headers, shared: Some(self.shared.clone()) })
    }

    fn poll_incoming(&self, context: &mut Context<'_>) -> Poll<Option<(u32, Headers)>> {
        self.shared.with(|state| match state.session.next_incoming() {
            Some(incoming) => Poll::Ready(Some(incoming)),
            None if state.session.expects_streams() => {
                state.accepting = Some(context.waker().clone());
                Poll::Pending
            }
            None => Poll::Ready(None),
        })
    }

    /// Opens a stream and waits until the peer has accepted it.
    pub(crate) async fn open(&self, headers: Headers) -> io::Result<SpdyStream> {
        let id = self.shared.with(|state| state.session.open(headers));
        let id = id.ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotConnected, "the connection takes no new streams")
        })?;
        let stream = SpdyStream::new(id, self.shared.clone());
        let accepted = std::future::poll_fn(|context| {
            self.shared.with(|state| {
                let replied = state.session.replied(id);
                if replied.is_none() {
                    state.writers.insert(id, context.waker().clone());
                }
                replied.map_or(Poll::Pending, Poll::Ready)
            })
        });
        if accepted.await {
            Ok(stream)
        } else {
            Err(io::Error::new(io::ErrorKind::ConnectionRefused, "the peer refused the stream"))
        }
    }

    /// Sends what is queued, says goodbye and closes; returns when that is done or the peer is gone.
    pub(crate) async fn close(self) {
        self.shared.with(|state| {
            if !state.closing {
                state.session.go_away(0);
                state.closing = true;
            }
        });
        self.closed.cancelled().await;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.with(|state| {
            state.unowned = true;
            state.session.refuse_incoming();
        });
    }
}

/// A stream the peer wants to open. Dropping it refuses it.
#[derive(Debug)]
pub(crate) struct IncomingStream {
    pub(crate) id: u32,
    pub(crate) headers: Headers,
    shared: Option<Arc<Shared>>,
}

impl IncomingStream {
    pub(crate) fn accept(mut self) -> Option<SpdyStream> {
        let shared = self.shared.take()?;
        shared.with(|state| state.session.accept(self.id));
        Some(SpdyStream::new(self.id, shared))
    }
}

impl Drop for IncomingStream {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.take() {
            shared.with(|state| {
                state.session.reset(self.id, ResetStatus::REFUSED_STREAM);
                state.session.abandon(self.id);
            });
        }
    }
}
