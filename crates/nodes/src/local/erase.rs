//! Removing what containers wrote.

use std::{io, os::unix::fs::PermissionsExt, path::Path};

/// Removes a folder with everything in it; what cannot be removed is said.
pub(super) fn folder(path: &Path) {
    if let Err(error) = remove(path) {
        tracing::warn!("{} could not be removed: {error}", path.display());
    }
}

/// Removes a folder with everything in it, if it is there.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    std::fs::remove_dir_all(path).or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        // Programs make folders that even their owner may not write to; module caches are the usual case.
        io::ErrorKind::PermissionDenied => {
            open_up(path)?;
            std::fs::remove_dir_all(path)
        }
        _ => Err(error),
    })
}

/// Lets the owner do everything with all folders below; links are not followed.
fn open_up(path: &Path) -> io::Result<()> {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))?;
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_without_permissions_are_removed_too() {
        let base = tempfile::tempdir().unwrap();
        let own = base.path().join("own");
        std::fs::create_dir_all(own.join("closed/inner")).unwrap();
        std::fs::write(own.join("closed/inner/file"), "x").unwrap();
        for part in ["closed/inner", "closed"] {
            std::fs::set_permissions(own.join(part), std::fs::Permissions::from_mode(0o500)).unwrap();
        }
        folder(&own);
        assert!(!own.exists());
        folder(&own);
    }
}
