//! The state of a SPDY connection and its streams. No I/O, no time, no tasks: frames go in with [`Session::receive`], come out with
//! [`Session::next_frame`], and [`Session::take_events`] says which streams have news.
//!
//! Flow control comes in two kinds, because of who the peers are:
//! * Go's spdystream (kubectl, kube-apiserver) never sends a WINDOW_UPDATE and never waits for one. With such a
//!   peer windows would stop every transfer at 64 KiB. What bounds memory instead is that we stop reading the
//!   connection while some stream has too much unread ([`Session::wants_input`]), and TCP does the rest.
//! * A peer that sends SETTINGS knows flow control; then both sides keep windows as SPDY/3.1 says. Our own
//!   client sends them first, our server answers with its own before it accepts a stream, so each side knows before
//!   the first byte of data.

mod stream;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::io;

use bytes::Bytes;

use super::frame::{Frame, Headers, INITIAL_WINDOW_SIZE, MASK_31, ResetStatus, Setting};
use stream::Stream;

/// What SPDY/3.1 starts every window with.
const DEFAULT_WINDOW: u32 = 64 * 1024;
/// The window we grant each stream; without windows, the unread bytes after which we stop reading.
const STREAM_WINDOW: u32 = 256 * 1024;
/// The window we grant the whole connection. It is given back on arrival: the streams' windows bound memory.
const SESSION_WINDOW: u32 = 1024 * 1024;
/// Data waiting to be written to the connection.
const QUEUE_LIMIT: usize = 256 * 1024;
/// Answers waiting to be written; past this a peer that only asks is no longer read.
const CONTROL_LIMIT: usize = 1024;
/// Data is cut into frames of this size, as Go's copy loops do.
const LARGEST_CHUNK: usize = 32 * 1024;
/// Streams a peer may have open at once.
const STREAM_LIMIT: usize = 1024;

/// Which end of the connection this is: clients open odd streams, servers even ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Client,
    Server,
}

/// Something the owner of a stream may wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// Reading this stream now gives data, its end or an error.
    Readable(u32),
    /// Writing to this stream may go on; its reply may have come.
    Writable(u32),
    /// Any stream may try to write again.
    AllWritable,
    /// A stream waits to be accepted, or none will come any more.
    Incoming,
}

/// What reading a stream gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Read {
    Data(Bytes),
    Pending,
    End,
    Failed(io::ErrorKind),
}

/// What writing to a stream gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Write {
    Accepted(usize),
    Pending,
    Failed,
}

#[derive(Debug)]
pub(crate) struct Session {
    role: Role,
    streams: BTreeMap<u32, Stream>,
    /// Streams the peer opened that nobody has accepted yet.
    incoming: VecDeque<u32>,
    next_id: u32,
    last_seen: u32,
    queue: VecDeque<Frame>,
    queued_data: usize,
    queued_control: usize,
    /// Both sides keep windows.
    windows: bool,
    send_window: i64,
    peer_initial_window: i64,
    uncredited: u32,
    /// No new streams: one side has said goodbye.
    going_away: bool,
    /// Nothing comes or goes any more.
    ended: bool,
    events: Vec<Event>,
}

impl Session {
    pub(crate) fn new(role: Role) -> Self {
        let mut session = Self {
            role,
            streams: BTreeMap::new(),
            incoming: VecDeque::new(),
            next_id: if role == Role::Client { 1 } else { 2 },
            last_seen: 0,
            queue: VecDeque::new(),
            queued_data: 0,
            queued_control: 0,
            windows: false,
            send_window: i64::from(DEFAULT_WINDOW),
            peer_initial_window: i64::from(DEFAULT_WINDOW),
            uncredited: 0,
            going_away: false,
            ended: false,
            events: Vec::new(),
        };
        if role == Role::Client {
            session.announce_window();
        }
        session
    }

    // What the connection brings and takes.

