//! Files as an archive, written as it is sent and read as it comes.
//!
//! What comes is a stranger's: a name that leads out of the target ends the copy, links are not made, and nothing is
//! written through one that is there. A file with several names becomes several files. Modes are those that came, without
//! what the user's umask takes away.

use std::{
    collections::HashSet,
    fs, io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::{Component, Path, PathBuf},
};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::{
    header::{BLOCK, Header, Kind, Told, extended, padded},
    progress::Progress,
};

/// The longest name, and the most that is said about an entry.
const LONGEST: u64 = 64 * 1024;
/// How much is copied at a time.
const PART: usize = 64 * 1024;

/// How many bytes are in the files of a path.
pub(super) fn sum(path: &Path) -> io::Result<u64> {
    let found = fs::metadata(path)?;
    if !found.is_dir() {
        return Ok(found.len());
    }
    let mut total = 0;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            total += sum(&entry.path())?;
        } else if kind.is_file() {
            total += entry.metadata()?.len();
        }
    }
    Ok(total)
}

/// Writes a path as `name`; how many things in it were left out.
pub(super) async fn write(
    to: &mut (impl AsyncWrite + Unpin),
    path: &Path,
    name: &str,
    progress: &mut Progress,
) -> io::Result<usize> {
    let (mut waiting, mut skipped) = (vec![(path.to_owned(), name.to_owned())], 0);
    while let Some((path, name)) = waiting.pop() {
        // What is named on the command line may be a link; what is found below is not followed.
        let found = if waiting.is_empty() && name.find('/').is_none() {
            fs::metadata(&path)?
        } else {
            fs::symlink_metadata(&path)?
        };
        if found.is_dir() {
            to.write_all(&header(format!("{name}/"), Kind::Folder, 0, &found).blocks()).await?;
            let mut inside = fs::read_dir(&path)?.collect::<io::Result<Vec<_>>>()?;
            inside.sort_by_key(fs::DirEntry::file_name);
            for entry in inside.into_iter().rev() {
                match entry.file_name().to_str() {
                    Some(own) => waiting.push((entry.path(), format!("{name}/{own}"))),
                    None => skipped += 1,
                }
            }
        } else if found.is_file() {
            file(to, &path, name, &found, progress).await?;
        } else {
            skipped += 1;
        }
    }
    to.write_all(&[0; 2 * BLOCK]).await?;
    Ok(skipped)
}

fn header(name: String, kind: Kind, size: u64, found: &fs::Metadata) -> Header {
    let modified = u64::try_from(found.mtime()).unwrap_or(0);
    Header { name, link: String::new(), kind, size, mode: found.mode() & 0o777, modified }
}

async fn file(
    to: &mut (impl AsyncWrite + Unpin),
    path: &Path,
    name: String,
    found: &fs::Metadata,
    progress: &mut Progress,
) -> io::Result<()> {
    let (mut from, size) = (tokio::fs::File::open(path).await?, found.len());
    to.write_all(&header(name, Kind::File, size, found).blocks()).await?;
    let (mut left, mut part) = (size, vec![0; PART]);
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(PART).min(PART);
        let length = from.read(&mut part[..most]).await?;
        if length == 0 {
            return Err(io::Error::other(format!("{} became shorter while it was read", path.display())));
        }
        to.write_all(&part[..length]).await?;
        left -= length as u64;
        progress.add(length as u64);
    }
    to.write_all(&vec![0; padded(size)]).await
}

/// Reads an archive whose entries are all at or below `name`, and puts `name` at `target`; how many were left out.
pub(super) async fn read(
    from: &mut (impl AsyncRead + Unpin),
    name: &str,
    target: &Path,
    progress: &mut Progress,
) -> io::Result<usize> {
    let (mut skipped, mut told, mut taken) = (0, Told::default(), HashSet::new());
    loop {
        let mut block = [0; BLOCK];
        if from.read_exact(&mut block).await.is_err() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "what was sent ends in the middle"));
        }
        let Some(mut entry) = Header::parse(&block).map_err(io::Error::other)? else { return Ok(skipped) };
        if matches!(entry.kind, Kind::LongName | Kind::LongLink | Kind::Extended) {
            told = announced(&small(from, entry.size).await?, entry.kind, told)?;
            continue;
        }
        let Told { name: long, link, size } = std::mem::take(&mut told);
        entry.name = long.unwrap_or(entry.name);
        entry.link = link.unwrap_or(entry.link);
        entry.size = size.unwrap_or(entry.size);
        match entry.kind {
            Kind::Folder => make_folder(target, &below(&entry.name, name)?, entry.mode)?,
            Kind::File => {
                let path = place(target, &below(&entry.name, name)?)?;
                take(from, &path, &entry, progress).await?;
                taken.insert(path);
            }
            kind => {
                skip(from, entry.size + padded(entry.size) as u64).await?;
                let same = kind == Kind::HardLink && again(&entry, name, target, &mut taken)?;
                skipped += usize::from(!same);
            }
        }
    }
}

