//! From the client to a port or a Unix socket in the Pod (`ssh -L`).

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    time::sleep,
};
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
/// How long a port may be silent after the client has said its last, which a port-forward cannot pass on.
const LAST_WORDS: Duration = Duration::from_mins(1);

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
                let said_all = CancellationToken::new();
                tokio::join!(self.out(from, &said_all), self.feed_pod(to, &said_all));
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

    async fn out(&self, mut from: impl tokio::io::AsyncRead + Unpin, said_all: &CancellationToken) {
        let mut part = vec![0; PART];
        loop {
            let read = tokio::select! {
                read = from.read(&mut part) => read,
                () = async { said_all.cancelled().await; sleep(LAST_WORDS).await } => break,
            };
            let Ok(count @ 1..) = read else { break };
            self.hall.sent(count);
            if self.outlet.data_bytes(Bytes::copy_from_slice(&part[..count])).await.is_err() {
                break;
            }
        }
        // Nothing more comes from the Pod; whoever still sends there sends to nobody.
        let _ = self.outlet.eof().await;
        self.inlet.close();
    }

    /// The end is not passed on: a port-forward that hears of it closes the way back as well, with the answer on it.
    async fn feed_pod(&self, mut to: impl tokio::io::AsyncWrite + Unpin, said_all: &CancellationToken) {
        while let Some(part) = self.inlet.pull().await {
            self.hall.received(part.len());
            if to.write_all(&part).await.is_err() {
                return;
            }
        }
        said_all.cancel();
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
