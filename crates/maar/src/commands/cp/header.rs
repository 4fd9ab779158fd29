//! Headers of tar archives, as GNU tar and busybox write and read them. Pure.

/// Archives are made of blocks of this size.
pub(super) const BLOCK: usize = 512;
/// The longest name that fits a header.
const SHORT: usize = 100;
/// Where a header has what a link leads to.
const LINK: std::ops::Range<usize> = 157..257;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    /// Another name of a file that came before.
    HardLink,
    /// The name of the next entry.
    LongName,
    /// What the next entry is another name of.
    LongLink,
    /// What is said about the next entry, in lines.
    Extended,
    /// Symbolic links, devices and what nobody knows.
    Other,
}

/// The head of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) name: String,
    /// The file that a hard link is another name of.
    pub(super) link: String,
    pub(super) kind: Kind,
    pub(super) size: u64,
    pub(super) mode: u32,
    /// In seconds since 1970.
    pub(super) modified: u64,
}

impl Header {
    /// The blocks of it; a long name comes before in blocks of its own.
    pub(super) fn blocks(&self) -> Vec<u8> {
        let mut blocks = Vec::new();
        if self.name.len() > SHORT {
            let mut name = self.name.clone().into_bytes();
            name.push(0);
            let long = Self {
                name: "././@LongLink".to_owned(),
                link: String::new(),
                kind: Kind::LongName,
                size: name.len() as u64,
                mode: 0o644,
                modified: 0,
            };
            blocks.extend(long.block());
            let end = padded(name.len() as u64);
            blocks.extend(name);
            blocks.resize(blocks.len() + end, 0);
        }
        blocks.extend(self.block());
        blocks
    }

    fn block(&self) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        let name = self.name.as_bytes();
        block[..name.len().min(SHORT)].copy_from_slice(&name[..name.len().min(SHORT)]);
        octal(&mut block[100..108], u64::from(self.mode & 0o7777));
        octal(&mut block[108..116], 0);
        octal(&mut block[116..124], 0);
        number(&mut block[124..136], self.size);
        octal(&mut block[136..148], self.modified.min(0o777_7777_7777));
        let link = self.link.as_bytes();
        block[LINK][..link.len().min(SHORT)].copy_from_slice(&link[..link.len().min(SHORT)]);
        block[156] = match self.kind {
            Kind::Folder => b'5',
            Kind::HardLink => b'1',
            Kind::LongName => b'L',
            Kind::LongLink => b'K',
            Kind::Extended => b'x',
            Kind::File | Kind::Other => b'0',
        };
        block[257..265].copy_from_slice(b"ustar  \0");
        let sum = sum(&block);
        octal(&mut block[148..155], sum);
        block[155] = b' ';
        block
    }

    /// Reads a block; nothing for one of zeros, which ends an archive.
    pub(super) fn parse(block: &[u8; BLOCK]) -> Result<Option<Self>, &'static str> {
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let said = read(&block[148..156]).ok_or("a block has no sum")?;
        if said != sum(block) {
            return Err("a block is damaged");
        }
        let mut name = text(&block[..SHORT]).ok_or("a name is not UTF-8")?;
        // What POSIX puts before the name; GNU keeps other things there, and a sign that it does.
        if &block[257..263] == b"ustar\0" {
            let before = text(&block[345..500]).ok_or("a name is not UTF-8")?;
            if !before.is_empty() {
                name = format!("{before}/{name}");
            }
        }
        let kind = match block[156] {
            b'0' | 0 | b'7' => Kind::File,
            b'1' => Kind::HardLink,
            b'5' => Kind::Folder,
            b'L' => Kind::LongName,
            b'K' => Kind::LongLink,
            b'x' => Kind::Extended,
            _ => Kind::Other,
        };
        Ok(Some(Self {
            name,
            link: text(&block[LINK]).ok_or("a name is not UTF-8")?,
            kind,
            size: read(&block[124..136]).ok_or("a size is no number")?,
            mode: u32::try_from(read(&block[100..108]).unwrap_or(0o644) & 0o777).unwrap_or(0o644),
            modified: read(&block[136..148]).unwrap_or(0),
        }))
    }
}

/// How many zeros follow so many bytes.
pub(super) fn padded(size: u64) -> usize {
    usize::try_from(size % BLOCK as u64).map_or(0, |over| if over == 0 { 0 } else { BLOCK - over })
}

