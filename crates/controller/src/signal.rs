//! SIGTERM and SIGINT become a cancelled token.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Cancels `shutdown` on the first SIGTERM or SIGINT. A second one ends the process at once: somebody is waiting.
///
/// Must be called inside a runtime. The handlers are in place when this returns.
pub fn shutdown_on_signal(shutdown: CancellationToken) -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        // Not inside the macro: its arguments are not evaluated when the level is off.
        let name = received(&mut terminate, &mut interrupt).await;
        tracing::info!("{name} received, stopping");
        shutdown.cancel();
        let name = received(&mut terminate, &mut interrupt).await;
        tracing::warn!("{name} received again, ending without waiting");
        #[expect(clippy::exit, reason = "the second signal asks for exactly that")]
        std::process::exit(130);
    });
    Ok(())
}

async fn received(terminate: &mut Signal, interrupt: &mut Signal) -> &'static str {
    tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    }
}
