//! Ways to reach a cluster from inside the process.

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::{Request, header};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use kube::Client;
use kube::client::Body as KubeBody;
use tower::ServiceExt as _;
use tower::service_fn;

use super::Cluster;
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
        let router = self.router.clone();
        let service = service_fn(move |request: Request<KubeBody>| {
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
        });
        Client::new(service, "default")
    }
}

/// Sends one request over an in-memory connection, because only a connection can switch protocols.
async fn upgradable(router: Router, request: Request<Body>) -> Result<Response, hyper::Error> {
    let trusted = request.extensions().get::<Trusted>().cloned();
    let (near, far) = tokio::io::duplex(DUPLEX_BYTES);
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