/// What is told of an entry before it comes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) name: Option<String>,
    pub(super) link: Option<String>,
    pub(super) size: Option<u64>,
}

/// What extended lines tell; what they do not stays as it was told before.
pub(super) fn extended(lines: &[u8], mut told: Told) -> Option<Told> {
    let mut rest = lines;
    while !rest.is_empty() && rest[0] != 0 {
        let space = rest.iter().position(|byte| *byte == b' ')?;
        let length: usize = std::str::from_utf8(&rest[..space]).ok()?.parse().ok()?;
        let line = std::str::from_utf8(rest.get(space + 1..length)?).ok()?.strip_suffix('\n')?;
        let (name, value) = line.split_once('=')?;
        match name {
            "path" => told.name = Some(value.to_owned()),
            "linkpath" => told.link = Some(value.to_owned()),
            "size" => told.size = Some(value.parse().ok()?),
            _ => {}
        }
        rest = &rest[length..];
    }
    Some(told)
}

fn text(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    std::str::from_utf8(&bytes[..end]).ok().map(str::to_owned)
}

fn sum(block: &[u8; BLOCK]) -> u64 {
    let outside = block.iter().enumerate().filter(|(at, _)| !(148..156).contains(at));
    outside.map(|(_, byte)| u64::from(*byte)).sum::<u64>() + 8 * u64::from(b' ')
}

fn octal(field: &mut [u8], value: u64) {
    let digits = format!("{value:0width$o}", width = field.len() - 1);
    field[..digits.len()].copy_from_slice(digits.as_bytes());
}

/// Octal where that fits, else as GNU writes large numbers.
fn number(field: &mut [u8], value: u64) {
    if value < 1 << 33 {
        return octal(field, value);
    }
    field.fill(0);
    field[0] = 0x80;
    let length = field.len();
    field[length - 8..].copy_from_slice(&value.to_be_bytes());
}

fn read(field: &[u8]) -> Option<u64> {
    if field[0] == 0x80 {
        let (high, low) = field[1..].split_at(field.len() - 9);
        return high
            .iter()
            .all(|byte| *byte == 0)
            .then(|| low.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)));
    }
    let digits = std::str::from_utf8(field).ok()?.trim_matches(['\0', ' ']);
    if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 8).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(name: &str, size: u64) -> Header {
        let (name, link) = (name.to_owned(), String::new());
        Header { name, link, kind: Kind::File, size, mode: 0o640, modified: 1_700_000_000 }
    }

    #[test]
    fn a_header_is_read_as_it_was_written() {
        for (name, size, mode) in [
            ("a", 0, 0o644),
            ("é/b", 511, 0),
            ("a/", (1 << 33) - 1, 0o777),
            ("big", 1 << 33, 0o755),
            ("huge", u64::MAX, 1),
        ] {
            let made = Header { mode, ..header(name, size) };
            let block: [u8; BLOCK] = made.blocks().try_into().unwrap();
            assert_eq!(Header::parse(&block), Ok(Some(made)));
        }
        let link = Header { kind: Kind::HardLink, link: "data/a".to_owned(), ..header("data/b", 0) };
        let block: [u8; BLOCK] = link.blocks().try_into().unwrap();
        assert_eq!(Header::parse(&block), Ok(Some(link)));
    }

    #[test]
    fn what_is_damaged_is_noticed() {
        let mut block: [u8; BLOCK] = header("a", 5).blocks().try_into().unwrap();
        block[0] = b'b';
        assert!(Header::parse(&block).is_err());
        assert_eq!(Header::parse(&[0; BLOCK]), Ok(None));
    }

    #[test]
    fn long_names_come_before() {
        let blocks = header(&"n".repeat(150), 0).blocks();
        assert_eq!(blocks.len(), 3 * BLOCK);
        let first = Header::parse(&blocks[..BLOCK].try_into().unwrap()).unwrap().unwrap();
        assert_eq!((first.kind, first.size), (Kind::LongName, 151));
        assert_eq!(&blocks[BLOCK..BLOCK + 151], [&b"n".repeat(150)[..], b"\0"].concat());
        let before = Told { link: Some("x".to_owned()), ..Told::default() };
        let want = Told { name: Some("a/b".to_owned()), size: Some(7), ..before.clone() };
        assert_eq!(extended(b"12 path=a/b\n10 size=7\n", before), Some(want));
        assert_eq!(extended(b"99 path=a\n", Told::default()), None);
    }
}