    /// Takes a frame from the peer.
    pub(crate) fn receive(&mut self, frame: Frame) {
        match frame {
            Frame::SynStream { id, fin, unidirectional, headers, .. } => {
                self.stream_opened(id, fin, unidirectional, headers);
            }
            Frame::SynReply { id, fin, .. } => self.reply_received(id, fin),
            Frame::RstStream { id, status } => self.reset_received(id, status),
            Frame::Data { id, fin, data } => self.data_received(id, fin, data),
            Frame::Headers { id, fin, .. } => self.data_received(id, fin, Bytes::new()),
            Frame::Settings(settings) => self.settings_received(&settings),
            Frame::WindowUpdate { id, delta } => self.window_update(id, delta),
            Frame::Ping(id) => {
                // The peer's own pings come back to it; answers to ours carry our parity. We send none.
                if (id % 2 == 1) == (self.role == Role::Server) {
                    self.push(Frame::Ping(id));
                }
            }
            Frame::GoAway { .. } => {
                self.going_away = true;
                self.events.push(Event::Incoming);
            }
        }
    }

    /// The next frame to send.
    pub(crate) fn next_frame(&mut self) -> Option<Frame> {
        let frame = self.queue.pop_front()?;
        if let Frame::Data { data, .. } = &frame {
            let was_full = self.queued_data >= QUEUE_LIMIT;
            self.queued_data -= data.len();
            if was_full && self.queued_data < QUEUE_LIMIT {
                self.events.push(Event::AllWritable);
            }
        } else {
            self.queued_control -= 1;
        }
        Some(frame)
    }

    /// Whether the connection may be read. Not while data nobody reads piles up, see the module's text.
    pub(crate) fn wants_input(&self) -> bool {
        let piled_up = |stream: &Stream| stream.unread > STREAM_WINDOW as usize;
        self.queued_control < CONTROL_LIMIT && (self.windows || !self.streams.values().any(piled_up))
    }

    pub(crate) fn has_output(&self) -> bool {
        !self.queue.is_empty()
    }

    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// The connection is gone. Streams whose peer had finished keep their end; the others fail.
    pub(crate) fn end(&mut self, kind: io::ErrorKind) {
        self.ended = true;
        self.going_away = true;
        self.queue.clear();
        (self.queued_data, self.queued_control) = (0, 0);
        for (id, stream) in &mut self.streams {
            stream.fail(kind);
            self.events.push(Event::Readable(*id));
        }
        self.streams.retain(|_, stream| !stream.is_done());
        self.events.extend([Event::AllWritable, Event::Incoming]);
    }

    /// Says goodbye: what is queued goes out, no stream is opened or accepted any more.
    pub(crate) fn go_away(&mut self, status: u32) {
        if !self.going_away {
            self.going_away = true;
            self.events.push(Event::Incoming);
        }
        self.push(Frame::GoAway { last_stream: self.last_seen, status });
    }

    // What the owners of streams do.

    /// Opens a stream; `None` if the connection takes no more. Writing waits until the peer replied.
    pub(crate) fn open(&mut self, headers: Headers) -> Option<u32> {
        if self.going_away || self.next_id > MASK_31 {
            return None;
        }
        let id = self.next_id;
        self.next_id += 2;
        self.streams.insert(id, Stream::new(self.peer_initial_window, Headers::new()));
        self.push(Frame::SynStream {
            id,
            associated: 0,
            priority: 0,
            fin: false,
            unidirectional: false,
            headers,
        });
        Some(id)
    }

    /// The reply to a stream we opened: `None` while it has not come.
    pub(crate) fn replied(&self, id: u32) -> Option<bool> {
        let stream = self.streams.get(&id)?;
        // A stream that was accepted and cut off at once may have had something to say in between.
        if stream.replied { Some(true) } else { stream.failure.map(|_| false) }
    }

    /// The next stream the peer opened and its headers. Answer with [`Session::accept`] or [`Session::reset`].
    pub(crate) fn next_incoming(&mut self) -> Option<(u32, Headers)> {
        let id = self.incoming.pop_front()?;
        let headers = self.streams.get_mut(&id).map(|stream| std::mem::take(&mut stream.headers));
        Some((id, headers.unwrap_or_default()))
    }

