//! One stream of a session.

use std::collections::VecDeque;
use std::io;

use bytes::Bytes;

use super::Read;
use crate::spdy::frame::Headers;

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own: all combinations occur")]
pub(super) struct Stream {
    /// What the peer opened it with, until somebody takes them.
    pub(super) headers: Headers,
    received: VecDeque<Bytes>,
    /// Bytes in `received`.
    pub(super) unread: usize,
    /// Bytes that were read but not yet given back to the peer's window.
    uncredited: u32,
    pub(super) send_window: i64,
    pub(super) replied: bool,
    pub(super) local_finished: bool,
    pub(super) remote_finished: bool,
    /// Cut off; what was received before is still read.
    pub(super) failure: Option<io::ErrorKind>,
    /// Nobody holds this stream any more.
    pub(super) abandoned: bool,
}

impl Stream {
    pub(super) fn new(send_window: i64, headers: Headers) -> Self {
        Self {
            headers,
            received: VecDeque::new(),
            unread: 0,
            uncredited: 0,
            send_window,
            replied: false,
            local_finished: false,
            remote_finished: false,
            failure: None,
            abandoned: false,
        }
    }

    pub(super) fn receive(&mut self, data: Bytes) {
        if !data.is_empty() {
            self.unread += data.len();
            self.received.push_back(data);
        }
    }

    pub(super) fn read(&mut self, most: usize) -> Read {
        if let Some(mut data) = self.received.pop_front() {
            if data.len() > most {
                self.received.push_front(data.split_off(most));
            }
            self.unread -= data.len();
            return Read::Data(data);
        }
        match self.failure {
            _ if self.remote_finished => Read::End,
            Some(kind) => Read::Failed(kind),
            None => Read::Pending,
        }
    }

    /// Notes that bytes were read; gives what the peer may be credited once it is worth a frame.
    pub(super) fn consumed(&mut self, length: usize, worthwhile: u32) -> Option<u32> {
        self.uncredited += u32::try_from(length).expect("reads are bounded by the window");
        let more_may_come = !self.remote_finished && self.failure.is_none();
        (more_may_come && self.uncredited >= worthwhile).then(|| std::mem::take(&mut self.uncredited))
    }

    /// How much of the window would be used up if `more` bytes arrived.
    pub(super) fn outstanding(&self, more: usize) -> u64 {
        (self.unread + more) as u64 + u64::from(self.uncredited)
    }

    /// Cuts the stream off, unless it had ended already.
    pub(super) fn fail(&mut self, kind: io::ErrorKind) {
        self.failure.get_or_insert(kind);
    }

    /// Nothing can happen to it any more.
    pub(super) fn is_done(&self) -> bool {
        self.abandoned && (self.failure.is_some() || (self.local_finished && self.remote_finished))
    }
}
