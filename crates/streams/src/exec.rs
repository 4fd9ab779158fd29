//! Exec and attach as a server sees them, whichever protocol the client chose.
//!
//! [`accept_exec`] answers the request at once; the session comes from [`PendingExec::session`] after
//! the answer is on its way, so a handler returns the response and runs the session in a task:
//!
//! ```no_run
//! # use maar_streams::{accept_exec, ExecOptions, ExitStatus};
//! async fn exec(mut request: axum::extract::Request) -> axum::response::Response {
//!     let options = match ExecOptions::from_kubelet_query(request.uri().query()) {
//!         Ok(options) => options,
//!         Err(error) => return maar_streams::UpgradeError::BadRequest(error.to_string()).into_response(),
//!     };
//!     match accept_exec(&mut request, options.streams) {
//!         Ok((response, pending)) => {
//!             tokio::spawn(async move {
//!                 if let Ok(session) = pending.session().await {
//!                     let _ = session.finish(ExitStatus::Code(127)).await;
//!                 }
//!             });
//!             response
//!         }
//!         Err(error) => error.into_response(),
//!     }
//! }
//! ```

use std::io;

use axum::body::Body;
use bytes::Bytes;
use http::{Request, Response};
use hyper::upgrade::OnUpgrade;
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_util::sync::CancellationToken;

use crate::options::StreamSet;
use crate::spdy;
use crate::spdy::connection::Connection;
use crate::spdy::exec::{Reporter, StreamProtocol};
use crate::spdy::session::Role;
use crate::status::ExitStatus;
use crate::terminal::TerminalSizes;
use crate::transport::{BoxReader, BoxWriter};
use crate::upgrade::{Offer, UpgradeError, take_upgrade, upgraded};
use crate::websocket;
use crate::websocket::channel::{self, ChannelProtocol, EXEC_PROTOCOLS, UNNAMED};
use crate::websocket::mux::{Mux, Outgoing, broken_pipe};
use crate::websocket::socket;

/// Answers an exec or attach request. On success send the response, then await
/// [`PendingExec::session`] in a task of its own; on failure send the error's response.
pub fn accept_exec<B>(
    request: &mut Request<B>,
    streams: StreamSet,
) -> Result<(Response<Body>, PendingExec), UpgradeError> {
    let offer = Offer::read(request)?;
    let (protocol, response) = match &offer {
        Offer::WebSocket { .. } => {
            let (protocol, response) = offer.choose(&EXEC_PROTOCOLS, Some(UNNAMED))?;
            (Protocol::Channels(protocol), response)
        }
        Offer::Spdy { .. } => {
            let (protocol, response) = offer.choose(&spdy::exec::EXEC_PROTOCOLS, None)?;
            (Protocol::Streams(protocol), response)
        }
    };
    let upgrade = take_upgrade(request)?;
    Ok((response, PendingExec { upgrade, protocol, streams }))
}

#[derive(Debug, Clone, Copy)]
enum Protocol {
    Channels(ChannelProtocol),
    Streams(StreamProtocol),
}

/// An accepted request whose connection has not switched protocols yet.
#[derive(Debug)]
pub struct PendingExec {
    upgrade: OnUpgrade,
    protocol: Protocol,
    streams: StreamSet,
}

impl PendingExec {
    /// Waits for the connection and for the client to open its streams.
    pub async fn session(self) -> io::Result<ExecSession> {
        let transport = upgraded(self.upgrade).await?;
        match self.protocol {
            Protocol::Channels(protocol) => {
                let socket = socket(transport, websocket::Role::Server).await;
                Ok(websocket_session(socket, protocol, self.streams).await)
            }
            Protocol::Streams(protocol) => {
                let connection = Connection::start(transport, Role::Server);
                spdy_session(connection, protocol, self.streams).await
            }
        }
    }
}

