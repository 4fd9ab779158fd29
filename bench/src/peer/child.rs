//! A server in a process of its own, as the real one is: this program once more, ended with this value.

use std::process::Stdio;

use anyhow::Context as _;
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use crate::client::{Address, Credentials, Door};

/// What a server says about itself when it is ready.
#[derive(Debug, Deserialize)]
struct Ready {
    authority: String,
    root: String,
    token: String,
}

/// A running server.
pub(crate) struct Child {
    process: tokio::process::Child,
    pub(crate) door: Door,
    pub(crate) pid: u32,
}

impl Child {
    /// Runs this program with other arguments until it says that it is ready.
    pub(crate) async fn start(arguments: &[&str]) -> anyhow::Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let output = process.stdout.take().context("a child without output")?;
        let line = BufReader::new(output).lines().next_line().await?;
        let line = line.with_context(|| format!("the server ({arguments:?}) ended before it was ready"))?;
        let Ready { authority, root, token } = serde_json::from_str(&line)?;
        let door = Door::tls(Address { authority, root, credentials: Credentials::token(&token)? })?;
        let pid = process.id().context("a child without a process")?;
        Ok(Self { process, door, pid })
    }

    /// Ends it and waits until it is gone.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        drop(self.process.stdin.take());
        self.process.wait().await?;
        Ok(())
    }
}
