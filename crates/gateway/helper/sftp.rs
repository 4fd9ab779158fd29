//! An SFTP server, version 3, as OpenSSH's clients and sshfs speak it.
//!
//! One message in, one message out, in order: what is in memory is one message each way and the open handles.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsStr,
    fs::{self, DirBuilder, File, OpenOptions, ReadDir},
    io::{self, ErrorKind, Read, Write},
    os::unix::{
        ffi::{OsStrExt as _, OsStringExt as _},
        fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _, symlink},
    },
    path::{Path, PathBuf},
};

use crate::{
    attributes::{self, Wanted},
    wire::{Message, Reader},
};

/// The longest message either way, as in OpenSSH.
const LONGEST: usize = 256 * 1024;
/// The most that is read or written at once.
const CHUNK: u32 = 255 * 1024;
/// How many files and folders may be open.
const HANDLES: usize = 1024;
/// How many names of a folder are told at once.
const NAMES: usize = 100;

const VERSION: u8 = 2;
const STATUS: u8 = 101;
const HANDLE: u8 = 102;
const DATA: u8 = 103;
const NAME: u8 = 104;
const ATTRIBUTES: u8 = 105;
const EXTENDED_REPLY: u8 = 201;

enum Handle {
    File { file: File, append: bool },
    Folder { path: PathBuf, entries: ReadDir },
}

/// Why something is not done.
enum Refusal {
    End,
    Unsupported,
    Io(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

type Answer = Result<Message, Refusal>;

#[derive(Default)]
struct Server {
    handles: BTreeMap<u32, Handle>,
    next: u32,
}

/// Serves until the client has no more to ask.
pub(crate) fn serve(mut input: impl Read, mut output: impl Write) -> io::Result<()> {
    let mut server = Server::default();
    let mut body = Vec::new();
    loop {
        let mut length = [0; 4];
        match input.read_exact(&mut length) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            read => read?,
        }
        let length = u32::from_be_bytes(length) as usize;
        if length == 0 || length > LONGEST + 1024 {
            return Err(io::Error::new(ErrorKind::InvalidData, "a message of this length is none"));
        }
        body.resize(length, 0);
        input.read_exact(&mut body)?;
        output.write_all(&server.answer(&body)?)?;
        output.flush()?;
    }
}

fn hello() -> Message {
    let extensions = [
        ("posix-rename@openssh.com", "1"),
        ("hardlink@openssh.com", "1"),
        ("fsync@openssh.com", "1"),
        ("limits@openssh.com", "1"),
        ("expand-path@openssh.com", "1"),
    ];
    let message = Message::new(VERSION).u32(3);
    extensions.into_iter().fold(message, |message, (name, version)| message.string(name).string(version))
}

fn status(id: u32, code: u32, text: &str) -> Message {
    Message::new(STATUS).u32(id).u32(code).string(text).string("en")
}

fn done(id: u32) -> Answer {
    Ok(status(id, 0, "done"))
}

fn path(bytes: &[u8]) -> &Path {
    // Nothing is the folder the server runs in.
    Path::new(OsStr::from_bytes(if bytes.is_empty() { b"." } else { bytes }))
}

fn name(id: u32, of: &[u8]) -> Message {
    Message::new(NAME).u32(id).u32(1).string(of).string(of).u32(0)
}

impl Server {
    fn answer(&mut self, body: &[u8]) -> io::Result<Vec<u8>> {
        let mut reader = Reader(body);
        let kind = reader.byte()?;
        if kind == 1 {
            return Ok(hello().done());
        }
        let id = reader.u32()?;
        let answer = match self.act(kind, id, &mut reader) {
            Ok(answer) => answer,
            Err(Refusal::End) => status(id, 1, "the end"),
            Err(Refusal::Unsupported) => status(id, 8, "not supported"),
            Err(Refusal::Io(error)) => {
                let code = match error.kind() {
                    ErrorKind::NotFound => 2,
                    ErrorKind::PermissionDenied => 3,
                    ErrorKind::InvalidData => 5,
                    _ => 4,
                };
                status(id, code, &error.to_string())
            }
        };
        Ok(answer.done())
    }

