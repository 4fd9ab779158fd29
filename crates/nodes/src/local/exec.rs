//! Entering the sandbox of a running container.

use std::{io, path::PathBuf, sync::Arc, time::Duration};

use maar_streams::{BoxReader, BoxWriter, ExecSession, ExitStatus, StreamSet, TerminalSize};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader},
    sync::watch,
};
use tokio_util::sync::CancellationToken;

use super::{
    process::{self, Handed, Invocation, Pipes, Started},
    runtime::Inner,
    sandbox::WITHOUT_CAPABILITIES,
    terminal::{self, Keyboard},
    variables::DESCRIPTOR,
};
use crate::console::Terminal;

/// How much of what a probe or hook prints is kept.
const MOST_SAID: usize = 10 << 10;
/// What a pipe of Linux holds: more at once would have to wait, less at once costs more calls.
const PIPE: usize = 64 << 10;
/// A process that has ended may have left others behind that hold its output open: nothing for this long is its end.
const SILENCE: Duration = Duration::from_secs(2);

/// What an exec inside a hook or probe said.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) code: i32,
    pub(super) text: String,
}

/// The way into one run of a container.
#[derive(Clone)]
pub(super) struct Entrance {
    inner: Arc<Inner>,
    /// Process number of the sandbox.
    sandbox: u32,
    /// A script that sets the variables.
    variables: PathBuf,
    working_dir: String,
}

impl Entrance {
    pub(super) fn new(inner: Arc<Inner>, sandbox: u32, variables: PathBuf, working_dir: String) -> Self {
        Self { inner, sandbox, variables, working_dir }
    }

    async fn invocation(&self, command: &[String], streams: StreamSet) -> io::Result<Invocation> {
        let gone = || io::Error::new(io::ErrorKind::NotFound, "the container is not running");
        let first = process::settled(self.sandbox, &self.inner.sandbox).await.ok_or_else(gone)?;
        let mut arguments: Vec<String> = vec![format!("--target={first}")];
        let spaces = ["--preserve-credentials", "--mount", "--pid", "--uts", "--ipc"];
        arguments.extend(spaces.map(str::to_owned));
        if process::is_nested(self.sandbox) {
            // As root of the namespace that owns the others, and once in those as the user.
            let nsenter = self.inner.sandbox.nsenter.to_string_lossy().into_owned();
            arguments.extend([format!("--user=/proc/{}/ns/user", self.sandbox), "--".to_owned(), nsenter]);
            arguments.extend(["--target=1", "--user", "--preserve-credentials", "--"].map(str::to_owned));
        } else {
            arguments.extend(["--user", "--"].map(str::to_owned));
        }
        if streams.tty {
            let setsid = self.inner.sandbox.setsid.to_string_lossy().into_owned();
            arguments.extend([setsid, "--ctty".to_owned()]);
        }
        if let Some(setpriv) = &self.inner.sandbox.setpriv {
            arguments.push(setpriv.to_string_lossy().into_owned());
            arguments.extend(WITHOUT_CAPABILITIES.map(str::to_owned));
        }
        let terminal = if streams.tty { "export TERM=xterm-256color; " } else { "" };
        // The folder may have been removed; the root is always there.
        let script =
            format!(". /dev/fd/{DESCRIPTOR}; exec {DESCRIPTOR}<&-; {terminal}cd \"$0\" || cd /; exec \"$@\"");
        let folder = if self.working_dir.is_empty() { "/" } else { &self.working_dir };
        arguments.extend(["/bin/sh", "-c", &script, folder].map(str::to_owned));
        arguments.extend(command.iter().cloned());
        Ok(Invocation {
            program: self.inner.sandbox.nsenter.clone(),
            arguments,
            handed: if streams.tty { Handed::TerminalWithin(first) } else { Handed::Nothing },
            stdin: streams.stdin,
            variables: Some(self.variables.clone()),
        })
    }

    /// Runs a command for a client, with a real terminal if it asks for one.
    pub(super) async fn exec(&self, command: &[String], terminal: Terminal) {
        let Terminal { mut session, streams } = terminal;
        let started = match self.invocation(command, streams).await {
            Ok(invocation) => invocation.start(&self.inner.spawner).await,
            Err(error) => Err(error),
        };
        let Started { mut child, pipes } = match started {
            Ok(started) => started,
            Err(error) => return drop(session.finish(ExitStatus::Error(error.to_string())).await),
        };
        let number = child.id().unwrap_or(0);
        let closed = session.closed();
        let (size, sizes) = watch::channel(None);
        let exited = CancellationToken::new();
        let output = relay(pipes, &mut session, sizes, &exited);
        let resizing = async {
            while let Some(next) = session.resize.next().await {
                size.send_replace(Some(next));
            }
            std::future::pending::<()>().await;
        };
        let ended = tokio::select! {
            ended = async {
                let status = child.wait().await;
                exited.cancel();
                // What was written before the end must reach the client first, however slowly it reads.
                output.await;
                status
            } => Some(ended),
            () = resizing => None,
            () = closed.cancelled() => None,
            () = self.inner.shutdown.cancelled() => None,
        };
        drop(size);
        let status = match ended {
            Some(Ok(status)) => ExitStatus::from_code(process::exit_code(status)),
            Some(Err(error)) => ExitStatus::Error(error.to_string()),
            None => {
                process::kill_group(number);
                let _ = child.wait().await;
                ExitStatus::Code(137)
            }
        };
        // The client may be gone; then there is nobody to tell.
        let _ = session.finish(status).await;
    }

