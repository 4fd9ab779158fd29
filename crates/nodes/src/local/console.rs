//! Logs, exec, attach and ports of local containers.

use std::{io, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::{FutureExt, future::BoxFuture, stream};
use jiff::Timestamp;
use maar_streams::{BoxReader, BoxWriter, ExitStatus, LogOptions, dial::BoxedIo};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::{
        broadcast::{self, error::RecvError},
        mpsc,
    },
};

use super::{
    container::{Chunk, Input},
    exec::Entrance,
    log::{Output, Reader},
    process,
    runtime::{Control, LocalRuntime, log_path},
    usage,
};
use crate::{
    console::{Console, ConsoleError, LogText, Target, Terminal, Usage},
    pod::Pod,
};

/// How often a followed log is looked at.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(100);

/// See the module.
#[derive(Clone)]
pub(super) struct LocalConsole(pub(super) Arc<LocalRuntime>);

impl Console for LocalConsole {
    fn logs(&self, target: Target, options: LogOptions) -> BoxFuture<'static, Result<LogText, ConsoleError>> {
        let this = self.clone();
        async move { this.read_log(&target, options) }.boxed()
    }

    fn exec(&self, target: Target, command: Vec<String>, terminal: Terminal) -> BoxFuture<'static, ()> {
        let this = self.clone();
        async move {
            match this.entrance(&target) {
                Some(entrance) => entrance.exec(&command, terminal).await,
                None => refuse(terminal, "the container is not running").await,
            }
        }
        .boxed()
    }

    fn attach(&self, target: Target, terminal: Terminal) -> BoxFuture<'static, ()> {
        let this = self.clone();
        async move {
            match this.0.control(&target.pod.uid, target.position) {
                Some(control) if !control.done.is_cancelled() => join(control, terminal).await,
                _ => refuse(terminal, "the container is not running").await,
            }
        }
        .boxed()
    }

    fn connect(&self, _: Arc<Pod>, port: u16) -> BoxFuture<'static, io::Result<BoxedIo>> {
        async move {
            let stream = TcpStream::connect(("127.0.0.1", port)).await?;
            // What is carried was gathered already by whoever sent it.
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as BoxedIo)
        }
        .boxed()
    }

    fn usage(&self, target: &Target, now: Timestamp) -> Usage {
        let control = self.0.control(&target.pod.uid, target.position);
        let sandbox = control.and_then(|control| *control.sandbox.borrow());
        let used = sandbox.and_then(process::inner).map(usage::of_sandbox).unwrap_or_default();
        // The average since the start stands for the moment: nothing is kept between two questions.
        let age = target.run(false).map_or(0.0, |run| now.duration_since(run.since).as_secs_f64());
        Usage { cpu_cores: if age > 0.0 { used.cpu_seconds / age } else { 0.0 }, ..used }
    }
}

impl LocalConsole {
    fn entrance(&self, target: &Target) -> Option<Entrance> {
        let control = self.0.control(&target.pod.uid, target.position)?;
        let sandbox = (*control.sandbox.borrow())?;
        let entry = control.entry.lock().clone()?;
        Some(Entrance::new(self.0.0.clone(), sandbox, entry.variables, entry.working_dir))
    }

    fn read_log(&self, target: &Target, options: LogOptions) -> Result<LogText, ConsoleError> {
        let run = target.run(options.previous).ok_or_else(|| target.no_log(options.previous))?;
        let path = log_path(&self.0.0.folder(&target.pod.uid), target.container(), run.number);
        let control =
            self.0.control(&target.pod.uid, target.position).filter(|control| control.run == run.number);
        let follow = options.follow;
        let reader = Reader::new(path, options, self.0.0.options.clock.now());
        Ok(Box::pin(stream::unfold(Some((reader, control, true)), move |state| async move {
            let (mut reader, control, first) = state?;
            if !first {
                tokio::time::sleep(FOLLOW_INTERVAL).await;
            }
            // Whether it has ended is asked before reading, so that its last words are read.
            let ended = control.as_ref().is_none_or(|control| control.done.is_cancelled());
            let text = reader.read().map(Bytes::from);
            let more = follow && !ended && text.is_ok() && !reader.is_exhausted();
            let next = more.then_some((reader, control, false));
            Some((text, next))
        })))
    }
}

async fn refuse(terminal: Terminal, why: &str) {
    let _ = terminal.session.finish(ExitStatus::Error(why.to_owned())).await;
}

/// Joins the streams of a running container until it ends or the client goes.
async fn join(control: Arc<Control>, terminal: Terminal) {
    let Terminal { mut session, .. } = terminal;
    let closed = session.closed();
    let mut shown = Shown {
        output: control.output.subscribe(),
        stdout: session.stdout.take(),
        stderr: session.stderr.take(),
    };
    let input = control.input.lock().clone();
    let stdin_once = control.entry.lock().as_ref().is_some_and(|entry| entry.stdin_once);
    let typed = session.stdin.take();
    let typing = async {
        if let (Some(typed), Some(input)) = (typed, input.clone()) {
            type_in(typed, &input).await;
            if stdin_once {
                let _ = input.send(Input::End).await;
            }
        }
        std::future::pending::<()>().await;
    };
    let resizing = async {
        while let Some(size) = session.resize.next().await {
            if let Some(input) = &input {
                let _ = input.send(Input::Resize(size)).await;
            }
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = shown.show() => {}
        () = typing => {}
        () = resizing => {}
        () = closed.cancelled() => {}
        () = control.done.cancelled() => shown.rest().await,
    }
    drop(shown);
    let _ = session.finish(ExitStatus::Success).await;
}

async fn type_in(mut typed: BoxReader, input: &mpsc::Sender<Input>) {
    let mut buffer = [0; 4096];
    while let Ok(count) = typed.read(&mut buffer).await
        && count > 0
        && input.send(Input::Bytes(Bytes::copy_from_slice(&buffer[..count]))).await.is_ok()
    {}
}

/// What an attached client sees.
struct Shown {
    output: broadcast::Receiver<Chunk>,
    stdout: Option<BoxWriter>,
    stderr: Option<BoxWriter>,
}

impl Shown {
    /// Shows everything until the client cannot be reached any more.
    async fn show(&mut self) {
        loop {
            match self.output.recv().await {
                Ok(chunk) => {
                    if self.write(&chunk).await.is_err() {
                        return;
                    }
                }
                // Too slow: what was missed is in the log.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            }
        }
    }

    /// Shows what the container said last.
    async fn rest(&mut self) {
        while let Ok(chunk) = self.output.try_recv()
            && self.write(&chunk).await.is_ok()
        {}
    }

    async fn write(&mut self, chunk: &Chunk) -> io::Result<()> {
        let writer = match chunk.output {
            Output::Stdout => &mut self.stdout,
            Output::Stderr => &mut self.stderr,
        };
        let Some(writer) = writer else { return Ok(()) };
        writer.write_all(&chunk.bytes).await?;
        writer.flush().await
    }
}
