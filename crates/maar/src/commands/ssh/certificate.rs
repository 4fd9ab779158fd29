//! `maar ssh-certificate`, which ssh itself calls where `maar ssh-config --certificate` wrote its settings: sees to it that
//! the key beside them has a certificate that is valid for a while.
//!
//! The key stays and only its certificate is replaced, so that who connects at the same moment finds a pair.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use jiff::Timestamp;
use maar_controller::clock::{Clock as _, SystemClock};
use russh::keys::Certificate;
use serde_json::json;

use super::{config::replace, new_key};
use crate::commands::{
    failure::Failure,
    remote::{LoginArgs, Remote},
};

/// A certificate that ends sooner than this many seconds from now is replaced: whoever connects has to get there.
const MARGIN: u64 = 300;

/// What `maar ssh-certificate` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The folder with the key
    folder: PathBuf,
    #[command(flatten)]
    login: LoginArgs,
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let certificate = arguments.folder.join("key-cert.pub");
    if fs::read_to_string(&certificate).is_ok_and(|text| lasts(&text, SystemClock.now())) {
        return Ok(());
    }
    let public = fs::read_to_string(arguments.folder.join("key.pub")).map_err(|_| {
        let folder = arguments.folder.display();
        Failure::failed(format!(
            "there is no key in {folder}: maar ssh-config --write --certificate makes one"
        ))
    })?;
    let login = arguments.login.read()?;
    let login = login.ok_or_else(|| Failure::refused("nobody is logged in: maar login https://PORTAL"))?;
    let asked = json!({ "key": public.trim() });
    let made = Remote::of(&login)?.post("/me/ssh-certificates", Some(&asked)).await?;
    let text = made["certificate"].as_str().context("the portal gave no certificate")?;
    replace(&certificate, &format!("{text}\n"), 0o600).context("keeping the certificate")
}

/// Whether a certificate is valid for long enough.
fn lasts(text: &str, now: Timestamp) -> bool {
    let now = u64::try_from(now.as_second()).unwrap_or(0);
    Certificate::from_openssh(text.trim()).is_ok_and(|read| read.valid_before() > now + MARGIN)
}

/// Makes the key, unless there is one.
pub(super) fn make_key(folder: &Path) -> anyhow::Result<()> {
    if folder.join("key").exists() && folder.join("key.pub").exists() {
        return Ok(());
    }
    let (private, public) = new_key()?;
    // A certificate of another key is none.
    let _ = fs::remove_file(folder.join("key-cert.pub"));
    replace(&folder.join("key"), &private, 0o600)?;
    replace(&folder.join("key.pub"), &format!("{public}\n"), 0o600)
}

/// Settings by which ssh asks for a certificate before it connects. Where that fails it goes on as without them.
pub(super) fn settings(
    name: &str,
    program: &Path,
    folder: &Path,
    login: Option<&Path>,
) -> anyhow::Result<String> {
    let [program, folder] = [program, folder].map(quotable);
    let (program, folder) = (program?, folder?);
    let login = login.map(quotable).transpose()?;
    let login = login.map(|path| format!(" --login '{path}'")).unwrap_or_default();
    Ok(format!(
        "\nMatch originalhost {name} exec \"'{program}' ssh-certificate '{folder}'{login}\"\n    \
         IdentityFile \"{folder}/key\"\n    CertificateFile \"{folder}/key-cert.pub\"\n    IdentitiesOnly yes\n"
    ))
}

/// A path that can stand between quotes in settings of ssh and in a line of a shell, in which ssh looks for `%`, too.
fn quotable(path: &Path) -> anyhow::Result<String> {
    let plain = |one: char| one.is_alphanumeric() || "/._-+@ ".contains(one);
    let text = path.to_str().filter(|text| text.starts_with('/') && text.chars().all(plain));
    Ok(text.map(str::to_owned).ok_or_else(|| {
        Failure::usage(format!("{} has characters that settings of ssh cannot hold", path.display()))
    })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ssh_asks_before_it_connects() {
        let written = |program: &str, login: Option<&str>| {
            settings("maar", Path::new(program), Path::new("/home/ada/.ssh/maar"), login.map(Path::new))
        };
        insta::assert_snapshot!(written("/opt/my tools/maar", Some("/home/ada/login.json")).unwrap(), @r#"

        Match originalhost maar exec "'/opt/my tools/maar' ssh-certificate '/home/ada/.ssh/maar' --login '/home/ada/login.json'"
            IdentityFile "/home/ada/.ssh/maar/key"
            CertificateFile "/home/ada/.ssh/maar/key-cert.pub"
            IdentitiesOnly yes
        "#);
        for wrong in ["/a'b/maar", "/a\"b/maar", "/a%b/maar", "/a$(id)/maar", "/a\nb/maar", "maar"] {
            assert!(written(wrong, None).is_err(), "{wrong:?}");
            assert!(written("/maar", Some(wrong)).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_key_is_made_once_and_what_is_no_certificate_does_not_last() {
        let folder = tempfile::tempdir().unwrap();
        make_key(folder.path()).unwrap();
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        let first = (read("key"), read("key.pub"));
        make_key(folder.path()).unwrap();
        assert_eq!((read("key"), read("key.pub")), first);
        assert!(!lasts(&first.1, Timestamp::UNIX_EPOCH) && !lasts("", Timestamp::UNIX_EPOCH));
    }
}
