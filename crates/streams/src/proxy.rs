//! Passing an upgrade on to another server, byte for byte.
//!
//! An API server does not need to understand exec to serve it: it authorizes the request, finds the kubelet, and lets
//! the two ends agree on a protocol between themselves. What the backend answers instead of `101` (a
//! missing container, say) goes back to the client as an ordinary response.

use axum::body::Body;
use http::header::{AUTHORIZATION, COOKIE, HOST, PROXY_AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Uri};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::copy_bidirectional;

use crate::dial::Io;
use crate::upgrade::{UpgradeError, take_upgrade, tokens, upgraded};

/// Browsers cannot set headers on a WebSocket, so Kubernetes takes a bearer token as a made-up sub-protocol.
const BEARER_PROTOCOL: &str = "base64url.bearer.authorization.k8s.io.";

/// Where a proxied request goes.
#[derive(Debug, Clone)]
pub struct ProxyTarget {
    /// The path and query the backend shall see.
    pub path_and_query: PathAndQuery,
    /// Headers to add, such as the proxy's own credentials for the backend. They replace the client's.
    pub headers: HeaderMap,
}

/// Why a request could not be passed on.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// The client's side of it.
    #[error(transparent)]
    Upgrade(#[from] UpgradeError),
    /// The backend did not speak HTTP/1.1 with us.
    #[error("error dialing backend")]
    Backend(#[source] hyper::Error),
}

impl ProxyError {
    /// The HTTP status that fits.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Upgrade(error) => error.status(),
            Self::Backend(_) => StatusCode::BAD_GATEWAY,
        }
    }
}

/// Sends an upgrade request on over `backend` and returns the backend's answer. If that is `101`, both
/// connections are joined in a task that ends when either side does.
///
/// The client's credentials (authorization, cookies, impersonation, bearer sub-protocols) stay here:
/// the backend has to trust the proxy, not whoever talks to it.
pub async fn proxy_upgrade<I>(
    mut request: Request<Body>,
    backend: I,
    target: ProxyTarget,
) -> Result<Response<Body>, ProxyError>
where
    I: Io + 'static,
{
    let client = take_upgrade(&mut request)?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(backend)).await.map_err(ProxyError::Backend)?;
    tokio::spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!(%error, "a proxied connection failed");
        }
    });
    let mut response = sender.send_request(rewrite(request, target)).await.map_err(ProxyError::Backend)?;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        let server = hyper::upgrade::on(&mut response);
        tokio::spawn(join(client, server));
    }
    Ok(response.map(Body::new))
}

/// Joins both connections once each has switched protocols.
async fn join(client: hyper::upgrade::OnUpgrade, server: hyper::upgrade::OnUpgrade) {
    let joined = async {
        let mut server = upgraded(server).await?;
        let mut client = upgraded(client).await?;
        copy_bidirectional(&mut client, &mut server).await
    };
    match joined.await {
        Ok((sent, received)) => tracing::debug!(sent, received, "a proxied session ended"),
        Err(error) => tracing::debug!(%error, "a proxied session was cut off"),
    }
}

fn rewrite(request: Request<Body>, target: ProxyTarget) -> Request<Body> {
    let (mut parts, body) = request.into_parts();
    parts.uri = Uri::from(target.path_and_query);
    parts.extensions.clear();
    remove_credentials(&mut parts.headers);
    parts.headers.entry(HOST).or_insert(HeaderValue::from_static("localhost"));
    for (name, value) in target.headers {
        if let Some(name) = name {
            parts.headers.insert(name, value);
        }
    }
    Request::from_parts(parts, body)
}

fn remove_credentials(headers: &mut HeaderMap) {
    for name in [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE] {
        headers.remove(name);
    }
    let identity = ["impersonate-", "x-remote-"];
    let claimed: Vec<_> = headers
        .keys()
        .filter(|name| identity.iter().any(|start| name.as_str().starts_with(start)))
        .cloned()
        .collect();
    for name in claimed {
        headers.remove(name);
    }
    let offered: Vec<_> = tokens(headers, &SEC_WEBSOCKET_PROTOCOL).collect();
    let kept: Vec<_> = offered.iter().filter(|name| !name.starts_with(BEARER_PROTOCOL)).copied().collect();
    if kept.len() < offered.len() {
        let kept = HeaderValue::try_from(kept.join(", ")).expect("parts of a valid header value are valid");
        headers.insert(SEC_WEBSOCKET_PROTOCOL, kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clients_identity_stays_with_the_proxy() {
        let request = Request::builder()
            .uri("https://api.example/api/v1/namespaces/a/pods/b/exec?command=ls")
            .header("host", "api.example")
            .header("authorization", "Bearer secret")
            .header("cookie", "session=1")
            .header("impersonate-user", "root")
            .header("x-remote-group", "system:masters")
            .header("upgrade", "websocket")
            .header(
                "sec-websocket-protocol",
                "base64url.bearer.authorization.k8s.io.c2VjcmV0, v5.channel.k8s.io",
            )
            .body(Body::empty())
            .unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer proxy"));
        let target =
            ProxyTarget { path_and_query: PathAndQuery::from_static("/exec/a/b/c?command=ls"), headers };
        let request = rewrite(request, target);
        assert_eq!(request.uri(), "/exec/a/b/c?command=ls");
        let mut left: Vec<_> = request
            .headers()
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        left.sort();
        assert_eq!(
            left,
            [
                "authorization: Bearer proxy",
                "host: api.example",
                "sec-websocket-protocol: v5.channel.k8s.io",
                "upgrade: websocket"
            ]
        );
    }
}
