//! Port-forward over SPDY: each connection to a port is a pair of streams, one for data and one for an error message,
//! that carry the same request id.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::connection::{Connection, IncomingStream, SpdyStream};
use super::exec::STREAM_TYPE;
use super::frame::{Headers, header};
use crate::portforward::PortConnection;

/// The stream protocol both ends name in the upgrade.
pub(crate) const PORT_FORWARD: &str = "portforward.k8s.io";
/// The port of the Pod, in decimal.
pub(crate) const PORT: &str = "port";
/// Which streams belong together.
pub(crate) const REQUEST_ID: &str = "requestid";
/// How long the second stream of a pair may take, as a kubelet has it.
const PAIR_TIMEOUT: Duration = Duration::from_secs(30);

/// Which half of a pair a stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Data,
    Error,
}

/// What the headers of a stream say.
#[derive(Debug, PartialEq, Eq)]
struct Label {
    port: u16,
    kind: Kind,
    request: String,
}

impl Label {
    /// `None` for a stream that makes no sense; it is refused.
    fn read(id: u32, headers: &Headers) -> Option<Self> {
        let port = header(headers, PORT)?.parse().ok().filter(|port| *port > 0)?;
        let kind = match header(headers, STREAM_TYPE)? {
            "data" => Kind::Data,
            "error" => Kind::Error,
            _ => return None,
        };
        let request = match header(headers, REQUEST_ID) {
            Some(request) if !request.is_empty() => request.to_owned(),
            // Very old clients name no request; they open the error stream and right after it the data stream.
            _ => format!("stream {}", if kind == Kind::Data { id.checked_sub(2)? } else { id }),
        };
        Some(Self { port, kind, request })
    }
}

/// A stream that waits for its other half.
#[derive(Debug)]
struct Half {
    kind: Kind,
    port: u16,
    stream: SpdyStream,
    deadline: Instant,
}

/// Puts the streams of one connection together.
#[derive(Debug)]
pub(crate) struct Pairing {
    connection: Connection,
    waiting: BTreeMap<String, Half>,
}

impl Pairing {
    pub(crate) fn new(connection: Connection) -> Self {
        Self { connection, waiting: BTreeMap::new() }
    }

    /// Hands out complete pairs until either side has had enough.
    pub(crate) async fn run(mut self, connections: mpsc::Sender<PortConnection>) {
        loop {
            let earliest = self.waiting.values().map(|half| half.deadline).min();
            let expired = async {
                match earliest {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                incoming = self.connection.accept() => {
                    let Some(incoming) = incoming else { return };
                    if let Some(pair) = self.add(incoming)
                        && connections.send(pair).await.is_err()
                    {
                        return;
                    }
                }
                () = expired => self.expire(),
                () = connections.closed() => return,
            }
        }
    }

    fn add(&mut self, incoming: IncomingStream) -> Option<PortConnection> {
        let Some(label) = Label::read(incoming.id, &incoming.headers) else {
            tracing::debug!(headers = ?incoming.headers, "refusing a port-forward stream that makes no sense");
            return None;
        };
        let duplicate = self.waiting.get(&label.request).is_some_and(|half| half.kind == label.kind);
        if duplicate {
            tracing::debug!(request = label.request, "refusing a second stream of the same kind");
            return None;
        }
        let stream = incoming.accept()?;
        let Some(other) = self.waiting.remove(&label.request) else {
            let deadline = Instant::now() + PAIR_TIMEOUT;
            self.waiting.insert(label.request, Half { kind: label.kind, port: label.port, stream, deadline });
            return None;
        };
        let (port, data, error) = match label.kind {
            Kind::Data => (label.port, stream, other.stream),
            Kind::Error => (other.port, other.stream, stream),
        };
        Some(PortConnection::new(port, Box::new(data), Box::new(error), true))
    }

    /// Gives up on halves whose other half did not come; an error stream can still say so.
    fn expire(&mut self) {
        let now = Instant::now();
        for (request, half) in self.waiting.extract_if(.., |_, half| half.deadline <= now) {
            if half.kind == Kind::Error {
                let message = format!("request {request}: timed out waiting for streams");
                let mut stream = half.stream;
                tokio::spawn(async move { stream.write_all(message.as_bytes()).await });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> Headers {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn labels_are_read_from_headers() {
        let both = headers(&[("port", "80"), ("streamtype", "data"), ("requestid", "7")]);
        assert_eq!(Label::read(3, &both), Some(Label { port: 80, kind: Kind::Data, request: "7".into() }));
        let error = Label::read(1, &headers(&[("port", "80"), ("streamtype", "error")])).unwrap();
        let data = Label::read(3, &headers(&[("port", "80"), ("streamtype", "data")])).unwrap();
        assert_eq!(error.request, data.request, "clients without request ids open the two in a row");
    }

    #[test]
    fn labels_that_make_no_sense_are_refused() {
        for pairs in [
            &[("port", "80")][..],
            &[("streamtype", "data")],
            &[("port", "0"), ("streamtype", "data")],
            &[("port", "65536"), ("streamtype", "data")],
            &[("port", "http"), ("streamtype", "data")],
            &[("port", "80"), ("streamtype", "stdin")],
        ] {
            assert_eq!(Label::read(5, &headers(pairs)), None, "{pairs:?}");
        }
    }
}
