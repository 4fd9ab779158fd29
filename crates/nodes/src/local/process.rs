//! A sandbox that runs: its streams, its processes, its end.

use std::{
    io,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use rustix::process::{Pid, Signal};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::{
    sandbox::Sandbox,
    spawner::Spawner,
    terminal::{self, Keyboard, Screen},
    variables::DESCRIPTOR,
};

/// Setting up a sandbox takes milliseconds; a busy machine is given seconds.
const SETTLING_PAUSE: Duration = Duration::from_millis(5);
const SETTLING_LOOKS: u32 = 1000;

/// How a process's input and output are connected.
pub(super) enum Pipes {
    Plain { stdin: Option<ChildStdin>, stdout: ChildStdout, stderr: ChildStderr },
    Terminal { input: Keyboard, output: Screen },
}

/// A process that was started, with its pipes.
pub(super) struct Started {
    pub(super) child: Child,
    pub(super) pipes: Pipes,
}

/// How a process gets a terminal: as its input and output only, and whoever it starts takes it. A terminal has one session,
/// and one that was taken outside of a sandbox has groups of processes that nobody inside can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Handed {
    Nothing,
    /// Made outside of sandboxes.
    Terminal,
    /// Made in the sandbox that this process is in.
    TerminalWithin(u32),
}

/// What to start.
#[derive(Debug, Clone)]
pub(super) struct Invocation {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) handed: Handed,
    pub(super) stdin: bool,
    /// The file with its variables (see `variables`).
    pub(super) variables: Option<PathBuf>,
}

impl Invocation {
    /// Starts the process in a group of its own; it is killed when the returned child is dropped.
    pub(super) async fn start(self, spawner: &Spawner) -> io::Result<Started> {
        let this = self.opening();
        match this.handed {
            Handed::Nothing => this.start_plain(spawner).await,
            Handed::Terminal => this.start_terminal(None, spawner).await,
            Handed::TerminalWithin(process) => this.start_terminal(Some(process), spawner).await,
        }
    }

    /// With a shell before it that opens the file: what this process left open for one it starts, every other would get
    /// that is started at the same time.
    fn opening(mut self) -> Self {
        if let Some(file) = self.variables.take() {
            let program = std::mem::replace(&mut self.program, "/bin/sh".into());
            let opening = format!("exec \"$@\" {DESCRIPTOR}<\"$0\"");
            let text = |path: PathBuf| path.to_string_lossy().into_owned();
            self.arguments.splice(0..0, ["-c".to_owned(), opening, text(file), text(program)]);
        }
        self
    }

    async fn start_plain(self, spawner: &Spawner) -> io::Result<Started> {
        let mut child = spawner
            .spawn(move || {
                Command::new(&self.program)
                    .args(&self.arguments)
                    .env_clear()
                    .stdin(if self.stdin { Stdio::piped() } else { Stdio::null() })
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped())
                    .process_group(0)
                    .kill_on_drop(true)
                    .spawn()
            })
            .await?;
        let missing = || io::Error::other("a process was started without its pipes");
        let pipes = Pipes::Plain {
            stdin: child.stdin.take(),
            stdout: child.stdout.take().ok_or_else(missing)?,
            stderr: child.stderr.take().ok_or_else(missing)?,
        };
        Ok(Started { child, pipes })
    }

    async fn start_terminal(self, within: Option<u32>, spawner: &Spawner) -> io::Result<Started> {
        let (input, output, theirs) = terminal::open(within)?;
        let child = spawner
            .spawn(move || {
                let end = || theirs.try_clone().map(Stdio::from);
                Command::new(&self.program)
                    .args(&self.arguments)
                    .env_clear()
                    .stdin(end()?)
                    .stdout(end()?)
                    .stderr(end()?)
                    .process_group(0)
                    .kill_on_drop(true)
                    .spawn()
            })
            .await?;
        Ok(Started { child, pipes: Pipes::Terminal { input, output } })
    }
}

/// The exit code as containers have it: signals count from 128.
pub(super) fn exit_code(status: std::process::ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// The first process inside the sandbox of a bubblewrap process, as this machine numbers it.
pub(super) fn inner(bubblewrap: u32) -> Option<u32> {
    let path = format!("/proc/{bubblewrap}/task/{bubblewrap}/children");
    let children = std::fs::read_to_string(path).ok()?;
    children.split_whitespace().next()?.parse().ok()
}

/// Waits until the sandbox of a bubblewrap process is set up and its command runs in it: entering it before would lead
/// to a half-built place.
pub(super) async fn settled(bubblewrap: u32, sandbox: &Sandbox) -> Option<u32> {
    let makers = [Some(&sandbox.bubblewrap), sandbox.unshare.as_ref()].map(|path| path?.canonicalize().ok());
    for _ in 0..SETTLING_LOOKS {
        if let Some(first) = inner(bubblewrap) {
            let runs = std::fs::read_link(format!("/proc/{first}/exe"));
            if runs.is_ok_and(|runs| !makers.contains(&Some(runs))) {
                return Some(first);
            }
        } else if !Path::new(&format!("/proc/{bubblewrap}")).exists() {
            return None;
        }
        tokio::time::sleep(SETTLING_PAUSE).await;
    }
    inner(bubblewrap)
}

/// Whether the sandbox of a bubblewrap process has two user namespaces: one that bubblewrap is in, and one of its user.
pub(super) fn is_nested(bubblewrap: u32) -> bool {
    let of = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/user")).ok();
    of(&bubblewrap.to_string()) != of("self")
}

/// Sends a signal to a process; one that is gone needs none.
pub(super) fn signal(process: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Kills a process, what it has led into a sandbox, and everything in its group.
pub(super) fn kill_group(leader: u32) {
    if let Some(inside) = inner(leader) {
        signal(inside, Signal::KILL);
    }
    if let Some(pid) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        let _ = rustix::process::kill_process_group(pid, Signal::KILL);
    }
}

/// Ends a sandbox at once: its first process, and with that every process in it, then bubblewrap itself.
pub(super) fn kill_sandbox(bubblewrap: u32) {
    match inner(bubblewrap) {
        Some(first) => signal(first, Signal::KILL),
        None => signal(bubblewrap, Signal::KILL),
    }
}

/// The signal that `lifecycle.stopSignal` names.
pub(super) fn stop_signal(name: Option<&str>) -> Signal {
    match name.unwrap_or("SIGTERM") {
        "SIGINT" => Signal::INT,
        "SIGHUP" => Signal::HUP,
        "SIGQUIT" => Signal::QUIT,
        "SIGUSR1" => Signal::USR1,
        "SIGUSR2" => Signal::USR2,
        "SIGKILL" => Signal::KILL,
        _ => Signal::TERM,
    }
}
