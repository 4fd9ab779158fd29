//! A command in a workspace or in a Pod of a job, through a portal or straight to a cluster: its input, its output, and how it ended.

use std::time::Duration;

use anyhow::Context as _;
use futures::{SinkExt as _, StreamExt as _, future::BoxFuture};
use k8s_openapi::{api::core::v1::Pod, apimachinery::pkg::apis::meta::v1::Status};
use kube::{
    Api,
    api::{AttachParams, TerminalSize},
};
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream, duplex},
    sync::mpsc,
    time::{Instant, interval_at},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Bytes, Message},
};

use super::{failure::Failure, remote::Socket, target::Target, workspace::Source};

/// How many bytes wait on the way at most.
const BUFFER: usize = 256 * 1024;
/// How many go in one message.
const PART: usize = 64 * 1024;

/// How often the portal is told that somebody is here. It asks, too, but is only answered by who reads: whoever looks at
/// what came and lets the rest wait (`| less`) would be gone for it.
pub(crate) const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// What shall run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) target: &'a Target,
    /// The one that its Pod prefers, if it is not said.
    pub(crate) container: Option<&'a str>,
    pub(crate) command: &'a [String],
    /// It gets a screen of this size.
    pub(crate) screen: Option<(u16, u16)>,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Nothing if it could not be run, or was broken off.
    pub(crate) code: Option<i32>,
    pub(crate) message: String,
}

/// A command that runs.
pub(crate) struct Running {
    pub(crate) stdin: Box<dyn AsyncWrite + Send + Unpin>,
    pub(crate) stdout: Box<dyn AsyncRead + Send + Unpin>,
    pub(crate) stderr: Box<dyn AsyncRead + Send + Unpin>,
    /// Takes each new size of its screen: columns and rows.
    pub(crate) sizes: mpsc::Sender<(u16, u16)>,
    pub(crate) ended: BoxFuture<'static, anyhow::Result<Ended>>,
}

/// Begins a command.
pub(crate) async fn start(source: &Source, asked: Asked<'_>) -> anyhow::Result<Running> {
    match source {
        Source::Portal { remote, .. } => {
            let path = format!("{}/exec?{}", asked.target.path(source)?, query(&asked));
            Ok(through(remote.socket(&path, "maar.exec.v1").await?))
        }
        Source::Cluster(connection) => {
            let pods: Api<Pod> = Api::namespaced(connection.client.clone(), &connection.namespace);
            let (pod, usual) = asked.target.place(connection).await?;
            let tty = asked.screen.is_some();
            let parameters = AttachParams::default()
                .container(asked.container.unwrap_or(&usual))
                .stdin(true)
                .stdout(true)
                .stderr(!tty)
                .tty(tty)
                .max_stdin_buf_size(BUFFER)
                .max_stdout_buf_size(BUFFER);
            let mut process =
                pods.exec(&pod, asked.command, &parameters).await.context("running the command")?;
            let (sizes, mut changes) = mpsc::channel(4);
            if let (Some(mut told), Some(first)) = (process.terminal_size(), asked.screen) {
                // A program that is gone already says so by its status.
                tokio::spawn(async move {
                    let mut next = Some(first);
                    while let Some((width, height)) = next
                        && told.send(TerminalSize { width, height }).await.is_ok()
                    {
                        next = changes.recv().await;
                    }
                });
            }
            let status = process.take_status().context("the command was run twice")?;
            let none = || Box::new(tokio::io::empty());
            Ok(Running {
                stdin: Box::new(process.stdin().context("the command takes no input")?),
                stdout: Box::new(process.stdout().context("the command gives no output")?),
                stderr: match process.stderr() {
                    Some(stderr) => Box::new(stderr),
                    None => none(),
                },
                sizes,
                ended: Box::pin(async move {
                    let status = status.await;
                    // Dropping it earlier would break the command off.
                    drop(process);
                    of_status(status)
                }),
            })
        }
    }
}