    /// Runs a command for a probe or a hook and collects what it says.
    pub(super) async fn ask(&self, command: &[String], patience: Duration) -> io::Result<Said> {
        let streams = StreamSet { stdout: true, stderr: true, ..StreamSet::default() };
        let Started { mut child, pipes } =
            self.invocation(command, streams).await?.start(&self.inner.spawner).await?;
        let number = child.id().unwrap_or(0);
        let Pipes::Plain { mut stdout, mut stderr, .. } = pipes else {
            return Err(io::Error::other("a probe was given a terminal"));
        };
        let work = async {
            let (mut out, err) = tokio::join!(hear(&mut stdout), hear(&mut stderr));
            out.extend(err);
            child.wait().await.map(|status| (process::exit_code(status), out))
        };
        let Ok(outcome) = tokio::time::timeout(patience, work).await else {
            process::kill_group(number);
            let message = format!("command timed out after {patience:?}");
            return Err(io::Error::new(io::ErrorKind::TimedOut, message));
        };
        let (code, bytes) = outcome?;
        Ok(Said { code, text: String::from_utf8_lossy(&bytes).trim().to_owned() })
    }
}

/// The beginning of what a process says; the rest is read and dropped, so that the process does not block.
async fn hear(from: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
    let (mut said, mut buffer) = (Vec::new(), vec![0; 4096]);
    while let Ok(count) = from.read(&mut buffer).await
        && count > 0
    {
        said.extend_from_slice(&buffer[..count.min(MOST_SAID - said.len())]);
    }
    said
}

/// Connects a process with a session; the returned future is done when the process has said everything.
fn relay(
    pipes: Pipes,
    session: &mut ExecSession,
    sizes: watch::Receiver<Option<TerminalSize>>,
    exited: &CancellationToken,
) -> impl Future<Output = ()> + Send + use<> {
    let (stdin, stdout, stderr) = (session.stdin.take(), session.stdout.take(), session.stderr.take());
    let mut outputs = tokio::task::JoinSet::new();
    match pipes {
        Pipes::Plain { stdin: to, stdout: from, stderr: from_err } => {
            if let (Some(typed), Some(mut to)) = (stdin, to) {
                tokio::spawn(async move {
                    let mut typed = BufReader::with_capacity(PIPE, typed);
                    // Ends with the client's input or with the process; dropping the pipe tells the process.
                    let _ = tokio::io::copy_buf(&mut typed, &mut to).await;
                });
            }
            outputs.spawn(pump(from, stdout, exited.clone()));
            outputs.spawn(pump(from_err, stderr, exited.clone()));
        }
        Pipes::Terminal { input, output } => {
            tokio::spawn(type_in(input, stdin, sizes));
            outputs.spawn(pump(output, stdout, exited.clone()));
        }
    }
    async move { while outputs.join_next().await.is_some() {} }
}

/// Passes on what is typed and how large the client's terminal is.
async fn type_in(
    mut input: Keyboard,
    mut typed: Option<BoxReader>,
    mut sizes: watch::Receiver<Option<TerminalSize>>,
) {
    let mut buffer = [0; 4096];
    let mut resizing = true;
    while resizing || typed.is_some() {
        tokio::select! {
            changed = sizes.changed(), if resizing => {
                resizing = changed.is_ok();
                if let Some(size) = *sizes.borrow_and_update() {
                    terminal::resize(&input, size);
                }
            }
            count = read(&mut typed, &mut buffer), if typed.is_some() => match count {
                Ok(count) if count > 0 => {
                    if input.write_all(&buffer[..count]).await.is_err() {
                        return;
                    }
                }
                _ => typed = None,
            },
        }
    }
}

async fn read(reader: &mut Option<BoxReader>, buffer: &mut [u8]) -> io::Result<usize> {
    match reader {
        Some(reader) => reader.read(buffer).await,
        None => std::future::pending().await,
    }
}

/// Copies what a process says; without a taker it is read and dropped, so that the process does not block.
async fn pump<R: AsyncRead + Unpin>(mut from: R, mut to: Option<BoxWriter>, exited: CancellationToken) {
    let mut buffer = vec![0; 32 << 10];
    loop {
        let silence = async {
            exited.cancelled().await;
            tokio::time::sleep(SILENCE).await;
        };
        let count = tokio::select! {
            // A terminal whose other end is closed reads as an error; that is its end.
            count = from.read(&mut buffer) => count.unwrap_or(0),
            () = silence => 0,
        };
        if count == 0 {
            return;
        }
        if let Some(writer) = &mut to
            && (writer.write_all(&buffer[..count]).await.is_err() || writer.flush().await.is_err())
        {
            to = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_late_misses_nothing_of_a_process_that_has_ended() {
        let (mut process, from) = tokio::io::duplex(PIPE);
        let (to, mut client) = tokio::io::duplex(16);
        process.write_all(&[7; 1000]).await.unwrap();
        let exited = CancellationToken::new();
        exited.cancel();
        // The other end stays open, as by a process that was left behind.
        tokio::spawn(pump(from, Some(Box::new(to)), exited));
        tokio::time::sleep(SILENCE * 30).await;
        let mut got = Vec::new();
        client.read_to_end(&mut got).await.unwrap();
        assert_eq!(got, [7; 1000]);
    }
}
