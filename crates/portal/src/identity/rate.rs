//! How often somebody may ask.

use std::{collections::HashMap, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

/// So many are remembered.
const REMEMBERED: usize = 100_000;

/// How many at once, and how long each takes to be forgiven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rate {
    pub(crate) burst: u32,
    pub(crate) each: Duration,
}

/// Counts by name. What is kept is the time at which everything will be forgiven.
#[derive(Debug)]
pub(crate) struct Rates {
    rate: Rate,
    until: Mutex<HashMap<String, Instant>>,
}

impl Rates {
    pub(crate) fn new(rate: Rate) -> Self {
        Self { rate, until: Mutex::default() }
    }

    /// Counts one; seconds to wait if it is one too many.
    pub(crate) fn take(&self, who: &str, now: Instant) -> Result<(), u64> {
        let mut until = self.until.lock();
        if until.len() >= REMEMBERED {
            until.retain(|_, end| *end > now);
        }
        // More at once than can be remembered: better to forget than to grow without end.
        if until.len() >= REMEMBERED {
            until.clear();
        }
        let end = until.get(who).copied().unwrap_or(now).max(now) + self.rate.each;
        let most = self.rate.each * self.rate.burst;
        let over = end.saturating_duration_since(now).saturating_sub(most);
        if !over.is_zero() {
            return Err(over.as_secs() + 1);
        }
        until.insert(who.to_owned(), end);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn after_a_burst_one_waits_and_others_do_not() {
        let rates = Rates::new(Rate { burst: 3, each: Duration::from_secs(10) });
        let now = Instant::now();
        for _ in 0..3 {
            assert_eq!(rates.take("ada", now), Ok(()));
        }
        assert_eq!(rates.take("ada", now), Err(11));
        assert_eq!(rates.take("bob", now), Ok(()));
        let later = now + Duration::from_secs(10);
        assert_eq!(rates.take("ada", later), Ok(()));
        assert!(rates.take("ada", later).is_err());
    }
}
