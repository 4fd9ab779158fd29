//! A whole byte stream in binary messages: how newer clients carry SPDY through proxies that only
//! know WebSocket. Message borders mean nothing.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use futures::{Sink, Stream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::Socket;
use super::mux::disconnected;

/// Goes before the name of the protocol that is tunnelled.
pub(crate) const TUNNELLED_PORT_FORWARD: &str = "SPDY/3.1+portforward.k8s.io";

pub(crate) struct Tunnel {
    socket: Socket,
    unread: Bytes,
    closed_by_peer: bool,
    closed_by_us: bool,
}

impl Tunnel {
    pub(crate) fn new(socket: Socket) -> Self {
        Self { socket, unread: Bytes::new(), closed_by_peer: false, closed_by_us: false }
    }

    fn poll_send(
        &mut self,
        context: &mut Context<'_>,
        message: impl FnOnce() -> Message,
    ) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.socket).poll_ready(context)).map_err(disconnected)?;
        Poll::Ready(Pin::new(&mut self.socket).start_send(message()).map_err(disconnected))
    }
}

impl AsyncRead for Tunnel {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.unread.is_empty() && !self.closed_by_peer {
            match ready!(Pin::new(&mut self.socket).poll_next(context)) {
                Some(Ok(Message::Binary(bytes))) => self.unread = bytes,
                Some(Ok(Message::Text(_))) => {
                    let error =
                        io::Error::new(io::ErrorKind::InvalidData, "a tunnel carries binary messages only");
                    return Poll::Ready(Err(error));
                }
                Some(Ok(Message::Close(_))) | None => self.closed_by_peer = true,
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                Some(Err(error)) => return Poll::Ready(Err(disconnected(error))),
            }
        }
        let length = self.unread.len().min(buffer.remaining());
        buffer.put_slice(&self.unread[..length]);
        self.unread.advance(length);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Tunnel {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_send(context, || Message::Binary(Bytes::copy_from_slice(data))))?;
        Poll::Ready(Ok(data.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context).map_err(disconnected)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.closed_by_us && !self.closed_by_peer {
            let close = || Message::Close(Some(CloseFrame { code: CloseCode::Normal, reason: "".into() }));
            ready!(self.poll_send(context, close))?;
        }
        self.closed_by_us = true;
        self.poll_flush(context)
    }
}
