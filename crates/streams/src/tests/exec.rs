//! Exec through every protocol over in-memory connections.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use http::StatusCode;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::oneshot;

use super::server::{connect, kubelet};
use crate::{
    ConnectError, ConnectTarget, ExecClient, ExecOptions, ExecProtocol, ExitStatus, StreamSet, TerminalSize,
    accept_exec, connect_exec,
};

const PLAIN: StreamSet = StreamSet { stdin: true, stdout: true, stderr: true, tty: false };
const TERMINAL: StreamSet = StreamSet { stdin: true, stdout: true, stderr: false, tty: true };

async fn exec(protocol: ExecProtocol, streams: StreamSet, command: &[&str]) -> ExecClient {
    try_exec(protocol, streams, command).await.unwrap()
}

async fn try_exec(
    protocol: ExecProtocol,
    streams: StreamSet,
    command: &[&str],
) -> Result<ExecClient, ConnectError> {
    let command = command.iter().map(ToString::to_string).collect();
    let options = ExecOptions { streams, container: None, command };
    let path = format!("/exec/default/pod/main?{}", options.to_kubelet_query());
    connect_exec(connect(kubelet(None)), ConnectTarget::new(path.parse().unwrap()), protocol, streams).await
}

/// Reads both outputs and the status together, as a client has to.
async fn output(client: &mut ExecClient) -> (String, String, ExitStatus) {
    let (mut stdout, mut stderr) = (client.stdout.take().unwrap(), client.stderr.take());
    let (mut out, mut err) = (String::new(), String::new());
    let (_, (), status) = tokio::join!(
        async { stdout.read_to_string(&mut out).await.unwrap() },
        async {
            if let Some(stderr) = &mut stderr {
                stderr.read_to_string(&mut err).await.unwrap();
            }
        },
        async { client.status().await.unwrap() },
    );
    (out, err, status)
}

