//! `maar ssh`: the system's own ssh into a workspace, with a certificate for minutes and the host's key pinned.

mod certificate;
mod config;
mod folder;
mod helper;

use std::process::Stdio;

use anyhow::Context as _;
use ring::rand::{SecureRandom as _, SystemRandom};
use russh::keys::{
    PrivateKey, PublicKey,
    ssh_key::{LineEnding, private::Ed25519Keypair},
};
use serde_json::{Value, json};
use tokio::process::Command;

use self::folder::Folder;
use super::{
    failure::Failure,
    remote::{LoginArgs, Remote},
};

pub(crate) use certificate::{Arguments as CertificateArguments, run as keep_certificate};
pub(crate) use config::{Arguments as ConfigArguments, run as write_config};
pub(crate) use helper::{Arguments as HelperArguments, run as write_helper};

/// What the host is called in the files of OpenSSH: its key is known by this, wherever it is.
const ALIAS: &str = "maar";

/// What `maar ssh` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The workspace; WORKSPACE.NAMESPACE names one in another namespace
    workspace: String,
    /// Forward a port of this machine to one of the workspace, as ssh -L does; may be repeated
    #[arg(long, short = 'L', value_name = "[ADDRESS:]PORT:HOST:PORT")]
    local: Vec<String>,
    /// Forward a port of the workspace to one of this machine, as ssh -R does; may be repeated
    #[arg(long, short = 'R', value_name = "[ADDRESS:]PORT:HOST:PORT")]
    remote: Vec<String>,
    /// Reach all ports of the workspace by a SOCKS proxy on this machine, as ssh -D does; may be repeated
    #[arg(long, short = 'D', value_name = "[ADDRESS:]PORT")]
    dynamic: Vec<String>,
    /// Let programs in the workspace ask the SSH agent of this machine, as ssh -A does; the portal must allow it
    #[arg(long, short = 'A')]
    agent: bool,
    /// Where the agent of this machine is
    #[arg(long, env = "SSH_AUTH_SOCK", value_name = "SOCKET", hide = true, hide_env_values = true)]
    agent_socket: Option<String>,
    /// Give the command this terminal, as editors, htop and shells need it; a shell has it without this
    #[arg(long, short = 't')]
    tty: bool,
    /// Run no command: only forward ports
    #[arg(long, short = 'N')]
    no_command: bool,
    /// The command; a shell if none is said
    #[arg(last = true)]
    command: Vec<String>,
    #[command(flatten)]
    login: LoginArgs,
}

/// A gateway, as the portal tells it.
#[derive(Debug, PartialEq, Eq)]
struct Gateway {
    host: String,
    port: u64,
    keys: Vec<String>,
}

impl Gateway {
    async fn ask(remote: &Remote) -> anyhow::Result<Self> {
        Self::read(&remote.get("/ssh").await?)
    }

