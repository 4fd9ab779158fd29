//! A kubelet for the tests: one Pod with one container, whose few commands are written here, behind real HTTP.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use axum::Router;
use axum::extract::{Path as UrlPath, Request};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use http::StatusCode;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::process::Command;

use crate::{
    AttachOptions, ExecOptions, ExecSession, ExitStatus, PortConnection, StreamSet, UpgradeError,
    accept_exec, accept_portforward,
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

/// A kubelet with one Pod; `directory` is what real commands (`tar`) see.
pub(super) fn kubelet(directory: Option<PathBuf>) -> Router {
    let exec = move |UrlPath((_, _, container)): UrlPath<(String, String, String)>, request: Request| async move {
        exec(&container, request, directory)
    };
    Router::new()
        .route("/exec/{namespace}/{pod}/{container}", any(exec))
        .route("/attach/{namespace}/{pod}/{container}", any(attach))
        .route("/portForward/{namespace}/{pod}", any(portforward))
}

fn exec(container: &str, request: Request, directory: Option<PathBuf>) -> Response {
    if container != "main" {
        return (StatusCode::NOT_FOUND, format!("container not found ({container:?})")).into_response();
    }
    match ExecOptions::from_kubelet_query(request.uri().query()) {
        Ok(options) => start(request, options.streams, options.command, directory),
        Err(error) => UpgradeError::BadRequest(error.to_string()).into_response(),
    }
}

/// The container's main process is `cat`.
async fn attach(request: Request) -> Response {
    match AttachOptions::from_kubelet_query(request.uri().query()) {
        Ok(options) => start(request, options.streams, vec!["cat".to_owned()], None),
        Err(error) => UpgradeError::BadRequest(error.to_string()).into_response(),
    }
}

fn start(
    mut request: Request,
    streams: StreamSet,
    command: Vec<String>,
    directory: Option<PathBuf>,
) -> Response {
    match accept_exec(&mut request, streams) {
        Ok((response, pending)) => {
            tokio::spawn(async move {
                let mut session = pending.session().await.unwrap();
                let words: Vec<_> = command.iter().map(String::as_str).collect();
                if let Some(status) = run(&mut session, &words, directory.as_deref()).await {
                    // The client may be gone, which is what some tests are about.
                    let _ = session.finish(status).await;
                }
            });
            response
        }
        Err(error) => error.into_response(),
    }
}

/// The commands of the container; `None` if it vanishes without a word.
async fn run(session: &mut ExecSession, command: &[&str], directory: Option<&Path>) -> Option<ExitStatus> {
    Some(match (command, directory) {
        (["cat"], _) => {
            let mut stdin = session.stdin.take().unwrap();
            let mut stdout = session.stdout.take().unwrap();
            match tokio::io::copy(&mut stdin, &mut stdout).await {
                Ok(_) => ExitStatus::Success,
                Err(error) => ExitStatus::Error(error.to_string()),
            }
        }
        // Reads everything, then answers with how much it was: needs the end of its input.
        (["count"], _) => {
            let mut input = Vec::new();
            session.stdin.as_mut().unwrap().read_to_end(&mut input).await.unwrap();
            print(session, format!("{} bytes", input.len()).as_bytes()).await
        }
        (["zeros", length], _) => print(session, &vec![0; length.parse().unwrap()]).await,
        (["both"], _) => {
            session.stderr.as_mut().unwrap().write_all(b"to stderr").await.unwrap();
            print(session, b"to stdout").await
        }
        (["exit", code], _) => ExitStatus::from_code(code.parse().unwrap()),
        (["size"], _) => {
            let size = session.resize.next().await.unwrap();
            print(session, format!("{}x{}", size.width, size.height).as_bytes()).await
        }
        (["vanish"], _) => return None,
        (["tar" | "test", ..], Some(directory)) => process(session, command, directory).await,
        (other, _) => ExitStatus::Error(format!("no such command: {other:?}")),
    })
}

async fn print(session: &mut ExecSession, output: &[u8]) -> ExitStatus {
    session.stdout.as_mut().unwrap().write_all(output).await.unwrap();
    ExitStatus::Success
}

/// Runs a real command of this machine.
async fn process(session: &mut ExecSession, command: &[&str], directory: &Path) -> ExitStatus {
    let mut child = Command::new(command[0])
        .args(&command[1..])
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut to_child, mut from_child) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    if let Some(mut stdin) = session.stdin.take() {
        tokio::spawn(async move { tokio::io::copy(&mut stdin, &mut to_child).await });
    }
    if let Some(stdout) = &mut session.stdout {
        tokio::io::copy(&mut from_child, stdout).await.unwrap();
    }
    ExitStatus::from_code(child.wait().await.unwrap().code().unwrap())
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

async fn serve_port(connection: PortConnection) {
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