    fn act(&mut self, kind: u8, id: u32, reader: &mut Reader<'_>) -> Answer {
        match kind {
            3 => self.open(id, reader),
            4 => {
                let number = handle(reader.string()?)?;
                self.handles.remove(&number).ok_or_else(stale)?;
                done(id)
            }
            5 => self.read(id, reader),
            6 => self.write(id, reader),
            7 => {
                let found = fs::symlink_metadata(path(reader.string()?))?;
                Ok(attributes::write(Message::new(ATTRIBUTES).u32(id), &found))
            }
            8 => {
                let found = match self.handle(reader.string()?)? {
                    Handle::File { file, .. } => file.metadata()?,
                    Handle::Folder { path, .. } => fs::metadata(path)?,
                };
                Ok(attributes::write(Message::new(ATTRIBUTES).u32(id), &found))
            }
            9 => {
                let of = path(reader.string()?);
                Wanted::read(reader)?.apply(of)?;
                done(id)
            }
            10 => {
                let of = reader.string()?;
                let wanted = Wanted::read(reader)?;
                match self.handle(of)? {
                    Handle::File { file, .. } => wanted.apply_to(file)?,
                    Handle::Folder { path, .. } => wanted.apply(path)?,
                }
                done(id)
            }
            11 => {
                let path = path(reader.string()?).to_owned();
                let entries = fs::read_dir(&path)?;
                self.keep(id, Handle::Folder { path, entries })
            }
            12 => self.list(id, reader),
            17 => {
                let found = fs::metadata(path(reader.string()?))?;
                Ok(attributes::write(Message::new(ATTRIBUTES).u32(id), &found))
            }
            200 => self.extended(id, reader),
            _ => act_on_paths(kind, id, reader),
        }
    }

    fn open(&mut self, id: u32, reader: &mut Reader<'_>) -> Answer {
        let (of, flags) = (path(reader.string()?), reader.u32()?);
        let wanted = Wanted::read(reader)?;
        let set = |flag: u32| flags & flag != 0;
        let (write, append) = (set(2), set(4));
        let mut options = OpenOptions::new();
        options.read(set(1)).write(write && !append).append(write && append).mode(wanted.mode.unwrap_or(0o666));
        if set(8) && set(32) {
            options.create_new(true);
        } else {
            options.create(set(8)).truncate(set(16) && !append);
        }
        let file = options.open(of)?;
        if set(16) && write && append {
            file.set_len(0)?;
        }
        self.keep(id, Handle::File { file, append })
    }

    fn keep(&mut self, id: u32, handle: Handle) -> Answer {
        if self.handles.len() >= HANDLES {
            return Err(io::Error::other("too many files are open").into());
        }
        while self.handles.contains_key(&self.next) {
            self.next = self.next.wrapping_add(1);
        }
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        self.handles.insert(number, handle);
        Ok(Message::new(HANDLE).u32(id).string(number.to_be_bytes()))
    }

    fn handle(&mut self, bytes: &[u8]) -> Result<&mut Handle, Refusal> {
        Ok(self.handles.get_mut(&handle(bytes)?).ok_or_else(stale)?)
    }

    fn file(&mut self, bytes: &[u8]) -> Result<(&File, bool), Refusal> {
        match self.handle(bytes)? {
            Handle::File { file, append } => Ok((file, *append)),
            Handle::Folder { .. } => Err(stale().into()),
        }
    }

    fn read(&mut self, id: u32, reader: &mut Reader<'_>) -> Answer {
        let (of, offset, length) = (reader.string()?, reader.u64()?, reader.u32()?);
        let (file, _) = self.file(of)?;
        let most = length.min(CHUNK) as usize;
        let (message, filled) =
            Message::new(DATA).u32(id).filled(most, |data| read_whole(file, data, offset))?;
        if filled == 0 && length > 0 {
            return Err(Refusal::End);
        }
        Ok(message)
    }

    fn write(&mut self, id: u32, reader: &mut Reader<'_>) -> Answer {
        let (of, offset, data) = (reader.string()?, reader.u64()?, reader.string()?);
        match self.file(of)? {
            (mut file, true) => file.write_all(data)?,
            (file, false) => file.write_all_at(data, offset)?,
        }
        done(id)
    }

