//! The tasks around one WebSocket that carries channels: what arrives is spread over pipes, what is
//! written is gathered into one queue.
//!
//! The protocol has no windows, so a channel that nobody reads fills its pipe and then stops reading from the
//! socket: TCP slows the client down. Writers wait for room in the queue the same way. An orderly end
//! is a WebSocket close frame; a connection that ends without one makes readers fail instead of finish.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt, StreamExt};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_util::sync::{CancellationToken, PollSender};

use super::Socket;
use super::channel::{ChannelMessage, ChannelProtocol};
use crate::transport::{PipeReader, PipeWriter, pipe};

/// Unread bytes kept per channel.
const PIPE_CAPACITY: usize = 256 * 1024;
/// Data messages waiting to be sent, of at most [`LARGEST_CHUNK`] each.
const QUEUE_LENGTH: usize = 16;
/// What Go's copy loops write at once.
const LARGEST_CHUNK: usize = 32 * 1024;
/// How long a peer may take to confirm that it has read everything.
const LINGER: Duration = Duration::from_secs(5);

/// Something to send.
#[derive(Debug)]
pub(crate) enum Outgoing {
    /// Bytes for a channel.
    Data(u8, Bytes),
    /// No more bytes for this channel; sent only where the protocol can say so.
    CloseChannel(u8),
    /// The session is over: everything before this is sent, then the socket is closed in good order.
    Finish,
}

/// A running multiplexer: the two tasks live until the socket ends.
#[derive(Debug)]
pub(crate) struct Mux {
    readers: BTreeMap<u8, PipeReader>,
    outgoing: mpsc::Sender<Outgoing>,
    /// Cancelled when the connection is gone.
    pub(crate) closed: CancellationToken,
}

impl Mux {
    /// Starts the tasks. `incoming` are the channels the peer may send on; what arrives on others is ignored, as
    /// Kubernetes does. `dropped` is the close code used where all writers go away without [`Outgoing::Finish`].
    pub(crate) fn start(
        socket: Socket,
        protocol: ChannelProtocol,
        incoming: &[u8],
        dropped: CloseCode,
    ) -> Self {
        let (outgoing, queue) = mpsc::channel(QUEUE_LENGTH);
        let closed = CancellationToken::new();
        let mut readers = BTreeMap::new();
        let mut pipes = BTreeMap::new();
        for &channel in incoming {
            let (writer, reader) = pipe(PIPE_CAPACITY);
            readers.insert(channel, reader);
            pipes.insert(channel, writer);
        }
        let (sink, stream) = socket.split();
        let finished = CancellationToken::new();
        let receiver = Receiver { stream, protocol, pipes, finished, closed: closed.clone() };
        let sender = Sender { sink, protocol, queue, dropped };
        tokio::spawn(run(receiver, sender, closed.clone()));
        Self { readers, outgoing, closed }
    }

    /// The bytes that arrive on a channel; each channel's reader can be taken once.
    pub(crate) fn take_reader(&mut self, channel: u8) -> Option<PipeReader> {
        self.readers.remove(&channel)
    }

    pub(crate) fn writer(&self, channel: u8) -> ChannelWriter {
        ChannelWriter { channel, announce_end: false, queue: PollSender::new(self.outgoing.clone()) }
    }

    /// A writer whose shutdown tells the peer that this channel has ended. For clients: no server says so to
    /// a client, and kubectl complains about a channel 255 it does not know.
    pub(crate) fn closing_writer(&self, channel: u8) -> ChannelWriter {
        ChannelWriter { announce_end: true, ..self.writer(channel) }
    }

    /// The queue itself, for what is not a byte stream.
    pub(crate) fn outgoing(&self) -> mpsc::Sender<Outgoing> {
        self.outgoing.clone()
    }
}

/// Runs both directions. Reading decides when the connection is gone; when writing has finished, the
/// rest of what arrives is only read so that the peer gets to see our last bytes.
async fn run(receiver: Receiver, sender: Sender, closed: CancellationToken) {
    let _close_on_every_path = closed.drop_guard();
    let finished = receiver.finished.clone();
    let mut receiving = std::pin::pin!(receiver.run());
    let sending = std::pin::pin!(sender.run());
    tokio::select! {
        () = &mut receiving => {}
        result = sending => {
            finished.cancel();
            if let Err(error) = result {
                tracing::debug!(%error, "the peer of a WebSocket went away");
            }
            if tokio::time::timeout(LINGER, receiving).await.is_err() {
                tracing::debug!("a WebSocket peer did not confirm the close");
            }
        }
    }
}

struct Receiver {
    stream: SplitStream<Socket>,
    protocol: ChannelProtocol,
    pipes: BTreeMap<u8, PipeWriter>,
    /// Cancelled when our side has sent its last: what still arrives is thrown away.
    finished: CancellationToken,
    closed: CancellationToken,
}