    /// What the portal says becomes words of command lines and lines of files, so it has to be what it says it is.
    fn read(said: &Value) -> anyhow::Result<Self> {
        if said["enabled"] != true {
            return Err(Failure::failed("this portal has no SSH").into());
        }
        let host = said["host"].as_str().unwrap_or_default().to_owned();
        let port = said["port"].as_u64().unwrap_or_default();
        let keys = said["hostKeys"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let keys: Vec<String> = keys.map(str::to_owned).collect();
        let plain = |one: char| one.is_ascii_alphanumeric() || ".-:".contains(one);
        let named = host.starts_with(|one: char| one.is_ascii_alphanumeric() || one == ':');
        let known = !keys.is_empty() && keys.iter().all(|key| PublicKey::from_openssh(key).is_ok());
        if !named || !host.chars().all(plain) || !(1..=65535).contains(&port) || !known {
            return Err(Failure::failed("the portal does not say where SSH is").into());
        }
        Ok(Self { host, port, keys })
    }

    fn known_hosts(&self) -> String {
        let lines: Vec<String> = self.keys.iter().map(|key| format!("{ALIAS} {key}\n")).collect();
        lines.concat()
    }
}

/// A name that can be no option of ssh, and no part of a file.
fn checked(workspace: &str) -> anyhow::Result<&str> {
    let plain = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || "-.".contains(one);
    if workspace.starts_with(|one: char| one.is_ascii_alphanumeric()) && workspace.chars().all(plain) {
        return Ok(workspace);
    }
    Err(Failure::usage(format!("{workspace} is no name of a workspace")).into())
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let workspace = checked(&arguments.workspace)?.to_owned();
    if arguments.agent && arguments.agent_socket.as_deref().is_none_or(str::is_empty) {
        let why =
            "there is no SSH agent to forward: SSH_AUTH_SOCK is not set (eval \"$(ssh-agent)\" starts one)";
        return Err(Failure::usage(why).into());
    }
    let login = arguments.login.read()?;
    let login = login.ok_or_else(|| Failure::refused("log in to a portal first, with maar login"))?;
    let remote = Remote::of(&login)?;
    let gateway = Gateway::ask(&remote).await?;
    let (private, public) = new_key()?;
    let made = remote.post("/me/ssh-certificates", Some(&json!({ "key": public }))).await?;
    let certificate = made["certificate"].as_str().context("the portal gave no certificate")?;
    let folder = Folder::new().context("making a folder for the key")?;
    folder.write("key", &private)?;
    folder.write("key-cert.pub", &format!("{certificate}\n"))?;
    folder.write("known_hosts", &gateway.known_hosts())?;
    let words = words(&arguments, &workspace, &gateway, &folder.path().display().to_string());
    let ended = under_ssh(&words).await;
    drop(folder);
    match ended? {
        Some(0) => Ok(()),
        Some(code) => Err(Failure::with_code(code, format!("ssh has ended with code {code}")).into()),
        None => Err(Failure::failed("ssh was stopped").into()),
    }
}

/// The arguments of ssh.
fn words(arguments: &Arguments, workspace: &str, gateway: &Gateway, folder: &str) -> Vec<String> {
    let mut words: Vec<String> = ["-F", "none"].map(str::to_owned).to_vec();
    let options = [
        format!("IdentityFile={folder}/key"),
        format!("CertificateFile={folder}/key-cert.pub"),
        "IdentitiesOnly=yes".to_owned(),
        "PreferredAuthentications=publickey".to_owned(),
        format!("UserKnownHostsFile={folder}/known_hosts"),
        "GlobalKnownHostsFile=none".to_owned(),
        "StrictHostKeyChecking=yes".to_owned(),
        format!("HostKeyAlias={ALIAS}"),
        "UpdateHostKeys=no".to_owned(),
        "ServerAliveInterval=30".to_owned(),
    ];
    words.extend(
        options.into_iter().chain(agent_options(arguments)).flat_map(|option| ["-o".to_owned(), option]),
    );
    words.extend(arguments.local.iter().flat_map(|spec| ["-L".to_owned(), spec.clone()]));
    words.extend(arguments.remote.iter().flat_map(|spec| ["-R".to_owned(), spec.clone()]));
    words.extend(arguments.dynamic.iter().flat_map(|spec| ["-D".to_owned(), spec.clone()]));
    words.extend(arguments.tty.then(|| "-t".to_owned()));
    words.extend(arguments.no_command.then(|| "-N".to_owned()));
    let port = gateway.port.to_string();
    words.extend(["-p", &port, "-l", workspace, "--", &gateway.host].map(str::to_owned));
    words.extend(arguments.command.iter().cloned());
    words
}

/// Options of ssh about the agent of this machine: known where it is forwarded, and not asked for keys to log in with in
/// any case. A `%` would be a sign of ssh's own there.
fn agent_options(arguments: &Arguments) -> [String; 2] {
    match arguments.agent_socket.as_deref().filter(|_| arguments.agent) {
        Some(path) => {
            [format!("IdentityAgent=\"{}\"", path.replace('%', "%%")), "ForwardAgent=yes".to_owned()]
        }
        None => ["IdentityAgent=none", "ForwardAgent=no"].map(str::to_owned),
    }
}

/// A key that nobody keeps: its private and public half.
fn new_key() -> anyhow::Result<(String, String)> {
    let mut seed = [0; 32];
    SystemRandom::new().fill(&mut seed).map_err(|_| anyhow::anyhow!("the system has no randomness"))?;
    let key = PrivateKey::from(Ed25519Keypair::from_seed(&seed));
    let private = key.to_openssh(LineEnding::LF).context("writing a key")?.to_string();
    Ok((private, key.public_key().to_openssh().context("writing a key")?))
}

/// Runs ssh; its code.
async fn under_ssh(words: &[String]) -> anyhow::Result<Option<u8>> {
    let mut command = Command::new("ssh");
    command.args(words).stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
    let mut child = match command.spawn() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(Failure::failed("there is no ssh on this machine: install openssh-client").into());
        }
        child => child.context("running ssh")?,
    };
    // A Ctrl-C is for what runs there; ssh ends by it, and then so do we, with nothing left behind.
    let status = loop {
        tokio::select! {
            status = child.wait() => break status.context("waiting for ssh")?,
            _ = tokio::signal::ctrl_c() => {}
        }
    };
    Ok(status.code().map(|code| u8::try_from(code).unwrap_or(255)))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Cli {
        #[command(flatten)]
        arguments: Arguments,
    }

    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOFq7mGyLsyNN4Ia0ORc1wHwJHQ5FDB7IwPGMRCzcK+x";

    fn gateway() -> Gateway {
        Gateway { host: "gpu.example".to_owned(), port: 2222, keys: vec![KEY.to_owned()] }
    }

    #[test]
    fn ssh_is_told_all_it_needs_and_reads_no_other_settings() {
        let words_of = ["maar", "desk", "-L", "8888:localhost:8888", "--", "ls", "-l"];
        let arguments = Cli::try_parse_from(words_of).unwrap().arguments;
        insta::assert_snapshot!(words(&arguments, "desk", &gateway(), "/tmp/x").join("\n"));
        let arguments =
            Cli::try_parse_from(["maar", "desk", "-D", "1080", "-t", "--", "htop"]).unwrap().arguments;
        let words = words(&arguments, "desk", &gateway(), "/tmp/x").join(" ");
        assert!(words.ends_with("-D 1080 -t -p 2222 -l desk -- gpu.example htop"), "{words}");
        let said = ["maar", "desk", "-A", "--agent-socket", "/run/50% of it"];
        let arguments = Cli::try_parse_from(said).unwrap().arguments;
        let words = super::words(&arguments, "desk", &gateway(), "/tmp/x");
        assert!(words.contains(&"IdentityAgent=\"/run/50%% of it\"".to_owned()), "{words:?}");
    }

    #[test]
    fn names_are_no_options() {
        assert!(checked("desk").is_ok() && checked("desk.user-ada-1234").is_ok());
        for wrong in ["-oProxyCommand=x", "", "a b", "a\nb", ".x", "Desk"] {
            assert!(checked(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn what_a_portal_says_is_looked_at() {
        let said = |host: &str, port: u64, key: &str| {
            Gateway::read(&json!({ "enabled": true, "host": host, "port": port, "hostKeys": [key] }))
        };
        assert_eq!(said("gpu.example", 2222, KEY).unwrap(), gateway());
        for (host, port, key) in [
            ("-oProxyCommand=x", 22, KEY),
            ("a b", 22, KEY),
            ("", 22, KEY),
            ("gpu.example", 0, KEY),
            ("gpu.example", 22, "nonsense\nHost *"),
        ] {
            assert!(said(host, port, key).is_err(), "{host} {port} {key}");
        }
        assert!(Gateway::read(&json!({ "enabled": false })).is_err());
    }
}
