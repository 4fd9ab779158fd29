//! kube's own client against our server, through the passing-through API server.

use futures::SinkExt;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::api::{AttachParams, AttachedProcess, TerminalSize};
use kube::{Api, Client, Config};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::api_server::{Asked, api_server, listen};
use super::server::{CLOSED_PORT, ECHO_PORT, GREETING_PORT};

async fn pods() -> Api<Pod> {
    let address = listen(api_server(None, Asked::default())).await;
    Api::default_namespaced(Client::try_from(Config::new(address.parse().unwrap())).unwrap())
}

fn plain() -> AttachParams {
    AttachParams::default().stdin(true).stdout(true).stderr(true).container("main")
}

async fn status_of(process: &mut AttachedProcess) -> Status {
    process.take_status().unwrap().await.unwrap()
}

#[tokio::test]
async fn exec_gives_both_outputs_and_the_status() {
    let mut process = pods().await.exec("mypod", ["both"], &plain()).await.unwrap();
    let (mut stdout, mut stderr) = (process.stdout().unwrap(), process.stderr().unwrap());
    let (mut out, mut err) = (String::new(), String::new());
    let (read_out, read_err, status) = tokio::join!(
        stdout.read_to_string(&mut out),
        stderr.read_to_string(&mut err),
        status_of(&mut process)
    );
    read_out.unwrap();
    read_err.unwrap();
    assert_eq!((out.as_str(), err.as_str()), ("to stdout", "to stderr"));
    assert_eq!(status.status.as_deref(), Some("Success"));
    process.join().await.unwrap();
}

#[tokio::test]
async fn exec_gives_the_exit_code() {
    let mut process = pods().await.exec("mypod", ["exit", "42"], &plain()).await.unwrap();
    let status = status_of(&mut process).await;
    assert_eq!(status.reason.as_deref(), Some("NonZeroExitCode"));
    let causes = status.details.unwrap().causes.unwrap();
    assert_eq!((causes[0].reason.as_deref(), causes[0].message.as_deref()), (Some("ExitCode"), Some("42")));
}

#[tokio::test]
async fn exec_ends_the_input_and_still_answers() {
    let mut process = pods().await.exec("mypod", ["count"], &plain()).await.unwrap();
    let mut stdin = process.stdin().unwrap();
    stdin.write_all(&[1; 1000]).await.unwrap();
    stdin.shutdown().await.unwrap();
    let mut out = String::new();
    process.stdout().unwrap().read_to_string(&mut out).await.unwrap();
    assert_eq!(out, "1000 bytes");
}

#[tokio::test]
async fn exec_carries_eight_megabytes_each_way() {
    let params = plain().max_stdin_buf_size(1 << 16).max_stdout_buf_size(1 << 16);
    let mut process = pods().await.exec("mypod", ["cat"], &params).await.unwrap();
    let (mut stdin, mut stdout) = (process.stdin().unwrap(), process.stdout().unwrap());
    let sent: Vec<u8> = (0..251u8).cycle().take(8 << 20).collect();
    // kube sends nothing while its reader waits, so this must not wait for the whole: small steps both ways.
    for chunk in sent.chunks(1 << 15) {
        stdin.write_all(chunk).await.unwrap();
        let mut got = vec![0; chunk.len()];
        stdout.read_exact(&mut got).await.unwrap();
        assert!(got == chunk);
    }
    stdin.shutdown().await.unwrap();
    assert_eq!(status_of(&mut process).await.status.as_deref(), Some("Success"));
}

#[tokio::test]
async fn a_terminal_tells_its_size() {
    let params = AttachParams::interactive_tty().container("main");
    let mut process = pods().await.exec("mypod", ["size"], &params).await.unwrap();
    process.terminal_size().unwrap().send(TerminalSize { width: 120, height: 50 }).await.unwrap();
    let mut out = String::new();
    process.stdout().unwrap().read_to_string(&mut out).await.unwrap();
    assert_eq!(out, "120x50");
}

#[tokio::test]
async fn attach_reaches_the_running_command() {
    let mut process = pods().await.attach("mypod", &plain()).await.unwrap();
    process.stdin().unwrap().write_all(b"hello").await.unwrap();
    let mut got = [0; 5];
    process.stdout().unwrap().read_exact(&mut got).await.unwrap();
    assert_eq!(&got, b"hello");
}

#[tokio::test]
async fn portforward_reaches_ports_and_reports_closed_ones() {
    let ports = [ECHO_PORT, CLOSED_PORT, GREETING_PORT];
    let mut forwarder = pods().await.portforward("mypod", &ports).await.unwrap();
    let error = forwarder.take_error(CLOSED_PORT).unwrap().await;
    assert_eq!(error.as_deref(), Some("connection refused"));
    let mut echo = forwarder.take_stream(ECHO_PORT).unwrap();
    let sent: Vec<u8> = (0..251u8).cycle().take(8 << 20).collect();
    for chunk in sent.chunks(1 << 15) {
        echo.write_all(chunk).await.unwrap();
        let mut got = vec![0; chunk.len()];
        echo.read_exact(&mut got).await.unwrap();
        assert!(got == chunk);
    }
    let mut greeting = [0; 5];
    forwarder.take_stream(GREETING_PORT).unwrap().read_exact(&mut greeting).await.unwrap();
    assert_eq!(&greeting, b"hello");
}

#[tokio::test]
async fn a_refusal_is_an_error_with_its_status() {
    let error = pods().await.exec("mypod", ["cat"], &plain().container("other")).await.err().unwrap();
    let text = format!("{error:?}");
    assert!(text.contains("404"), "{text}");
}
