//! Requests to a portal.

use anyhow::Context as _;
use axum::{
    body::Body,
    http::{HeaderMap, Method, Request, StatusCode, Uri, header},
};
use futures::TryStreamExt as _;
use hyper_util::rt::TokioIo;
use kube::{Client, Config};
use serde_json::Value;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        handshake::{client::generate_key, derive_accept_key},
        protocol::Role,
    },
};

use super::Login;
use crate::commands::{address::is_private, failure::Failure};

/// The most of an answer that is kept in memory.
const MOST: usize = 64 << 20;

/// A WebSocket to a portal.
pub(crate) type Socket = WebSocketStream<TokioIo<hyper::upgrade::Upgraded>>;

/// A portal, with what proves who asks.
#[derive(Clone)]
pub(crate) struct Remote {
    client: Client,
    address: String,
    headers: HeaderMap,
}

impl Remote {
    /// The portal at an address, as nobody.
    pub(crate) fn at(address: &str) -> anyhow::Result<Self> {
        let wrong = || Failure::usage(format!("{address} is not a URL such as https://gpu.example"));
        let uri: Uri = address.parse().map_err(|_| wrong())?;
        let whole = uri.scheme().is_some() && uri.host().is_some() && matches!(uri.path(), "" | "/");
        if !whole || uri.query().is_some() {
            return Err(wrong().into());
        }
        if !is_private(&uri) {
            let why = format!("{address} has no TLS: a password sent there can be read on the way");
            return Err(Failure::usage(why).into());
        }
        let client = Client::try_from(Config::new(uri)).context("preparing to talk to the portal")?;
        let address = address.trim_end_matches('/').to_owned();
        Ok(Self { client, address, headers: HeaderMap::new() })
    }

    /// The portal of a login, in its name.
    pub(crate) fn of(login: &Login) -> anyhow::Result<Self> {
        let key = format!("Bearer {}", login.key).parse().context("the key of the login is damaged")?;
        Ok(Self::at(&login.address)?.with(header::AUTHORIZATION, key))
    }

    pub(crate) fn with(mut self, name: header::HeaderName, value: header::HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Sends a request and answers whatever comes, if it is no refusal.
    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<axum::http::Response<kube::client::Body>> {
        let mut request = Request::builder().method(method).uri(format!("/api/v1{path}"));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        request = request.header("x-maar-request", "1");
        let body = match body {
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                serde_json::to_vec(body)?
            }
            None => Vec::new(),
        };
        let answer = self.client.send(request.body(body.into())?).await;
        let answer = answer.map_err(|error| {
            Failure::unreachable(format!("the portal at {} does not answer: {error}", self.address))
        })?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let (status, text) = (answer.status(), whole(answer).await.unwrap_or_default());
        Err(refusal(status, &text).into())
    }

    /// Sends a form to a path at the root, as OpenID has it; the status and the JSON of the answer.
    pub(crate) async fn form(
        &self,
        path: &str,
        pairs: &[(&str, &str)],
    ) -> anyhow::Result<(StatusCode, Value)> {
        let text = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        let request = Request::post(path)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(text.into_bytes().into())?;
        let answer = self.client.send(request).await.map_err(|error| {
            Failure::unreachable(format!("the portal at {} does not answer: {error}", self.address))
        })?;
        let (status, text) = (answer.status(), whole(answer).await?);
        let value = serde_json::from_slice(&text).map_err(|_| {
            Failure::unreachable(format!("{}{path} answered {status}, and no JSON", self.address))
        })?;
        Ok((status, value))
    }

