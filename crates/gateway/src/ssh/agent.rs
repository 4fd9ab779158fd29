//! The agent of a client (`ssh -A`): a socket in the Pod by which programs there ask it.
//!
//! Whoever is root in the container can use it as well, so it is there only where an administrator allows it and a session
//! asks for it, and for as long as one that asked lasts.

use std::sync::{Arc, Weak};

use russh::server::Handle;
use tokio::sync::Mutex as Turn;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{connection::Hall, remote::Remote};

/// What programs find the socket by.
pub(super) const VARIABLE: &str = "SSH_AUTH_SOCK";

/// The socket of a connection, if a session has it: all that ask share one.
#[derive(Default)]
pub(super) struct Agents(Turn<Weak<Agent>>);

/// A socket in the Pod, which is gone soon after nobody holds this any more.
pub(super) struct Agent {
    pub(super) path: String,
    stop: CancellationToken,
    #[expect(dead_code, reason = "held for what dropping it does")]
    guard: DropGuard,
}

impl Agents {
    /// The one that is there, else a new one. One whose Pod has ended meanwhile is none.
    pub(super) async fn get(&self, hall: &Arc<Hall>, handle: Handle) -> Result<Arc<Agent>, String> {
        let mut kept = self.0.lock().await;
        if let Some(agent) = kept.upgrade().filter(|agent| !agent.stop.is_cancelled()) {
            return Ok(agent);
        }
        let stop = hall.stop.child_token();
        let guard = stop.clone().drop_guard();
        // To its end even if nobody waits for it any more: a helper that is left alone on its way may leave its socket behind.
        let opening = hall.sessions.spawn(Remote::agent(Arc::clone(hall), handle, stop.clone()));
        let path = opening.await.map_err(|_| "making its socket broke off".to_owned())??;
        let agent = Arc::new(Agent { path, stop, guard });
        *kept = Arc::downgrade(&agent);
        Ok(agent)
    }
}

#[cfg(test)]
mod tests;
