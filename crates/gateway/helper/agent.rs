//! A Unix socket for programs in the Pod that ask the SSH agent of whoever is connected. Its connections are carried as
//! those to a port are.

use std::{
    env,
    fs::{self, DirBuilder, File, Permissions},
    io::{self, Read},
    os::unix::{
        fs::{DirBuilderExt as _, PermissionsExt as _},
        net::UnixListener,
    },
    path::{Path, PathBuf},
};

use crate::{
    listen::{SOCKET, carry},
    socket::Socket,
};

pub(crate) fn serve() -> io::Result<()> {
    let (listener, own) = places().find_map(|place| listen_in(&place).ok()).ok_or_else(|| {
        io::Error::other("there is no place for the socket of an agent: neither /tmp nor the home can have one")
    })?;
    let path = own.socket().to_string_lossy().into_owned();
    carry((SOCKET, path.as_bytes()), move || {
        let (socket, _) = listener.accept()?;
        Ok((Socket::Unix(socket), String::new()))
    })
}

/// Where a socket may be, in order: as for the helper itself.
fn places() -> impl Iterator<Item = PathBuf> {
    let own = |name: &str| env::var_os(name).map(PathBuf::from);
    let usual = ["/tmp", "/var/tmp", "/dev/shm"].map(|place| Some(PathBuf::from(place)));
    let all = [own("TMPDIR")].into_iter().chain(usual).chain([own("HOME")]);
    // The path is said as text.
    all.flatten().filter(|place| place.is_absolute() && place.to_str().is_some())
}

/// A folder that only its owner can enter; it goes with whatever is in it.
struct Own(PathBuf);

impl Own {
    fn make(place: &Path) -> io::Result<Self> {
        let folder = place.join(format!(".maar-agent-{}", name()?));
        // What is there already, be it a link, is somebody else's, and this fails.
        DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(Self(folder))
    }

    fn socket(&self) -> PathBuf {
        self.0.join("socket")
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.socket());
        let _ = fs::remove_dir(&self.0);
    }
}

/// A name that nobody else has thought of.
fn name() -> io::Result<String> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:016x}", u64::from_be_bytes(bytes)))
}

/// Listens in a new folder there. Not all file systems have sockets, and long paths are too long for one.
fn listen_in(place: &Path) -> io::Result<(UnixListener, Own)> {
    let own = Own::make(place)?;
    let listener = UnixListener::bind(own.socket())?;
    fs::set_permissions(own.socket(), Permissions::from_mode(0o600))?;
    Ok((listener, own))
}
