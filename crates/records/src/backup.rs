//! A copy of the database while it is in use.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::database::Engine;
use crate::{Error, Records, Result};

impl Records {
    /// Writes a copy of a SQLite database to a file that does not exist yet. It is one moment of the database, whole or
    /// not there at all, and it was read back. Writers go on meanwhile.
    pub async fn backup(&self, path: &Path) -> Result<()> {
        let Engine::Sqlite(sqlite) = &self.database.engine else {
            return Err(Error::Unsupported {
                what: "a backup",
                database: self.database.name(),
                instead: "use pg_dump",
            });
        };
        if path.exists() {
            let source = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
            return Err(Error::File { path: path.to_owned(), source });
        }
        let part = Part::make(path)?;
        sqlite.copy(&part.path).await?;
        part.keep(path)
    }
}

/// A file that is being written, under a name nobody takes for a backup; removed unless it is kept.
struct Part {
    path: PathBuf,
    kept: bool,
}

impl Part {
    fn make(path: &Path) -> Result<Self> {
        let mut name = path.as_os_str().to_owned();
        name.push(".part");
        let path = PathBuf::from(name);
        // Readable by nobody else, as the database.
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        made.map_err(|source| Error::File { path: path.clone(), source })?;
        Ok(Self { path, kept: false })
    }

    fn keep(mut self, path: &Path) -> Result<()> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let kept = File::open(&self.path)
            .and_then(|file| file.sync_all())
            .and_then(|()| std::fs::rename(&self.path, path))
            // The name must be on the disk too.
            .and_then(|()| File::open(folder)?.sync_all());
        kept.map_err(|source| Error::File { path: path.to_owned(), source })?;
        self.kept = true;
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.kept {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
