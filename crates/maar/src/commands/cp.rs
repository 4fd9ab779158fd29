//! `maar cp`: files to and from a workspace or a Pod of a job, as an archive that goes through a command in it.

mod archive;
mod header;
mod place;
mod progress;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufWriter};

use super::{
    client::ClusterArgs,
    failure::Failure,
    remote::LoginArgs,
    run::{Asked, Running, output, start},
    target::Target,
    workspace::Source,
};
use place::{Place, split};
use progress::Progress;

/// What `maar cp` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// From: a path here, or WORKSPACE:PATH, or job/NAME:PATH, or job/NAME/POD:PATH; folders go with everything in them
    source: String,
    /// To: the same
    destination: String,
    /// Say nothing about how far it is
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    login: LoginArgs,
    #[command(flatten)]
    cluster: ClusterArgs,
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let (from, to) = (Place::parse(&arguments.source)?, Place::parse(&arguments.destination)?);
    let progress = Progress::new(arguments.quiet);
    match (from, to) {
        (Place::Here(from), Place::There { target, path }) => {
            let sum = archive::sum(&from).with_context(|| format!("reading {}", from.display()))?;
            let source = Source::choose(&arguments.login, &arguments.cluster).await?;
            let target = target.known(&source).await?;
            send(&source, &from, (&target, &path), progress.of(sum)).await
        }
        (Place::There { target, path }, Place::Here(to)) => {
            let source = Source::choose(&arguments.login, &arguments.cluster).await?;
            let target = target.known(&source).await?;
            fetch(&source, (&target, &path), &to, progress).await
        }
        (Place::Here(_), Place::Here(_)) => {
            Err(Failure::usage("say a workspace or a job on one side, such as desk:/work or job/train:/work")
                .into())
        }
        (Place::There { .. }, Place::There { .. }) => {
            Err(Failure::usage("one side has to be here: copy through this machine in two steps").into())
        }
    }
}

/// What a path there is: looked up by its own shell, which also says whether there is a tar.
async fn look(source: &Source, target: &Target, path: &str) -> anyhow::Result<bool> {
    let script = "command -v tar >/dev/null || exit 96; if [ -d \"$1\" ]; then echo folder; fi";
    let command = ["/bin/sh", "-c", script, "sh", path].map(str::to_owned);
    let (ended, said) = output(source, target, &command).await?;
    match ended.code {
        Some(0) => Ok(said.trim() == "folder"),
        Some(96) => {
            let why = format!("the image of {target} has no tar, which maar cp needs: install it there");
            Err(Failure::failed(why).into())
        }
        _ => Err(Failure::failed(format!("cannot look into {target}: {}", ended.message)).into()),
    }
}

async fn send(
    source: &Source,
    from: &Path,
    (target, path): (&Target, &str),
    mut progress: Progress,
) -> anyhow::Result<()> {
    let folder = look(source, target, path).await?;
    let own = from.canonicalize().with_context(|| format!("reading {}", from.display()))?;
    let own = own.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let (parent, name) = if folder || path.ends_with('/') {
        (path.to_owned(), own.ok_or_else(|| Failure::usage("say a name for what is copied"))?)
    } else {
        split(path)?
    };
    let command = ["tar", "-x", "-f", "-", "-C", &parent].map(str::to_owned);
    let running = start(source, Asked { target, container: None, command: &command, screen: None }).await?;
    let Running { stdin, mut stdout, mut stderr, ended, .. } = running;
    let sending = async {
        let mut stdin = BufWriter::with_capacity(64 * 1024, stdin);
        let sent = archive::write(&mut stdin, from, &name, &mut progress).await;
        // A tar that has had enough says why, which is better than that it does not read.
        let ended = stdin.shutdown().await;
        sent.and_then(|skipped| ended.map(|()| skipped))
    };
    let (mut said, mut complaint) = (Vec::new(), Vec::new());
    let (sent, _, _) =
        tokio::join!(sending, stdout.read_to_end(&mut said), stderr.read_to_end(&mut complaint));
    let ended = ended.await?;
    progress.end();
    check(&ended, &complaint)?;
    whole(sent.with_context(|| format!("sending {}", from.display()))?)
}

async fn fetch(
    source: &Source,
    (target, path): (&Target, &str),
    to: &Path,
    mut progress: Progress,
) -> anyhow::Result<()> {
    look(source, target, path).await?;
    let (parent, name) = split(path.trim_end_matches('/'))?;
    let place: PathBuf = if to.is_dir() { to.join(&name) } else { to.to_owned() };
    if let Some(folder) = place.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
        return Err(Failure::usage(format!("there is no folder {}", folder.display())).into());
    }
    let command = ["tar", "-c", "-f", "-", "-C", &parent, "--", &name].map(str::to_owned);
    let running = start(source, Asked { target, container: None, command: &command, screen: None }).await?;
    let Running { stdin, mut stdout, mut stderr, ended, .. } = running;
    drop(stdin);
    let mut complaint = Vec::new();
    let taking = async {
        let taken = archive::read(&mut stdout, &name, &place, &mut progress).await;
        // The rest is read in any case, so that tar comes to its end.
        let _ = tokio::io::copy(&mut stdout, &mut tokio::io::sink()).await;
        taken
    };
    let (taken, _) = tokio::join!(taking, stderr.read_to_end(&mut complaint));
    let ended = ended.await?;
    progress.end();
    check(&ended, &complaint)?;
    whole(taken.with_context(|| format!("writing {}", place.display()))?)
}

fn check(ended: &super::run::Ended, complaint: &[u8]) -> anyhow::Result<()> {
    if ended.code == Some(0) {
        return Ok(());
    }
    let said = String::from_utf8_lossy(complaint);
    let said = said.lines().find(|line| !line.trim().is_empty()).unwrap_or(&ended.message);
    Err(Failure::failed(said.trim().to_owned()).into())
}

/// Fails if something was left out: a script that goes on would miss it.
fn whole(skipped: usize) -> anyhow::Result<()> {
    if skipped == 0 {
        return Ok(());
    }
    let why = format!("{skipped} symbolic links and special files were left out; all else was copied");
    Err(Failure::failed(why).into())
}
