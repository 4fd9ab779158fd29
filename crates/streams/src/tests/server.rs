//! A server for the tests: a "container" whose few commands are written here, behind real HTTP.

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use axum::routing::any;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use crate::{
    ExecOptions, ExecSession, ExitStatus, PortConnection, UpgradeError, accept_exec, accept_portforward,
};

/// Serves `router` on one in-memory connection and gives its other end.
pub(super) fn connect(router: Router) -> DuplexStream {
    let (client, server) = tokio::io::duplex(64 * 1024);
    serve(router, server);
    client
}

pub(super) fn serve<I: crate::dial::Io + 'static>(router: Router, io: I) {
    tokio::spawn(async move {
        let service = TowerToHyperService::new(router);
        let connection =
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(io), service);
        // Tests cut connections on purpose.
        let _ = connection.with_upgrades().await;
    });
}

/// A kubelet with one Pod.
pub(super) fn kubelet() -> Router {
    Router::new()
        .route("/exec/{namespace}/{pod}/{container}", any(exec))
        .route("/portForward/{namespace}/{pod}", any(portforward))
}

/// Sends back what it gets.
pub(super) const ECHO_PORT: u16 = 7;
/// Says hello and hangs up.
pub(super) const GREETING_PORT: u16 = 17;
/// Nobody listens here.
pub(super) const CLOSED_PORT: u16 = 1;

async fn portforward(mut request: Request) -> Response {
    match accept_portforward(&mut request) {
        Ok((response, pending)) => {
            tokio::spawn(async move {
                let mut session = pending.session().await.unwrap();
                while let Some(connection) = session.next().await {
                    tokio::spawn(serve_port(connection));
                }
            });
            response
        }
        Err(error) => error.into_response(),
    }
}

pub(super) async fn serve_port(connection: PortConnection) {
    let (near, mut far) = tokio::io::duplex(4096);
    match connection.port {
        ECHO_PORT => drop(tokio::spawn(async move {
            let (mut reader, mut writer) = tokio::io::split(far);
            let _ = tokio::io::copy(&mut reader, &mut writer).await;
            let _ = writer.shutdown().await;
        })),
        GREETING_PORT => drop(tokio::spawn(async move { far.write_all(b"hello").await })),
        _ => return connection.fail("connection refused").await.unwrap(),
    }
    // Tests cut connections on purpose.
    let _ = connection.join(near).await;
}

async fn exec(mut request: Request) -> Response {
    let options = match ExecOptions::from_kubelet_query(request.uri().query()) {
        Ok(options) => options,
        Err(error) => return UpgradeError::BadRequest(error.to_string()).into_response(),
    };
    match accept_exec(&mut request, options.streams) {
        Ok((response, pending)) => {
            tokio::spawn(async move {
                let session = pending.session().await.unwrap();
                run(session, &options.command).await;
            });
            response
        }
        Err(error) => error.into_response(),
    }
}

/// The commands of the container.
pub(super) async fn run(mut session: ExecSession, command: &[String]) {
    let words: Vec<_> = command.iter().map(String::as_str).collect();
    let status = match words.as_slice() {
        ["cat"] => {
            let mut stdin = session.stdin.take().unwrap();
            let mut stdout = session.stdout.take().unwrap();
            match tokio::io::copy(&mut stdin, &mut stdout).await {
                Ok(_) => ExitStatus::Success,
                Err(error) => ExitStatus::Error(error.to_string()),
            }
        }
        // Reads everything, then answers with how much it was: needs the end of its input.
        ["count"] => {
            let mut input = Vec::new();
            session.stdin.as_mut().unwrap().read_to_end(&mut input).await.unwrap();
            let answer = format!("{} bytes", input.len());
            session.stdout.as_mut().unwrap().write_all(answer.as_bytes()).await.unwrap();
            ExitStatus::Success
        }
        ["zeros", length] => {
            let zeros = vec![0; length.parse().unwrap()];
            session.stdout.as_mut().unwrap().write_all(&zeros).await.unwrap();
            ExitStatus::Success
        }
        ["both"] => {
            session.stdout.as_mut().unwrap().write_all(b"to stdout").await.unwrap();
            session.stderr.as_mut().unwrap().write_all(b"to stderr").await.unwrap();
            ExitStatus::Success
        }
        ["exit", code] => ExitStatus::from_code(code.parse().unwrap()),
        ["size"] => {
            let size = session.resize.next().await.unwrap();
            let answer = format!("{}x{}", size.width, size.height);
            session.stdout.as_mut().unwrap().write_all(answer.as_bytes()).await.unwrap();
            ExitStatus::Success
        }
        // Ends without reading its input or saying how it went.
        ["vanish"] => return,
        other => ExitStatus::Error(format!("no such command: {other:?}")),
    };
    // The client may be gone, which is what some tests are about.
    let _ = session.finish(status).await;
}
