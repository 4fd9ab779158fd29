//! The task that moves bytes between the connection and the session.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};

use super::{Shared, State};
use crate::dial::BoxedIo;
use crate::spdy::decoder::{DecodeError, Decoder};
use crate::spdy::encoder::Encoder;
use crate::spdy::session::Session;

/// Encoded bytes waiting for the connection; frames stay in the session's queue beyond this.
const OUTPUT_LIMIT: usize = 64 * 1024;
/// Read at once.
const INPUT_CHUNK: usize = 64 * 1024;
/// How long the peer may take to read our last bytes and close.
const LINGER: Duration = Duration::from_secs(5);
/// The GOAWAY status of a peer that does not speak SPDY.
const PROTOCOL_ERROR: u32 = 1;

/// Serves the connection until it ends.
pub(super) async fn run(io: BoxedIo, shared: &Shared) {
    let mut driver = Driver::new(io);
    let end = std::future::poll_fn(|context| driver.poll(context, shared)).await;
    let kind = match &end {
        Ok(End::PeerClosed) => io::ErrorKind::UnexpectedEof,
        Ok(End::Closing) => io::ErrorKind::BrokenPipe,
        Err(error) => {
            tracing::debug!(%error, "a SPDY connection failed");
            error.kind()
        }
    };
    shared.with(|state| state.session.end(kind));
    if let Ok(End::Closing) = end {
        driver.linger().await;
    }
}

enum End {
    /// The peer closed the connection.
    PeerClosed,
    /// We said goodbye and everything is sent.
    Closing,
}

struct Driver {
    io: BoxedIo,
    encoder: Encoder,
    decoder: Decoder,
    output: BytesMut,
    input: BytesMut,
    chunk: Box<[u8]>,
}

impl Driver {
    fn new(io: BoxedIo) -> Self {
        Self {
            io,
            encoder: Encoder::new(),
            decoder: Decoder::new(),
            output: BytesMut::new(),
            input: BytesMut::new(),
            chunk: vec![0; INPUT_CHUNK].into_boxed_slice(),
        }
    }

    fn poll(&mut self, context: &mut Context<'_>, shared: &Shared) -> Poll<io::Result<End>> {
        loop {
            // Registered before anything is looked at, so that no change between looking and sleeping is missed.
            shared.state.lock().driver = Some(context.waker().clone());
            if let Poll::Ready(end) = self.poll_output(context, shared)? {
                return Poll::Ready(Ok(end));
            }
            if let Poll::Ready(end) = ready!(self.poll_input(context, shared))? {
                return Poll::Ready(Ok(end));
            }
        }
    }

    /// Sends what there is; ready only when that was the last.
    fn poll_output(&mut self, context: &mut Context<'_>, shared: &Shared) -> Poll<io::Result<End>> {
        loop {
            let closing = with_quietly(shared, |state| {
                fill(&mut self.output, &mut self.encoder, &mut state.session);
                state.closing && !state.session.has_output()
            });
            if self.output.is_empty() {
                ready!(Pin::new(&mut self.io).poll_flush(context))?;
                return if closing { Poll::Ready(Ok(End::Closing)) } else { Poll::Pending };
            }
            let written = ready!(Pin::new(&mut self.io).poll_write(context, &self.output))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.output.advance(written);
        }
    }

    /// Reads a chunk and gives its frames to the session. Ready with `Pending` inside when there may be more to do.
    fn poll_input(&mut self, context: &mut Context<'_>, shared: &Shared) -> Poll<io::Result<Poll<End>>> {
        let progressed = self.decode(shared)?;
        let paused = with_quietly(shared, |state| {
            state.input_paused = !state.session.wants_input();
            state.input_paused
        });
        if paused {
            return if progressed { Poll::Ready(Ok(Poll::Pending)) } else { Poll::Pending };
        }
        let mut buffer = ReadBuf::new(&mut self.chunk);
        match Pin::new(&mut self.io).poll_read(context, &mut buffer)? {
            Poll::Pending if progressed => Poll::Ready(Ok(Poll::Pending)),
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) if buffer.filled().is_empty() => Poll::Ready(Ok(Poll::Ready(End::PeerClosed))),
            Poll::Ready(()) => {
                self.input.extend_from_slice(buffer.filled());
                Poll::Ready(Ok(Poll::Pending))
            }
        }
    }

    /// Gives complete frames to the session as long as it takes them; says whether it took any.
    fn decode(&mut self, shared: &Shared) -> io::Result<bool> {
        let mut progressed = false;
        let decoded: Result<(), DecodeError> = with_quietly(shared, |state| {
            while state.session.wants_input() {
                let Some(frame) = self.decoder.decode(&mut self.input)? else { break };
                state.session.receive(frame);
                progressed = true;
            }
            Ok(())
        });
        match decoded {
            Ok(()) => Ok(progressed),
            Err(error) => {
                self.say_goodbye_to_a_stranger(shared);
                Err(io::Error::new(io::ErrorKind::InvalidData, error))
            }
        }
    }

    /// Queues the reason for hanging up; whether it arrives is the peer's luck.
    fn say_goodbye_to_a_stranger(&mut self, shared: &Shared) {
        with_quietly(shared, |state| {
            state.session.go_away(PROTOCOL_ERROR);
            fill(&mut self.output, &mut self.encoder, &mut state.session);
        });
        let mut nobody = Context::from_waker(std::task::Waker::noop());
        let _ = Pin::new(&mut self.io).poll_write(&mut nobody, &self.output);
        let _ = Pin::new(&mut self.io).poll_flush(&mut nobody);
    }

    /// Closes our direction and reads on until the peer closes too: closing with unread bytes would
    /// make TCP throw away what the peer has not read yet.
    async fn linger(&mut self) {
        let closing = async {
            self.io.shutdown().await?;
            while self.io.read(&mut self.chunk).await? > 0 {}
            io::Result::Ok(())
        };
        let _ = tokio::time::timeout(LINGER, closing).await;
    }
}

/// Like [`Shared::with`] but without waking the driver, which is who calls.
fn with_quietly<T>(shared: &Shared, action: impl FnOnce(&mut State) -> T) -> T {
    let mut wakers = Vec::new();
    let result = {
        let mut state = shared.state.lock();
        let own = state.driver.take();
        let result = action(&mut state);
        state.collect_wakers(&mut wakers);
        state.driver = own;
        result
    };
    wakers.into_iter().for_each(std::task::Waker::wake);
    result
}

fn fill(output: &mut BytesMut, encoder: &mut Encoder, session: &mut Session) {
    while output.len() < OUTPUT_LIMIT {
        let Some(frame) = session.next_frame() else { break };
        encoder.encode(&frame, output);
    }
}
