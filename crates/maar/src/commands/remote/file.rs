//! The file that `maar login` writes. It holds a key, so nobody else may read it.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::commands::failure::Failure;

/// Where the login is kept.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Portal")]
pub(crate) struct LoginArgs {
    /// File that maar login keeps; without it ~/.config/maar/login.json
    #[arg(long, value_name = "FILE", env = "MAAR_LOGIN", global = true)]
    login: Option<PathBuf>,
}

/// A login.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Login {
    /// Where the portal is.
    pub(crate) address: String,
    /// Who is signed in.
    pub(crate) user: String,
    /// Where his work is.
    pub(crate) namespace: String,
    /// Finds the key again, to revoke it.
    pub(crate) key_id: Option<String>,
    /// The key.
    pub(crate) key: String,
}

impl LoginArgs {
    fn path(&self) -> anyhow::Result<PathBuf> {
        if let Some(path) = &self.login {
            return Ok(path.clone());
        }
        let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
        let home = home.ok_or_else(|| Failure::usage("there is no home folder: say where with --login"))?;
        Ok(home.join(".config/maar/login.json"))
    }

    /// The file that was said, from the root.
    pub(crate) fn said(&self) -> anyhow::Result<Option<PathBuf>> {
        Ok(self.login.as_ref().map(std::path::absolute).transpose()?)
    }

    /// A file beside the login, for what else this device has to remember.
    pub(crate) fn beside(&self, ending: &str) -> anyhow::Result<PathBuf> {
        Ok(self.path()?.with_extension(ending))
    }

    /// The login that is kept, if there is one.
    pub(crate) fn read(&self) -> anyhow::Result<Option<Login>> {
        read(&self.path()?)
    }

    /// Keeps a login; where it is kept.
    pub(crate) fn keep(&self, login: &Login) -> anyhow::Result<PathBuf> {
        let path = self.path()?;
        keep(&path, login).with_context(|| format!("keeping the login in {}", path.display()))?;
        Ok(path)
    }

    /// Forgets it.
    pub(crate) fn forget(&self) -> anyhow::Result<()> {
        let path = self.path()?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("removing {}", path.display()))
            }
            _ => Ok(()),
        }
    }
}

fn read(path: &Path) -> anyhow::Result<Option<Login>> {
    let step = || format!("reading the login in {}", path.display());
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        text => text.with_context(step)?,
    };
    let mode = fs::metadata(path).with_context(step)?.permissions().mode();
    if mode & 0o077 != 0 {
        let why =
            format!("{} holds a key and others may read it: chmod 600 it, or log in again", path.display());
        return Err(Failure::usage(why).into());
    }
    serde_json::from_str(&text).map(Some).with_context(step)
}

/// Beside it first, so that it is whole at every moment, and never readable by others at any.
fn keep(path: &Path, login: &Login) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let beside = path.with_extension("new");
    // A file that somebody else has put there keeps its permissions when it is written to.
    let _ = fs::remove_file(&beside);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    file.write_all(&serde_json::to_vec_pretty(login)?)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_kept_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/login.json");
        assert_eq!(read(&path).unwrap(), None);
        let login = Login {
            address: "https://gpu.example".to_owned(),
            user: "ada".to_owned(),
            namespace: "user-ada-x".to_owned(),
            key_id: Some("k-1".to_owned()),
            key: "maar_secret".to_owned(),
        };
        keep(&path, &login).unwrap();
        keep(&path, &login).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(read(&path).unwrap(), Some(login));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("others may read it"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "{}").unwrap();
        assert!(read(&path).is_err());
    }
}
