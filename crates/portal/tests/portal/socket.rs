//! A WebSocket as a browser opens it, by hand: frames that no library would send can be sent, too.

use std::{fmt::Write as _, net::SocketAddr, time::Duration};

use http::Request;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

const PATIENCE: Duration = Duration::from_secs(20);
const MASK: [u8; 4] = [7, 3, 5, 1];

/// What came.
#[derive(Debug, PartialEq)]
pub(crate) enum Frame {
    Text(Value),
    Binary(Vec<u8>),
    Close,
}

pub(crate) struct Socket {
    stream: TcpStream,
    /// Answers pings, as every browser does by itself.
    pub(crate) alive: bool,
}

impl Socket {
    /// Opens one, or tells the status that was answered instead.
    pub(crate) async fn open(address: SocketAddr, request: Request<()>) -> Result<Self, u16> {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let mut head = format!("GET {} HTTP/1.1\r\n", request.uri());
        if !request.headers().contains_key("host") {
            write!(head, "Host: {address}\r\n").unwrap();
        }
        for (name, value) in request.headers() {
            write!(head, "{name}: {}\r\n", value.to_str().unwrap()).unwrap();
        }
        stream.write_all(format!("{head}\r\n").as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            answer.push(stream.read_u8().await.unwrap());
        }
        let answer = String::from_utf8(answer).unwrap();
        match answer.split(' ').nth(1).unwrap().parse().unwrap() {
            101 => Ok(Self { stream, alive: true }),
            status => Err(status),
        }
    }

    pub(crate) async fn send(&mut self, opcode: u8, payload: &[u8]) {
        let mut frame = vec![0x80 | opcode];
        match payload.len() {
            short @ 0..126 => frame.push(0x80 | u8::try_from(short).unwrap()),
            long => {
                frame.push(0x80 | 127);
                frame.extend((long as u64).to_be_bytes());
            }
        }
        frame.extend(MASK);
        frame.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        // The other end may have had enough already.
        let _ = self.stream.write_all(&frame).await;
    }

    pub(crate) async fn types(&mut self, text: &str) {
        self.send(2, text.as_bytes()).await;
    }

    pub(crate) async fn says(&mut self, text: &str) {
        self.send(1, text.as_bytes()).await;
    }

    /// The next frame that is no ping; `Close` also for a connection that ended.
    pub(crate) async fn next(&mut self) -> Frame {
        loop {
            let Some((opcode, payload)) = timeout(PATIENCE, self.frame()).await.expect("something comes")
            else {
                return Frame::Close;
            };
            match opcode {
                1 => return Frame::Text(serde_json::from_slice(&payload).unwrap()),
                2 => return Frame::Binary(payload),
                8 => return Frame::Close,
                9 if self.alive => self.send(10, &payload).await,
                _ => {}
            }
        }
    }

    async fn frame(&mut self) -> Option<(u8, Vec<u8>)> {
        let opcode = self.stream.read_u8().await.ok()? & 0x0f;
        let length = match self.stream.read_u8().await.ok()? & 0x7f {
            126 => u64::from(self.stream.read_u16().await.ok()?),
            127 => self.stream.read_u64().await.ok()?,
            short => u64::from(short),
        };
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        self.stream.read_exact(&mut payload).await.ok()?;
        Some((opcode, payload))
    }

    /// Reads until the screen has shown `words`.
    pub(crate) async fn shows(&mut self, words: &str) -> String {
        let mut screen = String::new();
        while !screen.contains(words) {
            match self.next().await {
                Frame::Binary(bytes) => screen.push_str(&String::from_utf8_lossy(&bytes)),
                other => panic!("{other:?} instead of {words:?} after {screen:?}"),
            }
        }
        screen
    }

    /// Reads until the end and tells what was said about it.
    pub(crate) async fn end(&mut self) -> Value {
        loop {
            match self.next().await {
                Frame::Text(said) if said.get("end").is_some() => return said["end"].clone(),
                Frame::Close => panic!("closed without a word"),
                Frame::Binary(_) | Frame::Text(_) => {}
            }
        }
    }
}
