//! A command in a workspace or in a Pod of a job, by WebSocket, for `maar workspace exec`, `maar job exec` and `maar cp`.
//!
//! The first byte of each binary message says what the rest is: 0 input of the command (nothing behind it ends the
//! input), 1 its output, 2 its errors, 3 how it ended, as JSON, 4 that the screen has another size: columns and rows, two
//! bytes each, the high one first.

use std::{sync::Arc, time::Duration};

use axum::extract::ws::{Message, WebSocket};
use bytes::{BufMut as _, Bytes, BytesMut};
use futures::{SinkExt as _, StreamExt as _, stream::SplitStream};
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api,
    api::{AttachParams, AttachedProcess, TerminalSize},
};
use schemars::JsonSchema;
use serde_json::json;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval, timeout},
};

use super::{
    behind::Behind,
    forward::{LARGEST, ended as write_down},
};
use crate::{
    access::Verb,
    error::{ApiError, Code},
    route::{Answer, Call},
    stream::until_denied,
    terminal::{Seat, Size, container_of, ended, socket, terminal_size},
};

/// The subprotocol.
const PROTOCOL: &str = "maar.exec.v1";
/// How long the cluster may take to begin a program.
const BEGIN: Duration = Duration::from_secs(30);
/// How many bytes are on the way each way at most.
const BUFFER: usize = 256 * 1024;
/// The most words of a command, and the most bytes of them together.
const MOST: (usize, usize) = (1024, 128 * 1024);

const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const END: u8 = 3;
const SIZE: u8 = 4;

/// Which command.
#[derive(Debug, Default, PartialEq, Eq, JsonSchema)]
pub(super) struct ExecQuery {
    /// A word of it; as often as it has words.
    command: Vec<String>,
    /// Whether it gets input.
    #[schemars(default)]
    stdin: bool,
    /// Whether it gets a screen.
    #[schemars(default)]
    tty: bool,
    /// How wide the screen is.
    #[schemars(default)]
    columns: Option<u16>,
    /// How high it is.
    #[schemars(default)]
    rows: Option<u16>,
    /// Of a job: which of its Pods; the first that runs if it is not said.
    #[schemars(default)]
    pod: Option<String>,
    /// The container; the one that the Pod itself prefers if it is not said.
    #[schemars(default)]
    container: Option<String>,
}

impl ExecQuery {
    fn read(query: &str) -> Result<Self, ApiError> {
        let mut read = Self::default();
        let flag =
            |name: &str, value: &str| value.parse().map_err(|_| ApiError::invalid(name, "say true or false"));
        let number = |name: &str, value: &str| {
            value.parse().map(Some).map_err(|_| ApiError::invalid(name, "no screen is of this size"))
        };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "command" => read.command.push(value.into_owned()),
                "stdin" => read.stdin = flag("stdin", &value)?,
                "tty" => read.tty = flag("tty", &value)?,
                "columns" => read.columns = number("columns", &value)?,
                "rows" => read.rows = number("rows", &value)?,
                "pod" => read.pod = Some(value.into_owned()),
                "container" => read.container = Some(value.into_owned()),
                other => return Err(ApiError::invalid(other, "is not known here")),
            }
        }
        let (words, bytes) = (read.command.len(), read.command.iter().map(String::len).sum::<usize>());
        if read.command.first().is_none_or(String::is_empty) {
            return Err(ApiError::invalid("command", "say what to run"));
        }
        if words > MOST.0 || bytes > MOST.1 {
            return Err(ApiError::invalid("command", "it is too long"));
        }
        Ok(read)
    }

    fn size(&self) -> Result<Size, ApiError> {
        let size = Size { columns: self.columns.unwrap_or(80), rows: self.rows.unwrap_or(24) };
        size.checked().ok_or_else(|| ApiError::invalid("columns", "no screen is of this size"))
    }
}

/// Begins a command. Everything that can go wrong after this is told as its end.
pub(super) fn open(call: &Call) -> Result<Answer, ApiError> {
    let query = ExecQuery::read(call.query_text())?;
    let (size, behind) = (query.size()?, Behind::of(call)?);
    let pod = behind.entered(&call.portal, query.pod.as_deref())?;
    let upgrade = socket(call, PROTOCOL, LARGEST)?;
    let most = call.portal.settings.terminals.most;
    let seat = call.portal.terminals.take(&call.person()?.id, most);
    let seat = seat.ok_or_else(|| {
        ApiError::new(Code::TooMany, format!("you have {most} terminals and commands open already"))
    })?;
    let session = Exec { call: Arc::new(call.clone()), behind, pod, query, size, seat };
    Ok(Answer::whole(upgrade.on_upgrade(move |socket| session.serve(socket))))
}

