//! `maar ssh-config`: settings for the clients of OpenSSH, in a file of their own.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;

use super::{ALIAS, Gateway, certificate};
use crate::commands::{
    failure::Failure,
    output::print,
    remote::{LoginArgs, Remote},
};

/// The line that the user's own file gets in ~/.ssh, which is where ssh looks for what has no folder before it.
const INCLUDE: &str = "Include maar/config";

/// What `maar ssh-config` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Write it: a file of our own beside the others, and one line in ~/.ssh/config that reads it
    #[arg(long)]
    write: bool,
    /// Let ssh ask maar for a certificate of minutes before it connects: no key has to be known to the portal, and it works
    /// while you are logged in here
    #[arg(long)]
    certificate: bool,
    /// What the gateway is called: ssh WORKSPACE@NAME
    #[arg(long, value_name = "NAME", default_value = ALIAS)]
    name: String,
    /// The folder of OpenSSH; without it ~/.ssh. Settings in another are read by ssh -F FOLDER/config
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    #[command(flatten)]
    login: LoginArgs,
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let plain = |one: char| one.is_ascii_alphanumeric() || "-._".contains(one);
    if !arguments.name.starts_with(|one: char| one.is_ascii_alphanumeric())
        || !arguments.name.chars().all(plain)
    {
        return Err(Failure::usage(format!("{} is no name of a host", arguments.name)).into());
    }
    let login = arguments.login.read()?;
    let login = login.ok_or_else(|| Failure::refused("log in to a portal first, with maar login"))?;
    let gateway = Gateway::ask(&Remote::of(&login)?).await?;
    let home =
        || std::env::home_dir().filter(|home| !home.as_os_str().is_empty()).map(|home| home.join(".ssh"));
    let (folder, include) = if let Some(folder) = &arguments.folder {
        let folder = std::path::absolute(folder).with_context(|| format!("finding {}", folder.display()))?;
        let include = format!("Include \"{}\"", folder.join("maar/config").display());
        (folder, include)
    } else {
        let none = || Failure::usage("there is no home folder: say where with --folder");
        (home().ok_or_else(none)?, INCLUDE.to_owned())
    };
    let mut text = block(&arguments.name, &gateway, &folder);
    if arguments.certificate {
        let program = std::env::current_exe().context("finding maar itself")?;
        let login = arguments.login.said()?;
        text += &certificate::settings(&arguments.name, &program, &folder.join("maar"), login.as_deref())?;
    }
    if !arguments.write {
        print(&text);
        return Ok(());
    }
    let step = || format!("writing settings for ssh in {}", folder.display());
    write(&folder, &include, &text, &gateway.known_hosts()).with_context(step)?;
    let needs = if arguments.certificate {
        certificate::make_key(&folder.join("maar")).with_context(step)?;
        "while you are logged in here"
    } else {
        "once one of your keys is known to the portal"
    };
    print(&format!("ssh WORKSPACE@{} works now, also in editors, {needs}.\n", arguments.name));
    Ok(())
}

fn block(name: &str, gateway: &Gateway, folder: &Path) -> String {
    let known = folder.join("maar/known_hosts");
    format!(
        "# Made by maar ssh-config, which writes it anew each time: put your own settings into ~/.ssh/config.\n\
         Host {name}\n    HostName {}\n    Port {}\n    HostKeyAlias {ALIAS}\n    UserKnownHostsFile \"{}\"\n    \
         StrictHostKeyChecking yes\n    ForwardAgent no\n    ServerAliveInterval 30\n",
        gateway.host,
        gateway.port,
        known.display()
    )
}

fn write(folder: &Path, include: &str, text: &str, known: &str) -> anyhow::Result<()> {
    let own = folder.join("maar");
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&own)?;
    replace(&own.join("config"), text, 0o600)?;
    replace(&own.join("known_hosts"), known, 0o600)?;
    let users = folder.join("config");
    let before = match fs::read_to_string(&users) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        text => text?,
    };
    let Some(after) = included(&before, include) else { return Ok(()) };
    // Where it is a link, what it leads to is written.
    let target = users.canonicalize().unwrap_or(users);
    let mode = fs::metadata(&target).map_or(0o600, |found| found.permissions().mode() & 0o777);
    replace(&target, &after, mode)
}

/// The user's file with our line, first, since a block takes everything below it; nothing if it is there already.
fn included(before: &str, include: &str) -> Option<String> {
    let there = before.lines().any(|line| line.trim().eq_ignore_ascii_case(include));
    (!there).then(|| format!("{include}\n{}{before}", if before.is_empty() { "" } else { "\n" }))
}

/// Beside it first, so that it is whole at every moment.
pub(super) fn replace(path: &Path, text: &str, mode: u32) -> anyhow::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".maar-new");
    let beside = path.with_file_name(name);
    let _ = fs::remove_file(&beside);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gateway() -> Gateway {
        Gateway { host: "gpu.example".to_owned(), port: 2222, keys: vec!["ssh-ed25519 AAAA".to_owned()] }
    }

    #[test]
    fn settings_are_plain() {
        insta::assert_snapshot!(block("maar", &gateway(), Path::new("/home/ada/.ssh")));
    }

    #[test]
    fn what_the_user_has_written_stays() {
        let folder = tempfile::tempdir().unwrap();
        let own = "Host work\n    User ada\n";
        fs::write(folder.path().join("config"), own).unwrap();
        fs::set_permissions(folder.path().join("config"), fs::Permissions::from_mode(0o644)).unwrap();
        for _ in 0..2 {
            write(folder.path(), INCLUDE, "Host maar\n", "maar ssh-ed25519 AAAA\n").unwrap();
        }
        let text = fs::read_to_string(folder.path().join("config")).unwrap();
        assert_eq!(text, format!("{INCLUDE}\n\n{own}"), "one line more, once");
        let mode = fs::metadata(folder.path().join("config")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o644);
        assert_eq!(fs::read_to_string(folder.path().join("maar/config")).unwrap(), "Host maar\n");
    }

    #[test]
    fn a_file_that_is_a_link_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("dotfiles"), "Host x\n").unwrap();
        std::os::unix::fs::symlink(folder.path().join("dotfiles"), folder.path().join("config")).unwrap();
        write(folder.path(), INCLUDE, "", "").unwrap();
        assert!(fs::symlink_metadata(folder.path().join("config")).unwrap().is_symlink());
        assert!(fs::read_to_string(folder.path().join("dotfiles")).unwrap().starts_with(INCLUDE));
    }
}
