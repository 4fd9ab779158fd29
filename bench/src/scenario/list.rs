//! One full list, read as it comes.

use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt as _;
use tokio::time::Instant;

use super::{Measured, Meter};
use crate::peer::Peer;

/// What a list was like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    /// Objects per second.
    pub(crate) measured: Measured,
    /// Seconds from the request to the first bytes of the body.
    pub(crate) first_byte: f64,
    /// The size of the body.
    pub(crate) bytes: usize,
}

/// Lists a path that has `count` objects.
pub(crate) async fn list(peer: &Peer, path: &str, count: usize) -> anyhow::Result<List> {
    let mut lane = peer.door.open().await?;
    let meter = Meter::start(peer)?;
    let start = Instant::now();
    let mut body = lane.send(Method::GET, path, Bytes::new()).await?.into_body();
    let (mut bytes, mut first_byte) = (0, 0.0);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(anyhow::Error::from_boxed)?;
        if bytes == 0 {
            first_byte = start.elapsed().as_secs_f64();
        }
        bytes += frame.data_ref().map_or(0, Bytes::len);
    }
    Ok(List { measured: meter.stop(count)?, first_byte, bytes })
}
