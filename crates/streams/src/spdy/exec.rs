//! Exec and attach over SPDY: one stream per channel, named by a header.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use tokio::io::AsyncWriteExt;

use super::connection::{Connection, SpdyStream};
use super::frame::header;
use crate::options::StreamSet;
use crate::status::ExitStatus;

/// Names the channel a stream is.
pub(crate) const STREAM_TYPE: &str = "streamtype";
/// How long a client may take to open its streams, as a kubelet has it.
const CREATION_TIMEOUT: Duration = Duration::from_secs(30);

/// A version of the stream protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamProtocol {
    /// Terminals can be resized (version 3).
    pub(crate) resize: bool,
    /// The error stream carries a `Status` object (version 4), not plain text.
    pub(crate) status_objects: bool,
}

const TEXT: StreamProtocol = StreamProtocol { resize: false, status_objects: false };

/// What exec and attach accept. Version 1 differs from 2 in mistakes only, which nobody relies on.
pub(crate) const EXEC_PROTOCOLS: [(&str, StreamProtocol); 4] = [
    ("v4.channel.k8s.io", StreamProtocol { resize: true, status_objects: true }),
    ("v3.channel.k8s.io", StreamProtocol { resize: true, status_objects: false }),
    ("v2.channel.k8s.io", TEXT),
    ("channel.k8s.io", TEXT),
];

/// The channels a client opens for these streams.
pub(crate) fn channels(streams: StreamSet, protocol: StreamProtocol) -> Vec<&'static str> {
    let wanted = [
        ("error", true),
        ("stdin", streams.stdin),
        ("stdout", streams.stdout),
        ("stderr", streams.stderr),
        ("resize", streams.tty && protocol.resize),
    ];
    wanted.into_iter().filter(|(_, on)| *on).map(|(name, _)| name).collect()
}

/// Waits until the client has opened every channel it asked for; others are refused.
pub(crate) async fn await_streams(
    connection: &Connection,
    wanted: &[&'static str],
) -> io::Result<BTreeMap<&'static str, SpdyStream>> {
    let opening = async {
        let mut streams = BTreeMap::new();
        while streams.len() < wanted.len() {
            let gone = || {
                io::Error::new(io::ErrorKind::UnexpectedEof, "the client left before it opened its streams")
            };
            let incoming = connection.accept().await.ok_or_else(gone)?;
            let name = header(&incoming.headers, STREAM_TYPE);
            let Some(name) = wanted.iter().find(|wanted| name == Some(**wanted)).copied() else { continue };
            if !streams.contains_key(name)
                && let Some(stream) = incoming.accept()
            {
                streams.insert(name, stream);
            }
        }
        Ok(streams)
    };
    let late =
        || io::Error::new(io::ErrorKind::TimedOut, "timed out waiting for the client to create streams");
    tokio::time::timeout(CREATION_TIMEOUT, opening).await.map_err(|_| late())?
}

/// Reports the end of a session. If it is dropped instead, the client is told that nobody knows how
/// the command ended: Go's client takes silence for success.
#[derive(Debug)]
pub(crate) struct Reporter {
    parts: Option<(Connection, SpdyStream)>,
    protocol: StreamProtocol,
}

impl Reporter {
    pub(crate) fn new(connection: Connection, error: SpdyStream, protocol: StreamProtocol) -> Self {
        Self { parts: Some((connection, error)), protocol }
    }

    pub(crate) async fn finish(mut self, status: &ExitStatus) -> io::Result<()> {
        let Some((connection, mut error)) = self.parts.take() else { return Ok(()) };
        let written = match self.report(status) {
            Some(report) => error.write_all(&report).await,
            None => Ok(()),
        };
        drop(error);
        connection.close().await;
        written
    }

    fn report(&self, status: &ExitStatus) -> Option<Vec<u8>> {
        if self.protocol.status_objects {
            Some(status.to_json())
        } else {
            status.to_text().map(String::into_bytes)
        }
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        if let Some((_, error)) = &self.parts {
            let lost = ExitStatus::Error("the session ended without a result".to_owned());
            if let Some(report) = self.report(&lost) {
                error.try_write(&report);
            }
        }
    }
}
