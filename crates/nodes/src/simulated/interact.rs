//! The streams of an exec into a simulated container: a terminal's line discipline where there is no terminal.

use std::io;

use bytes::Bytes;
use futures::StreamExt;
use hyper_util::rt::TokioIo;
use maar_streams::{BoxReader, BoxWriter, ExitStatus, dial::BoxedIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::shell::{Outcome, Shell, Then};
use crate::console::{LogText, Terminal};

const PROMPT: &str = "/ # ";

/// Runs `command` and reports how it ended.
pub(crate) async fn exec(shell: &Shell, command: &[String], terminal: Terminal) {
    let Terminal { mut session, streams } = terminal;
    let closed = session.closed();
    let (stdin, stdout, stderr) = (session.stdin.take(), session.stdout.take(), session.stderr.take());
    let mut screen = Screen { stdin, stdout, stderr, tty: streams.tty, pending: Vec::new() };
    let code = tokio::select! {
        code = screen.play(shell, shell.run(command)) => code,
        // Nobody is there to be told.
        () = closed.cancelled() => return,
    };
    let status = match code {
        Ok(code) => ExitStatus::from_code(i32::from(code)),
        Err(error) => ExitStatus::Error(error.to_string()),
    };
    drop(screen);
    // The client may have left in the meantime.
    let _ = session.finish(status).await;
}

/// Sends what a container writes until it ends or the client goes.
pub(crate) async fn attach(mut text: LogText, terminal: Terminal) {
    let mut session = terminal.session;
    let closed = session.closed();
    let mut stdout = session.stdout.take();
    loop {
        let chunk = tokio::select! {
            chunk = text.next() => chunk,
            () = closed.cancelled() => return,
        };
        let Some(Ok(chunk)) = chunk else { break };
        if let Some(stdout) = &mut stdout
            && (stdout.write_all(&chunk).await.is_err() || stdout.flush().await.is_err())
        {
            return;
        }
    }
    drop(stdout);
    let _ = session.finish(ExitStatus::Success).await;
}

/// The other end of a port: says over HTTP that it is simulated.
pub(crate) fn listen(pod: &str, container: &str, port: u16) -> BoxedIo {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let text = format!("simulated container {container} of pod {pod} listens on port {port}\n");
    tokio::spawn(async move {
        let service = hyper::service::service_fn(move |_| {
            let body = http_body_util::Full::new(Bytes::from(text.clone()));
            std::future::ready(Ok::<_, std::convert::Infallible>(http::Response::new(body)))
        });
        let connection =
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(far), service);
        if let Err(error) = connection.await {
            tracing::debug!("a forwarded connection to a simulated port ended: {error}");
        }
    });
    Box::new(near)
}

/// What the client sees and types.
struct Screen {
    stdin: Option<BoxReader>,
    stdout: Option<BoxWriter>,
    stderr: Option<BoxWriter>,
    tty: bool,
    /// Typed but not read yet.
    pending: Vec<u8>,
}

impl Screen {
    /// Shows an outcome and does what is left to do; returns the exit code.
    async fn play(&mut self, shell: &Shell, outcome: Outcome) -> io::Result<u8> {
        self.show(&outcome).await?;
        match outcome.then {
            Then::Nothing | Then::Exit => Ok(outcome.code),
            Then::Sleep(time) => {
                tokio::time::sleep(time).await;
                Ok(outcome.code)
            }
            Then::Copy => {
                while let Some(line) = self.read_line(false).await? {
                    self.print(&line).await?;
                }
                Ok(0)
            }
            Then::Interact => self.interact(shell).await,
        }
    }

    async fn interact(&mut self, shell: &Shell) -> io::Result<u8> {
        let mut code = 0;
        loop {
            if self.tty {
                self.print(PROMPT).await?;
            }
            let Some(line) = self.read_line(true).await? else { return Ok(code) };
            let outcome = shell.line(line.trim_end_matches(['\r', '\n']));
            let ends = outcome.then == Then::Exit;
            code = match outcome.then {
                // A shell within a shell is the same shell.
                Then::Interact => outcome.code,
                _ => Box::pin(self.play(shell, outcome)).await?,
            };
            if ends {
                return Ok(code);
            }
        }
    }

    async fn show(&mut self, outcome: &Outcome) -> io::Result<()> {
        self.print(&outcome.stdout).await?;
        if outcome.stderr.is_empty() {
            return Ok(());
        }
        match &mut self.stderr {
            Some(stderr) => {
                stderr.write_all(outcome.stderr.as_bytes()).await?;
                stderr.flush().await
            }
            None => self.print(&outcome.stderr).await,
        }
    }

