//! From an HTTP/1.1 request to a connection of another protocol: what the client offers, what we
//! choose, and the `101 Switching Protocols` answer.
//!
//! The choice is made from headers alone ([`Offer::read`], [`Offer::choose`]), so an error before the upgrade is an ordinary
//! HTTP answer that the client can show.

use axum::body::Body;
use http::header::{
    CONNECTION, CONTENT_TYPE, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Version};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::dial::BoxedIo;

/// Names the stream protocols a SPDY client offers, and the one the server takes.
pub(crate) const STREAM_PROTOCOL: HeaderName = HeaderName::from_static("x-stream-protocol-version");
/// What a server accepts, sent where it could not agree with the client.
const ACCEPTED_STREAM_PROTOCOLS: HeaderName = HeaderName::from_static("x-accepted-stream-protocol-versions");
/// The one SPDY version Kubernetes uses.
pub(crate) const SPDY: &str = "SPDY/3.1";

/// Why a request could not be upgraded. Answer it with [`UpgradeError::into_response`].
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum UpgradeError {
    /// The request does not ask for WebSocket or SPDY/3.1.
    #[error("unable to upgrade: the request asks for neither WebSocket nor SPDY/3.1")]
    NotAnUpgrade,
    /// A WebSocket request that breaks RFC 6455.
    #[error("unable to upgrade: {0}")]
    BadWebSocket(&'static str),
    /// A SPDY request that does not say which stream protocol it speaks.
    #[error("unable to upgrade: header X-Stream-Protocol-Version names no protocol")]
    NoStreamProtocol,
    /// Client and server have no protocol in common.
    #[error("unable to upgrade: client supports {offered:?}, server accepts {accepted:?}")]
    NoCommonProtocol {
        /// What the client named.
        offered: Vec<String>,
        /// What would have been taken.
        accepted: Vec<&'static str>,
    },
    /// The server runs on a connection that cannot change its protocol (HTTP/2, or a router called directly).
    #[error("unable to upgrade: this connection cannot switch protocols")]
    NotUpgradable,
    /// The request is an upgrade but asks for something impossible.
    #[error("unable to upgrade: {0}")]
    BadRequest(String),
}

impl UpgradeError {
    /// The HTTP status that tells the client whose fault it is.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::NoCommonProtocol { .. } => StatusCode::FORBIDDEN,
            Self::NotUpgradable => StatusCode::INTERNAL_SERVER_ERROR,
            Self::NotAnUpgrade | Self::BadWebSocket(_) | Self::NoStreamProtocol | Self::BadRequest(_) => {
                StatusCode::BAD_REQUEST
            }
        }
    }

    /// A plain-text answer, as a kubelet gives it.
    pub fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::from(format!("{self}\n")));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        match self {
            Self::NoCommonProtocol { accepted, .. } => {
                for protocol in accepted {
                    headers.append(ACCEPTED_STREAM_PROTOCOLS, HeaderValue::from_static(protocol));
                }
            }
            Self::BadWebSocket(_) => {
                headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
            }
            _ => {}
        }
        response
    }
}

/// What the client asks the connection to become.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    WebSocket { key: HeaderValue, protocols: Vec<String> },
    Spdy { protocols: Vec<String> },
}

impl Offer {
    pub(crate) fn read<B>(request: &Request<B>) -> Result<Self, UpgradeError> {
        let headers = request.headers();
        if request.version() >= Version::HTTP_2 {
            return Err(UpgradeError::NotUpgradable);
        }
        if !tokens(headers, &CONNECTION).any(|token| token.eq_ignore_ascii_case("upgrade")) {
            return Err(UpgradeError::NotAnUpgrade);
        }
        let upgrades: Vec<_> = tokens(headers, &UPGRADE).collect();
        if upgrades.iter().any(|name| name.eq_ignore_ascii_case("websocket")) {
            return websocket_offer(request.method(), headers);
        }
        if upgrades.iter().any(|name| name.eq_ignore_ascii_case(SPDY)) {
            let protocols: Vec<_> = tokens(headers, &STREAM_PROTOCOL).map(str::to_owned).collect();
            return if protocols.is_empty() {
                Err(UpgradeError::NoStreamProtocol)
            } else {
                Ok(Self::Spdy { protocols })
            };
        }
        Err(UpgradeError::NotAnUpgrade)
    }

    /// Takes the first protocol, in the client's order, that the server has too. A WebSocket client
    /// may name none at all, which older ones do; it gets `unnamed` and no protocol header back.
    pub(crate) fn choose<P: Copy>(
        &self,
        accepted: &[(&'static str, P)],
        unnamed: Option<P>,
    ) -> Result<(P, Response<Body>), UpgradeError> {
        let (Self::WebSocket { protocols, .. } | Self::Spdy { protocols }) = self;
        let chosen = protocols
            .iter()
            .find_map(|offered| accepted.iter().find(|(name, _)| name == offered))
            .map(|(name, protocol)| (Some(*name), *protocol));
        let unnamed = unnamed.filter(|_| protocols.is_empty()).map(|protocol| (None, protocol));
        let (name, protocol) = chosen.or(unnamed).ok_or_else(|| UpgradeError::NoCommonProtocol {
            offered: protocols.clone(),
            accepted: accepted.iter().map(|(name, _)| *name).collect(),
        })?;
        Ok((protocol, self.switching_protocols(name)))
    }

    fn switching_protocols(&self, protocol: Option<&'static str>) -> Response<Body> {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        let protocol_header = match self {
            Self::WebSocket { key, .. } => {
                let accept = derive_accept_key(key.as_bytes());
                headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
                let accept = HeaderValue::try_from(accept).expect("base64 is valid in a header");
                headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
                SEC_WEBSOCKET_PROTOCOL
            }
            Self::Spdy { .. } => {
                headers.insert(UPGRADE, HeaderValue::from_static(SPDY));
                STREAM_PROTOCOL
            }
        };
        if let Some(name) = protocol {
            headers.insert(protocol_header, HeaderValue::from_static(name));
        }
        response
    }
}

fn websocket_offer(method: &Method, headers: &HeaderMap) -> Result<Offer, UpgradeError> {
    if method != Method::GET {
        return Err(UpgradeError::BadWebSocket("a WebSocket handshake is a GET request"));
    }
    if headers.get(SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
        return Err(UpgradeError::BadWebSocket("only WebSocket version 13 is supported"));
    }
    let key = headers
        .get(SEC_WEBSOCKET_KEY)
        .ok_or(UpgradeError::BadWebSocket("header Sec-WebSocket-Key is missing"))?;
    let protocols = tokens(headers, &SEC_WEBSOCKET_PROTOCOL).map(str::to_owned).collect();
    Ok(Offer::WebSocket { key: key.clone(), protocols })
}

/// The comma-separated values of a header, however many lines it was sent on.
pub(crate) fn tokens<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|token| !token.is_empty())
}

