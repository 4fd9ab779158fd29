//! `maar workspace logs` and `maar workspace exec`.

use std::io::{IsTerminal as _, Read as _, Write as _};

use anyhow::Context as _;
use futures::AsyncReadExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, api::LogParams};
use maar_api::v1alpha1::WorkspacePhase;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    signal::unix::{SignalKind, signal},
};

use super::source::{LogQuery, Source, api};
use crate::commands::{
    client::Connection,
    failure::Failure,
    run::{Asked, Running, start},
    target::Target,
    terminal::{Changed, Changes, size},
};

/// What `maar workspace logs` can be told.
#[derive(Debug, clap::Args)]
pub(super) struct LogArguments {
    /// The workspace
    name: String,
    /// Go on while it runs
    #[arg(long, short)]
    follow: bool,
    /// Only so many lines from the end; without it all that is kept
    #[arg(long, value_name = "LINES")]
    tail: Option<i64>,
    /// Only what was written in the last so many seconds
    #[arg(long, value_name = "SECONDS")]
    since: Option<i64>,
    /// What the container wrote before it was started again
    #[arg(long)]
    previous: bool,
    /// With the time of each line
    #[arg(long)]
    timestamps: bool,
}

/// What `maar workspace exec` can be told.
#[derive(Debug, clap::Args)]
pub(super) struct ExecArguments {
    /// The workspace
    name: String,
    #[command(flatten)]
    command: CommandArguments,
}

/// What runs.
#[derive(Debug, clap::Args)]
pub(crate) struct CommandArguments {
    /// Give the command this terminal, as editors, htop and shells need it; a shell has it without this
    #[arg(long, short)]
    tty: bool,
    /// The command; a shell if none is said
    #[arg(last = true)]
    command: Vec<String>,
}

impl CommandArguments {
    /// The words of the command, and whether it has a terminal where people type into one (`typed`).
    fn words(&self, typed: bool) -> Result<(Vec<String>, bool), Failure> {
        if self.tty && !typed {
            return Err(Failure::usage("--tty: standard input is no terminal; leave --tty out"));
        }
        if self.command.is_empty() {
            return Ok((["/bin/sh", "-l"].map(str::to_owned).to_vec(), typed));
        }
        Ok((self.command.clone(), self.tty))
    }
}

pub(super) async fn logs(source: &Source, arguments: &LogArguments) -> anyhow::Result<()> {
    let query = LogQuery {
        follow: arguments.follow,
        previous: arguments.previous,
        timestamps: arguments.timestamps,
        tail: arguments.tail,
        since_seconds: arguments.since,
    };
    source.logs(&arguments.name, &query, write).await
}

fn write(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    // Nobody listening any more (`| head`) is no reason to fall over.
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}

/// The container of a workspace in its Pod: others may put containers beside it.
pub(crate) const CONTAINER: &str = "workspace";

/// The Pod of a workspace in a cluster.
pub(crate) async fn pod_of(connection: &Connection, name: &str) -> anyhow::Result<String> {
    let found = api(connection).get(name).await.with_context(|| format!("reading workspace {name}"))?;
    let status = found.status.unwrap_or_default();
    status.pod.ok_or_else(|| Failure::failed(without_pod(name, status.phase)).into())
}

/// Why there is nothing to enter, and what helps.
fn without_pod(name: &str, phase: WorkspacePhase) -> String {
    match phase {
        WorkspacePhase::Suspended | WorkspacePhase::Stopping => {
            format!("workspace {name} is {phase}; maar workspace resume {name} lets it go on")
        }
        _ => format!("workspace {name} is {phase} and has no Pod"),
    }
}

pub(super) async fn cluster_logs(
    connection: &Connection,
    name: &str,
    query: &LogQuery,
    mut take: impl FnMut(&[u8]),
) -> anyhow::Result<()> {
    let pods: Api<Pod> = Api::namespaced(connection.client.clone(), &connection.namespace);
    let params = LogParams {
        container: Some(CONTAINER.to_owned()),
        follow: query.follow,
        previous: query.previous,
        timestamps: query.timestamps,
        tail_lines: query.tail,
        since_seconds: query.since_seconds,
        ..LogParams::default()
    };
    let stream = pods.log_stream(&pod_of(connection, name).await?, &params).await;
    let mut stream = std::pin::pin!(stream.context("reading the log")?);
    let mut part = vec![0; 16 * 1024];
    loop {
        match stream.read(&mut part).await.context("reading the log")? {
            0 => return Ok(()),
            length => take(&part[..length]),
        }
    }
}

