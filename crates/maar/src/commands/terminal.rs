//! The terminal of whoever runs the command: how large it is, when that changes, and its settings, which come back exactly as
//! they were.

use std::io::stdin;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How large the screen is: columns and rows. Nothing where there is none, or it does not say.
pub(crate) fn size() -> Option<(u16, u16)> {
    let size = tcgetwinsize(stdin()).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then_some((size.ws_col, size.ws_row))
}

/// Tells of changes of its size.
#[derive(Debug)]
pub(crate) struct Changes(Option<Signal>);

impl Changes {
    /// From now on: to be made before the size is asked for, so that no change is lost between.
    pub(crate) fn begin() -> Self {
        Self(signal(SignalKind::window_change()).ok())
    }

    /// The next size.
    pub(crate) async fn next(&mut self) -> (u16, u16) {
        if let Some(signals) = &mut self.0 {
            while signals.recv().await.is_some() {
                if let Some(size) = size() {
                    return size;
                }
            }
        }
        std::future::pending().await
    }
}

/// Settings that were changed, and are again what they were when this is dropped.
#[must_use = "dropped at once it changes nothing"]
pub(crate) struct Changed(Termios);

impl Changed {
    /// A terminal that hands on each key as it is typed. Nothing where there is no terminal.
    pub(crate) fn raw() -> Option<Self> {
        Self::with(Termios::make_raw)
    }

    /// A terminal that does not show what is typed, but the end of the line.
    pub(crate) fn hidden() -> Option<Self> {
        Self::with(|settings| {
            settings.local_modes.remove(LocalModes::ECHO);
            settings.local_modes.insert(LocalModes::ECHONL);
        })
    }

    fn with(change: impl FnOnce(&mut Termios)) -> Option<Self> {
        let before = tcgetattr(stdin()).ok()?;
        let mut after = before.clone();
        change(&mut after);
        tcsetattr(stdin(), OptionalActions::Now, &after).ok()?;
        Some(Self(before))
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        // After what was written before is shown, as it was meant.
        let _ = tcsetattr(stdin(), OptionalActions::Drain, &self.0);
    }
}
