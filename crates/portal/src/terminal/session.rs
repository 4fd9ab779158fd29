//! One open terminal.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::extract::ws::{Message, WebSocket};
use bytes::Bytes;
use futures::{
    SinkExt as _, StreamExt as _,
    stream::{SplitSink, SplitStream},
};
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api,
    api::{AttachParams, AttachedProcess, TerminalSize},
};
use maar_gateway::hangup::{self, Ends, hang_up};
use maar_records::AuditId;
use serde_json::json;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    time::{Instant, MissedTickBehavior, interval, sleep_until, timeout},
};

use super::{
    TerminalSettings,
    message::{Says, Size, ended, read},
    open::Place,
    seat::Seat,
};
use crate::{access::Verb, error::ApiError, metrics::Open, route::Call, stream::until_denied};

/// How long the cluster may take to begin a program.
const BEGIN: Duration = Duration::from_secs(30);
/// How long a client is waited for that is told how it ended.
const FAREWELL: Duration = Duration::from_secs(5);
/// How many bytes are on the way each way at most.
const BUFFER: usize = 64 * 1024;
/// The longest line that is looked at.
const LONGEST_LINE: usize = 4096;

type Outgoing = SplitSink<WebSocket, Message>;

/// An open terminal.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) call: Arc<Call>,
    pub(super) place: Place,
    pub(super) size: Size,
    /// Held for as long as it is open.
    #[expect(dead_code, reason = "held for what dropping it does")]
    pub(super) seat: Seat,
    /// Counts it.
    #[expect(dead_code, reason = "held for what dropping it does")]
    pub(super) open: Open,
    /// What the program writes to, and in which container; known once it has begun.
    pub(super) ends: OnceLock<(String, Ends)>,
}

/// Why it ended.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    message: String,
}

impl Ended {
    fn because(message: impl Into<String>) -> Self {
        Self { code: None, message: message.into() }
    }
}

/// What went through it.
#[derive(Debug, Default)]
struct Traffic {
    typed: AtomicU64,
    shown: AtomicU64,
}

impl Session {
    pub(super) async fn serve(self, socket: WebSocket) {
        let (begin, traffic) = (Instant::now(), Traffic::default());
        let (mut outgoing, incoming) = socket.split();
        let ended = self.run(&mut outgoing, incoming, &traffic).await;
        let farewell = async {
            let end = Says::End { code: ended.code, message: &ended.message };
            let told = outgoing.send(Message::text(end.text())).await;
            if told.is_ok() { outgoing.close().await } else { told }
        };
        // Who has left need not be told.
        let _ = timeout(FAREWELL, farewell).await;
        self.write_down(&ended, &traffic, begin.elapsed()).await;
        if ended.code.is_none() {
            self.hang_up().await;
        }
    }