pub(super) async fn exec(source: &Source, arguments: ExecArguments) -> anyhow::Result<()> {
    enter(source, &Target::Workspace(arguments.name), None, &arguments.command).await
}

/// Runs a command, a shell if none is said, with its input and output; ends as the command ends.
pub(crate) async fn enter(
    source: &Source,
    target: &Target,
    container: Option<&str>,
    command: &CommandArguments,
) -> anyhow::Result<()> {
    let (command, terminal) = command.words(std::io::stdin().is_terminal())?;
    let mut changes = Changes::begin();
    let screen = if terminal { Some(size().unwrap_or((80, 24))) } else { None };
    let running = start(source, Asked { target, container, command: &command, screen }).await?;
    let Running { mut stdin, stdout, stderr, sizes, ended } = running;
    let mut stopped = signal(SignalKind::terminate()).context("listening for signals")?;
    let raw = if terminal { Changed::raw() } else { None };
    let resized = async {
        loop {
            // A command that is gone already says so by its end.
            let _ = sizes.send(changes.next().await).await;
        }
    };
    let typed = async {
        let mut parts = keyboard();
        while let Some(part) = parts.recv().await {
            if stdin.write_all(&part).await.is_err() {
                break;
            }
        }
        let _ = stdin.shutdown().await;
        std::future::pending::<()>().await;
    };
    let to_stderr = |bytes: &[u8]| drop(std::io::stderr().write_all(bytes));
    let shown = async {
        tokio::join!(copy(Some(stdout), write), copy(Some(stderr), to_stderr));
        ended.await
    };
    let ended = tokio::select! {
        ended = shown => ended,
        () = typed => Err(Failure::unreachable("the connection to the Pod was lost").into()),
        () = resized => Err(Failure::failed("the screen is gone").into()),
        // The terminal belongs to somebody who goes on to use it.
        _ = stopped.recv() => Err(Failure::with_code(143, "stopped").into()),
    };
    drop(raw);
    ended?.check()
}

/// What is typed. A thread of its own reads it, which nobody waits for: a read of a terminal cannot be broken off.
fn keyboard() -> tokio::sync::mpsc::Receiver<Vec<u8>> {
    let (sender, parts) = tokio::sync::mpsc::channel(16);
    std::thread::spawn(move || {
        let mut part = vec![0; 4096];
        while let Ok(length @ 1..) = std::io::stdin().lock().read(&mut part) {
            if sender.blocking_send(part[..length].to_vec()).is_err() {
                break;
            }
        }
    });
    parts
}

async fn copy(from: Option<impl tokio::io::AsyncRead + Unpin>, take: impl Fn(&[u8])) {
    let Some(mut from) = from else { return };
    let mut part = vec![0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut part).await {
        take(&part[..length]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_enters_a_stopped_workspace_is_told_how_to_start_it() {
        assert_eq!(
            without_pod("desk", WorkspacePhase::Suspended),
            "workspace desk is Suspended; maar workspace resume desk lets it go on"
        );
        assert_eq!(without_pod("desk", WorkspacePhase::Pending), "workspace desk is Pending and has no Pod");
    }

    #[test]
    fn a_shell_has_the_terminal_and_a_command_if_it_is_said() {
        let words = |tty, command: &[&str], typed| {
            let command = command.iter().map(|word| (*word).to_owned()).collect();
            CommandArguments { tty, command }.words(typed).ok()
        };
        let shell = |terminal| Some((vec!["/bin/sh".to_owned(), "-l".to_owned()], terminal));
        let id = |terminal| Some((vec!["id".to_owned()], terminal));
        assert_eq!((words(false, &[], true), words(false, &[], false)), (shell(true), shell(false)));
        assert_eq!((words(false, &["id"], true), words(true, &["id"], true)), (id(false), id(true)));
        assert_eq!((words(true, &[], true), words(true, &["id"], false)), (shell(true), None));
    }
}
