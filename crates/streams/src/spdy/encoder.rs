//! Frames to bytes. Headers are compressed in one zlib stream that lasts as long as the connection.

use bytes::{BufMut, BytesMut};
use flate2::{Compress, Compression, FlushCompress};

use super::dictionary::DICTIONARY;
use super::frame::{
    CONTROL_BIT, FLAG_FIN, FLAG_UNIDIRECTIONAL, Frame, GO_AWAY, HEADERS, Headers, LARGEST_PAYLOAD, PING,
    RST_STREAM, SETTINGS, SYN_REPLY, SYN_STREAM, VERSION, WINDOW_UPDATE,
};

#[derive(Debug)]
pub(crate) struct Encoder {
    headers: Compress,
}

impl Encoder {
    pub(crate) fn new() -> Self {
        let mut headers = Compress::new(Compression::default(), true);
        headers.set_dictionary(&DICTIONARY).expect("a fresh compressor takes a dictionary");
        Self { headers }
    }

    /// Appends the bytes of `frame`.
    pub(crate) fn encode(&mut self, frame: &Frame, out: &mut BytesMut) {
        match frame {
            Frame::SynStream { id, associated, priority, fin, unidirectional, headers } => {
                let flags = flag(*fin, FLAG_FIN) | flag(*unidirectional, FLAG_UNIDIRECTIONAL);
                control(out, SYN_STREAM, flags, |out| {
                    out.put_u32(*id);
                    out.put_u32(*associated);
                    out.put_u8(priority << 5);
                    out.put_u8(0);
                    self.compress(headers, out);
                });
            }
            Frame::SynReply { id, fin, headers } => self.with_headers(out, SYN_REPLY, *id, *fin, headers),
            Frame::Headers { id, fin, headers } => self.with_headers(out, HEADERS, *id, *fin, headers),
            Frame::RstStream { id, status } => two_words(out, RST_STREAM, *id, status.0),
            Frame::GoAway { last_stream, status } => two_words(out, GO_AWAY, *last_stream, *status),
            Frame::WindowUpdate { id, delta } => two_words(out, WINDOW_UPDATE, *id, *delta),
            Frame::Ping(id) => control(out, PING, 0, |out| out.put_u32(*id)),
            Frame::Settings(settings) => control(out, SETTINGS, 0, |out| {
                out.put_u32(u32::try_from(settings.len()).expect("there are only eight settings"));
                for setting in settings {
                    out.put_u32(u32::from(setting.flags) << 24 | setting.id);
                    out.put_u32(setting.value);
                }
            }),
            Frame::Data { id, fin, data } => {
                assert!(data.len() <= LARGEST_PAYLOAD, "streams cut their data into small frames");
                out.reserve(8 + data.len());
                out.put_u32(*id);
                out.put_u8(flag(*fin, FLAG_FIN));
                out.put_uint(data.len() as u64, 3);
                out.put_slice(data);
            }
        }
    }

    fn with_headers(&mut self, out: &mut BytesMut, kind: u16, id: u32, fin: bool, headers: &Headers) {
        control(out, kind, flag(fin, FLAG_FIN), |out| {
            out.put_u32(id);
            self.compress(headers, out);
        });
    }

    fn compress(&mut self, headers: &Headers, out: &mut BytesMut) {
        let block = block(headers);
        let mut rest = block.as_slice();
        let mut compressed = Vec::with_capacity(block.len() + 64);
        // A sync flush is complete when it leaves room in the output.
        while compressed.is_empty() || compressed.len() == compressed.capacity() {
            compressed.reserve(64);
            let before = self.headers.total_in();
            self.headers
                .compress_vec(rest, &mut compressed, FlushCompress::Sync)
                .expect("compressing into a growing buffer cannot fail");
            let used =
                usize::try_from(self.headers.total_in() - before).expect("no more than what was passed");
            rest = &rest[used..];
        }
        out.put_slice(&compressed);
    }
}

/// The header block before compression.
fn block(headers: &Headers) -> Vec<u8> {
    let mut block = Vec::new();
    put_length(&mut block, headers.len());
    for (name, value) in headers {
        for text in [name, value] {
            put_length(&mut block, text.len());
            block.put_slice(text.as_bytes());
        }
    }
    block
}

fn put_length(block: &mut Vec<u8>, length: usize) {
    block.put_u32(u32::try_from(length).expect("headers are written here and short"));
}

fn flag(on: bool, bit: u8) -> u8 {
    if on { bit } else { 0 }
}

fn two_words(out: &mut BytesMut, kind: u16, first: u32, second: u32) {
    control(out, kind, 0, |out| {
        out.put_u32(first);
        out.put_u32(second);
    });
}

/// Writes a control frame around what `payload` writes.
fn control(out: &mut BytesMut, kind: u16, flags: u8, payload: impl FnOnce(&mut BytesMut)) {
    out.put_u16(CONTROL_BIT | VERSION);
    out.put_u16(kind);
    out.put_u8(flags);
    let length_at = out.len();
    out.put_uint(0, 3);
    payload(out);
    let length = out.len() - length_at - 3;
    assert!(length <= LARGEST_PAYLOAD, "control frames are small");
    (&mut out[length_at..]).put_uint(length as u64, 3);
}
