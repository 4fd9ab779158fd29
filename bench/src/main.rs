//! Measures the embedded cluster beside a real Kubernetes on the same machine, and beside raw limits.
//!
//! `make bench` runs it. Start reading at [`compare`], then the files in `scenario/`: each is one thing measured,
//! written once for every peer. docs/operations/benchmarks.md says what the figures mean.

mod cli;
mod client;
mod compare;
mod core;
mod desk;
mod kubeconfig;
mod limits;
mod memory;
mod packing;
mod peer;
mod pods;
mod portal;
mod process;
mod proxy;
mod report;
mod scenario;
mod scheduler;
mod serve;
mod ssh;
mod start;
mod statistics;
mod up;

use clap::Parser as _;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<std::process::ExitCode> {
    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| anyhow::anyhow!("a TLS provider was installed before main"))?;
    cli::run(&cli::Cli::parse())
}
