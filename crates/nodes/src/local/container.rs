//! One run of a container, from its preparation to its exit.

pub(super) mod prepare;
mod verdict;

use std::{io, sync::Arc, time::Duration};

use bytes::Bytes;
use jiff::Timestamp;
use maar_streams::TerminalSize;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    process::Child,
    sync::{mpsc, watch},
};

use super::{
    exec::Entrance,
    hooks, limit,
    log::{Output, Splitter, Writer},
    probe,
    process::{self, Pipes, Started},
    runtime::{Control, Entry, Inner},
    terminal,
};
use crate::{
    clock::Clock,
    lifecycle::{Report, after},
    pod::Pod,
};
use prepare::Prepared;

/// After its process has ended, a container's output is read this long: a process that left the sandbox's first one
/// behind cannot hold a pipe open, but a slow disk can.
const LAST_OUTPUT: Duration = Duration::from_secs(2);
/// So long a container has to end once it was asked to, even if its hook took all of its grace or there is none.
const SHORTEST_NOTICE: Duration = Duration::from_secs(2);

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
    let (code, too_much) = supervise(&inner, &pod, position, &control, &prepared, started).await;
    let (code, reason, message) = if too_much {
        (137, Some("OOMKilled"), prepared.message(137))
    } else {
        prepared.verdict(code, now(), since)
    };
    report(Report::Exited { at: now(), code, reason, message });
}

/// Keeps the process company until it ends; returns its exit code, and whether it was killed for using too much memory.
async fn supervise(
    inner: &Arc<Inner>,
    pod: &Arc<Pod>,
    position: usize,
    control: &Arc<Control>,
    prepared: &Prepared,
    started: Started,
) -> (i32, bool) {
    let Started { mut child, pipes } = started;
    let number = child.id().unwrap_or(0);
    control.sandbox.send_replace(Some(number));
    let entrance =
        Entrance::new(inner.clone(), number, prepared.variables.clone(), prepared.working_dir.clone());
    let mut output = connect(pipes, control, &prepared.log);
    let tell = |report| inner.report(&pod.uid, position, report);
    let company = async {
        // Not ready before its hook has run, as Kubernetes has it.
        hooks::after_start(&entrance, &prepared.container, number, tell).await;
        Box::pin(probe::watch(inner, pod, position, &prepared.container, &entrance)).await;
        std::future::pending::<()>().await;
    };
    let mut too_much = false;
    let status = tokio::select! {
        status = child.wait() => status,
        () = company => child.wait().await,
        () = limit::exceeded(&prepared.container, number) => {
            too_much = true;
            process::kill_sandbox(number);
            child.wait().await
        }
        () = end_when_asked(inner, control, &entrance, prepared, number, tell) => child.wait().await,
        () = inner.shutdown.cancelled() => {
            process::kill_sandbox(number);
            wait_or_kill(&mut child).await
        }
    };
    control.sandbox.send_replace(None);
    let drained = async { while output.join_next().await.is_some() {} };
    // Whatever is not read by then is lost with the pipes.
    let _ = tokio::time::timeout(LAST_OUTPUT, drained).await;
    (status.map_or(255, process::exit_code), too_much)
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
    tell: impl Fn(Report),
) {
    let mut wishes = control.stop.subscribe();
    if wishes.wait_for(Option::is_some).await.is_err() {
        return std::future::pending().await;
    }
    let clock = &inner.options.clock;
    tokio::select! {
        () = hooks::before_stop(entrance, &prepared.container, tell) => {}
        () = time_is_up(clock, &mut wishes) => {}
    }
    if let Some(first) = process::inner(number) {
        process::signal(first, prepared.stop_signal);
    }
    let notice = after(clock.now(), SHORTEST_NOTICE);
    time_is_up(clock, &mut wishes).await;
    clock.sleep_until(Some(notice)).await;
    process::kill_sandbox(number);
}

/// Waits for the deadline, which may be moved closer meanwhile.
async fn time_is_up(clock: &Clock, wishes: &mut watch::Receiver<Option<Timestamp>>) {
    loop {
        let deadline = wishes.borrow_and_update().unwrap_or(Timestamp::MIN);
        tokio::select! {
            () = clock.sleep_until(Some(deadline)) => return,
            changed = wishes.changed() => if changed.is_err() { return },
        }
    }
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
                            terminal::resize(&input, size);
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
