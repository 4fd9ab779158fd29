//! The `maar` binary: parse, then call the command's function.

mod commands;

use clap::Parser as _;

/// The embedded API server is mostly small allocations, from several threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| anyhow::anyhow!("a TLS provider was installed before main"))?;
    commands::run(commands::Cli::parse()).await
}
