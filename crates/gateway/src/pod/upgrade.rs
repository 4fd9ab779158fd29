//! The WebSocket of an exec, over the connection of a Kubernetes client.

use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use hyper_util::rt::TokioIo;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::{Client, client::Body};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        handshake::{client::generate_key, derive_accept_key},
        protocol::Role,
    },
};

use super::PodError;

pub(super) type Socket = WebSocketStream<TokioIo<hyper::upgrade::Upgraded>>;

/// The newest protocol first: only it can say that there is no more to read.
const PROTOCOLS: &str = "v5.channel.k8s.io, v4.channel.k8s.io";

/// Opens it; also whether the end of input can be told.
pub(super) async fn open(client: &Client, request: Request<Vec<u8>>) -> Result<(Socket, bool), PodError> {
    let (mut parts, body) = request.into_parts();
    let key = generate_key();
    let fixed = [
        (header::CONNECTION, "Upgrade"),
        (header::UPGRADE, "websocket"),
        (header::SEC_WEBSOCKET_VERSION, "13"),
        (header::SEC_WEBSOCKET_PROTOCOL, PROTOCOLS),
    ];
    for (name, value) in fixed {
        parts.headers.insert(name, HeaderValue::from_static(value));
    }
    let of_key = HeaderValue::from_str(&key).map_err(|_| PodError::Silent)?;
    parts.headers.insert(header::SEC_WEBSOCKET_KEY, of_key);
    let answer = client.send(Request::from_parts(parts, Body::from(body))).await;
    let answer = answer.map_err(|error| PodError::Open(Box::new(error)))?;
    if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Err(PodError::Refused(refusal(answer).await));
    }
    let can_end = accepted(&answer, &key)?;
    let upgraded = hyper::upgrade::on(answer).await;
    let upgraded =
        upgraded.map_err(|error| PodError::Refused(format!("the stream ended at once: {error}")))?;
    Ok((WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Client, None).await, can_end))
}

/// Whether the end of input can be told, if the answer is one to our question.
fn accepted(answer: &Response<Body>, key: &str) -> Result<bool, PodError> {
    let said = |name| answer.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if said(header::SEC_WEBSOCKET_ACCEPT) != derive_accept_key(key.as_bytes()) {
        return Err(PodError::Refused("what answered is no WebSocket".to_owned()));
    }
    Ok(said(header::SEC_WEBSOCKET_PROTOCOL) == "v5.channel.k8s.io")
}

/// What the cluster says instead.
async fn refusal(answer: Response<Body>) -> String {
    let status = answer.status();
    let body =
        answer.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let said = serde_json::from_slice::<Status>(&body).ok().and_then(|status| status.message);
    said.unwrap_or_else(|| format!("the cluster answers {status}"))
}
