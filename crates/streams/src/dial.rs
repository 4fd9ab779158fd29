//! Reaching a kubelet by the name of its node.
//!
//! An API server forwards log, exec, attach and port-forward requests to the kubelet of the pod's node. Which kubelets
//! exist, and whether one is reached through memory or over TLS, is none of the server's business: it is handed a
//! [`Dial`] and speaks HTTP/1.1 (upgrades included) on the connection that comes back.

use std::io;

use futures::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

/// A byte stream in both directions, whatever carries it.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// An owned [`Io`] behind a pointer; ready for `hyper_util::rt::TokioIo`.
pub type BoxedIo = Box<dyn Io>;

/// A connection being made.
pub type Dialing = BoxFuture<'static, io::Result<BoxedIo>>;

/// Opens connections to kubelets.
pub trait Dial: Send + Sync {
    /// Connects to the kubelet of `node`, or `None` if this dialer knows no such node.
    ///
    /// The peer serves HTTP/1.1 without TLS on the connection: one that crosses a network is wrapped by the dialer.
    fn dial(&self, node: &str) -> Option<Dialing>;
}

impl<F> Dial for F
where
    F: Fn(&str) -> Option<Dialing> + Send + Sync,
{
    fn dial(&self, node: &str) -> Option<Dialing> {
        self(node)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    fn echo_of_node_a() -> impl Dial {
        |node: &str| -> Option<Dialing> {
            (node == "a").then(|| -> Dialing {
                Box::pin(async {
                    let (near, mut far) = tokio::io::duplex(64);
                    tokio::spawn(async move {
                        let (mut read, mut write) = tokio::io::split(&mut far);
                        tokio::io::copy(&mut read, &mut write).await
                    });
                    Ok(Box::new(near) as BoxedIo)
                })
            })
        }
    }

    #[tokio::test]
    async fn a_closure_dials_the_nodes_it_knows() {
        let dialer = echo_of_node_a();
        assert!(dialer.dial("b").is_none());
        let mut connection = dialer.dial("a").expect("known").await.expect("connects");
        connection.write_all(b"ping").await.expect("writes");
        connection.shutdown().await.expect("closes");
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await.expect("reads");
        assert_eq!(answer, "ping");
    }
}
