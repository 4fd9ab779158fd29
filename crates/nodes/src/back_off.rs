//! Waits between attempts of a watch that fails: doubling, without chance, so that a seed decides a whole history.

use std::time::Duration;

use kube::runtime::utils::Backoff;

const START: Duration = Duration::from_millis(250);
const LIMIT: Duration = Duration::from_secs(30);

/// See the module.
#[derive(Debug)]
pub(crate) struct BackOff(Duration);

impl Default for BackOff {
    fn default() -> Self {
        Self(START)
    }
}

impl Iterator for BackOff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let wait = self.0;
        self.0 = (wait * 2).min(LIMIT);
        Some(wait)
    }
}

impl Backoff for BackOff {
    fn reset(&mut self) {
        self.0 = START;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_limit_and_start_anew() {
        let mut waits = BackOff::default();
        let millis: Vec<u128> = waits.by_ref().take(9).map(|wait| wait.as_millis()).collect();
        assert_eq!(millis, [250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
        waits.reset();
        assert_eq!(waits.next(), Some(START));
    }
}
