//! `maar login`: proves once who somebody is, and keeps a key instead of the password.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use anyhow::Context as _;
use axum::http::header;
use serde_json::{Value, json};

use super::{
    failure::Failure,
    oauth::{self, random},
    output::print,
    remote::{Login, LoginArgs, Remote, machine},
    terminal::Changed,
};

/// What the key may do: everything that commands do, and no administration.
const SCOPES: [&str; 5] = ["workspaces:read", "workspaces:write", "jobs:read", "jobs:write", "cluster:read"];

/// What `maar login` can be told.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub(crate) struct Arguments {
    /// Where the portal is, such as https://gpu.example
    #[arg(required_unless_present = "forget")]
    address: Option<String>,
    /// Who you are; asked for if it is not said
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Read the password from standard input instead of asking for it
    #[arg(long)]
    password_stdin: bool,
    /// Read an API key from standard input instead, one that was made on the pages (for those who sign in elsewhere)
    #[arg(long, conflicts_with_all = ["password_stdin", "user"])]
    key_stdin: bool,
    /// Sign in with a browser, here or on another machine: shows an address and a code (for machines without a browser,
    /// and for those who sign in elsewhere)
    #[arg(long, conflicts_with_all = ["password_stdin", "key_stdin", "user"])]
    device: bool,
    /// How many days the key that is kept is valid; not with --device, whose keys last 30
    #[arg(
        long,
        value_name = "DAYS",
        default_value_t = 30,
        value_parser = clap::value_parser!(u16).range(1..=366),
        conflicts_with_all = ["device", "key_stdin"]
    )]
    days: u16,
    /// Forget the key that is kept; revoke it on the pages
    #[arg(long, conflicts_with_all = ["address", "user", "password_stdin", "key_stdin", "device"])]
    forget: bool,
    #[command(flatten)]
    login: LoginArgs,
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    if arguments.forget {
        return forget(&arguments.login);
    }
    let address = arguments.address.as_deref().unwrap_or_default();
    let remote = Remote::at(address)?;
    let login = if arguments.key_stdin {
        with_key(&remote, &line("")?).await?
    } else if arguments.device {
        let scope = "openid maar";
        let tokens = oauth::by_device(&remote, maar_portal::CLI_CLIENT, scope).await?;
        with_key(&remote, &word(&tokens, "access_token")?).await?
    } else {
        with_password(&remote, &arguments).await?
    };
    let path = arguments.login.keep(&login)?;
    print(&format!(
        "You are {} at {}, and your work is in the namespace {}.\nA key is kept in {}; maar login --forget removes it.\n",
        login.user,
        login.address,
        login.namespace,
        path.display()
    ));
    Ok(())
}

/// Forgets the key here. Keys cannot revoke keys, so it ends by itself, or on the pages.
fn forget(arguments: &LoginArgs) -> anyhow::Result<()> {
    let Some(login) = arguments.read()? else {
        print("Nobody is logged in.\n");
        return Ok(());
    };
    arguments.forget()?;
    let key = login.key_id.map(|id| format!(" {id}")).unwrap_or_default();
    print(&format!(
        "Forgotten. The key{key} is valid until it expires or is revoked at {}.\n",
        login.address
    ));
    Ok(())
}

async fn with_key(remote: &Remote, key: &str) -> anyhow::Result<Login> {
    let login = Login {
        address: remote.address().to_owned(),
        user: String::new(),
        namespace: String::new(),
        key_id: None,
        key: key.to_owned(),
    };
    let me = Remote::of(&login)?.get("/me").await?;
    Ok(Login { user: word(&me, "name")?, namespace: word(&me, "namespace")?, ..login })
}

async fn with_password(remote: &Remote, arguments: &Arguments) -> anyhow::Result<Login> {
    let user = match &arguments.user {
        Some(user) => user.clone(),
        None => line("User: ")?,
    };
    let password = if arguments.password_stdin { line("")? } else { hidden_line("Password: ")? };
    let asked = json!({ "name": user, "password": password });
    let (headers, said) = remote.call(axum::http::Method::POST, "/login", Some(&asked)).await?;
    let cookie = headers.get(header::SET_COOKIE).and_then(|value| value.to_str().ok());
    let cookie = cookie.and_then(|cookie| cookie.split(';').next()).context("the portal gave no session")?;
    let session = remote.clone().with(header::COOKIE, cookie.parse()?);
    if said["mustChangePassword"] == true {
        let why = format!("your password was set by somebody else: change it at {} first", remote.address());
        return Err(Failure::refused(why).into());
    }
    let made = key(&session, arguments.days).await;
    // The key is enough from here on.
    let _ = session.post("/logout", None).await;
    let (id, key, me) = made?;
    Ok(Login {
        address: remote.address().to_owned(),
        user: word(&me, "name")?,
        namespace: word(&me, "namespace")?,
        key_id: Some(id),
        key,
    })
}

async fn key(session: &Remote, days: u16) -> anyhow::Result<(String, String, Value)> {
    let me = session.get("/me").await?;
    let asked = json!({ "name": key_name(&machine(), random()?), "scopes": SCOPES, "days": days });
    let made = session.post("/me/keys", Some(&asked)).await?;
    Ok((word(&made, "id")?, word(&made, "secret")?, me))
}

/// What the key is called on the pages: by the machine it is on, so that one knows which to revoke. Names of keys differ,
/// and one may sign in again on the same machine.
fn key_name(machine: &str, random: [u8; 3]) -> String {
    let [a, b, c] = random;
    format!("maar login on {machine} {a:02x}{b:02x}{c:02x}")
}

fn word(value: &Value, field: &str) -> anyhow::Result<String> {
    let text = value[field].as_str();
    text.map(str::to_owned).with_context(|| format!("the portal did not say its {field}"))
}

/// A line of standard input.
fn line(question: &str) -> anyhow::Result<String> {
    let _ = std::io::stderr().write_all(question.as_bytes());
    let mut text = String::new();
    std::io::stdin().lock().read_line(&mut text).context("reading standard input")?;
    let text = text.trim_end_matches(['\r', '\n']).to_owned();
    if text.is_empty() { Err(Failure::usage("nothing was said").into()) } else { Ok(text) }
}

/// The same, without showing what is typed.
fn hidden_line(question: &str) -> anyhow::Result<String> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage("there is no terminal to ask for a password: use --password-stdin").into());
    }
    // A terminal that shows it all the same is no reason to keep somebody out.
    let _hidden = Changed::hidden();
    line(question)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_called_after_their_machine_and_never_alike() {
        assert_eq!(key_name("desk", [0, 10, 255]), "maar login on desk 000aff");
        assert_ne!(key_name("desk", random().unwrap()), key_name("desk", random().unwrap()));
    }
}
