//! Exec and port-forward into a Pod, as streams that hold up nobody but themselves.
//!
//! kube's own exec sends and receives in one loop: a program that writes while nobody reads stops the loop from sending
//! it what it waits for. Here the two directions share nothing.

mod exit;
mod line;
mod upgrade;

use std::{collections::VecDeque, time::Duration};

use bytes::{BufMut as _, Bytes, BytesMut};
use futures::{
    SinkExt as _, StreamExt as _,
    stream::{SplitSink, SplitStream},
};
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, Client, Resource as _,
    api::{AttachParams, Request},
};
use tokio::{io::DuplexStream, time::timeout};
use tokio_tungstenite::tungstenite::Message;

pub use exit::Exit;
use line::FirstLine;
use upgrade::Socket;

use crate::ssh::Helpers;

/// How long the cluster may take to begin something.
const BEGIN: Duration = Duration::from_secs(30);

/// Ends what does not come to its end by then: whatever runs in a Pod can be silent, or talk, for ever.
pub(crate) async fn in_time<T>(doing: impl Future<Output = Result<T, PodError>>) -> Result<T, PodError> {
    timeout(BEGIN, doing).await.map_err(|_| PodError::Silent)?
}

/// A container in a Pod.
#[derive(Clone)]
pub struct Place {
    /// The cluster.
    pub client: Client,
    /// Where the Pod is.
    pub namespace: String,
    /// The Pod.
    pub pod: String,
    /// The container; the Pod's own choice if it is not said.
    pub container: Option<String>,
    /// What can be brought into it.
    pub helpers: Helpers,
}

impl std::fmt::Debug for Place {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.pod)
    }
}

/// Why a Pod cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum PodError {
    /// The request cannot be written.
    #[error("ask for a stream into the Pod")]
    Request(#[source] kube::core::request::Error),
    /// The cluster refuses it.
    #[error("open a stream into the Pod")]
    Open(#[source] Box<kube::Error>),
    /// The cluster says why not.
    #[error("{0}")]
    Refused(String),
    /// Nothing comes.
    #[error("the Pod does not answer")]
    Silent,
    /// The stream broke.
    #[error("the stream into the Pod broke")]
    Broken(#[source] Box<tokio_tungstenite::tungstenite::Error>),
}

/// What goes into a program.
pub struct Input {
    sink: SplitSink<Socket, Message>,
    /// Whether the cluster can be told that there is no more.
    can_end: bool,
}

/// What comes out of a program.
pub struct Output {
    stream: SplitStream<Socket>,
    /// What was looked at and put back.
    back: VecDeque<Part>,
}

/// A part of what comes out.
#[derive(Debug, PartialEq, Eq)]
pub enum Part {
    /// Of its standard output.
    Stdout(Bytes),
    /// Of its standard error.
    Stderr(Bytes),
    /// It has ended; nothing follows.
    Ended(Exit),
}

impl std::fmt::Debug for Input {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Input")
    }
}

impl std::fmt::Debug for Output {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Output")
    }
}

const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const STATUS: u8 = 3;
const RESIZE: u8 = 4;
const CLOSE: u8 = 255;

impl Input {
    async fn message(&mut self, channel: u8, parts: &[impl AsRef<[u8]>]) -> Result<(), PodError> {
        let length: usize = parts.iter().map(|part| part.as_ref().len()).sum();
        let mut message = BytesMut::with_capacity(1 + length);
        message.put_u8(channel);
        for part in parts {
            message.put_slice(part.as_ref());
        }
        let sent = self.sink.send(Message::Binary(message.freeze())).await;
        sent.map_err(|error| PodError::Broken(Box::new(error)))
    }

    /// Gives the program something to read.
    pub async fn send(&mut self, bytes: &[u8]) -> Result<(), PodError> {
        self.message(STDIN, &[bytes]).await
    }

    /// The same of several parts, in one message: those between pay for each.
    pub(crate) async fn send_all(&mut self, parts: &[Bytes]) -> Result<(), PodError> {
        self.message(STDIN, parts).await
    }

    /// Tells the program that there is no more to read. Clusters before 1.30 cannot be told.
    pub async fn end(&mut self) -> Result<(), PodError> {
        if self.can_end { self.message(CLOSE, &[[STDIN]]).await } else { Ok(()) }
    }

