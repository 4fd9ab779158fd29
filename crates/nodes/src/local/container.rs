//! One run of a container, from its preparation to its exit.

pub(super) mod prepare;

use std::{io, sync::Arc, time::Duration};

use bytes::Bytes;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Container;
use maar_streams::TerminalSize;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    process::Child,
    sync::mpsc,
};

use super::{
    exec::Entrance,
    hooks,
    log::{self, Output, Splitter, Writer},
    probe,
    process::{self, Pipes, Started},
    runtime::{Control, Entry, Inner},
};
use crate::{lifecycle::Report, pod::Pod};
use prepare::Prepared;

/// How much a termination message may hold.
const LONGEST_MESSAGE: usize = 4096;
/// After its process has ended, a container's output is read this long: a process that left the sandbox's first one
/// behind cannot hold a pipe open, but a slow disk can.
const LAST_OUTPUT: Duration = Duration::from_secs(2);

/// Something a container wrote.
#[derive(Debug, Clone)]
pub(super) struct Chunk {
    pub(super) output: Output,
    pub(super) bytes: Bytes,
}

/// Something for a container's input.
#[derive(Debug)]
pub(super) enum Input {
    Bytes(Bytes),
    Resize(TerminalSize),
    End,
}

/// Runs the container once and reports what happens. Returns when nothing of it is left.
pub(super) async fn run(inner: Arc<Inner>, pod: Arc<Pod>, position: usize, control: Arc<Control>) {
    let _done = control.done.clone().drop_guard();
    let report = |report| inner.report(&pod.uid, position, report);
    let now = || inner.options.clock.now();
    let prepared = match prepare::prepare(&inner, &pod, position, control.run).await {
        Ok(prepared) => prepared,
        Err(problem) => {
            return report(Report::Refused { at: now(), reason: problem.reason, message: problem.message });
        }
    };
    *control.entry.lock() = Some(Entry {
        variables: prepared.variables.clone(),
        working_dir: prepared.working_dir.clone(),
        stdin_once: prepared.container.stdin_once == Some(true),
    });
    if control.stop.borrow().is_some() || inner.shutdown.is_cancelled() {
        return;
    }
    let started = match prepared.invocation.clone().start(&inner.spawner).await {
        Ok(started) => started,
        Err(error) => {
            return report(Report::Refused {
                at: now(),
                reason: "RunContainerError",
                message: error.to_string(),
            });
        }
    };
    let since = now();
    report(Report::Started { at: since });
    let exit = supervise(&inner, &pod, position, &control, &prepared, started).await;
    let (code, reason, message) = prepared.verdict(exit, now(), since);
    report(Report::Exited { at: now(), code, reason, message });
}

/// Keeps the process company until it ends; returns its exit code.
async fn supervise(
    inner: &Arc<Inner>,
    pod: &Arc<Pod>,
    position: usize,
    control: &Arc<Control>,
    prepared: &Prepared,
    started: Started,
) -> i32 {
    let Started { mut child, pipes } = started;
    let number = child.id().unwrap_or(0);
    control.sandbox.send_replace(Some(number));
    let entrance =
        Entrance::new(inner.clone(), number, prepared.variables.clone(), prepared.working_dir.clone());
    let mut output = connect(pipes, control, &prepared.log);
    let company = async {
        // Not ready before its hook has run, as Kubernetes has it.
        hooks::after_start(&entrance, &prepared.container, number).await;
        probe::watch(inner, pod, position, &prepared.container, &entrance).await;
        std::future::pending::<()>().await;
    };
    let status = tokio::select! {
        status = child.wait() => status,
        () = company => child.wait().await,
        () = end_when_asked(inner, control, &entrance, prepared, number) => child.wait().await,
        () = inner.shutdown.cancelled() => {
            process::kill_sandbox(number);
            wait_or_kill(&mut child).await
        }
    };
    control.sandbox.send_replace(None);
    let drained = async { while output.join_next().await.is_some() {} };
    // Whatever is not read by then is lost with the pipes.
    let _ = tokio::time::timeout(LAST_OUTPUT, drained).await;
    status.map_or(255, process::exit_code)
}

async fn wait_or_kill(child: &mut Child) -> io::Result<std::process::ExitStatus> {
    if let Ok(status) = tokio::time::timeout(Duration::from_secs(5), child.wait()).await {
        return status;
    }
    child.start_kill()?;
    child.wait().await
}

