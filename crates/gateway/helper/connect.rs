//! One connection to a Unix socket, over standard input and output.

use std::{
    io::{self, Read, Write},
    net::Shutdown,
    os::unix::net::UnixStream,
    thread,
};

/// How much is carried at once.
const PART: usize = 64 * 1024;

pub(crate) fn serve(path: &str) -> io::Result<()> {
    let mut from = UnixStream::connect(path)?;
    let mut to = from.try_clone()?;
    // A byte first says that somebody listens there.
    let mut output = io::stdout().lock();
    output.write_all(&[0])?;
    output.flush()?;
    thread::spawn(move || {
        let _ = carry(&mut io::stdin().lock(), &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
    carry(&mut from, &mut output)
}

fn carry(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut part = vec![0; PART];
    loop {
        match from.read(&mut part)? {
            0 => return Ok(()),
            count => to.write_all(&part[..count])?,
        }
        to.flush()?;
    }
}
