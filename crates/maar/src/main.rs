//! The `maar` binary: parse, then call the command's function.

mod commands;

use std::{io::Write as _, process::ExitCode};

use clap::Parser as _;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match run(commands::Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody listening any more is no reason to fall over.
            let _ = writeln!(std::io::stderr(), "Error: {}", commands::words(&error));
            commands::exit_code(&error)
        }
    }
}

fn run(cli: commands::Cli) -> anyhow::Result<()> {
    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| anyhow::anyhow!("a TLS provider was installed before main"))?;
    // One thread is enough for whoever waits for an API server, and it spends less: nothing is handed from core to core.
    let mut runtime = if cli.serves_many() {
        tokio::runtime::Builder::new_multi_thread()
    } else {
        tokio::runtime::Builder::new_current_thread()
    };
    runtime.enable_all().build()?.block_on(commands::run(cli))
}
