//! The decisions of an election, without client, clock or randomness.

use std::time::Duration;

use tokio::time::Instant;

use super::Timing;

/// What a candidate knows.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) identity: String,
    pub(super) view: View,
    /// When the last successful write of the present term was sent; `None` when not leading.
    pub(super) renewed: Option<Instant>,
    /// Nothing needs to be sent before.
    pub(super) next_attempt: Instant,
}

/// The Lease as last seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum View {
    /// Not seen yet, or something happened since.
    Unknown,
    /// There is none.
    Absent,
    /// There is one.
    Present(Sight),
}

/// A Lease in one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sight {
    /// Who holds it; empty when released.
    pub(super) holder: String,
    /// How long its holder asked others to wait.
    pub(super) duration: Duration,
    /// Changes with every write.
    pub(super) version: String,
    /// When this version was first seen, on the local clock.
    pub(super) first_seen: Instant,
}

/// What to do now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    /// Look at the Lease.
    Read,
    /// Make it, held by this process.
    Create,
    /// Write this process into the version seen.
    Take,
    /// Write the time into the version seen.
    Renew,
    /// Nothing before then.
    Wait(Instant),
    /// The term is over.
    StandDown,
}

pub(super) fn decide(now: Instant, state: &State, timing: &Timing) -> Action {
    if let Some(deadline) = state.deadline(timing) {
        let taken = matches!(&state.view, View::Present(sight) if sight.holder != state.identity);
        if now >= deadline || taken {
            return Action::StandDown;
        }
    }
    if now < state.next_attempt {
        let deadline = state.deadline(timing).unwrap_or(state.next_attempt);
        return Action::Wait(state.next_attempt.min(deadline));
    }
    match &state.view {
        View::Absent => Action::Create,
        View::Present(sight) if state.renewed.is_some() => {
            debug_assert_eq!(sight.holder, state.identity);
            Action::Renew
        }
        View::Present(sight) if sight.is_free_for(&state.identity, now) => Action::Take,
        View::Unknown | View::Present(_) => Action::Read,
    }
}

impl Sight {
    fn is_free_for(&self, identity: &str, now: Instant) -> bool {
        self.holder.is_empty() || self.holder == identity || now >= self.first_seen + self.duration
    }
}

impl State {
    pub(super) fn new(identity: String, now: Instant) -> Self {
        Self { identity, view: View::Unknown, renewed: None, next_attempt: now }
    }

    /// When the present term ends unless it is renewed.
    pub(super) fn deadline(&self, timing: &Timing) -> Option<Instant> {
        self.renewed.map(|renewed| renewed + timing.renew_deadline)
    }

    /// A read answered. `retry` is how long to wait where there is nothing to do.
    pub(super) fn saw(&mut self, now: Instant, lease: Option<(String, Duration, String)>, retry: Duration) {
        let Some((holder, duration, version)) = lease else {
            self.view = View::Absent;
            return;
        };
        // Only a version that had not been seen restarts the wait.
        let first_seen = match &self.view {
            View::Present(before) if before.version == version => before.first_seen,
            _ => now,
        };
        let sight = Sight { holder, duration, version, first_seen };
        if !sight.is_free_for(&self.identity, now) {
            self.next_attempt = (now + retry).min(sight.first_seen + sight.duration);
        }
        self.view = View::Present(sight);
    }

    /// A write that was sent at `sent` succeeded: this process leads.
    pub(super) fn wrote(&mut self, sent: Instant, version: String, timing: &Timing, retry: Duration) {
        self.renewed = Some(sent);
        self.next_attempt = sent + retry;
        self.view = View::Present(Sight {
            holder: self.identity.clone(),
            duration: timing.lease_duration,
            version,
            first_seen: sent,
        });
    }

    /// Somebody else wrote first: look at once.
    pub(super) fn lost_race(&mut self, now: Instant) {
        self.forget();
        self.next_attempt = now;
    }

    /// A call failed, and whether it took effect is unknown: look again, but not at once.
    pub(super) fn failed(&mut self, now: Instant, retry: Duration) {
        if self.renewed.is_some() {
            // A leader must not trust the version it wrote over, and has a term to save.
            self.forget();
            self.next_attempt = now + retry / 4;
        } else {
            // A candidate keeps what it saw and since when.
            self.next_attempt = now + retry;
        }
    }

    /// The term is over.
    pub(super) fn stood_down(&mut self, now: Instant, retry: Duration) {
        self.renewed = None;
        self.next_attempt = now + retry;
    }

    fn forget(&mut self) {
        self.view = View::Unknown;
    }
}

#[cfg(test)]
mod tests;