    fn list(&mut self, id: u32, reader: &mut Reader<'_>) -> Answer {
        let Handle::Folder { entries, .. } = self.handle(reader.string()?)? else { return Err(stale().into()) };
        let mut found = Vec::new();
        for entry in entries.take(NAMES) {
            let entry = entry?;
            // Gone since the folder was read: nothing to tell.
            if let Ok(metadata) = entry.metadata() {
                found.push((entry.file_name().into_vec(), metadata));
            }
        }
        if found.is_empty() {
            return Err(Refusal::End);
        }
        let message = Message::new(NAME).u32(id).u32(u32::try_from(found.len()).unwrap_or(0));
        Ok(found.iter().fold(message, |message, (name, metadata)| {
            attributes::write(message.string(name).string(attributes::line(name, metadata)), metadata)
        }))
    }

    fn extended(&mut self, id: u32, reader: &mut Reader<'_>) -> Answer {
        match reader.string()? {
            b"posix-rename@openssh.com" => {
                fs::rename(path(reader.string()?), path(reader.string()?))?;
                done(id)
            }
            b"hardlink@openssh.com" => {
                fs::hard_link(path(reader.string()?), path(reader.string()?))?;
                done(id)
            }
            b"fsync@openssh.com" => {
                self.file(reader.string()?)?.0.sync_all()?;
                done(id)
            }
            b"limits@openssh.com" => Ok(Message::new(EXTENDED_REPLY)
                .u32(id)
                .u64(LONGEST as u64)
                .u64(u64::from(CHUNK))
                .u64(u64::from(CHUNK))
                .u64(HANDLES as u64)),
            b"expand-path@openssh.com" => {
                let asked = reader.string()?;
                let home = env::var_os("HOME").unwrap_or_else(|| "/".into());
                let expanded = match asked {
                    b"~" => PathBuf::from(home),
                    [b'~', b'/', rest @ ..] => Path::new(&home).join(path(rest)),
                    // Homes of others would need a library of the image.
                    [b'~', ..] => return Err(Refusal::Unsupported),
                    other => path(other).to_owned(),
                };
                Ok(name(id, whole(&expanded)?.as_os_str().as_bytes()))
            }
            _ => Err(Refusal::Unsupported),
        }
    }
}

/// Reads as much as there is room for unless the file ends: a client that gets less has to ask again.
fn read_whole(file: &File, data: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < data.len() {
        match file.read_at(&mut data[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) if filled > 0 => break,
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

fn act_on_paths(kind: u8, id: u32, reader: &mut Reader<'_>) -> Answer {
    match kind {
        13 => fs::remove_file(path(reader.string()?))?,
        14 => {
            let of = path(reader.string()?);
            DirBuilder::new().mode(Wanted::read(reader)?.mode.unwrap_or(0o777)).create(of)?;
        }
        15 => fs::remove_dir(path(reader.string()?))?,
        16 => {
            let found = whole(path(reader.string()?))?;
            return Ok(name(id, found.as_os_str().as_bytes()));
        }
        18 => rename(path(reader.string()?), path(reader.string()?))?,
        19 => {
            let found = fs::read_link(path(reader.string()?))?;
            return Ok(name(id, found.as_os_str().as_bytes()));
        }
        // The draft has it the other way round; every client in use does as OpenSSH.
        20 => symlink(path(reader.string()?), path(reader.string()?))?,
        _ => return Err(Refusal::Unsupported),
    }
    done(id)
}

/// A path from the root, without links, whose last part need not exist.
fn whole(of: &Path) -> io::Result<PathBuf> {
    match of.canonicalize() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let (Some(parent), Some(last)) = (of.parent(), of.file_name()) else { return Err(error) };
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            Ok(parent.canonicalize()?.join(last))
        }
        found => found,
    }
}

/// Renames, and leaves what is there as it is: a new link fails where there is something, at once.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    if fs::symlink_metadata(from)?.is_file() {
        match fs::hard_link(from, to) {
            Ok(()) => return fs::remove_file(from),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(error),
            // File systems without links.
            Err(_) => {}
        }
    }
    if fs::symlink_metadata(to).is_ok() {
        return Err(io::Error::new(ErrorKind::AlreadyExists, "there is something of this name"));
    }
    fs::rename(from, to)
}

fn handle(bytes: &[u8]) -> io::Result<u32> {
    <[u8; 4]>::try_from(bytes).map(u32::from_be_bytes).map_err(|_| stale())
}

fn stale() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "no such handle")
}
