//! Port-forward as a server sees it, whichever protocol the client chose.
//!
//! Like exec: [`accept_portforward`] answers at once, [`PendingPortForward::session`] gives the session when the
//! connection has switched. A session is a series of connections, each to a port of the Pod.

use std::io;

use axum::body::Body;
use http::{Request, Response};
use hyper::upgrade::OnUpgrade;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_util::sync::CancellationToken;

use crate::dial::BoxedIo;
use crate::options::{OptionsError, PortForwardOptions};
use crate::spdy::connection::Connection;
use crate::spdy::portforward::{PORT_FORWARD, Pairing};
use crate::spdy::session::Role;
use crate::transport::BoxWriter;
use crate::upgrade::{Offer, UpgradeError, take_upgrade, upgraded};
use crate::websocket;
use crate::websocket::channel::{ChannelProtocol, PORT_PROTOCOLS, UNNAMED_PORTS};
use crate::websocket::mux::Mux;
use crate::websocket::tunnel::{TUNNELLED_PORT_FORWARD, Tunnel};

/// Connections that wait to be taken by [`PortForwardSession::next`].
const BACKLOG: usize = 16;

/// Answers a port-forward request. On success send the response, then await
/// [`PendingPortForward::session`] in a task of its own; on failure send the error's response.
pub fn accept_portforward<B>(
    request: &mut Request<B>,
) -> Result<(Response<Body>, PendingPortForward), UpgradeError> {
    let offer = Offer::read(request)?;
    let (protocol, response) = match &offer {
        Offer::WebSocket { .. } => {
            let channels = PORT_PROTOCOLS.map(|(name, protocol)| (name, Protocol::Channels(protocol)));
            let accepted = [&[(TUNNELLED_PORT_FORWARD, Protocol::Tunnel)], channels.as_slice()].concat();
            offer.choose(&accepted, Some(Protocol::Channels(UNNAMED_PORTS)))?
        }
        Offer::Spdy { .. } => offer.choose(&[(PORT_FORWARD, Protocol::Spdy)], None)?,
    };
    let ports = match protocol {
        Protocol::Channels(protocol) => named_ports(request.uri().query(), protocol)?,
        Protocol::Tunnel | Protocol::Spdy => Vec::new(),
    };
    let upgrade = take_upgrade(request)?;
    Ok((response, PendingPortForward { upgrade, protocol, ports }))
}

/// The channel protocol has two channels per port and no way to add one later.
fn named_ports(query: Option<&str>, protocol: ChannelProtocol) -> Result<Vec<u16>, UpgradeError> {
    let bad = |problem: String| UpgradeError::BadRequest(problem);
    let ports = PortForwardOptions::from_query(query).map_err(|error| bad(error.to_string()))?.ports;
    if ports.is_empty() {
        return Err(bad(OptionsError::Missing("port").to_string()));
    }
    let most = usize::from(protocol.last_channel()).div_ceil(2);
    if ports.len() > most {
        return Err(bad(format!(
            "{} ports are too many for one connection, which has room for {most}",
            ports.len()
        )));
    }
    Ok(ports)
}

#[derive(Debug, Clone, Copy)]
enum Protocol {
    Channels(ChannelProtocol),
    Tunnel,
    Spdy,
}

/// An accepted request whose connection has not switched protocols yet.
#[derive(Debug)]
pub struct PendingPortForward {
    upgrade: OnUpgrade,
    protocol: Protocol,
    ports: Vec<u16>,
}

impl PendingPortForward {
    /// Waits for the connection.
    pub async fn session(self) -> io::Result<PortForwardSession> {
        let transport = upgraded(self.upgrade).await?;
        match self.protocol {
            Protocol::Channels(protocol) => channel_session(transport, protocol, &self.ports).await,
            Protocol::Spdy => Ok(spdy_session(transport)),
            Protocol::Tunnel => {
                let socket = websocket::socket(transport, websocket::Role::Server).await;
                Ok(spdy_session(Box::new(Tunnel::new(socket))))
            }
        }
    }
}