/// Takes the pending upgrade out of the request. Must happen before the answer is sent.
pub(crate) fn take_upgrade<B>(request: &mut Request<B>) -> Result<OnUpgrade, UpgradeError> {
    // `hyper::upgrade::on` would also return a future for a connection that can never be upgraded;
    // asking for the extension first lets us say so while there is still an answer to give.
    request.extensions().get::<OnUpgrade>().ok_or(UpgradeError::NotUpgradable)?;
    Ok(hyper::upgrade::on(request))
}

/// Waits until the answer is out and the connection belongs to us.
pub(crate) async fn upgraded(upgrade: OnUpgrade) -> std::io::Result<BoxedIo> {
    let upgraded = upgrade.await.map_err(std::io::Error::other)?;
    Ok(Box::new(TokioIo::new(upgraded)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: Method, headers: &[(&str, &str)]) -> Request<()> {
        let mut builder = Request::builder().method(method);
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        builder.body(()).unwrap()
    }

    const WEBSOCKET: &[(&str, &str)] = &[
        ("connection", "keep-alive, Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];

    fn websocket(protocols: &[&str]) -> Offer {
        let mut request = request(Method::GET, WEBSOCKET);
        for protocol in protocols {
            request.headers_mut().append("sec-websocket-protocol", protocol.parse().unwrap());
        }
        Offer::read(&request).unwrap()
    }

    #[test]
    fn the_clients_order_decides() {
        let accepted = [("v4", 4), ("v5", 5)];
        let (protocol, response) = websocket(&["v9, v5", "v4"]).choose(&accepted, None).unwrap();
        assert_eq!(protocol, 5);
        assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
        assert_eq!(response.headers()["sec-websocket-protocol"], "v5");
        assert_eq!(
            response.headers()["sec-websocket-accept"],
            "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
            "as RFC 6455 works it out"
        );
    }

    #[test]
    fn a_client_that_names_no_protocol_gets_the_oldest_and_no_header() {
        let (protocol, response) = websocket(&[]).choose(&[("v4", 4)], Some(1)).unwrap();
        assert_eq!(protocol, 1);
        assert!(!response.headers().contains_key("sec-websocket-protocol"));
        assert!(websocket(&["v9"]).choose(&[("v4", 4)], Some(1)).is_err());
    }

    #[test]
    fn no_common_protocol_is_answered_with_what_would_be_accepted() {
        let request = request(
            Method::POST,
            &[
                ("connection", "upgrade"),
                ("upgrade", "SPDY/3.1"),
                ("x-stream-protocol-version", "v9.channel.k8s.io"),
            ],
        );
        let error = Offer::read(&request).unwrap().choose(&[("v4.channel.k8s.io", ())], None).unwrap_err();
        let response = error.into_response();
        assert_eq!(response.status(), StatusCode::FORBIDDEN);
        assert_eq!(response.headers()["x-accepted-stream-protocol-versions"], "v4.channel.k8s.io");
    }

    #[test]
    fn what_is_no_proper_upgrade_is_refused() {
        let spdy_without_version = [("connection", "upgrade"), ("upgrade", "SPDY/3.1")];
        let other = [("connection", "upgrade"), ("upgrade", "h2c")];
        let not_connection = [("connection", "close"), ("upgrade", "websocket")];
        let cases = [
            (request(Method::GET, &[]), UpgradeError::NotAnUpgrade),
            (request(Method::GET, &not_connection), UpgradeError::NotAnUpgrade),
            (request(Method::GET, &other), UpgradeError::NotAnUpgrade),
            (request(Method::POST, &spdy_without_version), UpgradeError::NoStreamProtocol),
            (
                request(Method::POST, WEBSOCKET),
                UpgradeError::BadWebSocket("a WebSocket handshake is a GET request"),
            ),
            (
                request(Method::GET, &WEBSOCKET[..3]),
                UpgradeError::BadWebSocket("header Sec-WebSocket-Key is missing"),
            ),
            (
                request(Method::GET, &WEBSOCKET[..2]),
                UpgradeError::BadWebSocket("only WebSocket version 13 is supported"),
            ),
        ];
        for (request, want) in cases {
            assert_eq!(Offer::read(&request), Err(want), "{request:?}");
        }
    }

    #[test]
    fn a_request_that_came_over_no_connection_cannot_switch() {
        let error = take_upgrade(&mut request(Method::GET, WEBSOCKET)).unwrap_err();
        assert_eq!((error.status(), error), (StatusCode::INTERNAL_SERVER_ERROR, UpgradeError::NotUpgradable));
    }
}
