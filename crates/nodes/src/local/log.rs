//! Container logs on disk, in the format that container runtimes use: time, stream, whether the line is complete, text.
//!
//! A log that grows too large is moved aside once (`N.log.old`), so a container costs at most twice the limit.

use std::{
    io::{self, BufRead, BufReader, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use maar_streams::{LogOptions, LogStream};
use parking_lot::Mutex;

use crate::clock::Clock;

/// A log is moved aside when it is this large.
const LIMIT: u64 = 10 << 20;
/// Lines longer than this are written in pieces.
const LONGEST_LINE: usize = 16 << 10;

/// The output a line came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    Stdout,
    Stderr,
}

impl Output {
    fn as_str(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// Writes the log of one run of a container.
#[derive(Debug)]
pub(super) struct Writer {
    path: PathBuf,
    clock: Clock,
    file: Mutex<(std::fs::File, u64)>,
}

impl Writer {
    pub(super) fn create(path: PathBuf, clock: Clock) -> io::Result<Self> {
        let file = std::fs::File::create(&path)?;
        Ok(Self { path, clock, file: Mutex::new((file, 0)) })
    }

    /// Writes a line or a piece of one.
    pub(super) fn line(&self, output: Output, text: &[u8], complete: bool) -> io::Result<()> {
        let time = self.clock.now().strftime("%Y-%m-%dT%H:%M:%S.%9fZ").to_string();
        let mut line =
            format!("{time} {} {} ", output.as_str(), if complete { "F" } else { "P" }).into_bytes();
        line.extend_from_slice(text);
        line.push(b'\n');
        let mut file = self.file.lock();
        if file.1 + u64::try_from(line.len()).unwrap_or(0) > LIMIT {
            std::fs::rename(&self.path, old(&self.path))?;
            *file = (std::fs::File::create(&self.path)?, 0);
        }
        file.0.write_all(&line)?;
        file.1 += u64::try_from(line.len()).unwrap_or(0);
        Ok(())
    }
}

fn old(path: &Path) -> PathBuf {
    path.with_extension("log.old")
}

/// Cuts what a process writes into lines.
#[derive(Debug, Default)]
pub(super) struct Splitter(Vec<u8>);

impl Splitter {
    /// Adds `bytes` and hands out every line that is complete, or as long as a line may be.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        mut line: impl FnMut(&[u8], bool) -> io::Result<()>,
    ) -> io::Result<()> {
        self.0.extend_from_slice(bytes);
        let mut start = 0;
        loop {
            let rest = &self.0[start..];
            let end = rest.iter().position(|byte| *byte == b'\n');
            match end {
                Some(end) if end <= LONGEST_LINE => {
                    line(&rest[..end], true)?;
                    start += end + 1;
                }
                _ if rest.len() > LONGEST_LINE => {
                    line(&rest[..LONGEST_LINE], false)?;
                    start += LONGEST_LINE;
                }
                _ => break,
            }
        }
        self.0.drain(..start);
        Ok(())
    }

    /// Hands out what is left at the end: a line that was never ended.
    pub(super) fn finish(self, mut line: impl FnMut(&[u8], bool) -> io::Result<()>) -> io::Result<()> {
        if self.0.is_empty() { Ok(()) } else { line(&self.0, false) }
    }
}

/// One entry of a log.
struct Entry<'a> {
    time: &'a str,
    output: &'a str,
    complete: bool,
    text: &'a [u8],
}

fn parse(line: &[u8]) -> Option<Entry<'_>> {
    let mut fields = line.splitn(4, |byte| *byte == b' ');
    let time = std::str::from_utf8(fields.next()?).ok()?;
    let output = std::str::from_utf8(fields.next()?).ok()?;
    let complete = fields.next()? == b"F";
    Some(Entry { time, output, complete, text: fields.next()? })
}

/// Reads a log as a client asked for it.
///
/// The file is kept open, so that the last words of a container are read even when its Pod is already gone.
#[derive(Debug)]
pub(super) struct Reader {
    path: PathBuf,
    options: LogOptions,
    since: Option<Timestamp>,
    current: Option<BufReader<std::fs::File>>,
    /// A line that is still being written.
    unfinished: Vec<u8>,
    /// Bytes that may still be sent.
    left: u64,
    /// The last piece had no end of line yet.
    within_line: bool,
}

