//! The data folder: a snapshot and a log of transactions after it.
//!
//! One line of the log is one transaction, handed to the kernel in one write before the change is acknowledged.
//! A process that is killed therefore loses nothing it answered for; an unfinished last line was never answered
//! and is dropped. The log is not forced to the platter on every write: the machine losing power may cost the
//! last moments, which is what the embedded cluster promises and no more (docs/operations/data-dir.md).
//! Snapshots are forced down before the log they replace is emptied, so that a power cut never costs more than that.
//!
//! A write that fails half-way, most likely because the disk is full, is taken back before anything else is written.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Change, Entry, Key};

/// A log shorter than this is never worth a snapshot.
const MIN_LOG_BYTES: u64 = 64 << 20;

/// What can go wrong with a data folder.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DiskError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{0} is in use by another process")]
    Locked(PathBuf),
    #[error("{path} line {line} cannot be read: {source}")]
    Line { path: PathBuf, line: usize, source: serde_json::Error },
    #[error("{path} is not complete: its last line is missing")]
    Truncated { path: PathBuf },
    #[error("the object {key} cannot be read: {source}")]
    Corrupt { key: String, source: serde_json::Error },
}

/// One row of a transaction or snapshot.
#[derive(Serialize, Deserialize)]
struct Record<'a> {
    #[serde(borrow)]
    table: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    row: std::borrow::Cow<'a, str>,
    revision: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    fields: Vec<Box<str>>,
    /// Absent when the row was deleted.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    object: Option<&'a RawValue>,
}

/// The last line of a snapshot; without it the snapshot is not whole.
#[derive(Serialize, Deserialize)]
struct SnapshotEnd {
    end: u64,
}

/// A row as it is read: its key, bytes, revision and selectable fields.
type Row = (Key, Vec<u8>, u64, Vec<Box<str>>);
/// The same without the key.
type Stored = (Vec<u8>, u64, Vec<Box<str>>);

#[derive(Default)]
pub(super) struct Loaded {
    pub(super) revision: u64,
    rows_by_key: BTreeMap<Key, Stored>,
}

impl Loaded {
    pub(super) fn into_rows(self) -> impl Iterator<Item = Row> {
        self.rows_by_key.into_iter().map(|(key, (json, revision, fields))| (key, json, revision, fields))
    }

    /// A change of the log, unless the snapshot has it or what came later.
    fn follow(&mut self, record: Record<'_>, snapshot: u64) {
        if record.revision > snapshot {
            self.take(record);
        }
    }

    fn take(&mut self, record: Record<'_>) {
        let key = Key { table: (&*record.table).into(), row: (&*record.row).into() };
        self.revision = self.revision.max(record.revision);
        match record.object {
            Some(object) => {
                let json = object.get().as_bytes().to_vec();
                self.rows_by_key.insert(key, (json, record.revision, record.fields));
            }
            None => {
                self.rows_by_key.remove(&key);
            }
        }
    }
}

/// The file behind the log; a trait so that tests can fill up the disk.
pub(super) trait LogFile: Write + std::fmt::Debug + Send + Sync {
    fn set_len(&self, length: u64) -> io::Result<()>;
}

impl LogFile for File {
    fn set_len(&self, length: u64) -> io::Result<()> {
        File::set_len(self, length)
    }
}

#[derive(Debug)]
pub(super) struct Disk {
    folder: PathBuf,
    log: Box<dyn LogFile>,
    /// How long the log is, as far as it holds whole transactions.
    log_bytes: u64,
    /// Whether part of a failed write may stand behind them.
    torn: bool,
    snapshot_bytes: u64,
    /// How long the log was when the last snapshot failed; none is tried again until there is much more.
    snapshot_failed_at: Option<u64>,
    /// Held for as long as the store lives.
    lock: File,
}

