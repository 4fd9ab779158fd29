//! The two small servers of every role: numbers on one port, health and log level on the other.

use std::{io, net::SocketAddr, sync::Arc};

use axum::{Router, http::header::CONTENT_TYPE, routing::get};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;

/// An address could not be listened on.
#[derive(Debug, thiserror::Error)]
#[error("listen on {address} for {purpose}")]
pub struct BindError {
    purpose: &'static str,
    address: SocketAddr,
    source: io::Error,
}

/// Takes `address`, so that a taken port is found out before anything else starts.
pub async fn bind(purpose: &'static str, address: SocketAddr) -> Result<TcpListener, BindError> {
    TcpListener::bind(address).await.map_err(|source| BindError { purpose, address, source })
}

/// Serves until `shutdown`, then lets running requests finish.
pub async fn serve(listener: TcpListener, router: Router, shutdown: CancellationToken) -> io::Result<()> {
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, service).with_graceful_shutdown(shutdown.cancelled_owned()).await
}

/// `/metrics`.
pub fn metrics_router(metrics: Arc<Metrics>) -> Router {
    let scrape = move || async move {
        ([(CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], metrics.encode())
    };
    Router::new().route("/metrics", get(scrape))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::error::chain;

    #[tokio::test]
    async fn a_taken_port_is_named() {
        let first = bind("metrics", ([127, 0, 0, 1], 0).into()).await.unwrap();
        let address = first.local_addr().unwrap();
        let text = chain(&bind("health", address).await.unwrap_err());
        assert!(text.starts_with(&format!("listen on {address} for health: ")), "{text}");
    }

    #[tokio::test]
    async fn metrics_are_served_until_shutdown() {
        let listener = bind("metrics", ([127, 0, 0, 1], 0).into()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = CancellationToken::new();
        let router = metrics_router(Arc::new(Metrics::new()));
        let server = tokio::spawn(serve(listener, router, shutdown.clone()));
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("# EOF"), "{answer}");
        shutdown.cancel();
        server.await.unwrap().unwrap();
    }
}