    async fn print(&mut self, text: &str) -> io::Result<()> {
        let Some(stdout) = &mut self.stdout else { return Ok(()) };
        if text.is_empty() {
            return Ok(());
        }
        let text = if self.tty { text.replace('\n', "\r\n") } else { text.to_owned() };
        stdout.write_all(text.as_bytes()).await?;
        stdout.flush().await
    }

    /// The next line with its end, or nothing when there is no more input. On a terminal, what is typed is echoed and
    /// can be corrected.
    async fn read_line(&mut self, editing: bool) -> io::Result<Option<String>> {
        let mut line = Vec::new();
        loop {
            let Some(byte) = self.next_byte().await? else {
                return Ok((!line.is_empty()).then(|| String::from_utf8_lossy(&line).into_owned()));
            };
            match byte {
                b'\n' => {
                    line.push(b'\n');
                    return Ok(Some(String::from_utf8_lossy(&line).into_owned()));
                }
                b'\r' if self.tty => {
                    self.print("\n").await?;
                    line.push(b'\n');
                    return Ok(Some(String::from_utf8_lossy(&line).into_owned()));
                }
                // Interrupt: a new line, or the end of what was only copying.
                3 if self.tty => {
                    self.print("^C\n").await?;
                    return Ok(editing.then(|| "\n".to_owned()));
                }
                4 if self.tty && line.is_empty() => return Ok(None),
                8 | 127 if self.tty => {
                    if line.pop().is_some() {
                        self.print("\u{8} \u{8}").await?;
                    }
                }
                _ => {
                    line.push(byte);
                    if self.tty {
                        self.echo(byte).await?;
                    }
                }
            }
        }
    }

    async fn echo(&mut self, byte: u8) -> io::Result<()> {
        let Some(stdout) = &mut self.stdout else { return Ok(()) };
        stdout.write_all(&[byte]).await?;
        stdout.flush().await
    }

    async fn next_byte(&mut self) -> io::Result<Option<u8>> {
        if self.pending.is_empty() {
            let Some(stdin) = &mut self.stdin else { return Ok(None) };
            let mut buffer = [0; 1024];
            let count = stdin.read(&mut buffer).await?;
            self.pending = buffer[..count].to_vec();
            self.pending.reverse();
        }
        Ok(self.pending.pop())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types `input` into a screen and returns what it shows and the exit code.
    async fn typed(input: &str, tty: bool, line: &str) -> (String, u8) {
        let (near, far) = tokio::io::duplex(4096);
        let shell = Shell { hostname: "p".into(), ..Shell::default() };
        let mut screen = Screen {
            stdin: Some(Box::new(io::Cursor::new(input.as_bytes().to_vec()))),
            stdout: Some(Box::new(far)),
            stderr: None,
            tty,
            pending: Vec::new(),
        };
        let code = screen.play(&shell, shell.line(line)).await.expect("plays");
        drop(screen);
        let mut shown = String::new();
        let mut near = near;
        near.read_to_string(&mut shown).await.expect("reads");
        (shown, code)
    }

    #[tokio::test]
    async fn a_shell_without_a_terminal_reads_lines() {
        assert_eq!(typed("hostname\necho hi\nexit 3\nhostname\n", false, "sh").await, ("p\nhi\n".into(), 3));
        assert_eq!(typed("false", false, "sh").await, (String::new(), 1));
    }

    #[tokio::test]
    async fn a_terminal_echoes_and_corrects() {
        let (shown, code) = typed("ecjo\u{7f}\u{7f}ho hi\rexit\r", true, "sh").await;
        assert!(shown.contains("hi\r\n"), "{shown:?}");
        assert!(shown.starts_with("/ # ecjo\u{8} \u{8}\u{8} \u{8}ho hi\r\n"), "{shown:?}");
        assert_eq!(code, 0);
        let (shown, _) = typed("x\u{3}\u{4}", true, "sh").await;
        assert!(shown.ends_with("/ # x^C\r\n/ # "), "{shown:?}");
    }

    #[tokio::test]
    async fn cat_copies_its_input() {
        assert_eq!(typed("a\nb", false, "cat").await, ("a\nb".into(), 0));
    }

    #[tokio::test(start_paused = true)]
    async fn sleeping_takes_its_time() {
        let before = tokio::time::Instant::now();
        assert_eq!(typed("", false, "sleep 1h").await.1, 0);
        assert_eq!(before.elapsed().as_secs(), 3600);
    }
}
