//! The `maar` binary: parse, then call the command's function.

mod commands;

use std::{io::Write as _, process::ExitCode};

use clap::Parser as _;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = commands::Cli::parse();
    let ended = match rustls::crypto::ring::default_provider().install_default() {
        Ok(()) => commands::run(cli).await,
        Err(_) => Err(anyhow::anyhow!("a TLS provider was installed before main")),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody listening any more is no reason to fall over.
            let _ = writeln!(std::io::stderr(), "Error: {error:?}");
            commands::exit_code(&error)
        }
    }
}