struct Exec {
    call: Arc<Call>,
    behind: Behind,
    pod: String,
    query: ExecQuery,
    size: Size,
    #[expect(dead_code, reason = "held for what dropping it does")]
    seat: Seat,
}

type End = (Option<i32>, String);

impl Exec {
    async fn serve(self, socket: WebSocket) {
        let begin = Instant::now();
        let (mut outgoing, mut incoming) = socket.split();
        // Everything goes out by one, so that no part of it overtakes another.
        let (messages, mut queue) = mpsc::channel::<Message>(8);
        let sending = tokio::spawn(async move {
            while let Some(message) = queue.recv().await {
                if outgoing.send(message).await.is_err() {
                    break;
                }
            }
            let _ = outgoing.close().await;
        });
        let (code, message) = self.run(&messages, &mut incoming).await;
        let end = json!({ "code": code, "message": message }).to_string();
        // Who has left need not be told.
        let _ = timeout(Duration::from_secs(5), messages.send(framed(END, end.as_bytes()))).await;
        drop(messages);
        let _ = timeout(Duration::from_secs(5), sending).await;
        // A connection that is closed with something unread is reset, and the end of the command is lost with it.
        let rest = async { while let Some(Ok(_)) = incoming.next().await {} };
        let _ = timeout(Duration::from_secs(5), rest).await;
        let after = json!({ "pod": self.pod, "code": code, "seconds": begin.elapsed().as_secs() });
        write_down(&self.call, &self.behind, "endExec", message, after).await;
    }

    async fn run(&self, messages: &mpsc::Sender<Message>, incoming: &mut SplitStream<WebSocket>) -> End {
        let because = |why: &str| (None, why.to_owned());
        let mut process = match timeout(BEGIN, self.begin()).await {
            Ok(Ok(process)) => process,
            Ok(Err(error)) => return (None, error.message),
            Err(_) => return because("the Pod does not answer"),
        };
        let Some(status) = process.take_status() else { return because("the cluster gave no status") };
        let mut sizes = process.terminal_size();
        if let Some(sizes) = &mut sizes {
            // A program that is gone already says so by its status.
            let _ = sizes.send(terminal_size(self.size)).await;
        }
        let (stdin, stdout, stderr) = (process.stdin(), process.stdout(), process.stderr());
        let shown = async {
            tokio::join!(show(messages, STDOUT, stdout), show(messages, STDERR, stderr));
            ended(status.await.as_ref())
        };
        let portal = Arc::clone(&self.call.portal);
        let pace = portal.settings.terminals.ping;
        let denied = until_denied(portal, self.call.caller.clone(), Verb::Enter, self.behind.object());
        tokio::select! {
            ended = shown => ended,
            why = take(incoming, stdin, sizes, pace * 3) => because(why),
            () = ping(messages, pace) => because("the client has left"),
            () = denied => because("you may no longer be here: the session has ended or was revoked"),
        }
    }

    async fn begin(&self) -> Result<AttachedProcess, ApiError> {
        let namespace = self.behind.place(0).namespace;
        let pods: Api<Pod> = Api::namespaced(self.call.portal.client.clone(), &namespace);
        let of_cluster = |error| ApiError::of_cluster(&format!("Pod {}", self.pod), error);
        let pod = pods.get(&self.pod).await.map_err(of_cluster)?;
        let (query, container) = (&self.query, container_of(&pod, self.query.container.as_deref())?);
        let parameters = AttachParams::default()
            .container(container)
            .stdin(query.stdin)
            .stdout(true)
            .stderr(!query.tty)
            .tty(query.tty)
            .max_stdin_buf_size(BUFFER)
            .max_stdout_buf_size(BUFFER)
            .max_stderr_buf_size(BUFFER);
        pods.exec(&self.pod, &query.command, &parameters).await.map_err(|error| match error {
            error @ kube::Error::Api(_) => of_cluster(error),
            other => {
                tracing::warn!(request.id = self.call.request_id, error = %other, "a command cannot be run");
                ApiError::unavailable("the Pod", other)
            }
        })
    }
}

