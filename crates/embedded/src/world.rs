//! Time, identifiers and randomness of one cluster, injected so that a seed decides a whole history.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The letters Kubernetes uses for generated name suffixes: no vowels, no look-alikes.
const SUFFIX_ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// What time it is for a cluster.
#[derive(Clone, Debug)]
pub struct Clock(ClockSource);

#[derive(Clone, Debug)]
enum ClockSource {
    Wall,
    /// Follows tokio's clock, so that a paused runtime pauses the cluster.
    Tokio {
        epoch: Timestamp,
        start: tokio::time::Instant,
    },
}

impl Clock {
    /// The machine's clock, for a cluster people use.
    pub fn wall() -> Self {
        Self(ClockSource::Wall)
    }

    /// A clock that starts at `epoch` and advances with tokio's clock. Must be called inside a runtime.
    pub fn simulated(epoch: Timestamp) -> Self {
        Self(ClockSource::Tokio { epoch, start: tokio::time::Instant::now() })
    }

    /// Whether time is simulated, so that everything else should follow from the seed too.
    pub(crate) fn is_simulated(&self) -> bool {
        matches!(self.0, ClockSource::Tokio { .. })
    }

    /// The current time.
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            #[expect(
                clippy::disallowed_methods,
                reason = "the one place where a cluster reads the wall clock"
            )]
            ClockSource::Wall => Timestamp::now(),
            ClockSource::Tokio { epoch, start } => {
                let elapsed = SignedDuration::try_from(start.elapsed()).unwrap_or(SignedDuration::MAX);
                epoch.saturating_add(elapsed).unwrap_or(Timestamp::MAX)
            }
        }
    }
}

/// Everything a cluster takes from outside itself.
#[derive(Clone, Debug)]
pub struct World {
    /// The cluster's time.
    pub clock: Clock,
    random: Arc<Mutex<ChaCha8Rng>>,
}

impl World {
    /// A world whose identifiers and choices follow from `seed`.
    pub fn new(clock: Clock, seed: u64) -> Self {
        Self { clock, random: Arc::new(Mutex::new(ChaCha8Rng::seed_from_u64(seed))) }
    }

    /// Now, as Kubernetes writes times: whole seconds.
    pub fn now_text(&self) -> String {
        seconds_text(self.clock.now())
    }

    /// A random (version 4) identifier.
    pub fn uid(&self) -> String {
        let mut bytes = [0u8; 16];
        self.random.lock().fill_bytes(&mut bytes);
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        let word = u128::from_be_bytes(bytes);
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            word >> 96,
            (word >> 80) & 0xffff,
            (word >> 64) & 0xffff,
            (word >> 48) & 0xffff,
            word & 0xffff_ffff_ffff
        )
    }

    /// The suffix appended to `generateName`.
    pub fn name_suffix(&self) -> String {
        let mut random = self.random.lock();
        (0..5).map(|_| char::from(SUFFIX_ALPHABET[random.random_range(0..SUFFIX_ALPHABET.len())])).collect()
    }

    /// A uniformly random number below `bound` (at least 1).
    pub fn below(&self, bound: u64) -> u64 {
        self.random.lock().random_range(0..bound.max(1))
    }

    /// Random bytes, for tokens.
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0u8; N];
        self.random.lock().fill_bytes(&mut bytes);
        bytes
    }
}

/// `2026-01-01T00:00:00Z`: the form of `metav1.Time`.
pub(crate) fn seconds_text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_simulated_clock_follows_tokio() {
        let clock = Clock::simulated(Timestamp::UNIX_EPOCH);
        tokio::time::sleep(std::time::Duration::from_hours(1)).await;
        assert_eq!(seconds_text(clock.now()), "1970-01-01T01:00:00Z");
    }

    #[test]
    fn one_seed_gives_one_sequence_of_identifiers() {
        let ids = |seed| {
            let world = World::new(Clock::wall(), seed);
            (world.uid(), world.name_suffix(), world.below(1000))
        };
        assert_eq!(ids(7), ids(7));
        assert_ne!(ids(7).0, ids(8).0);
        assert_eq!(ids(7).0.len(), 36);
    }
}
