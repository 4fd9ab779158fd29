//! The kubelet's HTTP API: what an API server forwards log, exec, attach and port-forward requests to.
//!
//! One [`Kubelet`] serves all nodes of a set. A connection is for one node (in process the dialer knows which) or for
//! all of them (one listener stands for every node of the set); a Pod is found only on the nodes of the connection.
//! Authentication is not done here: in process there is nothing to prove, and the TLS listener (`tls`) does it before
//! a request gets this far.

pub(crate) mod access;
mod pods;
mod stats;
mod streams;
mod target;
pub(crate) mod tls;

use std::{io, sync::Arc};

use axum::{Router, extract::Extension, routing::get};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
    service::TowerToHyperService,
};
use maar_streams::{
    Way, carry,
    dial::{BoxedIo, Dial, Dialing},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::watch,
};
use tokio_util::sync::CancellationToken;

use crate::{clock::Clock, console::Console, pods::SharedTable, runtime::Runtime};

/// What a request may see.
#[derive(Debug, Clone)]
pub(crate) enum Scope {
    /// One node.
    Node(Arc<str>),
    /// Every node of the set.
    All,
}

/// The kubelets of a set.
pub(crate) struct Kubelet<R, C> {
    pub(crate) table: SharedTable<R>,
    pub(crate) console: Arc<C>,
    pub(crate) clock: Clock,
    pub(crate) client: kube::Client,
    pub(crate) seed: u64,
    pub(crate) shutdown: CancellationToken,
}

impl<R, C> Clone for Kubelet<R, C> {
    fn clone(&self) -> Self {
        Self {
            table: self.table.clone(),
            console: self.console.clone(),
            clock: self.clock.clone(),
            client: self.client.clone(),
            seed: self.seed,
            shutdown: self.shutdown.clone(),
        }
    }
}

impl<R: Runtime, C: Console> Kubelet<R, C> {
    /// The routes, for requests that may see `scope`.
    pub(crate) fn router(&self, scope: Scope) -> Router {
        Router::new()
            .route("/healthz", get(async || "ok"))
            .route("/containerLogs/{namespace}/{pod}/{container}", get(streams::logs::<R, C>))
            .route(
                "/exec/{namespace}/{pod}/{container}",
                get(streams::exec::<R, C>).post(streams::exec::<R, C>),
            )
            .route(
                "/attach/{namespace}/{pod}/{container}",
                get(streams::attach::<R, C>).post(streams::attach::<R, C>),
            )
            .route(
                "/portForward/{namespace}/{pod}",
                get(streams::port_forward::<R, C>).post(streams::port_forward::<R, C>),
            )
            .route("/pods", get(pods::list::<R, C>))
            .route("/stats/summary", get(stats::summary::<R, C>))
            .route("/metrics/resource", get(stats::resource::<R, C>))
            .route("/metrics", get(stats::metrics::<R, C>))
            .layer(Extension(scope))
            .with_state(self.clone())
    }

    /// Serves HTTP/1.1, upgrades included, on a connection until it ends or the kubelets stop.
    pub(crate) fn serve<I>(
        &self,
        connection: I,
        router: Router,
    ) -> impl Future<Output = ()> + Send + use<I, R, C>
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let shutdown = self.shutdown.clone();
        async move {
            let builder = auto::Builder::new(TokioExecutor::new()).http1_only();
            let service = TowerToHyperService::new(router);
            let serving = builder.serve_connection_with_upgrades(TokioIo::new(connection), service);
            tokio::select! {
                outcome = serving => if let Err(error) = outcome {
                    tracing::debug!("a connection to a kubelet ended: {error}");
                },
                () = shutdown.cancelled() => {}
            }
        }
    }
}

/// Reaches the kubelets of a set through memory.
impl<R: Runtime, C: Console> Dial for Kubelet<R, C> {
    fn dial(&self, node: &str) -> Option<Dialing> {
        let (name, cut_off) = {
            let table = self.table.lock();
            let entry = table.nodes.get(node)?;
            (entry.name.clone(), entry.cut_off.subscribe())
        };
        if *cut_off.borrow() {
            let message = format!("no route to node {name}");
            return Some(Box::pin(async { Err(io::Error::new(io::ErrorKind::HostUnreachable, message)) }));
        }
        let (near, before) = tokio::io::duplex(64 * 1024);
        let (behind, far) = tokio::io::duplex(64 * 1024);
        let router = self.router(Scope::Node(name));
        let serving = self.serve(far, router);
        Some(Box::pin(async move {
            tokio::spawn(async move { carry(&Cable { cut_off }, before, behind).await });
            tokio::spawn(serving);
            Ok(Box::new(near) as BoxedIo)
        }))
    }
}

/// What a connection to a node runs over. While it is cut nothing passes, and nobody is told.
struct Cable {
    cut_off: watch::Receiver<bool>,
}

impl Way for Cable {
    async fn open(&self) -> bool {
        self.cut_off.clone().wait_for(|cut| !cut).await.is_ok()
    }

    async fn shut(&self) {
        if self.cut_off.clone().wait_for(|cut| *cut).await.is_err() {
            // The node is gone, and with it who could cut.
            std::future::pending::<()>().await;
        }
    }
}
