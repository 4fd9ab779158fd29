//! The HTTP request that turns a connection into something else.

use axum::body::Body;
use http::header::{
    CONNECTION, HOST, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION,
    UPGRADE,
};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::dial::{BoxedIo, Io};
use crate::upgrade::{SPDY, STREAM_PROTOCOL, upgraded};

/// The most of a refusal that is read.
const LARGEST_REFUSAL: usize = 64 * 1024;

/// What to ask the server for.
#[derive(Debug, Clone)]
pub struct ConnectTarget {
    /// The path and query, for example `/exec/{namespace}/{pod}/{container}?…`.
    pub path_and_query: PathAndQuery,
    /// Further headers, such as credentials.
    pub headers: HeaderMap,
}

impl ConnectTarget {
    /// A target without further headers.
    pub fn new(path_and_query: PathAndQuery) -> Self {
        Self { path_and_query, headers: HeaderMap::new() }
    }
}

/// Why a connection could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The server does not speak HTTP/1.1 or hung up.
    #[error("the server did not answer the upgrade request")]
    Http(#[from] hyper::Error),
    /// The server answered something else than `101 Switching Protocols`.
    #[error("the server refused the upgrade with {status}: {message}")]
    Refused {
        /// Its status.
        status: StatusCode,
        /// Its body, cut off where it is long.
        message: String,
    },
    /// The server switched to something that was not asked for.
    #[error("the server broke the handshake: {0}")]
    Handshake(&'static str),
    /// The connection broke after the handshake.
    #[error("the connection failed")]
    Io(#[from] std::io::Error),
}

/// The protocol family and the one protocol in it that the client insists on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    WebSocket(&'static str),
    Spdy(&'static str),
}

pub(super) async fn upgrade<I: Io + 'static>(
    io: I,
    target: ConnectTarget,
    ask: Ask,
) -> Result<BoxedIo, ConnectError> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(io)).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!(%error, "a client connection failed");
        }
    });
    let key = generate_key();
    let mut response = sender.send_request(request(target, ask, &key)).await?;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        let status = response.status();
        let body = Limited::new(response.into_body(), LARGEST_REFUSAL).collect().await;
        let message =
            body.map(|body| String::from_utf8_lossy(&body.to_bytes()).trim().to_owned()).unwrap_or_default();
        return Err(ConnectError::Refused { status, message });
    }
    verify(response.headers(), ask, &key)?;
    Ok(upgraded(hyper::upgrade::on(&mut response)).await?)
}

fn request(target: ConnectTarget, ask: Ask, key: &str) -> Request<Body> {
    let mut request = Request::new(Body::empty());
    *request.uri_mut() = Uri::from(target.path_and_query);
    let headers = request.headers_mut();
    headers.insert(HOST, HeaderValue::from_static("localhost"));
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    match ask {
        Ask::WebSocket(protocol) => {
            headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
            headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
            headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol));
            headers
                .insert(SEC_WEBSOCKET_KEY, HeaderValue::from_str(key).expect("base64 is valid in a header"));
        }
        Ask::Spdy(protocol) => {
            headers.insert(UPGRADE, HeaderValue::from_static(SPDY));
            headers.insert(STREAM_PROTOCOL, HeaderValue::from_static(protocol));
        }
    }
    headers.extend(target.headers);
    if let Ask::Spdy(_) = ask {
        *request.method_mut() = Method::POST;
    }
    request
}

fn verify(headers: &HeaderMap, ask: Ask, key: &str) -> Result<(), ConnectError> {
    let is = |name: &http::HeaderName, want: &str| {
        headers.get(name).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(want.as_bytes()))
    };
    let (family, name, protocol) = match ask {
        Ask::WebSocket(protocol) => ("websocket", &SEC_WEBSOCKET_PROTOCOL, protocol),
        Ask::Spdy(protocol) => (SPDY, &STREAM_PROTOCOL, protocol),
    };
    if !is(&UPGRADE, family) {
        return Err(ConnectError::Handshake("it switched to another protocol"));
    }
    if !is(name, protocol) {
        return Err(ConnectError::Handshake("it chose a stream protocol that was not offered"));
    }
    let accept = derive_accept_key(key.as_bytes());
    if matches!(ask, Ask::WebSocket(_))
        && headers.get(SEC_WEBSOCKET_ACCEPT).is_none_or(|value| value != &accept)
    {
        return Err(ConnectError::Handshake("Sec-WebSocket-Accept does not fit our key"));
    }
    Ok(())
}
