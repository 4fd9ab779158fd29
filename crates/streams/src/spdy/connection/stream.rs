//! The handle on one stream: a reader and writer like any other.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Shared;
use crate::spdy::session::{Read, Write};

/// Dropping it finishes our direction; what the peer still sends is then refused.
#[derive(Debug)]
pub(crate) struct SpdyStream {
    id: u32,
    shared: Arc<Shared>,
}

impl SpdyStream {
    pub(super) fn new(id: u32, shared: Arc<Shared>) -> Self {
        Self { id, shared }
    }

    /// Writes without waiting, as far as there is room: for last words while being dropped.
    pub(crate) fn try_write(&self, data: &[u8]) {
        self.shared.with(|state| state.session.write(self.id, data));
    }
}

impl AsyncRead for SpdyStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if buffer.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        let read = self.shared.with(|state| {
            let read = state.session.read(self.id, buffer.remaining());
            if read == Read::Pending {
                state.readers.insert(self.id, context.waker().clone());
            }
            read
        });
        match read {
            Read::Data(data) => {
                buffer.put_slice(&data);
                Poll::Ready(Ok(()))
            }
            Read::End => Poll::Ready(Ok(())),
            Read::Failed(kind) => Poll::Ready(Err(io::Error::new(kind, "the stream was cut off"))),
            Read::Pending => Poll::Pending,
        }
    }
}

impl AsyncWrite for SpdyStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        let write = self.shared.with(|state| {
            let write = state.session.write(self.id, data);
            if write == Write::Pending {
                state.writers.insert(self.id, context.waker().clone());
            }
            write
        });
        match write {
            Write::Accepted(length) => Poll::Ready(Ok(length)),
            Write::Failed => {
                Poll::Ready(Err(io::Error::new(io::ErrorKind::BrokenPipe, "the stream is closed")))
            }
            Write::Pending => Poll::Pending,
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // What is queued is sent without delay.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.shared.with(|state| state.session.finish(self.id));
        Poll::Ready(Ok(()))
    }
}

impl Drop for SpdyStream {
    fn drop(&mut self) {
        self.shared.with(|state| {
            state.session.abandon(self.id);
            state.readers.remove(&self.id);
            state.writers.remove(&self.id);
        });
    }
}