impl Reader {
    pub(super) fn new(path: PathBuf, options: LogOptions, now: Timestamp) -> Self {
        let seconds = options.since_seconds.and_then(|seconds| i64::try_from(seconds).ok());
        let ago = seconds.and_then(|seconds| now.checked_sub(jiff::SignedDuration::from_secs(seconds)).ok());
        let since = options.since_time.or(ago);
        let left = options.limit_bytes.unwrap_or(u64::MAX);
        Self { path, options, since, current: None, unfinished: Vec::new(), left, within_line: false }
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.left == 0
    }

    /// Everything that was written since the last call.
    pub(super) fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut lines = Vec::new();
        if self.current.is_none() {
            if let Some(old) = open(&old(&self.path))? {
                read_lines(&mut BufReader::new(old), &mut Vec::new(), &mut lines)?;
            }
            self.current = open(&self.path)?.map(BufReader::new);
            self.read_current(&mut lines)?;
            if let Some(tail) = self.options.tail_lines {
                lines = last(lines, usize::try_from(tail).unwrap_or(usize::MAX));
            }
        } else {
            self.read_current(&mut lines)?;
            if self.was_moved_aside() {
                self.current = open(&self.path)?.map(BufReader::new);
                self.read_current(&mut lines)?;
            }
        }
        Ok(self.format(&lines))
    }

    fn read_current(&mut self, lines: &mut Vec<Vec<u8>>) -> io::Result<()> {
        match &mut self.current {
            Some(file) => read_lines(file, &mut self.unfinished, lines),
            None => Ok(()),
        }
    }

    /// Whether another file stands where the one we read stood.
    fn was_moved_aside(&self) -> bool {
        let ours = self.current.as_ref().and_then(|file| file.get_ref().metadata().ok());
        let there = std::fs::metadata(&self.path).ok();
        ours.zip(there).is_some_and(|(ours, there)| ours.ino() != there.ino())
    }

    fn format(&mut self, lines: &[Vec<u8>]) -> Vec<u8> {
        let mut text = Vec::new();
        for entry in lines.iter().filter_map(|line| parse(line)) {
            if !self.is_wanted(&entry) {
                continue;
            }
            if self.options.timestamps && !self.within_line {
                text.extend_from_slice(entry.time.as_bytes());
                text.push(b' ');
            }
            text.extend_from_slice(entry.text);
            if entry.complete {
                text.push(b'\n');
            }
            self.within_line = !entry.complete;
        }
        let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
        if length > self.left {
            text.truncate(usize::try_from(self.left).unwrap_or(usize::MAX));
        }
        self.left -= length.min(self.left);
        text
    }

    fn is_wanted(&self, entry: &Entry<'_>) -> bool {
        let stream = match self.options.stream {
            LogStream::All => true,
            LogStream::Stdout => entry.output == "stdout",
            LogStream::Stderr => entry.output == "stderr",
        };
        let recent =
            self.since.is_none_or(|since| entry.time.parse::<Timestamp>().is_ok_and(|time| time >= since));
        stream && recent
    }
}