impl Disk {
    pub(super) fn open(folder: &Path) -> Result<(Self, Loaded), DiskError> {
        // Secrets are in it.
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(at(folder))?;
        let lock = take_lock(&folder.join("lock"))?;
        let mut loaded = Loaded::default();
        let snapshot_path = folder.join("snapshot");
        let snapshot_bytes = read_snapshot(&snapshot_path, &mut loaded)?;
        let log_path = folder.join("log");
        let log_bytes = read_log(&log_path, &mut loaded)?;
        let log = private().append(true).read(true).open(&log_path).map_err(at(&log_path))?;
        // One that an earlier version has left for everybody to read.
        log.set_permissions(Permissions::from_mode(0o600)).map_err(at(&log_path))?;
        // Cuts off a last line that was never finished, so that the next one starts on its own.
        log.set_len(log_bytes).map_err(at(&log_path))?;
        let disk = Self {
            folder: folder.to_owned(),
            log: Box::new(log),
            log_bytes,
            torn: false,
            snapshot_bytes,
            snapshot_failed_at: None,
            lock,
        };
        Ok((disk, loaded))
    }

    pub(super) fn append(&mut self, changes: &[Change]) -> Result<(), DiskError> {
        let path = self.folder.join("log");
        let unreadable = |source| DiskError::Line { path: path.clone(), line: 0, source };
        let records: Vec<Record<'_>> = changes
            .iter()
            .map(|change| record(&change.key.table, &change.key.row, &change.entry, change.deleted))
            .collect::<Result<_, _>>()
            .map_err(unreadable)?;
        let mut line = serde_json::to_vec(&records).map_err(unreadable)?;
        line.push(b'\n');
        self.write_line(&line).map_err(|source| DiskError::Io { path, source })
    }

    fn write_line(&mut self, line: &[u8]) -> io::Result<()> {
        if self.torn {
            self.mend()?;
        }
        if let Err(error) = self.log.write_all(line) {
            // Part of the line may be in the file; the transaction must not appear after a restart, and the next one
            // must not be written behind it. If it cannot be taken back now, it is before the next write.
            self.torn = true;
            let _ = self.mend();
            return Err(error);
        }
        self.log_bytes += line.len() as u64;
        Ok(())
    }

    fn mend(&mut self) -> io::Result<()> {
        self.log.set_len(self.log_bytes)?;
        self.torn = false;
        Ok(())
    }

    pub(super) fn wants_snapshot(&self) -> bool {
        let grown = self.log_bytes - self.snapshot_failed_at.unwrap_or(0).min(self.log_bytes);
        grown > MIN_LOG_BYTES.max(2 * self.snapshot_bytes)
    }

    /// Writes all rows to a new snapshot and empties the log.
    ///
    /// Killed between the two, the next start reads the new snapshot and applies the old log to it, which gives
    /// the same rows: a log line only ever sets a row to what the snapshot has for it, or to what comes later.
    pub(super) fn snapshot(
        &mut self,
        revision: u64,
        rows: impl Iterator<Item = (Arc<str>, Arc<str>, Arc<Entry>)>,
    ) -> Result<(), DiskError> {
        let temporary = self.folder.join("snapshot.new");
        let written = self.write_snapshot(&temporary, revision, rows);
        if written.is_err() {
            self.snapshot_failed_at = Some(self.log_bytes);
            // Half a snapshot is of no use to anybody, and the log needs the room.
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    fn write_snapshot(
        &mut self,
        temporary: &Path,
        revision: u64,
        rows: impl Iterator<Item = (Arc<str>, Arc<str>, Arc<Entry>)>,
    ) -> Result<(), DiskError> {
        let file = private().write(true).truncate(true).open(temporary).map_err(at(temporary))?;
        let mut writer = BufWriter::with_capacity(1 << 20, file);
        for (table, row, entry) in rows {
            write_line(&mut writer, temporary, &record(&table, &row, &entry, false))?;
        }
        write_line(&mut writer, temporary, &Ok(SnapshotEnd { end: revision }))?;
        let file = writer
            .into_inner()
            .map_err(|error| DiskError::Io { path: temporary.to_owned(), source: error.into_error() })?;
        file.sync_all().map_err(at(temporary))?;
        let snapshot_bytes = file.metadata().map_err(at(temporary))?.len();
        fs::rename(temporary, self.folder.join("snapshot")).map_err(at(temporary))?;
        // The new name must be down before the log it replaces is emptied.
        File::open(&self.folder).and_then(|folder| folder.sync_all()).map_err(at(&self.folder))?;
        self.log.set_len(0).map_err(at(&self.folder))?;
        (self.snapshot_bytes, self.log_bytes) = (snapshot_bytes, 0);
        (self.torn, self.snapshot_failed_at) = (false, None);
        Ok(())
    }
}

/// Of a file that nobody else may read.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).mode(0o600);
    options
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> DiskError {
    let path = path.to_owned();
    |source| DiskError::Io { path, source }
}

fn record<'a>(
    table: &'a str,
    row: &'a str,
    entry: &'a Entry,
    deleted: bool,
) -> Result<Record<'a>, serde_json::Error> {
    let object = if deleted { None } else { Some(serde_json::from_slice(&entry.json)?) };
    Ok(Record {
        table: table.into(),
        row: row.into(),
        revision: entry.revision,
        fields: entry.meta.fields.to_vec(),
        object,
    })
}

