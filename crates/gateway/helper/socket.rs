//! One connection in the Pod, to a port or to a Unix socket: they are carried alike.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, TcpStream},
    os::unix::net::UnixStream,
};

pub(crate) enum Socket {
    Port(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// The same once more, for another thread.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::Port(stream) => stream.try_clone().map(Self::Port),
            Self::Unix(stream) => stream.try_clone().map(Self::Unix),
        }
    }

    pub(crate) fn shutdown(&self, how: Shutdown) {
        // Whoever has hung up already need not be told.
        let _ = match self {
            Self::Port(stream) => stream.shutdown(how),
            Self::Unix(stream) => stream.shutdown(how),
        };
    }
}

impl Read for Socket {
    fn read(&mut self, part: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Port(stream) => stream.read(part),
            Self::Unix(stream) => stream.read(part),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        match self {
            Self::Port(stream) => stream.write(part),
            Self::Unix(stream) => stream.write(part),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Port(stream) => stream.flush(),
            Self::Unix(stream) => stream.flush(),
        }
    }
}
