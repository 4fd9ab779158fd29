//! The `maar` binary: parse, then call the command's function.

mod commands;

use clap::Parser as _;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| anyhow::anyhow!("a TLS provider was installed before main"))?;
    commands::run(commands::Cli::parse()).await
}