/// The file, if there is one.
fn open(path: &Path) -> io::Result<Option<std::fs::File>> {
    match std::fs::File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Adds the whole lines that follow; a line still being written is kept for the next time.
fn read_lines(file: &mut impl BufRead, unfinished: &mut Vec<u8>, lines: &mut Vec<Vec<u8>>) -> io::Result<()> {
    while file.read_until(b'\n', unfinished)? > 0 {
        if unfinished.last() != Some(&b'\n') {
            break;
        }
        unfinished.pop();
        lines.push(std::mem::take(unfinished));
    }
    Ok(())
}

/// The last `count` whole lines, pieces of a line counting as one.
fn last(lines: Vec<Vec<u8>>, count: usize) -> Vec<Vec<u8>> {
    let mut found = 0;
    let mut start = lines.len();
    for (position, line) in lines.iter().enumerate().rev() {
        let complete = parse(line).is_some_and(|entry| entry.complete);
        if complete || position + 1 == lines.len() {
            found += 1;
        }
        if found > count {
            break;
        }
        start = position;
    }
    lines.into_iter().skip(start).collect()
}

/// The end of a log, for a termination message: at most 80 lines and 2 KiB.
pub(super) fn tail(path: &Path) -> String {
    let options = LogOptions { tail_lines: Some(80), ..LogOptions::default() };
    let text = Reader::new(path.to_owned(), options, Timestamp::UNIX_EPOCH).read().unwrap_or_default();
    let start = text.len().saturating_sub(2048);
    String::from_utf8_lossy(&text[start..]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, lines: &[(Output, &str, bool)]) -> PathBuf {
        let path = folder.join("0.log");
        let writer = Writer::create(path.clone(), Clock::new(|| Timestamp::UNIX_EPOCH)).unwrap();
        for (output, text, complete) in lines {
            writer.line(*output, text.as_bytes(), *complete).unwrap();
        }
        path
    }

    fn read(path: &Path, options: LogOptions) -> String {
        String::from_utf8(Reader::new(path.to_owned(), options, Timestamp::UNIX_EPOCH).read().unwrap())
            .unwrap()
    }

    #[test]
    fn a_log_is_read_as_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let lines = [
            (Output::Stdout, "one", true),
            (Output::Stderr, "tw", false),
            (Output::Stderr, "o", true),
            (Output::Stdout, "three", true),
        ];
        let path = write(folder.path(), &lines);
        assert_eq!(read(&path, LogOptions::default()), "one\ntwo\nthree\n");
        let tail = |count| LogOptions { tail_lines: Some(count), ..LogOptions::default() };
        assert_eq!(read(&path, tail(2)), "two\nthree\n");
        assert_eq!(read(&path, tail(0)), "");
        assert_eq!(read(&path, tail(9)), "one\ntwo\nthree\n");
        assert_eq!(read(&path, LogOptions { stream: LogStream::Stderr, ..LogOptions::default() }), "two\n");
        assert_eq!(read(&path, LogOptions { limit_bytes: Some(5), ..LogOptions::default() }), "one\nt");
        let timed = read(&path, LogOptions { timestamps: true, ..LogOptions::default() });
        assert!(
            timed.starts_with("1970-01-01T00:00:00.000000000Z one\n1970-01-01T00:00:00.000000000Z two\n"),
            "{timed}"
        );
        let later =
            LogOptions { since_time: Some(Timestamp::from_second(1).unwrap()), ..LogOptions::default() };
        assert_eq!(read(&path, later), "");
    }

    #[test]
    fn a_follower_sees_what_is_added_even_when_the_log_is_moved_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.log");
        let writer = Writer::create(path.clone(), Clock::new(|| Timestamp::UNIX_EPOCH)).unwrap();
        writer.line(Output::Stdout, b"first", true).unwrap();
        let mut reader = Reader::new(path, LogOptions::default(), Timestamp::UNIX_EPOCH);
        assert_eq!(reader.read().unwrap(), b"first\n");
        assert_eq!(reader.read().unwrap(), b"");
        writer.line(Output::Stdout, b"second", true).unwrap();
        let long = vec![b'x'; LONGEST_LINE];
        let count = usize::try_from(LIMIT).unwrap() / LONGEST_LINE;
        for _ in 0..count {
            writer.line(Output::Stdout, &long, true).unwrap();
        }
        writer.line(Output::Stdout, b"last", true).unwrap();
        let text = reader.read().unwrap();
        assert!(text.starts_with(b"second\n") && text.ends_with(b"\nlast\n"));
        assert_eq!(text.len(), "second\nlast\n".len() + count * (LONGEST_LINE + 1));
    }

    #[test]
    fn output_is_cut_into_lines() {
        let mut lines = Vec::new();
        let mut splitter = Splitter::default();
        let mut keep = |text: &[u8], complete: bool| {
            lines.push((text.len(), complete));
            Ok(())
        };
        splitter.push(b"a\nbc", &mut keep).unwrap();
        splitter.push(b"d\n\n", &mut keep).unwrap();
        splitter.push(&vec![b'x'; LONGEST_LINE + 3], &mut keep).unwrap();
        splitter.finish(&mut keep).unwrap();
        assert_eq!(lines, [(1, true), (3, true), (0, true), (LONGEST_LINE, false), (3, false)]);
    }
}
