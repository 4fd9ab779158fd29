//! Asking a container for a page, for probes and hooks.

use std::time::Duration;

use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{ACCEPT, CONTENT_LENGTH, HOST, LOCATION, TRAILER, TRANSFER_ENCODING, USER_AGENT},
    uri::Scheme,
};
use http_body_util::Empty;
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::{Container, HTTPGetAction};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};

use super::{
    network::{host, port},
    tls,
};

/// So often a page may lead to another.
const MOST_REDIRECTS: usize = 10;

/// Asks for a page; 200 to 399 is well.
pub(super) async fn probe(
    container: &Container,
    action: &HTTPGetAction,
    patience: Duration,
) -> Result<(), String> {
    let status = get(container, action, "kube-probe/1.36", patience).await?.as_u16();
    if (200..400).contains(&status) {
        return Ok(());
    }
    Err(format!("HTTP probe failed with statuscode: {status}"))
}

/// Asks for the page of a hook; any answer will do, as for a kubelet.
pub(in crate::local) async fn hook(
    container: &Container,
    action: &HTTPGetAction,
    patience: Duration,
) -> Result<(), String> {
    get(container, action, "kube-lifecycle/1.36", patience).await.map(drop)
}

async fn get(
    container: &Container,
    action: &HTTPGetAction,
    agent: &'static str,
    patience: Duration,
) -> Result<StatusCode, String> {
    let mut place = Place::of(container, action)?;
    let headers = headers(action, agent)?;
    let exchange = async {
        for _ in 0..MOST_REDIRECTS {
            let answer = place.ask(headers.clone()).await?;
            match place.redirected(&answer) {
                Some(next) => place = next,
                None => return Ok(answer.status()),
            }
        }
        Err(format!("stopped after {MOST_REDIRECTS} redirects"))
    };
    tokio::time::timeout(patience, exchange).await.map_err(|_| format!("no answer within {patience:?}"))?
}

/// The headers that are wanted, and those that are always there if nobody wants others.
fn headers(action: &HTTPGetAction, agent: &'static str) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for wanted in action.http_headers.iter().flatten() {
        let name: HeaderName = wanted.name.parse().map_err(|_| format!("no header: {:?}", wanted.name))?;
        let value = wanted.value.as_str().try_into();
        let value: HeaderValue = value.map_err(|_| format!("no value of a header: {:?}", wanted.value))?;
        // There is one host and one agent, and what frames a message is not for others to say.
        let once = [HOST, USER_AGENT].contains(&name) && headers.contains_key(&name);
        if !once && ![CONTENT_LENGTH, TRAILER, TRANSFER_ENCODING].contains(&name) {
            headers.append(name, value);
        }
    }
    headers.entry(USER_AGENT).or_insert(HeaderValue::from_static(agent));
    if headers.entry(ACCEPT).or_insert(HeaderValue::from_static("*/*")).is_empty() {
        headers.remove(ACCEPT);
    }
    if headers.get(HOST).is_some_and(HeaderValue::is_empty) {
        headers.remove(HOST);
    }
    Ok(headers)
}

/// Where a page is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    secure: bool,
    host: String,
    port: u16,
    path: String,
}

impl Place {
    fn of(container: &Container, action: &HTTPGetAction) -> Result<Self, String> {
        Ok(Self {
            secure: action.scheme.as_deref() == Some("HTTPS"),
            host: host(action.host.as_deref()).to_owned(),
            port: port(container, &action.port)?,
            path: rooted(action.path.as_deref().unwrap_or_default()),
        })
    }

    async fn ask(&self, headers: HeaderMap) -> Result<http::Response<()>, String> {
        let mut request = http::Request::get(&self.path)
            .body(Empty::<bytes::Bytes>::new())
            .map_err(|error| error.to_string())?;
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let own =
            HeaderValue::try_from(format!("{host}:{}", self.port)).map_err(|error| error.to_string())?;
        *request.headers_mut() = headers;
        request.headers_mut().entry(HOST).or_insert(own);
        let connecting = TcpStream::connect((self.host.as_str(), self.port));
        let stream = connecting.await.map_err(|error| error.to_string())?;
        if self.secure {
            return send(tls::connect(&self.host, stream).await?, request).await;
        }
        send(stream, request).await
    }

    /// Where the answer leads to; nobody is sent to another host, that answer is the last one.
    fn redirected(&self, answer: &http::Response<()>) -> Option<Self> {
        if ![301, 302, 303, 307, 308].contains(&answer.status().as_u16()) {
            return None;
        }
        let location = answer.headers().get(LOCATION)?.to_str().ok()?;
        if location.contains("://") {
            let uri: http::Uri = location.parse().ok()?;
            let secure = uri.scheme() == Some(&Scheme::HTTPS);
            let host = uri.host()?.trim_matches(['[', ']']).to_owned();
            let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
            let path = uri.path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string);
            return (host == self.host).then_some(Self { secure, host, port, path });
        }
        let path = if location.starts_with('/') {
            location.to_owned()
        } else {
            let here = self.path.split('?').next().unwrap_or_default();
            let folder = here.rsplit_once('/').map_or("", |(folder, _)| folder);
            format!("{folder}/{location}")
        };
        Some(Self { path: rooted(&path), ..self.clone() })
    }
}

/// A path as it stands in a request: from the root, without letters that cannot be there.
fn rooted(path: &str) -> String {
    let start = if path.starts_with('/') { "" } else { "/" };
    let letters = path.bytes().map(|byte| match byte {
        b'!'..=b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    });
    std::iter::once(start.to_owned()).chain(letters).collect()
}

async fn send(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: http::Request<Empty<bytes::Bytes>>,
) -> Result<http::Response<()>, String> {
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| error.to_string())?;
    let driving = tokio::spawn(connection);
    let response = sender.send_request(request).await.map_err(|error| error.to_string());
    driving.abort();
    response.map(|response| response.map(drop))
}

#[cfg(test)]
mod tests;