/// What an entry says of the one behind it.
fn announced(said: &[u8], kind: Kind, told: Told) -> io::Result<Told> {
    let text = || {
        let text = std::str::from_utf8(said).map_err(io::Error::other)?;
        Ok::<_, io::Error>(Some(text.trim_end_matches('\0').to_owned()))
    };
    match kind {
        Kind::LongName => Ok(Told { name: text()?, ..told }),
        Kind::LongLink => Ok(Told { link: text()?, ..told }),
        _ => extended(said, told).ok_or_else(|| io::Error::other("an entry is damaged")),
    }
}

/// Copies a file that came before to another of its names; not if it did not come.
fn again(entry: &Header, root: &str, target: &Path, taken: &mut HashSet<PathBuf>) -> io::Result<bool> {
    let (path, first) = (below(&entry.name, root)?, below(&entry.link, root)?);
    let (path, first) = (place(target, &path)?, target.join(first));
    if path == first || !taken.contains(&first) || !fs::symlink_metadata(&first)?.is_file() {
        return Ok(false);
    }
    make_way(&path)?;
    // With the mode of the first, which knows the umask already.
    fs::copy(&first, &path)?;
    taken.insert(path);
    Ok(true)
}

/// The part of a name below `root`. A name that is not, or that climbs, is refused.
fn below(name: &str, root: &str) -> io::Result<PathBuf> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, format!("{name:?} leads out of {root:?}"));
    let mut parts = Path::new(name).components().filter(|part| !matches!(part, Component::CurDir));
    if parts.next() != Some(Component::Normal(root.as_ref())) {
        return Err(wrong());
    }
    let rest: PathBuf = parts.clone().collect();
    if parts.all(|part| matches!(part, Component::Normal(_))) { Ok(rest) } else { Err(wrong()) }
}

/// Where a file goes: folders on the way are made, and none of them is a link.
fn place(target: &Path, rest: &Path) -> io::Result<PathBuf> {
    if rest.as_os_str().is_empty() {
        return Ok(target.to_owned());
    }
    let mut at = target.to_owned();
    for part in rest.parent().into_iter().flat_map(Path::components) {
        at.push(part);
        real_folder(&at)?;
    }
    Ok(target.join(rest))
}

fn real_folder(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(io::Error::other(format!("{} is in the way, and is no folder", path.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir(path),
        Err(error) => Err(error),
    }
}

fn make_folder(target: &Path, rest: &Path, mode: u32) -> io::Result<()> {
    let path = place(target, rest)?;
    // The target itself may be a link of the user's own.
    if rest.as_os_str().is_empty() && path.is_dir() {
        return Ok(());
    }
    if fs::symlink_metadata(&path).is_ok() {
        return real_folder(&path);
    }
    // Whatever it says: files have to be put into it.
    fs::DirBuilder::new().mode(mode | 0o700).create(&path)
}

/// Takes away the file or link that has the name of a new one: what a link points to stays as it is, and so do other names
/// of a file.
fn make_way(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() || found.is_file() => fs::remove_file(path),
        _ => Ok(()),
    }
}

async fn take(
    from: &mut (impl AsyncRead + Unpin),
    path: &Path,
    entry: &Header,
    progress: &mut Progress,
) -> io::Result<()> {
    make_way(path)?;
    let mut options = tokio::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(entry.mode & 0o777);
    let mut file = options.open(path).await?;
    let (mut left, mut part) = (entry.size, vec![0; PART]);
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(PART).min(PART);
        let length = from.read(&mut part[..most]).await?;
        if length == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "what was sent ends in the middle"));
        }
        file.write_all(&part[..length]).await?;
        left -= length as u64;
        progress.add(length as u64);
    }
    file.flush().await?;
    skip(from, padded(entry.size) as u64).await
}

