//! An API server that passes the connection through to a kubelet.

use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::api_server::{Asked, POD, api_server};
use super::server::connect;
use crate::{
    ConnectError, ConnectTarget, ExecOptions, ExecProtocol, ExitStatus, ProxyTarget, StreamSet, connect_exec,
    proxy_upgrade,
};

const STREAMS: StreamSet = StreamSet { stdin: true, stdout: true, stderr: false, tty: false };

fn target(container: &str, command: &[&str]) -> ConnectTarget {
    let command = command.iter().map(ToString::to_string).collect();
    let query =
        ExecOptions { streams: STREAMS, container: Some(container.to_owned()), command }.to_api_query();
    ConnectTarget::new(format!("{POD}/exec?{query}").parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn every_protocol_passes_through() {
    for protocol in ExecProtocol::ALL {
        let server = connect(api_server(None, Asked::default()));
        let mut client = connect_exec(server, target("main", &["cat"]), protocol, STREAMS).await.unwrap();
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
        let server = connect(api_server(None, Asked::default()));
        let error = connect_exec(server, target("other", &["cat"]), protocol, STREAMS).await.unwrap_err();
        let ConnectError::Refused { status, message } = error else { panic!("{protocol:?}: {error:?}") };
        assert_eq!((status, message.as_str()), (StatusCode::NOT_FOUND, "container not found (\"other\")"));
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
        connect_exec(server, target("main", &["cat"]), ExecProtocol::WebSocketV5, STREAMS).await.unwrap_err();
    assert!(matches!(error, ConnectError::Refused { status: StatusCode::BAD_GATEWAY, .. }), "{error:?}");
}
