//! Files that hold what proves who somebody is: whole at every moment, and nobody else's to read.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::Context as _;

use crate::commands::failure::Failure;

/// Keeps others who go by the same rule (kubectl does) from changing a file, until it is dropped.
#[derive(Debug)]
pub(super) struct Guard(PathBuf);

impl Guard {
    pub(super) fn take(path: &Path) -> anyhow::Result<Self> {
        let lock = beside(path, "lock");
        match fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&lock) {
            Ok(_) => Ok(Self(lock)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                let why = format!(
                    "another program changes it at this moment; if none does, remove {}",
                    lock.display()
                );
                Err(Failure::failed(why).into())
            }
            Err(error) => Err(error).with_context(|| format!("making {}", lock.display())),
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Keeps other processes out for as long as it is there.
#[derive(Debug)]
#[must_use = "dropped at once it keeps nobody out"]
pub(super) struct Held {
    _file: fs::File,
}

/// Waits for all others who hold the same file.
pub(super) fn hold(path: &Path) -> anyhow::Result<Held> {
    let lock = beside(path, "lock");
    let opened = fs::OpenOptions::new().create(true).append(true).mode(0o600).open(&lock);
    let held = opened.and_then(|file| file.lock().map(|()| Held { _file: file }));
    held.with_context(|| format!("holding {}", lock.display()))
}

/// The name of the file with a word after it.
pub(super) fn beside(path: &Path, word: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(word);
    PathBuf::from(name)
}

/// Replaces a file. A link stays one, and what it leads to is replaced.
pub(super) fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    let step = || format!("writing {}", path.display());
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let new = beside(&place, "new");
    // A file that somebody else has put there keeps its permissions when it is written to.
    let _ = fs::remove_file(&new);
    let mut file =
        fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new).with_context(step)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).with_context(step)?;
    fs::rename(&new, &place).with_context(step)
}

/// Makes the folder of a file, for its owner alone.
pub(super) fn make_folder(path: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return Ok(()) };
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.with_context(|| format!("making the folder {}", folder.display()))
}

/// A file below the home folder.
pub(super) fn at_home(path: &str) -> anyhow::Result<PathBuf> {
    let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
    Ok(home.ok_or_else(|| Failure::usage("there is no home folder"))?.join(path))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_for_its_owner_and_one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/config");
        make_folder(&path).unwrap();
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let guard = Guard::take(&link).unwrap();
        assert!(Guard::take(&link).unwrap_err().to_string().contains("another program"));
        replace(&link, "new").unwrap();
        drop(guard);
        assert!(link.is_symlink() && fs::read_to_string(&path).unwrap() == "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(Guard::take(&link).is_ok());
    }
}
