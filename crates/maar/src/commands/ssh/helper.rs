//! `maar ssh-helper`: the program that SSH brings into containers, for a portal on another processor.

use std::path::PathBuf;

use anyhow::Context as _;
use maar_portal::SshHelpers;

use crate::commands::output::print;

/// What `maar ssh-helper` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Folder it is put into, which maar portal --ssh-helpers reads
    folder: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let (name, bytes) = SshHelpers::own();
    let path = arguments.folder.join(name);
    std::fs::write(&path, bytes).with_context(|| format!("writing {}", path.display()))?;
    print(&format!("{}\n", path.display()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_a_portal_takes() {
        let folder = tempfile::tempdir().unwrap();
        run(&Arguments { folder: folder.path().to_owned() }).unwrap();
        SshHelpers::with_folder(folder.path()).unwrap();
        assert!(run(&Arguments { folder: folder.path().join("none") }).is_err());
    }
}