/// A running exec or attach. The streams may be moved out and used in other tasks; the session ends
/// with [`ExecSession::finish`], which everything written before reaches the client ahead of.
pub struct ExecSession {
    /// What the client types; ends when the client closes it, fails when the client vanishes.
    pub stdin: Option<BoxReader>,
    /// The command's output.
    pub stdout: Option<BoxWriter>,
    /// The command's error output; absent with a terminal.
    pub stderr: Option<BoxWriter>,
    /// Changes of the client's terminal.
    pub resize: TerminalSizes,
    closed: CancellationToken,
    finish: Finish,
}

impl std::fmt::Debug for ExecSession {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ExecSession").field("finish", &self.finish).finish_non_exhaustive()
    }
}

#[derive(Debug)]
enum Finish {
    Channels { queue: mpsc::Sender<Outgoing>, protocol: ChannelProtocol },
    Streams(Reporter),
}

impl ExecSession {
    /// Cancelled when the client is gone, so that a command can be stopped that nobody watches any more.
    pub fn closed(&self) -> CancellationToken {
        self.closed.clone()
    }

    /// Reports how the command ended and closes the connection; returns when the client has it or is gone.
    pub async fn finish(self, status: ExitStatus) -> io::Result<()> {
        let Self { stdin, stdout, stderr, closed, finish, resize: _ } = self;
        drop((stdin, stdout, stderr));
        match finish {
            Finish::Channels { queue, protocol } => {
                let report = if protocol.status_objects {
                    Some(status.to_json())
                } else {
                    status.to_text().map(String::into_bytes)
                };
                if let Some(report) = report {
                    let report = Outgoing::Data(channel::ERROR, Bytes::from(report));
                    queue.send(report).await.map_err(|_| broken_pipe())?;
                }
                queue.send(Outgoing::Finish).await.map_err(|_| broken_pipe())?;
                closed.cancelled().await;
                Ok(())
            }
            Finish::Streams(reporter) => reporter.finish(&status).await,
        }
    }
}

async fn websocket_session(
    socket: crate::websocket::Socket,
    protocol: ChannelProtocol,
    streams: StreamSet,
) -> ExecSession {
    let mut incoming = Vec::new();
    if streams.stdin {
        incoming.push(channel::STDIN);
    }
    if streams.tty {
        incoming.push(channel::RESIZE);
    }
    let mut mux = Mux::start(socket, protocol, &incoming, CloseCode::Error);
    let queue = mux.outgoing();
    // Old clients wait for an empty message before they believe that the connection stands.
    let greeting = match streams {
        StreamSet { stdout: true, .. } => channel::STDOUT,
        StreamSet { stderr: true, .. } => channel::STDERR,
        _ => channel::ERROR,
    };
    // A client that is already gone shows when its streams are used.
    let _ = queue.send(Outgoing::Data(greeting, Bytes::new())).await;
    ExecSession {
        stdin: mux.take_reader(channel::STDIN).map(|reader| Box::new(reader) as BoxReader),
        stdout: streams.stdout.then(|| Box::new(mux.writer(channel::STDOUT)) as BoxWriter),
        stderr: streams.stderr.then(|| Box::new(mux.writer(channel::STDERR)) as BoxWriter),
        resize: mux.take_reader(channel::RESIZE).map_or_else(TerminalSizes::none, TerminalSizes::read_from),
        closed: mux.closed.clone(),
        finish: Finish::Channels { queue, protocol },
    }
}

async fn spdy_session(
    connection: Connection,
    protocol: StreamProtocol,
    streams: StreamSet,
) -> io::Result<ExecSession> {
    let wanted = spdy::exec::channels(streams, protocol);
    let mut opened = spdy::exec::await_streams(&connection, &wanted).await?;
    let error = opened.remove("error").expect("the error stream is always among the wanted ones");
    Ok(ExecSession {
        stdin: opened.remove("stdin").map(|stream| Box::new(stream) as BoxReader),
        stdout: opened.remove("stdout").map(|stream| Box::new(stream) as BoxWriter),
        stderr: opened.remove("stderr").map(|stream| Box::new(stream) as BoxWriter),
        resize: opened.remove("resize").map_or_else(TerminalSizes::none, TerminalSizes::read_from),
        closed: connection.closed(),
        finish: Finish::Streams(Reporter::new(connection, error, protocol)),
    })
}
