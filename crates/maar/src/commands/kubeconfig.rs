//! `maar kubeconfig`: kubectl for the own namespace, by the portal one is logged in to.

mod file;
mod given;
mod merge;
mod token;
mod write;

use serde_json::Value;

use super::{
    failure::Failure,
    output::{Output, OutputArgs, Table, print, show},
    remote::{Login, LoginArgs, Remote},
};

/// What `maar kubeconfig` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    login: LoginArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Make the kubeconfig of this device and put it among those that are there
    #[command(after_help = "Examples:\n  \
        maar kubeconfig write\n  \
        maar kubeconfig write --mode oidc --keep-context\n  \
        maar kubeconfig write --device ci --hours 1 --kubeconfig -")]
    Write(write::Arguments),
    /// List the kubeconfigs that were given out in your name
    #[command(visible_alias = "ls")]
    List(OutputArgs),
    /// End a kubeconfig: whoever has it may nothing any more
    Revoke {
        /// Its identifier, as list shows it
        id: String,
    },
    /// Print a token for kubectl, which calls this itself where a kubeconfig is by oidc
    Token(token::Arguments),
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let login = &arguments.login;
    match arguments.command {
        Command::Write(command) => {
            let given = given::Given::at(login.beside("kubeconfigs.json")?)?;
            write::run(&logged_in(login)?, &given, &command).await
        }
        Command::List(how) => list(&Remote::of(&logged_in(login)?)?, how.output).await,
        Command::Revoke { id } => revoke(&Remote::of(&logged_in(login)?)?, &id).await,
        Command::Token(command) => token::run(&command).await,
    }
}

fn logged_in(login: &LoginArgs) -> anyhow::Result<Login> {
    let login = login.read()?;
    Ok(login.ok_or_else(|| Failure::refused("nobody is logged in: maar login https://PORTAL"))?)
}

async fn list(remote: &Remote, output: Output) -> anyhow::Result<()> {
    let items = remote.list("/me/kubeconfigs").await?;
    show(output, &table(&items), &super::output::list(&items))
}

fn table(items: &[Value]) -> Table {
    let row = |item: &Value| {
        let text = |field: &str| item[field].as_str().unwrap_or("-").to_owned();
        let state = if item["revoked"] == true { "revoked".to_owned() } else { text("expires") };
        vec![text("id"), text("device"), text("mode"), state, text("created")]
    };
    let titles = vec!["ID", "DEVICE", "MODE", "UNTIL", "CREATED"];
    Table { titles, narrow: 4, rows: items.iter().map(row).collect() }
}

async fn revoke(remote: &Remote, id: &str) -> anyhow::Result<()> {
    // It is part of a path here.
    if id.is_empty() || !id.bytes().all(|one| one.is_ascii_alphanumeric() || one == b'-') {
        return Err(Failure::not_found(format!("there is no kubeconfig {id}")).into());
    }
    remote.delete(&format!("/kubeconfigs/{id}")).await?;
    print(&format!("{id} is revoked\n"));
    Ok(())
}