fn write_line<T: Serialize>(
    writer: &mut impl Write,
    path: &Path,
    line: &Result<T, serde_json::Error>,
) -> Result<(), DiskError> {
    let bad = |source: String| DiskError::Io { path: path.to_owned(), source: io::Error::other(source) };
    let line = line.as_ref().map_err(|error| bad(error.to_string()))?;
    serde_json::to_writer(&mut *writer, line).map_err(|error| bad(error.to_string()))?;
    writer.write_all(b"\n").map_err(at(path))
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Closing the file would not do while a child that was just forked still has it open as well.
        if let Err(error) = self.lock.unlock() {
            tracing::warn!(%error, "the lock of the data folder could not be given back");
        }
    }
}

fn take_lock(path: &Path) -> Result<File, DiskError> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path).map_err(at(path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(DiskError::Locked(path.parent().unwrap_or(path).to_owned())),
        Err(TryLockError::Error(source)) => Err(DiskError::Io { path: path.to_owned(), source }),
    }
}

fn read_snapshot(path: &Path, loaded: &mut Loaded) -> Result<u64, DiskError> {
    let mut ended = None;
    let bytes = read_lines(path, |line| {
        if let Ok(end) = serde_json::from_slice::<SnapshotEnd>(line) {
            ended = Some(end.end);
        } else {
            loaded.take(serde_json::from_slice(line)?);
        }
        Ok(())
    })?;
    match ended {
        Some(revision) => loaded.revision = loaded.revision.max(revision),
        None if bytes > 0 => return Err(DiskError::Truncated { path: path.to_owned() }),
        None => {}
    }
    Ok(bytes)
}

fn read_log(path: &Path, loaded: &mut Loaded) -> Result<u64, DiskError> {
    // Emptying the log may not have reached the platter when the snapshot behind it has.
    let snapshot = loaded.revision;
    read_lines(path, |line| {
        for record in serde_json::from_slice::<Vec<Record<'_>>>(line)? {
            loaded.follow(record, snapshot);
        }
        Ok(())
    })
}

/// Calls `take` for each whole line; answers how many bytes they are. An absent file has none.
fn read_lines(
    path: &Path,
    mut take: impl FnMut(&[u8]) -> Result<(), serde_json::Error>,
) -> Result<u64, DiskError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(source) => return Err(DiskError::Io { path: path.to_owned(), source }),
    };
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let (mut bytes, mut number, mut line) = (0, 0, Vec::new());
    loop {
        line.clear();
        reader.read_until(b'\n', &mut line).map_err(at(path))?;
        if line.last() != Some(&b'\n') {
            return Ok(bytes);
        }
        number += 1;
        take(&line).map_err(|source| DiskError::Line { path: path.to_owned(), line: number, source })?;
        bytes += line.len() as u64;
    }
}

#[cfg(test)]
mod tests;
