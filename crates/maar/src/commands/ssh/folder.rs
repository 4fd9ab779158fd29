//! A folder of one's own for as long as ssh runs.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use ring::rand::{SecureRandom as _, SystemRandom};

/// The folder; it goes with this.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> io::Result<Self> {
        let mut bytes = [0; 8];
        SystemRandom::new().fill(&mut bytes).map_err(|_| io::Error::other("the system has no randomness"))?;
        let name = format!("maar-ssh-{:016x}", u64::from_be_bytes(bytes));
        let path = std::env::temp_dir().join(name);
        // What is there already is not ours, and this fails.
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let path = self.0.join(name);
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(text.as_bytes())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
