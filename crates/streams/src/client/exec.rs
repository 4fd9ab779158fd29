//! Exec and attach from the client's side.

use std::collections::BTreeMap;
use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::handshake::{Ask, ConnectError, ConnectTarget, upgrade};
use crate::dial::{BoxedIo, Io};
use crate::options::StreamSet;
use crate::spdy;
use crate::spdy::connection::Connection;
use crate::spdy::exec::{STREAM_TYPE, StreamProtocol};
use crate::spdy::session::Role;
use crate::status::ExitStatus;
use crate::terminal::TerminalSize;
use crate::transport::{BoxReader, BoxWriter};
use crate::websocket;
use crate::websocket::channel::{self, ChannelProtocol, EXEC_PROTOCOLS};
use crate::websocket::mux::{Mux, Outgoing};
use crate::websocket::socket;

/// The protocols that exec and attach can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecProtocol {
    /// What kubectl uses since 1.30: standard input can end by itself.
    WebSocketV5,
    /// Standard input ends with the session.
    WebSocketV4,
    /// The same as text.
    WebSocketV4Base64,
    /// Reports failures as text and has no exit codes.
    WebSocketV1,
    /// The same as text.
    WebSocketV1Base64,
    /// What kube-apiserver speaks to kubelets, and kubectl before 1.30.
    SpdyV4,
    /// Has no exit codes.
    SpdyV3,
    /// Has no terminal sizes either.
    SpdyV2,
}

impl ExecProtocol {
    /// All of them, newest first.
    pub const ALL: [Self; 8] = [
        Self::WebSocketV5,
        Self::WebSocketV4,
        Self::WebSocketV4Base64,
        Self::WebSocketV1,
        Self::WebSocketV1Base64,
        Self::SpdyV4,
        Self::SpdyV3,
        Self::SpdyV2,
    ];

    fn ask(self) -> Ask {
        match self {
            Self::WebSocketV5 => Ask::WebSocket("v5.channel.k8s.io"),
            Self::WebSocketV4 => Ask::WebSocket("v4.channel.k8s.io"),
            Self::WebSocketV4Base64 => Ask::WebSocket("v4.base64.channel.k8s.io"),
            Self::WebSocketV1 => Ask::WebSocket("channel.k8s.io"),
            Self::WebSocketV1Base64 => Ask::WebSocket("base64.channel.k8s.io"),
            Self::SpdyV4 => Ask::Spdy("v4.channel.k8s.io"),
            Self::SpdyV3 => Ask::Spdy("v3.channel.k8s.io"),
            Self::SpdyV2 => Ask::Spdy("v2.channel.k8s.io"),
        }
    }

    /// Whether standard input can end while the command still answers.
    pub fn can_end_stdin(self) -> bool {
        matches!(self, Self::WebSocketV5 | Self::SpdyV4 | Self::SpdyV3 | Self::SpdyV2)
    }

    /// Whether the exit code arrives, not only that the command failed.
    pub fn has_exit_codes(self) -> bool {
        matches!(self, Self::WebSocketV5 | Self::WebSocketV4 | Self::WebSocketV4Base64 | Self::SpdyV4)
    }

    /// Whether the client can tell the size of its terminal.
    pub fn has_resize(self) -> bool {
        self != Self::SpdyV2
    }
}

/// A command that runs elsewhere.
pub struct ExecClient {
    /// To the command. Shutting it down ends the command's input where the protocol can say so.
    pub stdin: Option<BoxWriter>,
    /// From the command.
    pub stdout: Option<BoxReader>,
    /// From the command.
    pub stderr: Option<BoxReader>,
    resize: Option<BoxWriter>,
    error: BoxReader,
    status_objects: bool,
    /// The connection lasts as long as this handle, not only as long as its input.
    _connection: KeptAlive,
}

#[derive(Debug)]
#[expect(dead_code, reason = "held for what dropping it does")]
enum KeptAlive {
    Channels(mpsc::Sender<Outgoing>),
    Streams(Connection),
}

impl std::fmt::Debug for ExecClient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ExecClient").finish_non_exhaustive()
    }
}