    /// Ends a program whose browser has left before it did.
    async fn hang_up(&self) {
        let Some((container, ends)) = self.ends.get() else { return };
        let telling = async {
            let parameters = AttachParams::default().container(container).stderr(false);
            let mut process = self.pods().exec(&self.place.pod, hang_up(ends), &parameters).await?;
            if let Some(mut said) = process.stdout() {
                let _ = tokio::io::copy(&mut said, &mut tokio::io::sink()).await;
            }
            Ok::<(), kube::Error>(())
        };
        let told = timeout(BEGIN, telling).await.map_err(|late| late.to_string());
        if let Err(error) = told.and_then(|told| told.map_err(|error| error.to_string())) {
            // The Pod may be gone, and all its programs with it.
            tracing::info!(
                request.id = self.call.request_id,
                error,
                "a program may go on after its browser has left"
            );
        }
    }

    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.call.portal.client.clone(), &self.place.namespace)
    }

    async fn run(
        &self,
        outgoing: &mut Outgoing,
        incoming: SplitStream<WebSocket>,
        traffic: &Traffic,
    ) -> Ended {
        let (mut process, container) = match timeout(BEGIN, self.begin()).await {
            Ok(Ok(begun)) => begun,
            Ok(Err(error)) => return Ended::because(error.message),
            Err(_) => return Ended::because("the Pod does not answer"),
        };
        let ready = Says::Ready { pod: &self.place.pod, container: &container };
        if outgoing.send(Message::text(ready.text())).await.is_err() {
            return Ended::because("the browser has left");
        }
        let (Some(stdin), Some(mut stdout), Some(mut sizes), Some(status)) =
            (process.stdin(), process.stdout(), process.terminal_size(), process.take_status())
        else {
            return Ended::because("the cluster gave no terminal");
        };
        // A program that is gone already says so by its status.
        let _ = sizes.send(terminal_size(self.size)).await;
        // Before anything is typed: the terminal would say it back, and that first.
        let mut first = Vec::new();
        if let Ok(Some(told)) = timeout(BEGIN, take_line(&mut stdout, &mut first)).await
            && let Some(ends) = Ends::read(&told)
        {
            // It begins once.
            let _ = self.ends.set((container, ends));
        }
        let stdout = std::io::Cursor::new(first).chain(stdout);
        let settings = &self.call.portal.settings.terminals;
        let denied = until_denied(
            Arc::clone(&self.call.portal),
            self.call.caller.clone(),
            Verb::Enter,
            self.place.object.clone(),
        );
        let shown = async {
            if let Some(left) = show(outgoing, stdout, settings.ping, traffic).await {
                return left;
            }
            let (code, message) = ended(status.await.as_ref());
            Ended { code, message }
        };
        tokio::select! {
            ended = shown => ended,
            ended = take(incoming, stdin, &mut sizes, settings, traffic) => ended,
            () = denied => Ended::because("you may no longer be here: the session has ended or was revoked"),
        }
    }

    /// Begins the program; also the container it is in.
    async fn begin(&self) -> Result<(AttachedProcess, String), ApiError> {
        let pods = self.pods();
        let of_cluster = |error| ApiError::of_cluster(&format!("Pod {}", self.place.pod), error);
        let pod = pods.get(&self.place.pod).await.map_err(of_cluster)?;
        let container = container_of(&pod, self.place.container.as_deref())?;
        let parameters = AttachParams::interactive_tty()
            .container(&container)
            .max_stdin_buf_size(BUFFER)
            .max_stdout_buf_size(BUFFER);
        let command = hangup::told(&self.call.portal.settings.terminals.command);
        let process = pods.exec(&self.place.pod, command, &parameters).await.map_err(|error| match error {
            error @ kube::Error::Api(_) => of_cluster(error),
            // A server that does not switch protocols tells why in ways that differ from one to the next.
            other => {
                tracing::warn!(request.id = self.call.request_id, error = %other, "a terminal cannot be opened");
                ApiError::unavailable("the Pod", other)
            }
        })?;
        Ok((process, container))
    }

    /// The end; the beginning was written down before it was allowed to begin.
    async fn write_down(&self, ended: &Ended, traffic: &Traffic, lasted: Duration) {
        let (kind, name) = &self.place.work;
        let bytes = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let mut entry = self.call.entry();
        entry.id = AuditId::new(format!("{}-end", self.call.request_id));
        "closeTerminal".clone_into(&mut entry.action);
        (*kind).clone_into(&mut entry.object_kind);
        entry.object_name.clone_from(name);
        entry.account.clone_from(&self.place.object.account);
        entry.detail = Some(ended.message.clone());
        entry.after = Some(json!({
            "pod": self.place.pod, "code": ended.code, "seconds": lasted.as_secs(),
            "typedBytes": bytes(&traffic.typed), "shownBytes": bytes(&traffic.shown),
        }));
        if let Err(error) = self.call.portal.records.append_audit(&entry).await {
            tracing::error!(request.id = self.call.request_id, %error, "the end of a terminal cannot be written down");
        }
    }
}

/// The container that is asked for, or that the Pod itself prefers, or its first.
pub(crate) fn container_of(pod: &Pod, asked: Option<&str>) -> Result<String, ApiError> {
    let annotations = pod.metadata.annotations.as_ref();
    let preferred = annotations.and_then(|all| all.get("kubectl.kubernetes.io/default-container"));
    let mut names = pod.spec.iter().flat_map(|spec| &spec.containers).map(|container| &container.name);
    let found = if let Some(asked) = asked {
        names.find(|name| *name == asked)
    } else {
        names.clone().find(|name| Some(*name) == preferred).or_else(|| names.next())
    };
    found.cloned().ok_or_else(|| ApiError::not_found("this container"))
}

pub(crate) const fn terminal_size(size: Size) -> TerminalSize {
    TerminalSize { width: size.columns, height: size.rows }
}