#[tokio::test(start_paused = true)]
async fn both_outputs_arrive_on_their_own_channels() {
    for protocol in ExecProtocol::ALL {
        let mut client = exec(protocol, PLAIN, &["both"]).await;
        let want = ("to stdout".to_owned(), "to stderr".to_owned(), ExitStatus::Success);
        assert_eq!(output(&mut client).await, want, "{protocol:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn exit_codes_arrive_where_the_protocol_has_them() {
    for protocol in ExecProtocol::ALL {
        for code in [1, 42, 255] {
            let mut client = exec(protocol, PLAIN, &["exit", &code.to_string()]).await;
            let (_, _, status) = output(&mut client).await;
            match status {
                ExitStatus::Code(got) => {
                    assert_eq!((i32::from(got), protocol.has_exit_codes()), (code, true));
                }
                ExitStatus::Error(text) => {
                    assert!(!protocol.has_exit_codes(), "{protocol:?}");
                    assert!(text.ends_with(&code.to_string()), "{text}");
                }
                ExitStatus::Success => panic!("{protocol:?} lost code {code}"),
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn standard_input_can_end_while_the_command_answers() {
    for protocol in ExecProtocol::ALL.into_iter().filter(|protocol| protocol.can_end_stdin()) {
        let mut client = exec(protocol, PLAIN, &["count"]).await;
        let mut stdin = client.stdin.take().unwrap();
        stdin.write_all(b"twelve bytes").await.unwrap();
        stdin.shutdown().await.unwrap();
        let (out, _, status) = output(&mut client).await;
        assert_eq!((out.as_str(), status), ("12 bytes", ExitStatus::Success), "{protocol:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn eight_megabytes_come_back_unchanged() {
    let sent: Vec<u8> =
        (0..8u32 << 20).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for protocol in ExecProtocol::ALL {
        let mut client = exec(protocol, PLAIN, &["cat"]).await;
        let mut stdin = client.stdin.take().unwrap();
        let mut stdout = client.stdout.take().unwrap();
        let mut got = vec![0; sent.len()];
        let (written, read) = tokio::join!(stdin.write_all(&sent), stdout.read_exact(&mut got));
        written.unwrap();
        read.unwrap();
        assert!(got == sent, "{protocol:?} changed the bytes");
        if protocol.can_end_stdin() {
            stdin.shutdown().await.unwrap();
            assert_eq!(client.status().await.unwrap(), ExitStatus::Success, "{protocol:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_size_of_the_terminal_arrives() {
    for protocol in ExecProtocol::ALL.into_iter().filter(|protocol| protocol.has_resize()) {
        let mut client = exec(protocol, TERMINAL, &["size"]).await;
        client.resize(TerminalSize { width: 132, height: 43 }).await.unwrap();
        assert_eq!(output(&mut client).await.0, "132x43", "{protocol:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn output_nobody_reads_holds_the_command_back() {
    for protocol in ExecProtocol::ALL {
        let mut client = exec(protocol, PLAIN, &["zeros", "8388608"]).await;
        let mut stdout = client.stdout.take().unwrap();
        let status = tokio::time::timeout(Duration::from_millis(50), client.status()).await;
        assert!(status.is_err(), "{protocol:?}: 8 MiB were swallowed by buffers");
        let mut got = Vec::new();
        let (read, status) = tokio::join!(stdout.read_to_end(&mut got), client.status());
        assert_eq!((read.unwrap(), status.unwrap()), (8 << 20, ExitStatus::Success), "{protocol:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_gives_up_is_not_a_success() {
    for protocol in ExecProtocol::ALL.into_iter().filter(|protocol| protocol.has_exit_codes()) {
        let mut client = exec(protocol, PLAIN, &["vanish"]).await;
        let status = client.status().await;
        assert!(matches!(status, Err(_) | Ok(ExitStatus::Error(_))), "{protocol:?}: {status:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn errors_before_the_upgrade_are_ordinary_answers() {
    for protocol in ExecProtocol::ALL {
        let error = try_exec(protocol, StreamSet::default(), &["cat"]).await.unwrap_err();
        let ConnectError::Refused { status, message } = error else { panic!("{error:?}") };
        assert_eq!(status, StatusCode::BAD_REQUEST);
        assert!(message.contains("at least 1 of stdin, stdout, stderr"), "{message}");
    }
}

/// What a command saw of its client: its input, how that ended, and whether it could still write afterwards.
type Seen = (Vec<u8>, Result<usize, io::ErrorKind>, bool);

/// A server whose command reads to the end, waits until the client is gone, writes, and reports.
fn watching_server() -> (Router, oneshot::Receiver<Seen>) {
    let (report, seen) = oneshot::channel();
    let report = Arc::new(Mutex::new(Some(report)));
    let handler = move |mut request: Request| async move {
        let (response, pending) = accept_exec(&mut request, PLAIN).unwrap();
        tokio::spawn(async move {
            let Ok(mut session) = pending.session().await else { return };
            let mut input = Vec::new();
            let end = session.stdin.as_mut().unwrap().read_to_end(&mut input).await;
            session.closed().cancelled().await;
            let write = session.stdout.as_mut().unwrap().write_all(&vec![0; 1 << 20]).await;
            let report = report.lock().take().unwrap();
            report.send((input, end.map_err(|error| error.kind()), write.is_ok())).unwrap();
        });
        response
    };
    (Router::new().fallback(handler), seen)
}

fn anywhere() -> ConnectTarget {
    ConnectTarget::new("/".parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_client_that_vanishes_fails_the_commands_input() {
    for protocol in ExecProtocol::ALL {
        let (router, seen) = watching_server();
        let (mut near, (mut wire, client_side)) = (connect(router), tokio::io::duplex(1024));
        // Passes bytes on until it is aborted, which drops both connections mid-session.
        let cable = tokio::spawn(async move { tokio::io::copy_bidirectional(&mut wire, &mut near).await });
        let mut client = connect_exec(client_side, anywhere(), protocol, PLAIN).await.unwrap();
        client.stdin.as_mut().unwrap().write_all(b"half a").await.unwrap();
        // Time stands still until everything has arrived.
        tokio::time::sleep(Duration::from_millis(1)).await;
        cable.abort();
        let (input, end, could_write) = seen.await.unwrap();
        assert_eq!((input.as_slice(), could_write), (&b"half a"[..], false), "{protocol:?}");
        let cut_off =
            [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionAborted, io::ErrorKind::ConnectionReset];
        assert!(cut_off.contains(&end.unwrap_err()), "{protocol:?}: {end:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_in_good_order_ends_the_commands_input() {
    for protocol in ExecProtocol::ALL {
        let (router, seen) = watching_server();
        let mut client = connect_exec(connect(router), anywhere(), protocol, PLAIN).await.unwrap();
        client.stdin.as_mut().unwrap().write_all(b"all of it").await.unwrap();
        drop(client);
        let (input, end, could_write) = seen.await.unwrap();
        assert_eq!((input.as_slice(), end, could_write), (&b"all of it"[..], Ok(9), false), "{protocol:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_speaks_something_else_is_cut_off() {
    for protocol in ["v4.channel.k8s.io", "SPDY/3.1"] {
        let (router, seen) = watching_server();
        let mut connection = connect(router);
        let headers = if protocol == "SPDY/3.1" {
            "Upgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n".to_owned()
        } else {
            format!(
                "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {}\r\n\
                 Sec-WebSocket-Protocol: {protocol}\r\n",
                "dGhlIHNhbXBsZSBub25jZQ=="
            )
        };
        let request = format!("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n{headers}\r\n");
        connection.write_all(request.as_bytes()).await.unwrap();
        // A WebSocket frame of a kind that does not exist, and a SPDY frame of another version.
        connection.write_all(&[0x83, 0x80, 0, 0, 0, 0, 0, 0]).await.unwrap();
        let mut answer = Vec::new();
        connection.read_to_end(&mut answer).await.unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 101"), "{protocol}");
        match seen.await {
            Ok((_, end, _)) => assert!(end.is_err(), "{protocol}: {end:?}"),
            // Over SPDY there is no session before the client has opened its streams.
            Err(_) => assert_eq!(protocol, "SPDY/3.1"),
        }
    }
}