/// Asks the server behind `io` to run a command; `target` carries the query, `streams` says the same
/// to this side.
pub async fn connect_exec<I: Io + 'static>(
    io: I,
    target: ConnectTarget,
    protocol: ExecProtocol,
    streams: StreamSet,
) -> Result<ExecClient, ConnectError> {
    let ask = protocol.ask();
    let transport = upgrade(io, target, ask).await?;
    match ask {
        Ask::WebSocket(name) => Ok(websocket_client(transport, known(&EXEC_PROTOCOLS, name), streams).await),
        Ask::Spdy(name) => {
            Ok(spdy_client(transport, known(&spdy::exec::EXEC_PROTOCOLS, name), streams).await?)
        }
    }
}

fn known<P: Copy>(protocols: &[(&str, P)], name: &str) -> P {
    let found = protocols.iter().find(|(known, _)| *known == name);
    found.expect("every name in `ask` is a protocol the server has too").1
}

async fn spdy_client(
    transport: BoxedIo,
    protocol: StreamProtocol,
    streams: StreamSet,
) -> io::Result<ExecClient> {
    let connection = Connection::start(transport, Role::Client);
    let mut opened = BTreeMap::new();
    for name in spdy::exec::channels(streams, protocol) {
        let headers = vec![(STREAM_TYPE.to_owned(), name.to_owned())];
        opened.insert(name, connection.open(headers).await?);
    }
    Ok(ExecClient {
        stdin: opened.remove("stdin").map(|stream| Box::new(stream) as BoxWriter),
        stdout: opened.remove("stdout").map(|stream| Box::new(stream) as BoxReader),
        stderr: opened.remove("stderr").map(|stream| Box::new(stream) as BoxReader),
        resize: opened.remove("resize").map(|stream| Box::new(stream) as BoxWriter),
        error: Box::new(opened.remove("error").expect("the error stream is always among the channels")),
        status_objects: protocol.status_objects,
        _connection: KeptAlive::Streams(connection),
    })
}

async fn websocket_client(transport: BoxedIo, protocol: ChannelProtocol, streams: StreamSet) -> ExecClient {
    let mut incoming = vec![channel::ERROR];
    incoming.extend(streams.stdout.then_some(channel::STDOUT));
    incoming.extend(streams.stderr.then_some(channel::STDERR));
    let mut mux =
        Mux::start(socket(transport, websocket::Role::Client).await, protocol, &incoming, CloseCode::Normal);
    let mut reader = |channel| mux.take_reader(channel).map(|reader| Box::new(reader) as BoxReader);
    ExecClient {
        stdout: reader(channel::STDOUT),
        stderr: reader(channel::STDERR),
        error: reader(channel::ERROR).expect("the error channel is in the list above"),
        stdin: streams.stdin.then(|| Box::new(mux.closing_writer(channel::STDIN)) as BoxWriter),
        resize: streams.tty.then(|| Box::new(mux.writer(channel::RESIZE)) as BoxWriter),
        status_objects: protocol.status_objects,
        _connection: KeptAlive::Channels(mux.outgoing()),
    }
}

impl ExecClient {
    /// Tells the command how large the terminal is now.
    pub async fn resize(&mut self, size: TerminalSize) -> io::Result<()> {
        let unsupported = || io::Error::new(io::ErrorKind::Unsupported, "this session has no terminal");
        let writer = self.resize.as_mut().ok_or_else(unsupported)?;
        writer.write_all(&serde_json::to_vec(&size)?).await?;
        writer.flush().await
    }

    /// Waits for the command to end. Its output has to be read meanwhile.
    pub async fn status(&mut self) -> io::Result<ExitStatus> {
        let mut report = Vec::new();
        self.error.read_to_end(&mut report).await?;
        if self.status_objects {
            return Ok(ExitStatus::from_json(&report)?);
        }
        let text = String::from_utf8_lossy(&report).into_owned();
        Ok(if text.is_empty() { ExitStatus::Success } else { ExitStatus::Error(text) })
    }
}