/// The line that a program tells first, without its sign; `first` is what else was read. Nothing if it begins otherwise.
async fn take_line(stdout: &mut (impl AsyncRead + Unpin), first: &mut Vec<u8>) -> Option<String> {
    loop {
        if !matches!(stdout.read_buf(first).await, Ok(1..)) {
            return None;
        }
        if first[0] != hangup::SIGN || first.len() > LONGEST_LINE {
            return None;
        }
        if let Some(end) = first.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = first.drain(..=end).collect();
            return Some(String::from_utf8_lossy(&line[1..]).into_owned());
        }
    }
}

/// Shows what the program writes. Nothing if the program has no more to say.
async fn show(
    outgoing: &mut Outgoing,
    mut stdout: impl AsyncRead + Unpin,
    pace: Duration,
    traffic: &Traffic,
) -> Option<Ended> {
    let mut ping = interval(pace);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ping.reset();
    let mut part = vec![0; 16 * 1024];
    loop {
        let message = tokio::select! {
            read = stdout.read(&mut part) => match read {
                Ok(0) | Err(_) => return None,
                Ok(length) => {
                    traffic.shown.fetch_add(length as u64, Ordering::Relaxed);
                    Message::Binary(Bytes::copy_from_slice(&part[..length]))
                }
            },
            _ = ping.tick() => Message::Ping(Bytes::new()),
        };
        if outgoing.send(message).await.is_err() {
            return Some(Ended::because("the browser has left"));
        }
    }
}

/// Takes what is typed until there is a reason to end.
async fn take(
    mut incoming: SplitStream<WebSocket>,
    mut stdin: impl AsyncWrite + Unpin,
    sizes: &mut futures::channel::mpsc::Sender<TerminalSize>,
    settings: &TerminalSettings,
    traffic: &Traffic,
) -> Ended {
    let (silence, mut last) = (settings.ping * 3, Instant::now());
    loop {
        let next = tokio::select! {
            next = timeout(silence, incoming.next()) => next,
            () = sleep_until(last + settings.idle) => {
                return Ended::because(format!("nobody has typed for {} minutes", settings.idle.as_secs() / 60));
            }
        };
        let message = match next {
            Err(_) => return Ended::because("the browser does not answer"),
            Ok(None | Some(Ok(Message::Close(_)))) => return Ended::because("the browser has left"),
            Ok(Some(Err(error))) => return Ended::because(format!("the connection broke: {error}")),
            Ok(Some(Ok(message))) => message,
        };
        match message {
            Message::Binary(bytes) => {
                last = Instant::now();
                traffic.typed.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                match timeout(silence, stdin.write_all(&bytes)).await {
                    Ok(Ok(())) => {}
                    // It has ended, and its status is on the way.
                    Ok(Err(_)) => std::future::pending().await,
                    Err(_) => return Ended::because("the program does not read what is typed"),
                }
            }
            Message::Text(text) => match read(&text) {
                Ok(size) => drop(sizes.send(terminal_size(size)).await),
                Err(why) => return Ended::because(why),
            },
            Message::Ping(_) | Message::Pong(_) | Message::Close(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn what_a_program_tells_first_is_not_shown_and_nothing_else_is_lost() {
        for (written, told, left) in [
            (&b"+/dev/pts/0 /dev/pts/0\r\n$ "[..], Some("/dev/pts/0 /dev/pts/0"), "$ "),
            (b"+\n", Some(""), ""),
            (b"$ +\n", None, "$ +\n"),
            (b"+ no end", None, "+ no end"),
            (b"", None, ""),
        ] {
            let (mut first, mut source) = (Vec::new(), written);
            let line = take_line(&mut source, &mut first).await;
            assert_eq!(line.as_deref().map(str::trim_end), told);
            first.extend_from_slice(source);
            assert_eq!(String::from_utf8(first).unwrap(), left);
        }
    }

    #[test]
    fn a_terminal_is_in_the_container_that_is_meant() {
        let pod = |annotations: serde_json::Value| -> Pod {
            serde_json::from_value(json!({
                "metadata": { "annotations": annotations },
                "spec": { "containers": [{ "name": "first" }, { "name": "second" }] },
            }))
            .unwrap()
        };
        let plain = pod(json!({}));
        assert_eq!(container_of(&plain, None).unwrap(), "first");
        assert_eq!(container_of(&plain, Some("second")).unwrap(), "second");
        assert!(container_of(&plain, Some("third")).is_err());
        let prefers = pod(json!({ "kubectl.kubernetes.io/default-container": "second" }));
        assert_eq!(container_of(&prefers, None).unwrap(), "second");
        assert!(container_of(&Pod::default(), None).is_err());
    }
}
