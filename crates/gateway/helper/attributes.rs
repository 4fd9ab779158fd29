//! Attributes of files as SFTP version 3 writes them, and the line that `ls -l` shows.

use std::{
    fs::{self, File, FileTimes, Metadata, OpenOptions, Permissions},
    io,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown},
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::wire::{Message, Reader};

const SIZE: u32 = 1;
const OWNER: u32 = 2;
const MODE: u32 = 4;
const TIMES: u32 = 8;
const EXTENDED: u32 = 0x8000_0000;

/// What a client wants a file to be.
#[derive(Default)]
pub(crate) struct Wanted {
    pub(crate) size: Option<u64>,
    pub(crate) owner: Option<(u32, u32)>,
    pub(crate) mode: Option<u32>,
    pub(crate) times: Option<(u32, u32)>,
}

impl Wanted {
    pub(crate) fn read(reader: &mut Reader<'_>) -> io::Result<Self> {
        let flags = reader.u32()?;
        let mut wanted = Self::default();
        if flags & SIZE != 0 {
            wanted.size = Some(reader.u64()?);
        }
        if flags & OWNER != 0 {
            wanted.owner = Some((reader.u32()?, reader.u32()?));
        }
        if flags & MODE != 0 {
            wanted.mode = Some(reader.u32()? & 0o7777);
        }
        if flags & TIMES != 0 {
            wanted.times = Some((reader.u32()?, reader.u32()?));
        }
        if flags & EXTENDED != 0 {
            for _ in 0..reader.u32()? {
                reader.string()?;
                reader.string()?;
            }
        }
        Ok(wanted)
    }

    /// Makes the file at a path be so. All of it is tried; the first thing that failed is told.
    pub(crate) fn apply(&self, path: &Path) -> io::Result<()> {
        let size = self.size.map(|size| OpenOptions::new().write(true).open(path)?.set_len(size));
        let times = self.times.map(|times| set_times(&File::open(path)?, times));
        let mode = self.mode.map(|mode| fs::set_permissions(path, Permissions::from_mode(mode)));
        let owner = self.owner.map(|(user, group)| chown(path, Some(user), Some(group)));
        [size, times, mode, owner].into_iter().flatten().collect()
    }

    /// The same for a file that is open.
    pub(crate) fn apply_to(&self, file: &File) -> io::Result<()> {
        let size = self.size.map(|size| file.set_len(size));
        let times = self.times.map(|times| set_times(file, times));
        let mode = self.mode.map(|mode| file.set_permissions(Permissions::from_mode(mode)));
        let owner = self.owner.map(|(user, group)| std::os::unix::fs::fchown(file, Some(user), Some(group)));
        [size, times, mode, owner].into_iter().flatten().collect()
    }
}

fn set_times(file: &File, (accessed, modified): (u32, u32)) -> io::Result<()> {
    let time = |seconds: u32| -> SystemTime { UNIX_EPOCH + Duration::from_secs(u64::from(seconds)) };
    file.set_times(FileTimes::new().set_accessed(time(accessed)).set_modified(time(modified)))
}

/// Adds the attributes of a file. Times are unsigned seconds in this version: before 1970 is 1970, as in OpenSSH.
pub(crate) fn write(message: Message, of: &Metadata) -> Message {
    let seconds = |time: i64| u32::try_from(time.max(0)).unwrap_or(u32::MAX);
    message
        .u32(SIZE | OWNER | MODE | TIMES)
        .u64(of.size())
        .u32(of.uid())
        .u32(of.gid())
        .u32(of.mode())
        .u32(seconds(of.atime()))
        .u32(seconds(of.mtime()))
}

/// The line that `ls -l` shows, with numbers for owner and group: names would need a library of the image.
pub(crate) fn line(name: &[u8], of: &Metadata) -> Vec<u8> {
    let (mode, now) = (of.mode(), SystemTime::now());
    let now = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()).cast_signed();
    let mut line = format!(
        "{} {:>3} {:<8} {:<8} {:>8} {} ",
        letters(mode), of.nlink(), of.uid(), of.gid(), of.size(), date(of.mtime(), now)
    )
    .into_bytes();
    line.extend_from_slice(name);
    line
}

fn letters(mode: u32) -> String {
    let kind = match mode & 0o170_000 {
        0o040_000 => 'd',
        0o120_000 => 'l',
        0o140_000 => 's',
        0o060_000 => 'b',
        0o020_000 => 'c',
        0o010_000 => 'p',
        _ => '-',
    };
    let mut text = String::from(kind);
    for (shift, special, set, unset) in [(6, 0o4000, 's', 'S'), (3, 0o2000, 's', 'S'), (0, 0o1000, 't', 'T')] {
        let bits = mode >> shift & 7;
        text.push(if bits & 4 != 0 { 'r' } else { '-' });
        text.push(if bits & 2 != 0 { 'w' } else { '-' });
        text.push(match (mode & special != 0, bits & 1 != 0) {
            (true, true) => set,
            (true, false) => unset,
            (false, true) => 'x',
            (false, false) => '-',
        });
    }
    text
}

/// `Nov 16 15:04` within half a year, `Nov 16  2025` otherwise, in UTC.
fn date(seconds: i64, now: i64) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Years that begin in March have their leap day at the end, so months follow from days by one line.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = (march_month + 2) % 12;
    let year = year_of_era + era * 400 + i64::from(month < 2);
    let name = MONTHS[usize::try_from(month).unwrap_or(0)];
    if (now - 182 * 86_400..=now + 86_400).contains(&seconds) {
        format!("{name} {day:>2} {:02}:{:02}", rest / 3600, rest % 3600 / 60)
    } else {
        format!("{name} {day:>2}  {year:>4}")
    }
}
