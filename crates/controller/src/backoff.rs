//! How long to wait before trying again: growing, bounded, and never in step with others.

use std::{
    collections::hash_map::RandomState,
    fmt,
    hash::{BuildHasher, Hasher},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use rand::{Rng, SeedableRng, rngs::StdRng};

/// Waiting times that double from `first` to `most`, of which the part `jitter` (0 to 1) is random.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backoff {
    /// The longest first wait.
    pub first: Duration,
    /// No wait is longer.
    pub most: Duration,
    /// How much of a wait is left to chance; 0.5 means between half of it and all of it.
    pub jitter: f64,
}

impl Backoff {
    /// For failing work on an object: from 200 ms to five minutes.
    pub const WORK: Self =
        Self { first: Duration::from_millis(200), most: Duration::from_mins(5), jitter: 0.5 };
    /// For lost connections: from half a second to half a minute.
    pub const CONNECTION: Self =
        Self { first: Duration::from_millis(500), most: Duration::from_secs(30), jitter: 0.5 };
    /// For a handful of quick retries inside one step: from 10 ms to a second.
    pub const QUICK: Self =
        Self { first: Duration::from_millis(10), most: Duration::from_secs(1), jitter: 0.5 };

    /// The wait after `failures` failures in a row (the first failure is number 1).
    pub fn delay(&self, failures: u32, dice: &Dice) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        let longest = self.first.saturating_mul(1 << doublings).min(self.most);
        longest.mul_f64(1.0 - self.jitter.clamp(0.0, 1.0) * dice.fraction())
    }
}

/// A shared source of randomness. Give it a seed and everything drawn from it repeats.
#[derive(Clone)]
pub struct Dice(Arc<Mutex<StdRng>>);

impl Dice {
    /// Repeatable randomness.
    pub fn seeded(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(StdRng::seed_from_u64(seed))))
    }

    /// Randomness from the operating system, for real processes.
    pub fn from_entropy() -> Self {
        // The standard library seeds its hash maps from the operating system.
        Self::seeded(RandomState::new().build_hasher().finish())
    }

    /// A number from 0 up to, but not including, 1.
    pub fn fraction(&self) -> f64 {
        self.0.lock().random()
    }

    /// Any number.
    pub fn number(&self) -> u64 {
        self.0.lock().random()
    }
}

impl fmt::Debug for Dice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Dice")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn waits_double_up_to_the_limit() {
        let steady = Backoff { jitter: 0.0, ..Backoff::CONNECTION };
        let dice = Dice::seeded(1);
        let waits: Vec<u128> = (1..9).map(|failures| steady.delay(failures, &dice).as_millis()).collect();
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
    }

    #[test]
    fn the_same_seed_gives_the_same_waits() {
        let draw = |seed| {
            let dice = Dice::seeded(seed);
            (1..20).map(|failures| Backoff::WORK.delay(failures, &dice)).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    proptest! {
        #[test]
        fn every_wait_keeps_its_bounds(failures: u32, seed: u64, jitter in 0.0..=1.0) {
            let backoff = Backoff { jitter, ..Backoff::WORK };
            let longest = Backoff { jitter: 0.0, ..backoff }.delay(failures, &Dice::seeded(0));
            let wait = backoff.delay(failures, &Dice::seeded(seed));
            prop_assert!(wait <= longest && longest <= backoff.most);
            prop_assert!(wait >= longest.mul_f64(1.0 - jitter));
        }
    }
}