async fn small(from: &mut (impl AsyncRead + Unpin), size: u64) -> io::Result<Vec<u8>> {
    if size > LONGEST {
        return Err(io::Error::other("an entry says too much about itself"));
    }
    let mut said = Vec::new();
    from.take(size).read_to_end(&mut said).await?;
    skip(from, padded(size) as u64).await?;
    Ok(said)
}

async fn skip(from: &mut (impl AsyncRead + Unpin), size: u64) -> io::Result<()> {
    tokio::io::copy(&mut from.take(size), &mut tokio::io::sink()).await.map(drop)
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::PermissionsExt as _, process::Command};

    use super::*;

    fn quiet() -> Progress {
        Progress::new(true)
    }

    fn entry(name: &str, text: &str) -> Vec<u8> {
        let header = Header {
            name: name.to_owned(),
            link: String::new(),
            kind: Kind::File,
            size: text.len() as u64,
            mode: 0o644,
            modified: 0,
        };
        let mut bytes = header.blocks();
        bytes.extend(text.as_bytes());
        bytes.resize(bytes.len() + padded(text.len() as u64), 0);
        bytes
    }

    async fn unpack(bytes: &[u8], target: &Path) -> io::Result<usize> {
        read(&mut &*bytes, "data", target, &mut quiet()).await
    }

    #[tokio::test]
    async fn a_folder_arrives_as_it_was_and_a_real_tar_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("from");
        let deep = from.join("deep").join("d".repeat(120));
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("long"), "x".repeat(70_000)).unwrap();
        fs::write(from.join("run.sh"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(from.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(from.join("empty"), "").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", from.join("link")).unwrap();
        assert_eq!(sum(&from).unwrap(), 70_010);
        let mut bytes = Vec::new();
        assert_eq!(write(&mut bytes, &from, "data", &mut quiet()).await.unwrap(), 1, "the link");
        let to = folder.path().join("to");
        assert_eq!(unpack(&bytes, &to).await.unwrap(), 0);
        let same = Command::new("diff").arg("-r").arg("--exclude=link").args([&from, &to]).status().unwrap();
        assert!(same.success());
        assert_eq!(fs::metadata(to.join("run.sh")).unwrap().mode() & 0o777, 0o755);
        let file = folder.path().join("a.tar");
        fs::write(&file, &bytes).unwrap();
        let other = folder.path().join("other");
        fs::create_dir(&other).unwrap();
        let tar = Command::new("tar").arg("-xf").arg(&file).arg("-C").arg(&other).status().unwrap();
        assert!(tar.success());
        let same = Command::new("diff").arg("-r").arg(&to).arg(other.join("data")).status().unwrap();
        assert!(same.success());
        // And the other way round, in each of the forms that a real tar writes.
        for form in ["gnu", "posix"] {
            let format = format!("--format={form}");
            let made = Command::new("tar")
                .args([&format, "-cf"])
                .arg(&file)
                .arg("-C")
                .arg(&other)
                .arg("data")
                .status();
            assert!(made.unwrap().success(), "{form}");
            let back = folder.path().join(form);
            assert_eq!(unpack(&fs::read(&file).unwrap(), &back).await.unwrap(), 0, "{form}");
            let same = Command::new("diff").arg("-r").args([&to, &back]).status().unwrap();
            assert!(same.success(), "{form}");
        }
    }

    #[tokio::test]
    async fn names_do_not_lead_out_of_the_target() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("to");
        for name in ["../evil", "/evil", "data/../../evil", "other/evil", "data/..", "..", ""] {
            let bytes = [entry(name, "evil"), vec![0; 2 * BLOCK]].concat();
            let error = unpack(&bytes, &target).await.unwrap_err();
            assert!(error.to_string().contains("leads out"), "{name}: {error}");
        }
        assert!(!folder.path().join("evil").exists());
        // Nor through a link that is there.
        fs::create_dir(&target).unwrap();
        let outside = folder.path().join("outside");
        fs::create_dir(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, target.join("link")).unwrap();
        let bytes = [entry("data/link/evil", "evil"), vec![0; 2 * BLOCK]].concat();
        assert!(unpack(&bytes, &target).await.unwrap_err().to_string().contains("in the way"));
        fs::write(outside.join("file"), "safe").unwrap();
        std::os::unix::fs::symlink(outside.join("file"), target.join("file")).unwrap();
        let bytes = [entry("data/file", "new"), vec![0; 2 * BLOCK]].concat();
        unpack(&bytes, &target).await.unwrap();
        assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "safe");
        assert_eq!(fs::read_to_string(target.join("file")).unwrap(), "new");
    }

    fn linked(name: &str, link: &str) -> Vec<u8> {
        let (name, link) = (name.to_owned(), link.to_owned());
        Header { name, link, kind: Kind::HardLink, size: 0, mode: 0o644, modified: 0 }.blocks()
    }

    #[tokio::test]
    async fn a_file_with_two_names_arrives_under_both() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("data");
        let deep = from.join("d".repeat(120));
        fs::create_dir_all(&deep).unwrap();
        fs::write(from.join("a"), "text").unwrap();
        fs::hard_link(from.join("a"), from.join("b")).unwrap();
        fs::write(deep.join("long"), "more").unwrap();
        fs::hard_link(deep.join("long"), from.join("z")).unwrap();
        for form in ["gnu", "posix"] {
            let file = folder.path().join("a.tar");
            let mut tar = Command::new("tar");
            tar.arg(format!("--format={form}")).arg("--sort=name").arg("-cf").arg(&file);
            assert!(tar.arg("-C").arg(folder.path()).arg("data").status().unwrap().success(), "{form}");
            let back = folder.path().join(form);
            let bytes = fs::read(&file).unwrap();
            assert!(bytes.chunks(BLOCK).any(|block| block[156] == b'1'), "{form}: tar writes links");
            assert_eq!(unpack(&bytes, &back).await.unwrap(), 0, "{form}");
            let same = Command::new("diff").arg("-r").args([&from, &back]).status().unwrap();
            assert!(same.success(), "{form}");
        }
    }

    #[tokio::test]
    async fn a_second_name_leads_to_nothing_but_what_came() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("to");
        fs::create_dir(&target).unwrap();
        fs::write(target.join("own"), "of the user").unwrap();
        fs::write(folder.path().join("secret"), "of the user").unwrap();
        std::os::unix::fs::symlink(folder.path().join("secret"), target.join("way")).unwrap();
        let end = vec![0; 2 * BLOCK];
        for link in ["/etc/passwd", "data/../../secret", "../secret"] {
            let bytes = [entry("data/a", "x"), linked("data/b", link), end.clone()].concat();
            let error = unpack(&bytes, &target).await.unwrap_err();
            assert!(error.to_string().contains("leads out"), "{link}: {error}");
        }
        for link in ["data/own", "data/way", "data/none", "data/b"] {
            let bytes = [linked("data/b", link), end.clone()].concat();
            assert_eq!(unpack(&bytes, &target).await.unwrap(), 1, "{link}");
            assert!(!target.join("b").exists(), "{link}");
        }
    }

    #[tokio::test]
    async fn what_the_umask_takes_away_is_not_given() {
        let folder = tempfile::tempdir().unwrap();
        // What the kernel makes of a mode is what the umask leaves of it.
        let seen = folder.path().join("seen");
        fs::DirBuilder::new().mode(0o777).create(&seen).unwrap();
        let left = fs::metadata(&seen).unwrap().mode() & 0o777;
        let header = |name: &str, kind| {
            let (name, link) = (name.to_owned(), String::new());
            Header { name, link, kind, size: 0, mode: 0o777, modified: 0 }.blocks()
        };
        let bytes =
            [header("data/", Kind::Folder), header("data/f", Kind::File), vec![0; 2 * BLOCK]].concat();
        let target = folder.path().join("to");
        for _ in 0..2 {
            unpack(&bytes, &target).await.unwrap();
            for path in [target.clone(), target.join("f")] {
                assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, left, "{}", path.display());
            }
        }
    }

    #[tokio::test]
    async fn what_breaks_off_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let bytes = entry("data", "whole text");
        for length in [0, 100, 515, 700, bytes.len()] {
            let error = unpack(&bytes[..length], &folder.path().join("to")).await.err();
            assert!(length > 515 || error.is_some(), "{length}");
            assert!(error.is_some(), "{length}: without its end");
        }
    }
}
