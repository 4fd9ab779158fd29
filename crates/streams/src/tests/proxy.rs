//! An API server that passes the connection through to a kubelet.

use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::server::{connect, kubelet};
use crate::{
    ConnectError, ConnectTarget, ExecOptions, ExecProtocol, ExitStatus, ProxyTarget, StreamSet, connect_exec,
    proxy_upgrade,
};

/// Translates the client's query to the kubelet's and leaves the rest to the two ends.
async fn api_server(request: Request) -> Response {
    let query = match ExecOptions::from_api_query(request.uri().query()) {
        Ok(options) => options.to_kubelet_query(),
        Err(error) => return (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    };
    let path = request.uri().path().replace("/api", "/exec");
    let target =
        ProxyTarget { path_and_query: format!("{path}?{query}").parse().unwrap(), headers: HeaderMap::new() };
    match proxy_upgrade(request, connect(kubelet()), target).await {
        Ok(response) => response,
        Err(error) => (error.status(), error.to_string()).into_response(),
    }
}

const STREAMS: StreamSet = StreamSet { stdin: true, stdout: true, stderr: false, tty: false };

fn target(path: &str, command: &[&str]) -> ConnectTarget {
    let command = command.iter().map(ToString::to_string).collect();
    let query = ExecOptions { streams: STREAMS, container: None, command }.to_api_query();
    ConnectTarget::new(format!("{path}?{query}").parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn every_protocol_passes_through() {
    for protocol in ExecProtocol::ALL {
        let server = connect(Router::new().fallback(api_server));
        let mut client =
            connect_exec(server, target("/api/a/b/c", &["cat"]), protocol, STREAMS).await.unwrap();
        let mut stdin = client.stdin.take().unwrap();
        stdin.write_all(b"there and back").await.unwrap();
        let mut got = [0; 14];
        client.stdout.as_mut().unwrap().read_exact(&mut got).await.unwrap();
        assert_eq!(&got, b"there and back", "{protocol:?}");
        if protocol.can_end_stdin() {
            stdin.shutdown().await.unwrap();
            assert_eq!(client.status().await.unwrap(), ExitStatus::Success, "{protocol:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_the_backend_is_passed_on() {
    for protocol in ExecProtocol::ALL {
        let server = connect(Router::new().fallback(api_server));
        let error = connect_exec(server, target("/api/no-such-route", &["cat"]), protocol, STREAMS)
            .await
            .unwrap_err();
        assert!(
            matches!(error, ConnectError::Refused { status: StatusCode::NOT_FOUND, .. }),
            "{protocol:?}: {error:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_backend_that_hangs_up_is_a_bad_gateway() {
    async fn handler(request: Request) -> Response {
        let (backend, other_end) = tokio::io::duplex(64);
        drop(other_end);
        let target = ProxyTarget { path_and_query: "/".parse().unwrap(), headers: HeaderMap::new() };
        proxy_upgrade(request, backend, target).await.unwrap_err().status().into_response()
    }
    let server = connect(Router::new().fallback(handler));
    let error =
        connect_exec(server, target("/", &["cat"]), ExecProtocol::WebSocketV5, STREAMS).await.unwrap_err();
    assert!(matches!(error, ConnectError::Refused { status: StatusCode::BAD_GATEWAY, .. }), "{error:?}");
}
