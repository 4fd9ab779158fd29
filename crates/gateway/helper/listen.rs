//! Many connections to one port or socket of the Pod, carried over standard input and output.
//!
//! A frame is a kind, the number of a connection, a length and so many bytes. Each side may send [`CREDIT`] bytes of a
//! connection more than the other has passed on and granted anew, so that one that stands still holds up no other, and
//! nothing grows.

use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    net::{IpAddr, Shutdown, SocketAddr, TcpListener},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::Duration,
};

use crate::socket::Socket;

/// The port is open; the bytes are its number.
const LISTENING: u8 = 0;
/// A new connection; the bytes are where it comes from.
const OPEN: u8 = 1;
const DATA: u8 = 2;
/// No more data in this direction.
const END: u8 = 3;
/// The connection is gone.
const CLOSE: u8 = 4;
/// So many bytes more may be sent.
const GRANT: u8 = 5;
/// A Unix socket is there; the bytes are its path.
pub(crate) const SOCKET: u8 = 6;

/// What may be on the way of one connection in one direction.
const CREDIT: u32 = 256 * 1024;
/// The longest frame.
const PART: usize = 32 * 1024;
/// How many connections there may be at once.
const MOST: usize = 256;
/// How long is waited when a connection cannot be taken, as when too many files are open: it would fail at once again.
const PAUSE: Duration = Duration::from_millis(100);

/// One connection, as the reader of frames knows it.
struct Line {
    /// For the thread that writes to the socket.
    to_socket: Sender<Option<Vec<u8>>>,
    /// What the thread that reads from the socket may still send.
    credit: Arc<Credit>,
    socket: Socket,
}

#[derive(Default)]
struct Credit {
    left: Mutex<u32>,
    more: Condvar,
}

/// What the threads share.
#[derive(Clone, Default)]
struct Hall {
    lines: Arc<Mutex<BTreeMap<u32, Line>>>,
    /// Held while a frame is written.
    output: Arc<Mutex<()>>,
}

/// What a thread that fell over has left is still whole: everything under these locks is changed in one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn serve(address: &str, port: &str) -> io::Result<()> {
    let wrong = |_| io::Error::other("this is no address and port");
    let address: IpAddr = address.parse().map_err(|_| io::Error::other("this is no address"))?;
    let listener = TcpListener::bind(SocketAddr::new(address, port.parse().map_err(wrong)?))?;
    let opened = listener.local_addr()?.port().to_be_bytes();
    carry((LISTENING, &opened), move || {
        let (socket, peer) = listener.accept()?;
        let _ = socket.set_nodelay(true);
        Ok((Socket::Port(socket), peer.to_string()))
    })
}

/// Says where it listens, and carries all connections that are taken there, each with where it comes from, until there is no
/// more to read.
pub(crate) fn carry(
    (kind, place): (u8, &[u8]),
    mut accept: impl FnMut() -> io::Result<(Socket, String)> + Send + 'static,
) -> io::Result<()> {
    let hall = Hall::default();
    hall.send(kind, 0, place)?;
    let taking = hall.clone();
    thread::spawn(move || {
        let mut next = 0_u32;
        loop {
            let Ok((socket, peer)) = accept() else {
                thread::sleep(PAUSE);
                continue;
            };
            next = next.wrapping_add(1);
            // Who cannot be carried is let go, and the next one may be luckier.
            let _ = taking.take(next, socket, &peer);
        }
    });
    hall.read(&mut io::stdin().lock())
}

impl Hall {
    fn send(&self, kind: u8, line: u32, bytes: &[u8]) -> io::Result<()> {
        let mut frame = Vec::with_capacity(9 + bytes.len());
        frame.push(kind);
        frame.extend(line.to_be_bytes());
        frame.extend(u32::try_from(bytes.len()).unwrap_or(0).to_be_bytes());
        frame.extend_from_slice(bytes);
        let _turn = lock(&self.output);
        let mut output = io::stdout().lock();
        output.write_all(&frame)?;
        output.flush()
    }

