//! One connection to a port of a workspace or of a job's Pod, by WebSocket, for `maar forward`.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use bytes::Bytes;
use futures::{SinkExt as _, StreamExt as _};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    time::{Instant, MissedTickBehavior, interval, timeout},
};

use super::{
    behind::{Behind, about},
    reach::connect,
};
use crate::{
    access::Verb,
    error::{ApiError, Code},
    route::{Answer, Call},
    stream::until_denied,
    terminal::{Seat, socket},
};

/// The subprotocol.
pub(super) const PROTOCOL: &str = "maar.forward.v1";
/// The most that a message of a client may hold.
pub(super) const LARGEST: usize = 1 << 20;
/// How many connections one user may have open: a page of an app opens many.
const MOST: usize = 128;
/// What browsers and programs are told why a connection ended has at most so many bytes.
const LONGEST_REASON: usize = 120;

/// Which port.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ForwardQuery {
    /// Between 1 and 65535.
    port: String,
    /// Of a job: which of its Pods; the first that runs if it is not said.
    pod: Option<String>,
}

/// Opens the connection. Everything that can go wrong after this is the reason by which the WebSocket closes.
pub(super) fn open(call: &Call) -> Result<Answer, ApiError> {
    let query: ForwardQuery = call.query()?;
    let port = super::reach::read_port(&query.port)?;
    let behind = Behind::of(call)?;
    let pod = behind.entered(&call.portal, query.pod.as_deref())?;
    let upgrade = socket(call, PROTOCOL, LARGEST)?;
    let seat = call.portal.forwards.take(&call.person()?.id, MOST);
    let seat = seat.ok_or_else(|| {
        ApiError::new(Code::TooMany, format!("you have {MOST} forwarded connections open already"))
    })?;
    let session = Forward { call: Arc::new(call.clone()), behind, pod, port, seat };
    Ok(Answer::whole(upgrade.on_upgrade(move |socket| session.serve(socket))))
}

struct Forward {
    call: Arc<Call>,
    behind: Behind,
    pod: String,
    port: u16,
    #[expect(dead_code, reason = "held for what dropping it does")]
    seat: Seat,
}

impl Forward {
    async fn serve(self, socket: WebSocket) {
        let (begin, sent, came) = (Instant::now(), AtomicU64::new(0), AtomicU64::new(0));
        let why = self.run(socket, &sent, &came).await;
        let bytes = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let after = json!({
            "pod": self.pod, "port": self.port, "seconds": begin.elapsed().as_secs(),
            "sentBytes": bytes(&sent), "cameBytes": bytes(&came),
        });
        ended(&self.call, &self.behind, "endForward", why, after).await;
    }

    async fn run(&self, mut socket: WebSocket, sent: &AtomicU64, came: &AtomicU64) -> String {
        let namespace = self.behind.place(self.port).namespace;
        let Ok(io) = connect(&self.call.portal, &namespace, &self.pod, self.port).await else {
            return close(&mut socket, "the Pod does not answer".to_owned()).await;
        };
        let (mut reader, mut writer) = tokio::io::split(io.stream);
        let (mut outgoing, mut incoming) = socket.split();
        let pace = self.call.portal.settings.terminals.ping;
        let mut failure = io.failure;
        let down = async {
            let mut ping = interval(pace);
            ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut part = vec![0; 64 * 1024];
            loop {
                let message = tokio::select! {
                    read = reader.read(&mut part) => match read {
                        Ok(0) | Err(_) => break,
                        Ok(length) => {
                            came.fetch_add(length as u64, Ordering::Relaxed);
                            Message::Binary(Bytes::copy_from_slice(&part[..length]))
                        }
                    },
                    _ = ping.tick() => Message::Ping(Bytes::new()),
                };
                if outgoing.send(message).await.is_err() {
                    return "the client has left".to_owned();
                }
            }
            // A port that refuses ends at once, and its reason comes beside it.
            match timeout(std::time::Duration::from_millis(500), &mut failure).await {
                Ok(Some(reason)) => reason,
                _ => "the program closed the connection".to_owned(),
            }
        };
        let up = async {
            loop {
                let bytes = match timeout(pace * 3, incoming.next()).await {
                    Err(_) => return "the client does not answer".to_owned(),
                    Ok(Some(Ok(Message::Binary(bytes)))) => bytes,
                    Ok(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => continue,
                    Ok(_) => return "the client has left".to_owned(),
                };
                sent.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                if writer.write_all(&bytes).await.is_err() {
                    // Its reason is on the way.
                    std::future::pending::<()>().await;
                }
            }
        };
        let denied = until_denied(
            Arc::clone(&self.call.portal),
            self.call.caller.clone(),
            Verb::Enter,
            self.behind.object(),
        );
        let why = tokio::select! {
            why = down => why,
            why = up => why,
            () = denied => "you may no longer be here: the session has ended or was revoked".to_owned(),
        };
        let frame = closing(&why);
        // Who has left need not be told.
        let _ = timeout(std::time::Duration::from_secs(5), outgoing.send(Message::Close(Some(frame)))).await;
        why
    }
}

fn closing(why: &str) -> CloseFrame {
    let end =
        why.char_indices().map(|(at, one)| at + one.len_utf8()).take_while(|end| *end <= LONGEST_REASON);
    let short = &why[..end.last().unwrap_or(0)];
    CloseFrame { code: close_code::NORMAL, reason: short.to_owned().into() }
}

async fn close(socket: &mut WebSocket, why: String) -> String {
    let _ = socket.send(Message::Close(Some(closing(&why)))).await;
    why
}

/// Writes down that a way in has ended; its beginning was written down before it was allowed to begin.
pub(super) async fn ended(call: &Call, behind: &Behind, action: &str, why: String, after: serde_json::Value) {
    let mut entry = call.entry();
    let (kind, name) = about(&behind.place(0));
    entry.id = maar_records::AuditId::new(format!("{}-end", call.request_id));
    action.clone_into(&mut entry.action);
    kind.clone_into(&mut entry.object_kind);
    entry.object_name = name;
    entry.account = behind.object().account;
    entry.detail = Some(why);
    entry.after = Some(after);
    if let Err(error) = call.portal.records.append_audit(&entry).await {
        tracing::error!(request.id = call.request_id, %error, "the end of a way in cannot be written down");
    }
}
