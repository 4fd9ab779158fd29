//! Terminals: a shell inside a Pod, for the owner of the work and nobody else.
//!
//! Start with `open`, which lets a request in, then `session`, which carries bytes between a WebSocket and the exec of
//! Kubernetes until one of them ends, nobody types any more, or the one who types may no longer. What is said besides
//! bytes is in `message`. What runs is the portal's to say, never the client's.

mod message;
mod open;
mod seat;
mod session;

use std::time::Duration;

pub(crate) use message::{Size, ended};
pub(crate) use open::{Place, TerminalQuery, open, socket};
pub(crate) use seat::{Seat, Seats};
pub(crate) use session::{container_of, terminal_size};

/// What terminals can be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalSettings {
    /// What runs in them: a program with its arguments.
    pub command: Vec<String>,
    /// How many one user may have open.
    pub most: usize,
    /// How long one stays open in which nobody types.
    pub idle: Duration,
    /// How often its browser is asked whether it is still there. One that does not answer for three times this long is
    /// taken for gone.
    pub ping: Duration,
}

impl Default for TerminalSettings {
    fn default() -> Self {
        Self {
            command: vec!["/bin/sh".to_owned(), "-l".to_owned()],
            most: 20,
            idle: Duration::from_hours(4),
            ping: Duration::from_secs(20),
        }
    }
}
