//! Terminals: one end for a process, the other for whoever types and reads.
//!
//! A terminal has a name where it was made, and nowhere else: of one that was made outside of a sandbox, programs inside
//! find no name, and some (`tty`, `screen`, `mesg`) then say that there is none. So a terminal for what enters a sandbox is
//! made by the terminals' file system of that sandbox, as other runtimes do. What is first in a sandbox is there before that
//! file system, so its terminal is made outside; bubblewrap shows it as `/dev/console`.

use std::{io, os::fd::OwnedFd};

use maar_streams::TerminalSize;
use rustix::{
    fs::{Mode, OFlags, ResolveFlags},
    pty::OpenptFlags,
    termios::Winsize,
};
use tokio::net::unix::pipe::{Receiver, Sender};

/// What is typed on. To the runtime a terminal is read and written as pipes are.
pub(super) type Keyboard = Sender;

/// What is read off the screen.
pub(super) type Screen = Receiver;

/// A terminal: what is typed, what is shown, and the end for the process. It is made inside of the sandbox of process
/// `within`, where that can be.
pub(super) fn open(within: Option<u32>) -> io::Result<(Keyboard, Screen, OwnedFd)> {
    let inside = within.and_then(|process| maker(process).and_then(pair).ok());
    let (ours, theirs) = match inside {
        Some(pair) => pair,
        None => pair(rustix::pty::openpt(flags())?)?,
    };
    let screen = Receiver::from_owned_fd_unchecked(ours.try_clone()?)?;
    Ok((Sender::from_owned_fd_unchecked(ours)?, screen, theirs))
}

fn flags() -> OpenptFlags {
    OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC
}

/// What makes terminals in the sandbox of a process. Links are not followed: they are those of whoever is inside.
fn maker(process: u32) -> io::Result<OwnedFd> {
    let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(format!("/proc/{process}/root"), folder, Mode::empty())?;
    let terminal = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS;
    Ok(rustix::fs::openat2(root, "dev/pts/ptmx", terminal, Mode::empty(), resolve)?)
}

/// Our end, which does not wait, and that of the process. What is no maker of terminals fails here.
fn pair(ours: OwnedFd) -> io::Result<(OwnedFd, OwnedFd)> {
    rustix::pty::unlockpt(&ours)?;
    let theirs = rustix::pty::ioctl_tiocgptpeer(&ours, flags())?;
    let status = rustix::fs::fcntl_getfl(&ours)?;
    rustix::fs::fcntl_setfl(&ours, status | OFlags::NONBLOCK)?;
    Ok((ours, theirs))
}

/// Tells a terminal how large the client's is.
pub(super) fn resize(input: &Keyboard, size: TerminalSize) {
    let size = Winsize { ws_row: size.height, ws_col: size.width, ws_xpixel: 0, ws_ypixel: 0 };
    // A terminal whose process is gone cannot be resized, and need not be.
    let _ = rustix::termios::tcsetwinsize(input, size);
}
