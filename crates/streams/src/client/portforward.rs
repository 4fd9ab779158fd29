//! Port-forward from the client's side.

use std::collections::BTreeMap;
use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::handshake::{Ask, ConnectError, ConnectTarget, upgrade};
use crate::dial::{BoxedIo, Io};
use crate::spdy::connection::Connection;
use crate::spdy::exec::STREAM_TYPE;
use crate::spdy::portforward::{PORT, PORT_FORWARD, REQUEST_ID};
use crate::spdy::session::Role;
use crate::transport::BoxReader;
use crate::websocket;
use crate::websocket::channel::UNNAMED_PORTS;
use crate::websocket::mux::Mux;
use crate::websocket::tunnel::{TUNNELLED_PORT_FORWARD, Tunnel};

/// The protocols that port-forward can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortForwardProtocol {
    /// Two channels for each port, all named in the request; what kube-rs and browsers use.
    WebSocketV4,
    /// SPDY in WebSocket messages; what kubectl uses since 1.31.
    Tunnelled,
    /// What kube-apiserver speaks to kubelets.
    Spdy,
}

impl PortForwardProtocol {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::WebSocketV4, Self::Tunnelled, Self::Spdy];

    /// Whether a port can be connected to more than once, and each direction ends by itself.
    pub fn has_connections(self) -> bool {
        self != Self::WebSocketV4
    }
}

/// A port-forward, ready to connect to ports.
#[derive(Debug)]
pub struct PortForwardClient {
    kind: Kind,
}

enum Kind {
    /// The ports nobody has connected to yet.
    Channels(BTreeMap<u16, PortStream>),
    Streams {
        connection: Connection,
        next_request: u64,
    },
}

impl std::fmt::Debug for Kind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Channels(ports) => formatter.debug_tuple("Channels").field(&ports.keys()).finish(),
            Self::Streams { next_request, .. } => {
                formatter.debug_tuple("Streams").field(next_request).finish()
            }
        }
    }
}

/// One connection to a port.
pub struct PortStream {
    /// To and from the port.
    pub data: BoxedIo,
    /// Why it does not work: text, or nothing at all.
    pub error: BoxReader,
}

impl std::fmt::Debug for PortStream {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PortStream").finish_non_exhaustive()
    }
}

/// Asks the server behind `io` to forward ports. `ports` matter to [`PortForwardProtocol::WebSocketV4`] only, which needs
/// the same ones in the query of `target`.
pub async fn connect_portforward<I: Io + 'static>(
    io: I,
    target: ConnectTarget,
    protocol: PortForwardProtocol,
    ports: &[u16],
) -> Result<PortForwardClient, ConnectError> {
    let streams = |io| Kind::Streams { connection: Connection::start(io, Role::Client), next_request: 0 };
    let kind = match protocol {
        PortForwardProtocol::WebSocketV4 => {
            let transport = upgrade(io, target, Ask::WebSocket("v4.channel.k8s.io")).await?;
            Kind::Channels(channels(transport, ports).await?)
        }
        PortForwardProtocol::Tunnelled => {
            let transport = upgrade(io, target, Ask::WebSocket(TUNNELLED_PORT_FORWARD)).await?;
            streams(Box::new(Tunnel::new(websocket::socket(transport, websocket::Role::Client).await)))
        }
        PortForwardProtocol::Spdy => streams(upgrade(io, target, Ask::Spdy(PORT_FORWARD)).await?),
    };
    Ok(PortForwardClient { kind })
}

async fn channels(transport: BoxedIo, ports: &[u16]) -> io::Result<BTreeMap<u16, PortStream>> {
    let socket = websocket::socket(transport, websocket::Role::Client).await;
    let data_channels = || ports.iter().zip((0..UNNAMED_PORTS.last_channel()).step_by(2));
    let incoming: Vec<u8> = data_channels().flat_map(|(_, channel)| [channel, channel + 1]).collect();
    let mut mux = Mux::start(socket, UNNAMED_PORTS, &incoming, CloseCode::Normal);
    let mut streams = BTreeMap::new();
    for (&port, channel) in data_channels() {
        let mut readers = [channel, channel + 1].map(|channel| mux.take_reader(channel));
        for reader in readers.iter_mut().flatten() {
            if reader.read_u16_le().await? != port {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the server forwards other ports"));
            }
        }
        let [Some(data), Some(error)] = readers else { continue };
        let data = Box::new(tokio::io::join(data, mux.writer(channel)));
        streams.insert(port, PortStream { data, error: Box::new(error) });
    }
    Ok(streams)
}

impl PortForwardClient {
    /// Connects to a port.
    pub async fn open(&mut self, port: u16) -> io::Result<PortStream> {
        match &mut self.kind {
            Kind::Channels(ports) => {
                let missing = || {
                    io::Error::new(
                        io::ErrorKind::NotFound,
                        "the port was not asked for, or is connected already",
                    )
                };
                ports.remove(&port).ok_or_else(missing)
            }
            Kind::Streams { connection, next_request } => {
                let request = next_request.to_string();
                *next_request += 1;
                let headers = |kind: &str| {
                    let pairs = [(STREAM_TYPE, kind), (PORT, &port.to_string()), (REQUEST_ID, &request)];
                    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
                };
                let mut error = connection.open(headers("error")).await?;
                error.shutdown().await?;
                let data = connection.open(headers("data")).await?;
                Ok(PortStream { data: Box::new(data), error: Box::new(error) })
            }
        }
    }
}