    /// Begins to carry a connection.
    fn take(&self, number: u32, socket: Socket, peer: &str) -> io::Result<()> {
        let (reading, writing) = (socket.try_clone()?, socket.try_clone()?);
        let (to_socket, parts) = channel();
        let credit = Arc::new(Credit { left: Mutex::new(CREDIT), more: Condvar::new() });
        {
            let mut lines = lock(&self.lines);
            if lines.len() >= MOST {
                return Err(io::Error::other("too many connections"));
            }
            lines.insert(number, Line { to_socket, credit: Arc::clone(&credit), socket });
        }
        self.send(OPEN, number, peer.as_bytes())?;
        let (reader, writer) = (self.clone(), self.clone());
        thread::spawn(move || reader.from_socket(number, reading, &credit));
        thread::spawn(move || writer.to_socket(number, writing, &parts));
        Ok(())
    }

    fn from_socket(&self, number: u32, mut socket: Socket, credit: &Credit) {
        let mut part = vec![0; PART];
        loop {
            let mut left = lock(&credit.left);
            while *left == 0 {
                left = credit.more.wait(left).unwrap_or_else(PoisonError::into_inner);
            }
            let most = PART.min(*left as usize);
            drop(left);
            match socket.read(&mut part[..most]) {
                Ok(0) => {
                    let _ = self.send(END, number, &[]);
                    return;
                }
                Ok(count) => {
                    *lock(&credit.left) -= u32::try_from(count).unwrap_or(0);
                    if self.send(DATA, number, &part[..count]).is_err() {
                        return;
                    }
                }
                Err(_) => {
                    self.forget(number);
                    let _ = self.send(CLOSE, number, &[]);
                    return;
                }
            }
        }
    }

    fn to_socket(&self, number: u32, mut socket: Socket, parts: &Receiver<Option<Vec<u8>>>) {
        for part in parts {
            let Some(part) = part else {
                socket.shutdown(Shutdown::Write);
                continue;
            };
            if socket.write_all(&part).is_err() {
                self.forget(number);
                let _ = self.send(CLOSE, number, &[]);
                return;
            }
            let granted = u32::try_from(part.len()).unwrap_or(0);
            if self.send(GRANT, number, &granted.to_be_bytes()).is_err() {
                return;
            }
        }
    }

    fn forget(&self, number: u32) {
        if let Some(line) = lock(&self.lines).remove(&number) {
            line.socket.shutdown(Shutdown::Both);
            line.credit.add(CREDIT);
        }
    }

    /// Reads frames until there are no more, which is when everything ends.
    fn read(&self, input: &mut impl Read) -> io::Result<()> {
        let mut head = [0; 9];
        loop {
            match input.read_exact(&mut head) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                read => read?,
            }
            let number = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
            let length = u32::from_be_bytes([head[5], head[6], head[7], head[8]]) as usize;
            if length > CREDIT as usize {
                return Err(io::Error::other("a frame of this length is none"));
            }
            let mut bytes = vec![0; length];
            input.read_exact(&mut bytes)?;
            self.take_frame(head[0], number, bytes);
        }
    }

    fn take_frame(&self, kind: u8, number: u32, bytes: Vec<u8>) {
        if kind == CLOSE {
            return self.forget(number);
        }
        // Frames of a connection that has ended meanwhile are of no interest.
        let lines = lock(&self.lines);
        let Some(line) = lines.get(&number) else { return };
        match kind {
            DATA => drop(line.to_socket.send(Some(bytes))),
            END => drop(line.to_socket.send(None)),
            GRANT => {
                if let Ok(bytes) = <[u8; 4]>::try_from(&bytes[..]) {
                    line.credit.add(u32::from_be_bytes(bytes));
                }
            }
            _ => {}
        }
    }
}

impl Credit {
    fn add(&self, count: u32) {
        let mut left = lock(&self.left);
        *left = left.saturating_add(count);
        self.more.notify_all();
    }
}
