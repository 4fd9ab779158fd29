//! What every part needs from outside: time, chance, and places for numbers and reports.

use std::sync::Arc;

use crate::{
    backoff::Dice,
    clock::{SharedClock, SystemClock},
    health::Health,
    metrics::Metrics,
};

/// Injected once per process, cloned to every task.
#[derive(Debug, Clone)]
pub struct Environment {
    /// The time of day.
    pub clock: SharedClock,
    /// Jitter and identifiers.
    pub dice: Dice,
    /// Where numbers go.
    pub metrics: Arc<Metrics>,
    /// Where loops report how they are.
    pub health: Health,
}

impl Environment {
    /// For a real process.
    pub fn real() -> Self {
        Self::new(Arc::new(SystemClock), Dice::from_entropy())
    }

    /// With a given time and chance, for tests and simulations.
    pub fn new(clock: SharedClock, dice: Dice) -> Self {
        Self { clock, dice, metrics: Arc::new(Metrics::new()), health: Health::default() }
    }

    #[cfg(test)]
    pub(crate) fn for_tests() -> Self {
        let clock = crate::clock::TokioClock::starting_at(jiff::Timestamp::UNIX_EPOCH);
        Self::new(Arc::new(clock), Dice::seeded(1))
    }
}
