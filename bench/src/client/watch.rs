//! A watch that costs its reader little: many bytes per system call, and lines counted where they were decrypted.
//!
//! Fifty watchers read fifty times what the server makes once, so a comfortable reader would be what is measured.

use anyhow::{Context as _, bail, ensure};
use http_body_util::{BodyExt as _, Either};
use kube::client::Body as KubeBody;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::{Address, Credentials, Door, Lane};

/// Bytes taken from the kernel at a time.
const READ: usize = 256 << 10;
/// More than any server sends before the body.
const LONGEST_HEAD: usize = 16 << 10;

/// The lines of an answer that has no end, each of which is an event.
pub(crate) enum Watch {
    Tls { stream: Box<TlsStream<BufReader<TcpStream>>>, chunks: Chunks },
    InProcess(KubeBody),
}

impl Door {
    /// Begins a watch and waits for the head of its answer.
    pub(crate) async fn watch(&self, path: &str) -> anyhow::Result<Watch> {
        if let Self::Tls(address, connector) = self {
            let stream = BufReader::with_capacity(READ, super::connect(address).await?);
            let mut stream = Box::new(connector.connect(super::server_name(address)?, stream).await?);
            stream.write_all(request(address, path)?.as_bytes()).await?;
            stream.flush().await?;
            check_head(&mut stream).await.with_context(|| path.to_owned())?;
            return Ok(Watch::Tls { stream, chunks: Chunks::default() });
        }
        let mut lane: Lane = self.open().await?;
        match lane.send(http::Method::GET, path, bytes::Bytes::new()).await?.into_body() {
            Either::Right(body) => Ok(Watch::InProcess(body)),
            Either::Left(_) => bail!("an answer over TLS from a cluster in this process"),
        }
    }
}

impl Watch {
    /// Waits for more, and says how many lines ended in it.
    pub(crate) async fn lines(&mut self) -> anyhow::Result<usize> {
        match self {
            Self::Tls { stream, chunks } => {
                let data = stream.fill_buf().await?;
                ensure!(!data.is_empty(), "a watch ended early");
                let (length, lines) = (data.len(), chunks.lines(data)?);
                stream.consume(length);
                Ok(lines)
            }
            Self::InProcess(body) => {
                let frame = body.frame().await.context("a watch ended early")?;
                let frame = frame.map_err(anyhow::Error::from)?;
                Ok(frame.data_ref().map_or(0, |data| lines(data)))
            }
        }
    }
}

fn request(address: &Address, path: &str) -> anyhow::Result<String> {
    let authorization = match &address.credentials {
        Credentials::Bearer(header) => format!("Authorization: {}\r\n", header.to_str()?),
        Credentials::Certificate { .. } => String::new(),
    };
    let host = &address.authority;
    Ok(format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: application/json\r\nUser-Agent: maar-bench/1\r\n{authorization}\r\n"
    ))
}

/// Reads up to the body, byte by byte: it happens once per watch.
async fn check_head(stream: &mut TlsStream<BufReader<TcpStream>>) -> anyhow::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        ensure!(head.len() < LONGEST_HEAD, "an answer whose head does not end");
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
    ensure!(head.starts_with("http/1.1 200 "), "{head}");
    ensure!(head.contains("transfer-encoding: chunked"), "an answer that is not chunked: {head}");
    Ok(())
}

/// Where we are in a body of chunks: `SIZE CR LF DATA CR LF`, again and again.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Chunks {
    /// In the line with the size of the next chunk, of which this much has been read.
    Size(usize),
    /// So many bytes before the end of a chunk.
    Data(usize),
    /// In the line end after a chunk.
    End,
}

impl Default for Chunks {
    fn default() -> Self {
        Self::Size(0)
    }
}

impl Chunks {
    /// Takes the next bytes of the body; says how many lines ended in the data among them.
    fn lines(&mut self, mut bytes: &[u8]) -> anyhow::Result<usize> {
        let mut seen = 0;
        while let Some((first, rest)) = bytes.split_first() {
            *self = match *self {
                Self::Data(left) => {
                    let (data, rest) = bytes.split_at(left.min(bytes.len()));
                    seen += lines(data);
                    bytes = rest;
                    if data.len() == left { Self::End } else { Self::Data(left - data.len()) }
                }
                Self::Size(size) => {
                    bytes = rest;
                    match (*first, size) {
                        (b'\r', size) => Self::Size(size),
                        (b'\n', 0) => bail!("a watch ended early"),
                        (b'\n', size) => Self::Data(size),
                        (digit, size) => Self::Size(size * 16 + hexadecimal(digit)?),
                    }
                }
                Self::End => {
                    bytes = rest;
                    if *first == b'\n' { Self::default() } else { Self::End }
                }
            };
        }
        Ok(seen)
    }
}

fn hexadecimal(digit: u8) -> anyhow::Result<usize> {
    let value = char::from(digit).to_digit(16).context("a chunk whose size is not a number")?;
    Ok(usize::try_from(value)?)
}

/// The number of line ends. Written so that the compiler counts many bytes at a time.
fn lines(data: &[u8]) -> usize {
    let counted = data.chunks(255).map(|chunk| chunk.iter().map(|byte| u8::from(*byte == b'\n')).sum::<u8>());
    counted.map(usize::from).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_across_chunks() {
        assert_eq!(lines(b""), 0);
        assert_eq!(lines("a\n".repeat(1000).as_bytes()), 1000);
        assert_eq!(lines(&[b'\n'; 600]), 600);
    }

    #[test]
    fn only_lines_of_the_data_count_however_the_bytes_come() {
        let body = b"4\r\na\nb\n\r\n1\r\nc\r\n10\r\n0123456789abcde\n\r\n";
        for step in 1..body.len() {
            let mut chunks = Chunks::default();
            let seen: usize = body.chunks(step).map(|part| chunks.lines(part).expect("a sound body")).sum();
            assert_eq!(seen, 3, "in pieces of {step}");
        }
    }

    #[test]
    fn an_end_and_nonsense_are_told() {
        assert!(Chunks::default().lines(b"0\r\n\r\n").is_err());
        assert!(Chunks::default().lines(b"zz\r\n").is_err());
    }
}
