//! One session channel: a shell, a command or SFTP, carried to the Pod and back.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::Bytes;
use russh::{
    ChannelWriteHalf,
    server::{Handle, Msg},
};
use tokio::{sync::watch, time::interval};
use tokio_util::sync::CancellationToken;

use super::{
    agent::{self, Agent},
    command::{self, Setting},
    connection::Hall,
    helper,
    inlet::Inlet,
};
use crate::{
    hangup::{self, Ends, hang_up},
    pod::{Exit, Input, Output, Part, Place, in_time},
};

/// Between two signs of life to those between us and the Pod.
pub(super) const PING: Duration = Duration::from_mins(1);
/// How much of what waits goes to the Pod in one message.
const GATHERED: usize = 128 * 1024;
/// What standard error is called in SSH.
const STDERR: u32 = 1;
/// What a shell says of a program that cannot be run.
const NOT_RUN: u32 = 126;

pub(super) type Outlet = ChannelWriteHalf<Msg>;

/// What a client asks for.
#[derive(Debug)]
pub(super) enum Wish {
    Shell,
    Command(String),
    Sftp,
}

/// How large a terminal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) columns: u16,
    pub(super) rows: u16,
}

impl Size {
    /// From what a client says; nothing is 80 by 24.
    pub(super) fn of(columns: u32, rows: u32) -> Self {
        let fitting = |length: u32, usual: u16| match u16::try_from(length) {
            Ok(0) => usual,
            Ok(length) => length.min(2000),
            Err(_) => 2000,
        };
        Self { columns: fitting(columns, 80), rows: fitting(rows, 24) }
    }
}

/// What there is to carry.
pub(super) struct Session {
    pub(super) hall: Arc<Hall>,
    pub(super) wish: Wish,
    pub(super) variables: Vec<(String, String)>,
    /// The size of the terminal, if there is one.
    pub(super) sizes: Option<watch::Receiver<Size>>,
    /// By what its agent is reached, if the client wants it forwarded.
    pub(super) agent: Option<Handle>,
    pub(super) inlet: Inlet,
    pub(super) outlet: Outlet,
    pub(super) stop: CancellationToken,
    /// What the program writes to, and where; known once it has begun.
    pub(super) ends: OnceLock<(Place, Ends)>,
}

impl Session {
    /// Carries until the program or the client ends.
    pub(super) async fn serve(self) {
        let stop = self.stop.clone();
        let carried = stop.run_until_cancelled(self.carry()).await;
        let code = carried.as_ref().and_then(|exit| exit.code);
        self.hall.ended(code);
        if let Some(exit) = carried {
            // Who has left need not be told how it ended.
            let _ = stop.run_until_cancelled(farewell(&self.outlet, exit)).await;
        }
        let _ = self.outlet.close().await;
        // A channel that we close first is not heard of again.
        self.hall.forget(self.outlet.id());
        stop.cancel();
        if code.is_none() {
            self.hang_up().await;
        }
    }

    /// Ends a program whose client has left before it did.
    async fn hang_up(&self) {
        let Some((place, ends)) = self.ends.get() else { return };
        let telling = async {
            let (_input, mut output) = place.exec(&hang_up(ends), false).await?;
            output.text(0).await
        };
        if let Err(error) = in_time(telling).await {
            tracing::info!(why = reason(&error), "a program may go on after its client has left");
        }
    }

    async fn carry(&self) -> Exit {
        // Held until the program has ended.
        let agent = self.agent().await;
        let begun = match self.begin(agent.as_deref()).await {
            Ok(begun) => begun,
            Err(why) => {
                tracing::info!(why, "a session cannot begin");
                let _ = self.outlet.extended_data_bytes(STDERR, format!("maar: {why}\r\n")).await;
                return Exit { code: Some(NOT_RUN.cast_signed()), message: String::new() };
            }
        };
        let (input, output) = begun;
        tokio::select! {
            exit = show(&self.hall, &self.outlet, output) => exit,
            () = feed(&self.hall, &self.inlet, input, self.sizes.clone()) => std::future::pending().await,
        }
    }

    /// The client's agent, if he wants it forwarded. Programs begin without it, too.
    async fn agent(&self) -> Option<Arc<Agent>> {
        let handle = self.agent.clone().filter(|_| !matches!(self.wish, Wish::Sftp))?;
        match self.hall.agents.get(&self.hall, handle).await {
            Ok(agent) => Some(agent),
            Err(why) => {
                tracing::info!(why, "an agent cannot be forwarded");
                None
            }
        }
    }