impl Receiver {
    async fn run(mut self) {
        let end = self.spread().await;
        let pipes = std::mem::take(&mut self.pipes).into_values();
        match end {
            Ok(()) => pipes.for_each(drop),
            Err(error) => {
                tracing::debug!(%error, "a WebSocket did not end in good order");
                pipes.for_each(|pipe| pipe.fail(error.kind()));
            }
        }
        self.closed.cancel();
        // Reading on is what sends the answer to the peer's close frame.
        let answered = async { while let Some(Ok(_)) = self.stream.next().await {} };
        let _ = tokio::time::timeout(LINGER, answered).await;
    }

    /// Gives every message to its channel until the peer closes the socket.
    async fn spread(&mut self) -> io::Result<()> {
        while let Some(message) = self.stream.next().await {
            let payload = match message.map_err(disconnected)? {
                Message::Binary(payload) => payload,
                Message::Text(text) => text.into(),
                Message::Close(frame) => return orderly(frame.as_ref()),
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => continue,
            };
            match self.protocol.decode(payload).map_err(invalid)? {
                Some(ChannelMessage::Data(channel, data)) => self.deliver(channel, &data).await,
                Some(ChannelMessage::Close(channel)) => drop(self.pipes.remove(&channel)),
                None => {}
            }
        }
        Err(io::ErrorKind::UnexpectedEof.into())
    }

    async fn deliver(&mut self, channel: u8, data: &[u8]) {
        let Some(pipe) = self.pipes.get_mut(&channel) else { return };
        let delivered = tokio::select! {
            written = pipe.inner.write_all(data) => written.is_ok(),
            () = self.finished.cancelled() => false,
        };
        if !delivered {
            // The reader is gone (a command that does not read its input): what follows is of no use.
            self.pipes.remove(&channel);
        }
    }
}

struct Sender {
    sink: SplitSink<Socket, Message>,
    protocol: ChannelProtocol,
    queue: mpsc::Receiver<Outgoing>,
    dropped: CloseCode,
}

impl Sender {
    async fn run(mut self) -> Result<(), tokio_tungstenite::tungstenite::Error> {
        let mut code = self.dropped;
        while let Some(outgoing) = self.queue.recv().await {
            match outgoing {
                Outgoing::Data(channel, data) => self.sink.send(self.protocol.encode(channel, &data)).await?,
                Outgoing::CloseChannel(channel) => {
                    if let Some(message) = self.protocol.encode_close(channel) {
                        self.sink.send(message).await?;
                    }
                }
                Outgoing::Finish => {
                    code = CloseCode::Normal;
                    break;
                }
            }
        }
        // Writers that outlive the session must fail, not wait for a queue nobody empties.
        self.queue.close();
        self.sink.send(Message::Close(Some(CloseFrame { code, reason: "".into() }))).await
    }
}

pub(super) fn disconnected(error: tokio_tungstenite::tungstenite::Error) -> io::Error {
    match error {
        tokio_tungstenite::tungstenite::Error::Io(error) => error,
        other => io::Error::new(io::ErrorKind::ConnectionAborted, other),
    }
}

/// A peer that closes may be done, or may say that something went wrong.
fn orderly(frame: Option<&CloseFrame>) -> io::Result<()> {
    match frame {
        None | Some(CloseFrame { code: CloseCode::Normal | CloseCode::Away, .. }) => Ok(()),
        Some(CloseFrame { code, reason }) => {
            let message = format!("the peer closed with code {code} {reason}");
            Err(io::Error::new(io::ErrorKind::ConnectionAborted, message))
        }
    }
}

fn invalid(error: super::channel::ChannelError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// Writes to one channel of a [`Mux`].
#[derive(Debug)]
pub(crate) struct ChannelWriter {
    channel: u8,
    announce_end: bool,
    queue: PollSender<Outgoing>,
}

pub(crate) fn broken_pipe() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the session is over")
}

impl AsyncWrite for ChannelWriter {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.queue.poll_reserve(context)).map_err(|_| broken_pipe())?;
        let chunk = &data[..data.len().min(LARGEST_CHUNK)];
        let outgoing = Outgoing::Data(self.channel, Bytes::copy_from_slice(chunk));
        self.queue.send_item(outgoing).map_err(|_| broken_pipe())?;
        Poll::Ready(Ok(chunk.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The queue is sent without delay; there is nothing to push along.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.announce_end {
            ready!(self.queue.poll_reserve(context)).map_err(|_| broken_pipe())?;
            let close = Outgoing::CloseChannel(self.channel);
            self.queue.send_item(close).map_err(|_| broken_pipe())?;
        }
        self.queue.close();
        Poll::Ready(Ok(()))
    }
}