fn query(asked: &Asked<'_>) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(asked.command.iter().map(|word| ("command", word)));
    query.append_pair("stdin", "true");
    if let Some(container) = asked.container {
        query.append_pair("container", container);
    }
    if let Some((columns, rows)) = asked.screen {
        query.append_pair("tty", "true");
        query.append_pair("columns", &columns.to_string()).append_pair("rows", &rows.to_string());
    }
    query.finish() + &asked.target.query()
}

fn of_status(status: Option<Status>) -> anyhow::Result<Ended> {
    let status = status.context("the connection to the Pod was lost")?;
    if status.status.as_deref() == Some("Success") {
        return Ok(Ended { code: Some(0), message: String::new() });
    }
    let causes = status.details.iter().flat_map(|details| details.causes.iter().flatten());
    let code = causes
        .filter(|cause| cause.reason.as_deref() == Some("ExitCode"))
        .find_map(|cause| cause.message.as_ref()?.parse().ok());
    Ok(Ended { code, message: status.message.unwrap_or_else(|| "the command failed".to_owned()) })
}

/// A command behind a portal.
fn through(socket: Socket) -> Running {
    let (stdin, typed) = duplex(BUFFER);
    let (output, stdout) = duplex(BUFFER);
    let (errors, stderr) = duplex(BUFFER);
    let (sizes, changes) = mpsc::channel(4);
    let carrying = tokio::spawn(carry(socket, (typed, changes), output, errors));
    Running {
        stdin: Box::new(stdin),
        stdout: Box::new(stdout),
        stderr: Box::new(stderr),
        sizes,
        ended: Box::pin(async move { carrying.await.context("carrying what the command says")? }),
    }
}

async fn carry<S: AsyncRead + AsyncWrite + Unpin>(
    socket: WebSocketStream<S>,
    (mut typed, mut changes): (DuplexStream, mpsc::Receiver<(u16, u16)>),
    mut output: DuplexStream,
    mut errors: DuplexStream,
) -> anyhow::Result<Ended> {
    let (mut outgoing, mut incoming) = socket.split();
    let up = async {
        let (mut part, mut more) = (vec![0; PART], true);
        let mut signs = interval_at(Instant::now() + SIGN_OF_LIFE, SIGN_OF_LIFE);
        loop {
            let message = tokio::select! {
                read = typed.read(&mut part[1..]), if more => {
                    // The first byte says that it is input; nothing behind it, that there is no more.
                    let length = read.unwrap_or(0);
                    more = length > 0;
                    Message::binary(part[..=length].to_vec())
                }
                Some((columns, rows)) = changes.recv() => sized(columns, rows),
                _ = signs.tick() => Message::Ping(Bytes::new()),
            };
            if outgoing.send(message).await.is_err() {
                break;
            }
        }
        std::future::pending::<()>().await;
    };
    let down = async {
        while let Some(message) = incoming.next().await {
            let Message::Binary(bytes) = message.context("the connection to the portal broke")? else {
                continue;
            };
            // Nobody may listen any more; the command goes on to its end.
            match bytes.first() {
                Some(1) => drop(output.write_all(&bytes[1..]).await),
                Some(2) => drop(errors.write_all(&bytes[1..]).await),
                Some(3) => return of_portal(&bytes[1..]),
                _ => {}
            }
        }
        Err(Failure::unreachable("the connection to the portal was lost").into())
    };
    tokio::select! {
        ended = down => ended,
        () = up => Err(Failure::unreachable("the connection to the portal was lost").into()),
    }
}

/// The message that the screen has another size.
fn sized(columns: u16, rows: u16) -> Message {
    let ([wide, narrow], [high, low]) = (columns.to_be_bytes(), rows.to_be_bytes());
    Message::binary(vec![4, wide, narrow, high, low])
}

fn of_portal(text: &[u8]) -> anyhow::Result<Ended> {
    let said: Value = serde_json::from_slice(text).context("reading how the command ended")?;
    let code = said["code"].as_i64().and_then(|code| i32::try_from(code).ok());
    Ok(Ended { code, message: said["message"].as_str().unwrap_or("the command failed").to_owned() })
}

impl Ended {
    /// Fails as the command failed, with its code.
    pub(crate) fn check(self) -> anyhow::Result<()> {
        match self.code {
            Some(0) => Ok(()),
            Some(code) => {
                let code = u8::try_from(code).unwrap_or(1);
                Err(Failure::with_code(code, self.message).into())
            }
            None => Err(Failure::failed(self.message).into()),
        }
    }
}

