//! A token bucket: a burst, then a steady rate.

use std::time::Duration;

use tokio::time::Instant;

#[derive(Debug, Clone)]
pub(super) struct Bucket {
    tokens: u32,
    burst: u32,
    refill: Duration,
    /// When the present number of tokens was right.
    at: Instant,
}

impl Bucket {
    /// `burst` at once, then one every `refill`.
    pub(super) fn new(burst: u32, refill: Duration, now: Instant) -> Self {
        Self { tokens: burst, burst, refill, at: now }
    }

    pub(super) fn take(&mut self, now: Instant) -> bool {
        self.fill(now);
        let taken = self.tokens > 0;
        self.tokens = self.tokens.saturating_sub(1);
        taken
    }

    /// Whether it is as good as new and need not be remembered.
    pub(super) fn is_full(&mut self, now: Instant) -> bool {
        self.fill(now);
        self.tokens == self.burst
    }

    fn fill(&mut self, now: Instant) {
        let gained = now.saturating_duration_since(self.at).as_nanos() / self.refill.as_nanos().max(1);
        let gained = u32::try_from(gained).unwrap_or(u32::MAX);
        self.tokens = self.tokens.saturating_add(gained).min(self.burst);
        self.at = if self.tokens == self.burst { now } else { self.at + self.refill * gained };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_then_the_rate() {
        let start = Instant::now();
        let mut bucket = Bucket::new(3, Duration::from_secs(10), start);
        let mut taken = |second: u64| bucket.take(start + Duration::from_secs(second));
        assert_eq!([taken(0), taken(0), taken(0), taken(0)], [true, true, true, false]);
        assert_eq!([taken(9), taken(10), taken(19), taken(20)], [false, true, false, true]);
        assert_eq!([taken(999), taken(999), taken(999), taken(999)], [true, true, true, false]);
        assert!(bucket.is_full(start + Duration::from_secs(2000)));
    }
}
