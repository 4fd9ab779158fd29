//! Exec, attach and port-forward on the wire, for both ends.
//!
//! Kubernetes carries these over two families of protocols: numbered channels in WebSocket messages and SPDY/3.1
//! streams (which newer clients tunnel in WebSocket messages again). Callers see neither: a server calls
//! [`accept_exec`] or [`accept_portforward`] and gets readers and writers; a server that only stands
//! between calls [`proxy_upgrade`] and passes the bytes through.
//!
//! Where to start reading: [`upgrade`](UpgradeError) chooses the protocol, `websocket` and `spdy` hold the formats
//! (pure) and the tasks around a connection, `options` the query parameters.

mod client;
pub mod dial;
mod exec;
mod options;
mod portforward;
mod proxy;
mod spdy;
mod status;
mod terminal;
mod transport;
mod upgrade;
mod way;
mod websocket;

#[cfg(test)]
mod tests;

pub use client::{
    ConnectError, ConnectTarget, ExecClient, ExecProtocol, PortForwardClient, PortForwardProtocol,
    PortStream, connect_exec, connect_portforward,
};
pub use exec::{ExecSession, PendingExec, accept_exec};
pub use options::{
    AttachOptions, ExecOptions, LogOptions, LogStream, OptionsError, PortForwardOptions, StreamSet,
};
pub use portforward::{PendingPortForward, PortConnection, PortForwardSession, accept_portforward};
pub use proxy::{ProxyError, ProxyTarget, proxy_upgrade};
pub use status::ExitStatus;
pub use terminal::{TerminalSize, TerminalSizes};
pub use transport::{BoxReader, BoxWriter};
pub use upgrade::UpgradeError;
pub use way::{Way, carry};