/// Waits until somebody wants the container stopped, asks it to end, and kills it at the deadline. Returns after the
/// kill; the process may well be gone before.
async fn end_when_asked(
    inner: &Inner,
    control: &Control,
    entrance: &Entrance,
    prepared: &Prepared,
    number: u32,
) {
    let mut wishes = control.stop.subscribe();
    let Ok(deadline) = wishes.wait_for(Option::is_some).await.map(|wish| wish.unwrap_or(Timestamp::MIN))
    else {
        return std::future::pending().await;
    };
    let clock = &inner.options.clock;
    tokio::select! {
        () = hooks::before_stop(entrance, &prepared.container) => {}
        () = clock.sleep_until(Some(deadline)) => {}
    }
    if let Some(first) = process::inner(number) {
        process::signal(first, prepared.stop_signal);
    }
    loop {
        let deadline = wishes.borrow_and_update().unwrap_or(Timestamp::MIN);
        tokio::select! {
            () = clock.sleep_until(Some(deadline)) => break,
            changed = wishes.changed() => if changed.is_err() { break },
        }
    }
    process::kill_sandbox(number);
}

/// Sends what the process writes to its log and to attached clients, and what they type to the process.
fn connect(pipes: Pipes, control: &Arc<Control>, log: &Arc<Writer>) -> tokio::task::JoinSet<()> {
    let mut tasks = tokio::task::JoinSet::new();
    match pipes {
        Pipes::Plain { stdin, stdout, stderr } => {
            tasks.spawn(copy_output(stdout, Output::Stdout, control.clone(), log.clone()));
            tasks.spawn(copy_output(stderr, Output::Stderr, control.clone(), log.clone()));
            if let Some(mut stdin) = stdin {
                let mut typed = accept_input(control);
                tokio::spawn(control.done.clone().run_until_cancelled_owned(async move {
                    while let Some(Input::Bytes(bytes)) = next_bytes(&mut typed).await {
                        if stdin.write_all(&bytes).await.is_err() || stdin.flush().await.is_err() {
                            break;
                        }
                    }
                }));
            }
        }
        Pipes::Terminal { mut input, output } => {
            tasks.spawn(copy_output(output, Output::Stdout, control.clone(), log.clone()));
            let mut typed = accept_input(control);
            tokio::spawn(control.done.clone().run_until_cancelled_owned(async move {
                while let Some(item) = typed.recv().await {
                    let written = match item {
                        Input::Bytes(bytes) => input.write_all(&bytes).await,
                        Input::Resize(size) => {
                            process::resize(&input, size);
                            Ok(())
                        }
                        Input::End => break,
                    };
                    if written.is_err() {
                        break;
                    }
                }
            }));
        }
    }
    tasks
}

fn accept_input(control: &Control) -> mpsc::Receiver<Input> {
    let (sender, receiver) = mpsc::channel(16);
    *control.input.lock() = Some(sender);
    receiver
}

/// The next bytes; sizes mean nothing without a terminal.
async fn next_bytes(typed: &mut mpsc::Receiver<Input>) -> Option<Input> {
    loop {
        match typed.recv().await? {
            Input::Resize(_) => {}
            Input::End => return None,
            bytes @ Input::Bytes(_) => return Some(bytes),
        }
    }
}

async fn copy_output<R>(mut reader: R, output: Output, control: Arc<Control>, log: Arc<Writer>)
where
    R: AsyncRead + Unpin,
{
    let mut splitter = Splitter::default();
    let mut buffer = vec![0; 32 << 10];
    loop {
        // A terminal whose other end is closed reads as an error; that is its end.
        let count = match reader.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(count) => count,
        };
        let bytes = Bytes::copy_from_slice(&buffer[..count]);
        // Nobody attached is not an error.
        let _ = control.output.send(Chunk { output, bytes });
        let written = splitter.push(&buffer[..count], |line, complete| log.line(output, line, complete));
        if let Err(error) = written {
            tracing::warn!("writing a container's log: {error}");
        }
    }
    if let Err(error) = splitter.finish(|line, complete| log.line(output, line, complete)) {
        tracing::warn!("writing a container's log: {error}");
    }
}

impl Prepared {
    /// Exit code, reason and message as the status shows them.
    fn verdict(
        &self,
        code: i32,
        now: Timestamp,
        since: Timestamp,
    ) -> (i32, Option<&'static str>, Option<String>) {
        let said = self.message(code);
        // Bubblewrap says so itself when there is nothing to run.
        let quick = now.duration_since(since).as_secs() < 5;
        if quick
            && code == 1
            && let Some(line) = self.refusal()
        {
            return (128, Some("StartError"), Some(line));
        }
        (code, None, said)
    }

    fn message(&self, code: i32) -> Option<String> {
        let bytes = std::fs::read(&self.message_file).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST_MESSAGE)]).into_owned();
        let fall_back = policy(&self.container) == "FallbackToLogsOnError" && code != 0;
        let text = if text.is_empty() && fall_back { log::tail(&self.log_file) } else { text };
        (!text.is_empty()).then_some(text)
    }

    fn refusal(&self) -> Option<String> {
        let text = log::tail(&self.log_file);
        let line = text.lines().find(|line| line.starts_with("bwrap: "))?;
        Some(line.trim_start_matches("bwrap: ").to_owned())
    }
}

fn policy(container: &Container) -> &str {
    container.termination_message_policy.as_deref().unwrap_or("File")
}
