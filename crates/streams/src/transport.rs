//! The byte-stream types every protocol here is written against.
//!
//! Sessions hand out boxed readers and writers so that a caller (a kubelet, an SSH gateway) does not
//! know which protocol, or which kind of socket, carries its bytes.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};

/// The reading end of one direction.
pub type BoxReader = Box<dyn AsyncRead + Send + Unpin>;
/// The writing end of one direction.
pub type BoxWriter = Box<dyn AsyncWrite + Send + Unpin>;

/// Makes a bounded pipe that carries one direction of one channel.
///
/// Unlike a plain pipe it can end with an error: a peer that vanished is not a peer that finished,
/// and whoever unpacks an archive from its standard input must be able to tell.
pub(crate) fn pipe(capacity: usize) -> (PipeWriter, PipeReader) {
    let (near, far) = tokio::io::duplex(capacity);
    let failure = Arc::new(OnceLock::new());
    (PipeWriter { inner: near, failure: failure.clone() }, PipeReader { inner: far, failure })
}

/// The end of a [`pipe`] that a connection driver fills.
#[derive(Debug)]
pub(crate) struct PipeWriter {
    pub(crate) inner: DuplexStream,
    failure: Arc<OnceLock<io::ErrorKind>>,
}

impl PipeWriter {
    /// Ends the pipe with an error instead of an orderly end of file.
    pub(crate) fn fail(self, kind: io::ErrorKind) {
        // Losing the race against an earlier failure is fine: the first reason is the true one.
        let _ = self.failure.set(kind);
    }
}

/// The end of a [`pipe`] that a session hands out.
#[derive(Debug)]
pub(crate) struct PipeReader {
    inner: DuplexStream,
    failure: Arc<OnceLock<io::ErrorKind>>,
}

impl AsyncRead for PipeReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let wanted = buffer.remaining();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let at_end = wanted > 0 && buffer.filled().len() == before;
        match self.failure.get() {
            Some(kind) if at_end => {
                Poll::Ready(Err(io::Error::new(*kind, "the peer disconnected before it finished sending")))
            }
            _ => Poll::Ready(Ok(())),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn what_was_written_before_a_failure_is_still_read() {
        let (mut writer, mut reader) = pipe(16);
        writer.inner.write_all(b"half").await.unwrap();
        writer.fail(io::ErrorKind::ConnectionReset);
        let mut text = Vec::new();
        let error = reader.read_to_end(&mut text).await.unwrap_err();
        assert_eq!((text.as_slice(), error.kind()), (b"half".as_slice(), io::ErrorKind::ConnectionReset));
    }

    #[tokio::test]
    async fn a_dropped_writer_is_an_orderly_end() {
        let (mut writer, mut reader) = pipe(16);
        writer.inner.write_all(b"whole").await.unwrap();
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "whole");
    }
}