    async fn begin(&self, agent: Option<&Agent>) -> Result<(Input, Output), String> {
        let place = self.hall.place()?;
        let size = self.sizes.as_ref().map(|sizes| *sizes.borrow());
        let mut variables = self.variables.clone();
        if let Some(agent) = agent {
            variables.push((agent::VARIABLE.to_owned(), agent.path.clone()));
            self.hall.agent_seen();
        }
        let setting = Setting { size, variables: &variables };
        let words = match &self.wish {
            Wish::Sftp => {
                let begun = helper::begin(&place, &["sftp"]).await;
                return begun.map_err(|error| reason(&error));
            }
            Wish::Shell => command::shell(setting),
            Wish::Command(command) => command::run(command, setting),
        };
        let opened = place.exec(&words, size.is_some()).await;
        let (input, mut output) = opened.map_err(|error| reason(&error))?;
        // Before anything is typed: a terminal would say it back, and that first.
        let told = output.line(hangup::SIGN).await.map_err(|error| reason(&error))?;
        if let Some(ends) = told.as_deref().and_then(Ends::read) {
            // It begins once.
            let _ = self.ends.set((place, ends));
        }
        Ok((input, output))
    }
}

/// An error with what caused it, in one line.
pub(super) fn reason(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}

/// Tells the client how it ended.
async fn farewell(outlet: &Outlet, exit: Exit) {
    let code = if let Some(code) = exit.code {
        u32::try_from(code).unwrap_or(255)
    } else {
        let _ = outlet.extended_data_bytes(STDERR, format!("maar: {}\r\n", exit.message)).await;
        255
    };
    let _ = outlet.exit_status(code).await;
    let _ = outlet.eof().await;
}

/// Carries what the program writes.
pub(super) async fn show(hall: &Hall, outlet: &Outlet, mut output: Output) -> Exit {
    loop {
        let part = match output.next().await {
            Ok(part) => part,
            Err(error) => return Exit { code: None, message: reason(&error) },
        };
        let sent = match part {
            Part::Stdout(bytes) => {
                hall.sent(bytes.len());
                outlet.data_bytes(bytes).await
            }
            Part::Stderr(bytes) => {
                hall.sent(bytes.len());
                outlet.extended_data_bytes(STDERR, bytes).await
            }
            Part::Ended(exit) => return exit,
        };
        if sent.is_err() {
            return Exit { code: None, message: "the client has left".to_owned() };
        }
    }
}

/// Carries what the client sends, until the program takes no more; its end is told elsewhere.
async fn feed(hall: &Hall, inlet: &Inlet, mut input: Input, mut sizes: Option<watch::Receiver<Size>>) {
    if let Some(sizes) = &mut sizes {
        sizes.mark_changed();
    }
    let mut ping = interval(PING);
    ping.reset();
    let (mut open, terminal) = (true, sizes.is_some());
    loop {
        let sent = tokio::select! {
            // The size first: what is typed may already ask for it.
            biased;
            Some(size) = changed(&mut sizes) => input.resize(size.columns, size.rows).await,
            parts = inlet.gather(GATHERED), if open => if parts.is_empty() {
                open = false;
                // Terminals have no end, only whoever types; a kubelet would take what the program writes away with it.
                if terminal { Ok(()) } else { input.end().await }
            } else {
                hall.received(parts.iter().map(Bytes::len).sum());
                input.send_all(&parts).await
            },
            _ = ping.tick() => input.ping().await,
        };
        if let Err(error) = sent {
            tracing::debug!(error = reason(&error), "a program takes no more");
            inlet.close();
            return;
        }
    }
}

/// The size when it has changed; nothing if it never will.
async fn changed(sizes: &mut Option<watch::Receiver<Size>>) -> Option<Size> {
    let sizes = sizes.as_mut()?;
    sizes.changed().await.ok()?;
    Some(*sizes.borrow_and_update())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_screens() {
        assert_eq!(Size::of(0, 0), Size { columns: 80, rows: 24 });
        assert_eq!(Size::of(132, 50), Size { columns: 132, rows: 50 });
        assert_eq!(Size::of(u32::MAX, 70_000), Size { columns: 2000, rows: 2000 });
    }
}
