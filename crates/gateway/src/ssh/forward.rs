//! From the client to a port or a Unix socket in the Pod (`ssh -L`).

use std::sync::Arc;

use bytes::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;

use super::{
    connection::Hall,
    helper,
    inlet::Inlet,
    session::{Outlet, reason, show},
};
use crate::pod::Part;

/// How much is carried at once.
const PART: usize = 32 * 1024;

/// Where a client wants to go.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// This port of the Pod.
    Port(u16),
    /// This socket in the Pod.
    Socket(String),
}

/// The port of the Pod that a client means. Other hosts are not for us to reach: what the Pod may reach is for the
/// programs in it to try, within its NetworkPolicy.
pub(super) fn port(host: &str, port: u32) -> Option<Target> {
    let own = ["localhost", "127.0.0.1", "::1", "[::1]", "0.0.0.0", "::", ""].contains(&host);
    let port = u16::try_from(port).ok().filter(|port| *port > 0)?;
    own.then_some(Target::Port(port))
}

/// A connection to carry.
pub(super) struct Forward {
    pub(super) hall: Arc<Hall>,
    pub(super) target: Target,
    pub(super) inlet: Inlet,
    pub(super) outlet: Outlet,
    pub(super) stop: CancellationToken,
}

impl Forward {
    pub(super) async fn serve(self) {
        let stop = self.stop.clone();
        if let Some(Err(why)) = stop.run_until_cancelled(self.carry()).await {
            tracing::info!(why, "a connection into a Pod cannot be carried");
        }
        let _ = self.outlet.eof().await;
        let _ = self.outlet.close().await;
        self.hall.forget(self.outlet.id());
        stop.cancel();
    }

    async fn carry(&self) -> Result<(), String> {
        let place = self.hall.place()?;
        match &self.target {
            Target::Port(port) => {
                let stream = place.port(*port).await.map_err(|error| reason(&error))?;
                let (from, to) = tokio::io::split(stream);
                tokio::join!(self.out(from), self.feed_pod(to));
                Ok(())
            }
            Target::Socket(path) => {
                let begun = helper::begin(&place, &["connect", path]).await;
                let (mut input, mut output) = begun.map_err(|error| reason(&error))?;
                match output.next().await.map_err(|error| reason(&error))? {
                    Part::Stdout(first) if first.first() == Some(&0) => {
                        let _ = self.outlet.data_bytes(first.slice(1..)).await;
                    }
                    other => return Err(format!("the socket {path} does not answer: {other:?}")),
                }
                let feeding = async {
                    while let Some(part) = self.inlet.pull().await {
                        self.hall.received(part.len());
                        if input.send(&part).await.is_err() {
                            return;
                        }
                    }
                    let _ = input.end().await;
                    std::future::pending::<()>().await;
                };
                tokio::select! { _ = show(&self.hall, &self.outlet, output) => {}, () = feeding => {} }
                Ok(())
            }
        }
    }

    async fn out(&self, mut from: impl tokio::io::AsyncRead + Unpin) {
        let mut part = vec![0; PART];
        while let Ok(count @ 1..) = from.read(&mut part).await {
            self.hall.sent(count);
            if self.outlet.data_bytes(Bytes::copy_from_slice(&part[..count])).await.is_err() {
                break;
            }
        }
        // Nothing more comes from the Pod; whoever still sends there sends to nobody.
        let _ = self.outlet.eof().await;
        self.inlet.close();
    }

    async fn feed_pod(&self, mut to: impl tokio::io::AsyncWrite + Unpin) {
        while let Some(part) = self.inlet.pull().await {
            self.hall.received(part.len());
            if to.write_all(&part).await.is_err() {
                return;
            }
        }
        let _ = to.shutdown().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_pod_itself_is_reached() {
        assert_eq!(port("localhost", 8888), Some(Target::Port(8888)));
        assert_eq!(port("127.0.0.1", 22), Some(Target::Port(22)));
        for (host, number) in
            [("169.254.169.254", 80), ("kubernetes.default", 443), ("localhost", 0), ("localhost", 70_000)]
        {
            assert_eq!(port(host, number), None, "{host}:{number}");
        }
    }
}