    /// Tells the program how large its terminal is.
    pub async fn resize(&mut self, columns: u16, rows: u16) -> Result<(), PodError> {
        let size = format!("{{\"Width\":{columns},\"Height\":{rows}}}");
        self.message(RESIZE, &[size]).await
    }

    /// Keeps those between from closing a stream on which nothing is said.
    pub async fn ping(&mut self) -> Result<(), PodError> {
        let sent = self.sink.send(Message::Ping(Bytes::new())).await;
        sent.map_err(|error| PodError::Broken(Box::new(error)))
    }
}

impl Output {
    /// Gives `bytes` as the next part of standard output.
    pub(crate) fn put_back(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            self.back.push_front(Part::Stdout(bytes));
        }
    }

    /// The first line of its standard output, without the `sign` that it begins with. Nothing if the program begins with
    /// anything else. What was read besides are the next parts.
    pub(crate) async fn line(&mut self, sign: u8) -> Result<Option<String>, PodError> {
        let mut first = FirstLine::new(sign);
        loop {
            let part = self.next().await?;
            if let Some((line, rest)) = first.take(part) {
                self.back = rest;
                return Ok(line);
            }
        }
    }

    /// The next part, which is never empty.
    pub async fn next(&mut self) -> Result<Part, PodError> {
        if let Some(part) = self.back.pop_front() {
            return Ok(part);
        }
        loop {
            let message = match self.stream.next().await {
                None => return Ok(Part::Ended(Exit::lost())),
                Some(message) => message.map_err(|error| PodError::Broken(Box::new(error)))?,
            };
            let Message::Binary(mut bytes) = message else { continue };
            if bytes.len() <= 1 {
                continue;
            }
            let channel = bytes.split_to(1)[0];
            match channel {
                STDOUT => return Ok(Part::Stdout(bytes)),
                STDERR => return Ok(Part::Stderr(bytes)),
                STATUS => return Ok(Part::Ended(Exit::read(&bytes))),
                _ => {}
            }
        }
    }

    /// All of its standard output, if it is no longer than `most`, and how it ended.
    pub async fn text(&mut self, most: usize) -> Result<(String, Exit), PodError> {
        let mut all = Vec::new();
        loop {
            match self.next().await? {
                Part::Stdout(bytes) | Part::Stderr(bytes) => {
                    let room = most.saturating_sub(all.len()).min(bytes.len());
                    all.extend_from_slice(&bytes[..room]);
                }
                Part::Ended(exit) => return Ok((String::from_utf8_lossy(&all).into_owned(), exit)),
            }
        }
    }
}

impl Place {
    /// Begins a program, with a terminal or without.
    pub async fn exec(&self, command: &[String], terminal: bool) -> Result<(Input, Output), PodError> {
        let parameters = AttachParams {
            container: self.container.clone(),
            stdin: true,
            stdout: true,
            stderr: !terminal,
            tty: terminal,
            ..AttachParams::default()
        };
        let pods = Request::new(Pod::url_path(&(), Some(&self.namespace)));
        let request =
            pods.exec(&self.pod, command.iter().cloned(), &parameters).map_err(PodError::Request)?;
        let (socket, can_end) = in_time(upgrade::open(&self.client, request)).await?;
        let (sink, stream) = socket.split();
        Ok((Input { sink, can_end }, Output { stream, back: VecDeque::new() }))
    }

    /// A connection to a port on the loopback address of the Pod. That nobody listens there shows by its end.
    pub async fn port(&self, port: u16) -> Result<DuplexStream, PodError> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &self.namespace);
        let opened = timeout(BEGIN, pods.portforward(&self.pod, &[port])).await;
        let mut opened =
            opened.map_err(|_| PodError::Silent)?.map_err(|error| PodError::Open(Box::new(error)))?;
        opened.take_stream(port).ok_or(PodError::Silent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_never_answers_is_not_waited_for_for_ever() {
        let silent = in_time(std::future::pending::<Result<(), PodError>>()).await;
        assert!(matches!(silent, Err(PodError::Silent)));
        assert!(in_time(async { Ok(1) }).await.is_ok());
    }
}