fn framed(channel: u8, bytes: &[u8]) -> Message {
    let mut framed = BytesMut::with_capacity(bytes.len() + 1);
    framed.put_u8(channel);
    framed.put_slice(bytes);
    Message::Binary(framed.freeze())
}

async fn show(messages: &mpsc::Sender<Message>, channel: u8, from: Option<impl AsyncRead + Unpin>) {
    let Some(mut from) = from else { return };
    let mut part = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut part).await {
        if messages.send(framed(channel, &part[..length])).await.is_err() {
            return;
        }
    }
}

/// Asks every so often whether the client is there; ends when it is not.
async fn ping(messages: &mpsc::Sender<Message>, pace: Duration) {
    let mut ticks = interval(pace);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if messages.send(Message::Ping(Bytes::new())).await.is_err() {
            return;
        }
    }
}

/// The size in a message that tells one.
fn size_of(bytes: &[u8]) -> Option<Size> {
    let &[SIZE, wide, narrow, high, low] = bytes else { return None };
    let (columns, rows) = (u16::from_be_bytes([wide, narrow]), u16::from_be_bytes([high, low]));
    Size { columns, rows }.checked()
}

/// Takes the input until there is a reason to end. Where there are sizes, there is a screen.
async fn take(
    incoming: &mut SplitStream<WebSocket>,
    mut stdin: Option<impl AsyncWrite + Unpin>,
    mut sizes: Option<futures::channel::mpsc::Sender<TerminalSize>>,
    silence: Duration,
) -> &'static str {
    loop {
        let bytes = match timeout(silence, incoming.next()).await {
            Err(_) => return "the client does not answer",
            Ok(Some(Ok(Message::Binary(bytes)))) => bytes,
            Ok(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => continue,
            Ok(Some(Ok(Message::Text(_)))) => return "a message was not understood: text",
            Ok(_) => return "the client has left",
        };
        match (bytes.first(), stdin.as_mut()) {
            (Some(&STDIN), Some(open)) if bytes.len() > 1 => {
                if open.write_all(&bytes[1..]).await.is_err() {
                    // It reads no more; what it has to say is on the way.
                    stdin = None;
                }
            }
            // Terminals have no end, only whoever types; a kubelet would take what the program writes away with it.
            (Some(&STDIN), Some(_)) if sizes.is_some() => {}
            (Some(&STDIN), Some(open)) => {
                let _ = open.shutdown().await;
                stdin = None;
            }
            // It has ended its input, and is not sent what comes behind.
            (Some(&STDIN), None) => {}
            (Some(&SIZE), _) => match (size_of(&bytes), &mut sizes) {
                // A program that is gone already says so by its status.
                (Some(size), Some(sizes)) => drop(sizes.send(terminal_size(size)).await),
                (Some(_), None) => {}
                (None, _) => return "a message was not understood: no screen is of this size",
            },
            _ => return "a message was not understood: it begins with 0 or 4",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_screen_is_four_bytes() {
        assert_eq!(size_of(&[SIZE, 1, 0, 0, 50]), Some(Size { columns: 256, rows: 50 }));
        for wrong in [&[SIZE][..], &[SIZE, 0, 0, 0, 50], &[SIZE, 0, 80, 0, 24, 0], &[STDIN, 0, 80, 0, 24]] {
            assert_eq!(size_of(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_command_is_read_word_by_word() {
        let read = ExecQuery::read("command=tar&command=x%20f&command=-&stdin=true").unwrap();
        assert_eq!(read.command, ["tar", "x f", "-"]);
        assert!(read.stdin && !read.tty);
        assert!(ExecQuery::read("command=sh&tty=true&columns=0").unwrap().size().is_err());
        for wrong in
            ["", "command=", "stdin=true", "command=a&stdin=yes", "command=a&rows=x", "command=a&user=root"]
        {
            assert!(ExecQuery::read(wrong).is_err(), "{wrong}");
        }
        let long = "command=a".to_owned() + &"&command=b".repeat(2000);
        assert!(ExecQuery::read(&long).is_err());
    }
}