/// Runs a short command without input; what it wrote.
pub(crate) async fn output(
    source: &Source,
    target: &Target,
    command: &[String],
) -> anyhow::Result<(Ended, String)> {
    let running = start(source, Asked { target, container: None, command, screen: None }).await?;
    let Running { stdin, mut stdout, mut stderr, ended, .. } = running;
    drop(stdin);
    let (mut out, mut errors) = (Vec::new(), Vec::new());
    let (read, complained) = tokio::join!(stdout.read_to_end(&mut out), stderr.read_to_end(&mut errors));
    read.and(complained).context("reading what the command says")?;
    Ok((ended.await?, String::from_utf8_lossy(&out).into_owned()))
}

#[cfg(test)]
mod tests {
    use tokio_tungstenite::tungstenite::protocol::Role;

    use super::*;

    #[test]
    fn words_of_a_command_stay_apart() {
        let command = ["sh", "-c", "echo a&b = c"].map(str::to_owned);
        let target = Target::Workspace("desk".to_owned());
        let asked = Asked { target: &target, container: None, command: &command, screen: Some((80, 24)) };
        insta::assert_snapshot!(query(&asked), @"command=sh&command=-c&command=echo+a%26b+%3D+c&stdin=true&tty=true&columns=80&rows=24");
        let target = Target::Job { name: "train".to_owned(), pod: Some("train-worker-1".to_owned()) };
        let command = ["id".to_owned()];
        let asked = Asked { target: &target, container: Some("side"), command: &command, screen: None };
        assert_eq!(query(&asked), "command=id&stdin=true&container=side&pod=train-worker-1");
    }

    /// `maar workspace exec desk -- cat much | less`: what comes waits, and the portal knows that somebody is there.
    #[tokio::test(start_paused = true)]
    async fn who_does_not_read_for_long_is_still_there() {
        let (near, far) = duplex(1024);
        let near = WebSocketStream::from_raw_socket(near, Role::Client, None).await;
        let mut far = WebSocketStream::from_raw_socket(far, Role::Server, None).await;
        let ((_stdin, typed), (output, stdout), (errors, _stderr)) = (duplex(64), duplex(64), duplex(64));
        let (sizes, changes) = mpsc::channel(1);
        let carrying = tokio::spawn(carry(near, (typed, changes), output, errors));
        sizes.send((256, 50)).await.unwrap();
        assert_eq!(far.next().await.unwrap().unwrap().into_data(), &[4, 1, 0, 0, 50][..]);
        // More than anybody takes: from here on the client reads nothing.
        far.feed(Message::binary(vec![1; 512])).await.unwrap();
        far.flush().await.unwrap();
        let begin = tokio::time::Instant::now();
        let mut last = begin;
        while begin.elapsed() < Duration::from_mins(10) {
            let message = far.next().await.unwrap().unwrap();
            assert!(matches!(message, Message::Ping(_)), "{message:?}");
            assert!(last.elapsed() <= SIGN_OF_LIFE, "{:?}", last.elapsed());
            last = tokio::time::Instant::now();
        }
        drop(stdout);
        far.send(Message::binary([&[3][..], br#"{"code":0,"message":""}"#].concat())).await.unwrap();
        assert_eq!(carrying.await.unwrap().unwrap().code, Some(0));
    }

    #[test]
    fn ends_are_told_alike_from_both_sides() {
        let portal = of_portal(br#"{"code":3,"message":"the program has ended with code 3"}"#).unwrap();
        assert_eq!(portal.code, Some(3));
        let status = serde_json::from_value(serde_json::json!({
            "status": "Failure", "message": "no", "details": { "causes": [{ "reason": "ExitCode", "message": "3" }] }
        }))
        .unwrap();
        assert_eq!(of_status(Some(status)).unwrap().code, Some(3));
        assert!(of_status(None).is_err());
        assert_eq!(crate::commands::failure::number(&portal.check().unwrap_err()), 3);
    }
}
