//! Kubernetes over WebSocket: numbered channels in binary messages, or a whole byte stream tunnelled in them.
//!
//! Start reading at [`channel`] (the pure message format), then [`mux`] (the tasks around a socket).

pub(crate) mod channel;
pub(crate) mod mux;
pub(crate) mod tunnel;

use tokio_tungstenite::WebSocketStream;
pub(crate) use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use crate::dial::BoxedIo;

/// The largest message taken from a peer; what Go's WebSocket server allows by default.
const LARGEST_MESSAGE: usize = 32 << 20;

/// A WebSocket on a connection whose HTTP handshake is done.
pub(crate) type Socket = WebSocketStream<BoxedIo>;

/// Starts speaking WebSocket on an upgraded connection.
pub(crate) async fn socket(transport: BoxedIo, role: Role) -> Socket {
    let config = WebSocketConfig::default()
        .max_message_size(Some(LARGEST_MESSAGE))
        .max_frame_size(Some(LARGEST_MESSAGE));
    WebSocketStream::from_raw_socket(transport, role, Some(config)).await
}