    /// Opens a WebSocket with one protocol.
    pub(crate) async fn socket(&self, path: &str, protocol: &'static str) -> anyhow::Result<Socket> {
        let key = generate_key();
        let mut request = Request::get(format!("/api/v1{path}"))
            .header(header::CONNECTION, "Upgrade")
            .header(header::UPGRADE, "websocket")
            .header(header::SEC_WEBSOCKET_VERSION, "13")
            .header(header::SEC_WEBSOCKET_KEY, &key)
            .header(header::SEC_WEBSOCKET_PROTOCOL, protocol);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let answer = self.client.send(request.body(Vec::new().into())?).await;
        let answer = answer.map_err(|error| {
            Failure::unreachable(format!("the portal at {} does not answer: {error}", self.address))
        })?;
        if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
            let (status, text) = (answer.status(), whole(answer).await.unwrap_or_default());
            return Err(refusal(status, &text).into());
        }
        if !agreed(answer.headers(), &key, protocol) {
            return Err(Failure::unreachable("what stands before the portal does not speak WebSocket").into());
        }
        let stream = hyper::upgrade::on(answer).await.context("switching to WebSocket")?;
        Ok(Socket::from_raw_socket(TokioIo::new(stream), Role::Client, None).await)
    }

    /// Sends a request; the headers and the JSON of the answer, null if there is none.
    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<(HeaderMap, Value)> {
        let answer = self.send(method, path, body).await?;
        let headers = answer.headers().clone();
        let text = whole(answer).await?;
        let value = if text.is_empty() { Value::Null } else { serde_json::from_slice(&text)? };
        Ok((headers, value))
    }

    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<Value> {
        Ok(self.call(Method::GET, path, None).await?.1)
    }

    pub(crate) async fn post(&self, path: &str, body: Option<&Value>) -> anyhow::Result<Value> {
        Ok(self.call(Method::POST, path, body).await?.1)
    }

    pub(crate) async fn delete(&self, path: &str) -> anyhow::Result<()> {
        self.call(Method::DELETE, path, None).await.map(drop)
    }

    /// All items of a list, page by page.
    pub(crate) async fn list(&self, path: &str) -> anyhow::Result<Vec<Value>> {
        let (mut all, mut cursor) = (Vec::new(), String::new());
        loop {
            let sign = if path.contains('?') { '&' } else { '?' };
            let mut page = self.get(&format!("{path}{sign}limit=500{cursor}")).await?;
            if let Some(items) = page["items"].as_array_mut() {
                all.append(items);
            }
            // Cursors are letters, digits, dashes and underscores.
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return Ok(all),
            }
        }
    }

    /// Hands on the bytes of an answer as they come.
    pub(crate) async fn stream(&self, path: &str, mut take: impl FnMut(&[u8])) -> anyhow::Result<()> {
        let answer = self.send(Method::GET, path, None).await?;
        let mut parts = Body::new(answer.into_body()).into_data_stream();
        while let Some(part) = parts.try_next().await.context("the portal stopped in the middle")? {
            take(&part);
        }
        Ok(())
    }
}

/// Whether the other end speaks WebSocket, and the protocol that was asked for.
fn agreed(said: &HeaderMap, key: &str, protocol: &str) -> bool {
    let said = |name| said.get(name).and_then(|value| value.to_str().ok());
    said(header::SEC_WEBSOCKET_ACCEPT) == Some(&derive_accept_key(key.as_bytes()))
        && said(header::SEC_WEBSOCKET_PROTOCOL) == Some(protocol)
}

async fn whole(answer: axum::http::Response<kube::client::Body>) -> anyhow::Result<Vec<u8>> {
    let body = Body::new(answer.into_body());
    Ok(axum::body::to_bytes(body, MOST).await.context("reading the answer of the portal")?.to_vec())
}

/// A refusal in the words of the portal.
fn refusal(status: StatusCode, text: &[u8]) -> Failure {
    let said: Value = serde_json::from_slice(text).unwrap_or_default();
    let message =
        said["message"].as_str().map_or_else(|| format!("the portal answered {status}"), str::to_owned);
    let message = match said["field"].as_str() {
        Some(field) => format!("{field}: {message}"),
        None => message,
    };
    let message = match said["requestId"].as_str() {
        Some(id) if status.is_server_error() => format!("{message} (request {id})"),
        _ => message,
    };
    match status.as_u16() {
        401 => Failure::refused(format!("{message}: log in with maar login")),
        404 => Failure::not_found(message),
        400..500 => Failure::refused(message),
        _ => Failure::unreachable(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_keep_their_words() {
        let said = br#"{"code":"invalid","message":"is no name","field":"image","requestId":"r"}"#;
        assert_eq!(refusal(StatusCode::UNPROCESSABLE_ENTITY, said).to_string(), "image: is no name");
        assert_eq!(
            refusal(StatusCode::BAD_GATEWAY, b"<html>").to_string(),
            "the portal answered 502 Bad Gateway"
        );
    }
}