/// The connections a client makes through one port-forward. Dropping it takes no new ones; those that
/// were taken go on.
#[derive(Debug)]
pub struct PortForwardSession {
    connections: mpsc::Receiver<PortConnection>,
    closed: CancellationToken,
}

impl PortForwardSession {
    /// The next connection; `None` when the client makes no more.
    pub async fn next(&mut self) -> Option<PortConnection> {
        self.connections.recv().await
    }

    /// Cancelled when the client is gone.
    pub fn closed(&self) -> CancellationToken {
        self.closed.clone()
    }
}

/// One connection to a port. Dropping it ends it in good order; [`PortConnection::fail`] says what went wrong.
pub struct PortConnection {
    /// The port of the Pod.
    pub port: u16,
    /// What is sent to the port and what it answers.
    pub data: BoxedIo,
    error: BoxWriter,
    /// The protocol can end one direction and keep the other.
    half_close: bool,
}

impl std::fmt::Debug for PortConnection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PortConnection").field("port", &self.port).finish_non_exhaustive()
    }
}

impl PortConnection {
    pub(crate) fn new(port: u16, data: BoxedIo, error: BoxWriter, half_close: bool) -> Self {
        Self { port, data, error, half_close }
    }

    /// Tells the client why this connection does not work, and ends it.
    pub async fn fail(mut self, message: &str) -> io::Result<()> {
        self.error.write_all(message.as_bytes()).await?;
        self.error.shutdown().await
    }

    /// Copies between the client and the port's other end until both are done.
    pub async fn join<T: AsyncRead + AsyncWrite>(self, target: T) -> io::Result<()> {
        let Self { data, mut error, half_close, port: _ } = self;
        let (mut from_client, mut to_client) = tokio::io::split(data);
        let (mut from_target, mut to_target) = tokio::io::split(target);
        let up = async {
            tokio::io::copy(&mut from_client, &mut to_target).await?;
            to_target.shutdown().await
        };
        let down = async {
            tokio::io::copy(&mut from_target, &mut to_client).await?;
            to_client.shutdown().await?;
            // kubectl before 1.29 keeps its own side open until it knows that no error follows.
            error.shutdown().await
        };
        if half_close {
            return tokio::try_join!(up, down).map(drop);
        }
        // The client cannot be told that the port said its last, so ending the whole connection has to do.
        tokio::pin!(up, down);
        tokio::select! {
            result = &mut down => result,
            result = &mut up => match result {
                Ok(()) => down.await,
                error => error,
            },
        }
    }
}

async fn channel_session(
    transport: BoxedIo,
    protocol: ChannelProtocol,
    ports: &[u16],
) -> io::Result<PortForwardSession> {
    let socket = websocket::socket(transport, websocket::Role::Server).await;
    let channels = ports.iter().zip((0..=protocol.last_channel()).step_by(2));
    let incoming: Vec<_> = channels.clone().map(|(_, channel)| channel).collect();
    let mut mux = Mux::start(socket, protocol, &incoming, CloseCode::Normal);
    let (sender, connections) = mpsc::channel(ports.len());
    for (&port, channel) in channels {
        let (mut data, mut error) = (mux.writer(channel), mux.writer(channel + 1));
        // Each channel begins with the number of its port.
        data.write_all(&port.to_le_bytes()).await?;
        error.write_all(&port.to_le_bytes()).await?;
        let reader = mux.take_reader(channel).expect("each data channel is in the list above");
        let connection =
            PortConnection::new(port, Box::new(tokio::io::join(reader, data)), Box::new(error), false);
        sender.try_send(connection).expect("there is room for every port");
    }
    Ok(PortForwardSession { connections, closed: mux.closed.clone() })
}

fn spdy_session(transport: BoxedIo) -> PortForwardSession {
    let (sender, connections) = mpsc::channel(BACKLOG);
    let connection = Connection::start(transport, Role::Server);
    let closed = connection.closed();
    tokio::spawn(Pairing::new(connection).run(sender));
    PortForwardSession { connections, closed }
}
