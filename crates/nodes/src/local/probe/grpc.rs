//! The gRPC health check: one call of `grpc.health.v1.Health/Check`, small enough to be written by hand.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use k8s_openapi::api::core::v1::GRPCAction;
use tokio::net::TcpStream;

/// `SERVING` of the protocol.
const SERVING: u64 = 1;

/// Asks whether the service is being served.
pub(super) async fn check(action: &GRPCAction, patience: Duration) -> Result<(), String> {
    let port = u16::try_from(action.port).map_err(|_| format!("there is no port {}", action.port))?;
    let service = action.service.as_deref().unwrap_or_default();
    let answer = tokio::time::timeout(patience, call(port, service)).await;
    let status = answer.map_err(|_| format!("no answer within {patience:?}"))??;
    if status == SERVING {
        Ok(())
    } else {
        Err(format!("service unhealthy (responded with status {status})"))
    }
}

async fn call(port: u16, service: &str) -> Result<u64, String> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await.map_err(|error| error.to_string())?;
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .map_err(|error| error.to_string())?;
    let driving = tokio::spawn(connection);
    let exchange = async {
        let request = http::Request::post(format!("http://127.0.0.1:{port}/grpc.health.v1.Health/Check"))
            .header(http::header::CONTENT_TYPE, "application/grpc")
            .header(http::header::TE, "trailers")
            .header(http::header::USER_AGENT, "kube-probe/1.36")
            .body(Full::new(Bytes::from(frame(service))))
            .map_err(|error| error.to_string())?;
        let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
        let head = response.headers().clone();
        let body = response.into_body().collect().await.map_err(|error| error.to_string())?;
        let outcome = |headers: &http::HeaderMap| Some(headers.get("grpc-status")?.to_str().ok()?.to_owned());
        let code = body.trailers().and_then(outcome).or_else(|| outcome(&head));
        match code.as_deref() {
            Some("0") => status(&body.to_bytes()).ok_or_else(|| "the answer cannot be read".to_owned()),
            Some(code) => Err(format!("the health check failed with gRPC status {code}")),
            None => Err("the answer is not gRPC".to_owned()),
        }
    };
    let outcome = exchange.await;
    driving.abort();
    outcome
}

/// A message with one field, the service, in a frame: not compressed, length, message.
fn frame(service: &str) -> Vec<u8> {
    let mut message = Vec::new();
    if !service.is_empty() {
        message.push(0x0a);
        put_number(&mut message, service.len());
        message.extend_from_slice(service.as_bytes());
    }
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes();
    [&[0], &length[..], &message].concat()
}

/// Seven bits a byte, the smallest first.
fn put_number(message: &mut Vec<u8>, mut number: usize) {
    loop {
        let low = u8::try_from(number & 0x7f).unwrap_or(0);
        number >>= 7;
        if number == 0 {
            return message.push(low);
        }
        message.push(low | 0x80);
    }
}

/// The status in an answer; a message without it means 0, unknown.
fn status(frame: &[u8]) -> Option<u64> {
    let (head, message) = frame.split_at_checked(5)?;
    if head[0] != 0 {
        return None;
    }
    match message {
        [] => Some(0),
        [0x08, number, ..] if *number < 0x80 => Some(u64::from(*number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use hyper::service::service_fn;

    use super::*;

    /// A server that answers with `message` and `code`.
    async fn server(message: &'static [u8], code: &'static str) -> GRPCAction {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = i32::from(listener.local_addr().unwrap().port());
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let service = service_fn(async |request: http::Request<hyper::body::Incoming>| {
                assert_eq!(request.uri().path(), "/grpc.health.v1.Health/Check");
                let asked = request.into_body().collect().await.unwrap().to_bytes();
                assert_eq!(&asked[..], b"\0\0\0\0\x04\x0a\x02db");
                let mut trailers = http::HeaderMap::new();
                trailers.insert("grpc-status", code.parse().unwrap());
                let body = Full::new(Bytes::from_static(message))
                    .with_trailers(std::future::ready(Some(Ok::<_, std::convert::Infallible>(trailers))));
                Ok::<_, std::convert::Infallible>(http::Response::new(body))
            });
            let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
        });
        GRPCAction { port, service: Some("db".into()) }
    }

    #[tokio::test]
    async fn only_serving_is_well() {
        let patience = Duration::from_secs(5);
        let well = server(b"\0\0\0\0\x02\x08\x01", "0").await;
        assert_eq!(check(&well, patience).await, Ok(()));
        let ill = server(b"\0\0\0\0\x02\x08\x02", "0").await;
        assert!(check(&ill, patience).await.unwrap_err().contains("status 2"));
        let unknown = server(b"", "5").await;
        assert!(check(&unknown, patience).await.unwrap_err().contains("gRPC status 5"));
        let closed = GRPCAction { port: 1, service: None };
        assert!(check(&closed, patience).await.is_err());
    }

    #[test]
    fn long_names_have_long_lengths() {
        let bytes = frame(&"x".repeat(300));
        assert_eq!(&bytes[..8], &[0, 0, 0, 1, 0x2f, 0x0a, 0xac, 0x02]);
    }
}
