//! The status page, until the portal takes its place: what the nodes have, and who has taken it.
//!
//! [`view`] makes numbers of the cluster's objects, [`html`] a page of the numbers, in the words of [`words`].

mod html;
mod view;
mod words;

use std::net::SocketAddr;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse as _, Response};
use axum::routing::get;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::ListParams;
use kube::{Api, Client};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use view::View;
use words::Words;

/// Nothing on the page comes from elsewhere, and nothing on it runs.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

/// Serves the page, and those of the roles; answers where.
pub(super) fn serve(
    client: Client,
    others: Router,
    listener: TcpListener,
    stop: CancellationToken,
) -> std::io::Result<SocketAddr> {
    let address = listener.local_addr()?;
    let router = Router::new()
        .route("/", get(page))
        .route("/healthz", get(|| async { "ok" }))
        .with_state(client)
        .merge(others);
    let serving = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned());
    tokio::spawn(async move {
        if let Err(error) = serving.await {
            tracing::error!(%error, "the status page ended");
        }
    });
    Ok(address)
}

async fn page(State(client): State<Client>, headers: HeaderMap) -> Response {
    let wanted = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    let words = Words::for_reader(wanted.unwrap_or_default());
    let (status, body) = match read(client).await {
        Ok(view) => (StatusCode::OK, html::page(words, &view)),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, html::failure(words, &error.to_string())),
    };
    (status, [(header::CONTENT_SECURITY_POLICY, POLICY)], Html(body)).into_response()
}

async fn read(client: Client) -> Result<View, kube::Error> {
    let everything = ListParams::default();
    let nodes = Api::<Node>::all(client.clone()).list(&everything).await?;
    let pods = Api::<Pod>::all(client).list(&everything).await?;
    Ok(View::new(&nodes.items, &pods.items))
}