    /// Whether [`Session::next_incoming`] can ever give a stream again.
    pub(crate) fn expects_streams(&self) -> bool {
        !self.going_away || !self.incoming.is_empty()
    }

    pub(crate) fn accept(&mut self, id: u32) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.replied = true;
            self.push(Frame::SynReply { id, fin: false, headers: Headers::new() });
        }
    }

    pub(crate) fn read(&mut self, id: u32, most: usize) -> Read {
        let Some(stream) = self.streams.get_mut(&id) else {
            return Read::Failed(io::ErrorKind::NotConnected);
        };
        let read = stream.read(most);
        if let Read::Data(data) = &read
            && self.windows
            && let Some(delta) = stream.consumed(data.len(), STREAM_WINDOW / 2)
        {
            self.push(Frame::WindowUpdate { id, delta });
        }
        read
    }

    pub(crate) fn write(&mut self, id: u32, data: &[u8]) -> Write {
        let room = QUEUE_LIMIT.saturating_sub(self.queued_data);
        let session_window = self.windows.then_some(self.send_window);
        let Some(stream) = self.streams.get_mut(&id).filter(|_| !self.ended) else { return Write::Failed };
        if stream.local_finished || stream.failure.is_some() {
            return Write::Failed;
        }
        let window = session_window.map(|session| session.min(stream.send_window));
        let window = window.map_or(usize::MAX, |window| usize::try_from(window).unwrap_or(0));
        let length = data.len().min(LARGEST_CHUNK).min(room).min(window);
        if !stream.replied || (length == 0 && !data.is_empty()) {
            return Write::Pending;
        }
        if length > 0 {
            let sent = i64::try_from(length).expect("a chunk is small");
            stream.send_window -= sent;
            self.send_window -= sent;
            self.push(Frame::Data { id, fin: false, data: Bytes::copy_from_slice(&data[..length]) });
        }
        Write::Accepted(length)
    }

    /// Sends no more on this stream; reading goes on.
    pub(crate) fn finish(&mut self, id: u32) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if !stream.local_finished && stream.failure.is_none() {
            stream.local_finished = true;
            self.push(Frame::Data { id, fin: true, data: Bytes::new() });
        }
        self.forget_if_done(id);
    }

    /// Cuts a stream off in both directions.
    pub(crate) fn reset(&mut self, id: u32, status: ResetStatus) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let both_done = stream.local_finished && stream.remote_finished;
        if !both_done && stream.failure.is_none() {
            stream.fail(io::ErrorKind::ConnectionAborted);
            self.push(Frame::RstStream { id, status });
        }
        self.events.extend([Event::Readable(id), Event::Writable(id)]);
        self.forget_if_done(id);
    }

    /// The owner dropped its handle: our side is finished, and what still arrives is of no use.
    pub(crate) fn abandon(&mut self, id: u32) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.abandoned = true;
        if stream.unread > 0 {
            // As TCP does with unread bytes: the peer should know that they reached nobody.
            self.reset(id, ResetStatus::CANCEL);
        } else {
            self.finish(id);
        }
        self.forget_if_done(id);
    }

    /// Nobody will accept what the peer has opened.
    pub(crate) fn refuse_incoming(&mut self) {
        for id in std::mem::take(&mut self.incoming) {
            self.reset(id, ResetStatus::REFUSED_STREAM);
            self.abandon(id);
        }
    }

    /// Whether somebody holds a stream.
    pub(crate) fn has_owners(&self) -> bool {
        self.streams.values().any(|stream| !stream.abandoned)
    }

    // What frames do.

    fn stream_opened(&mut self, id: u32, fin: bool, unidirectional: bool, headers: Headers) {
        let peers = (id % 2 == 1) == (self.role == Role::Server);
        if !peers || id <= self.last_seen {
            return self.push(Frame::RstStream { id, status: ResetStatus::PROTOCOL_ERROR });
        }
        self.last_seen = id;
        if self.going_away || self.streams.len() >= STREAM_LIMIT {
            return self.push(Frame::RstStream { id, status: ResetStatus::REFUSED_STREAM });
        }
        let mut stream = Stream::new(self.peer_initial_window, headers);
        stream.remote_finished = fin;
        stream.local_finished = unidirectional;
        self.streams.insert(id, stream);
        self.incoming.push_back(id);
        self.events.push(Event::Incoming);
    }

    fn reply_received(&mut self, id: u32, fin: bool) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.replied = true;
        stream.remote_finished |= fin;
        self.events.extend([Event::Writable(id), Event::Readable(id)]);
        self.forget_if_done(id);
    }

    fn reset_received(&mut self, id: u32, status: ResetStatus) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        // Go's servers end every stream that way, and its clients take back the rest of an upload when they have their
        // answer: an end, not an accident. A client that cancels while we still answer did not finish.
        stream.remote_finished |=
            status == ResetStatus::CANCEL && (stream.local_finished || self.role == Role::Client);
        stream.fail(io::ErrorKind::ConnectionReset);
        self.events.extend([Event::Readable(id), Event::Writable(id)]);
        self.forget_if_done(id);
    }

    fn data_received(&mut self, id: u32, fin: bool, data: Bytes) {
        self.credit_session(data.len());
        let windows = self.windows;
        let Some(stream) = self.streams.get_mut(&id) else {
            // Data of a stream that just ended crosses our FIN or RST; only an id never used is a mistake.
            if id > self.last_seen && id >= self.next_id {
                self.push(Frame::RstStream { id, status: ResetStatus::INVALID_STREAM });
            }
            return;
        };
        if stream.failure.is_some() {
            return;
        }
        if stream.remote_finished {
            return self.reset(id, ResetStatus::PROTOCOL_ERROR);
        }
        if stream.abandoned && !data.is_empty() {
            return self.reset(id, ResetStatus::CANCEL);
        }
        if windows && stream.outstanding(data.len()) > u64::from(STREAM_WINDOW) {
            return self.reset(id, ResetStatus::FLOW_CONTROL_ERROR);
        }
        stream.receive(data);
        stream.remote_finished = fin;
        self.events.push(Event::Readable(id));
        self.forget_if_done(id);
    }

    fn settings_received(&mut self, settings: &[Setting]) {
        if !self.windows {
            self.windows = true;
            if self.role == Role::Server {
                self.announce_window();
            }
            self.push(Frame::WindowUpdate { id: 0, delta: SESSION_WINDOW - DEFAULT_WINDOW });
        }
        if let Some(setting) = settings.iter().find(|setting| setting.id == INITIAL_WINDOW_SIZE) {
            let window = i64::from(setting.value & MASK_31);
            for stream in self.streams.values_mut() {
                stream.send_window += window - self.peer_initial_window;
            }
            self.peer_initial_window = window;
        }
        self.events.push(Event::AllWritable);
    }

    fn window_update(&mut self, id: u32, delta: u32) {
        if id == 0 {
            self.send_window += i64::from(delta);
            self.events.push(Event::AllWritable);
        } else if let Some(stream) = self.streams.get_mut(&id) {
            stream.send_window += i64::from(delta);
            self.events.push(Event::Writable(id));
        }
    }

    fn credit_session(&mut self, length: usize) {
        if !self.windows {
            return;
        }
        self.uncredited = self.uncredited.saturating_add(u32::try_from(length).unwrap_or(u32::MAX));
        if self.uncredited >= SESSION_WINDOW / 2 {
            let delta = std::mem::take(&mut self.uncredited);
            self.push(Frame::WindowUpdate { id: 0, delta });
        }
    }

    fn announce_window(&mut self) {
        self.push(Frame::Settings(vec![Setting { flags: 0, id: INITIAL_WINDOW_SIZE, value: STREAM_WINDOW }]));
    }

    fn push(&mut self, frame: Frame) {
        if self.ended {
            return;
        }
        match &frame {
            Frame::Data { data, .. } => self.queued_data += data.len(),
            _ => self.queued_control += 1,
        }
        self.queue.push_back(frame);
    }

    fn forget_if_done(&mut self, id: u32) {
        if self.streams.get(&id).is_some_and(Stream::is_done) {
            self.streams.remove(&id);
        }
    }
}
