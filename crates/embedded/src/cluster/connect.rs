//! Ways to reach a cluster from inside the process.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::{Request, header};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use kube::Client;
use kube::client::Body as KubeBody;
use tower::{Service, ServiceExt as _, service_fn};

use super::Cluster;
use crate::faults::{Faults, Plan, Wire};
use crate::identity::Trusted;
use crate::server::UserInfo;

/// How much an in-memory connection holds before the writer waits.
const DUPLEX_BYTES: usize = 64 << 10;

impl Cluster {
    /// A client without a socket, acting as the administrator.
    pub fn client(&self) -> Client {
        self.client_as(Self::admin())
    }

    /// A client without a socket, acting as `user`.
    pub fn client_as(&self, user: UserInfo) -> Client {
        Client::new(service(self.router.clone(), user), "default")
    }

    /// A client for a component, acting as the administrator, whose requests meet this cluster's faults.
    pub fn client_for(&self, component: &str) -> Client {
        self.faults().client(component)
    }

    /// What goes wrong in this cluster: nothing until somebody says so.
    pub fn faults(&self) -> Faults {
        let server = &self.server;
        let plan = server
            .faults
            .get_or_init(|| Arc::new(Plan::new(Arc::clone(&server.store), server.world.clock.clone())));
        Faults::new(Arc::clone(plan), self.router.clone())
    }
}

/// Hands requests of `user` to the server without a socket.
pub(crate) fn service(
    router: Router,
    user: UserInfo,
) -> impl Service<Request<KubeBody>, Response = Response, Error = hyper::Error, Future: Send> + Clone + Send {
    service_fn(move |request: Request<KubeBody>| {
        let router = router.clone();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Trusted(user.clone()));
        async move {
            if request.headers().contains_key(header::UPGRADE) {
                upgradable(router, request).await
            } else {
                router.oneshot(request).await.map_err(|never| match never {})
            }
        }
    })
}

/// Sends one request over an in-memory connection, because only a connection can switch protocols.
async fn upgradable(router: Router, request: Request<Body>) -> Result<Response, hyper::Error> {
    let trusted = request.extensions().get::<Trusted>().cloned();
    let (near, mut far) = tokio::io::duplex(DUPLEX_BYTES);
    if let Some(wire) = request.extensions().get::<Wire>().cloned() {
        let (before, after) = tokio::io::duplex(DUPLEX_BYTES);
        tokio::spawn(wire.carry(far, before));
        far = after;
    }
    let service = router.map_request(move |mut request: Request<hyper::body::Incoming>| {
        request.extensions_mut().extend(
            trusted
                .clone()
                .map(|trusted| {
                    let mut extensions = http::Extensions::new();
                    extensions.insert(trusted);
                    extensions
                })
                .unwrap_or_default(),
        );
        request.map(Body::new)
    });
    let serving = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(far), TowerToHyperService::new(service))
        .with_upgrades();
    tokio::spawn(async move {
        if let Err(error) = serving.await {
            tracing::debug!(%error, "an in-memory connection failed");
        }
    });
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(near)).await?;
    tokio::spawn(connection.with_upgrades());
    Ok(sender.send_request(request).await?.map(Body::new))
}
