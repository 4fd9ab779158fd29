//! The client's side of exec and port-forward, over any connection.
//!
//! Small on purpose: it is what tests and protocol translation need, not a replacement for a Kubernetes client.

mod exec;
mod handshake;
mod portforward;

pub use exec::{ExecClient, ExecProtocol, connect_exec};
pub use handshake::{ConnectError, ConnectTarget};
pub use portforward::{PortForwardClient, PortForwardProtocol, PortStream, connect_portforward};
