//! Points at which a test lets something fail: all of them, or every fourth.
//!
//! Trying every write of a story takes minutes, and is what CI does, `cargo test`, and `make test` until it has passed once. After
//! a change `make test` says `MAAR_TEST_SAMPLE`, a number that differs from change to change, and so which fourth is tried.

use std::ops::RangeInclusive;

/// Says that a part will do, and which.
const VARIABLE: &str = "MAAR_TEST_SAMPLE";
const EVERY: u64 = 4;

/// The points of a range that are tried.
#[expect(clippy::disallowed_methods, reason = "tests learn how thorough to be by the environment")]
pub fn sample(all: RangeInclusive<u64>) -> impl Iterator<Item = u64> {
    let said = std::env::var(VARIABLE).ok();
    let which = said.map(|said| said.parse::<u64>().expect("MAAR_TEST_SAMPLE is a number"));
    chosen(all, which)
}

fn chosen(all: RangeInclusive<u64>, which: Option<u64>) -> impl Iterator<Item = u64> {
    all.filter(move |point| which.is_none_or(|which| point % EVERY == which % EVERY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_tried_by_one_sample_and_all_without_one() {
        let points = |which| chosen(1..=10, which).collect::<Vec<_>>();
        assert_eq!(points(None), (1..=10).collect::<Vec<_>>());
        assert_eq!(points(Some(5)), [1, 5, 9]);
        let mut samples: Vec<u64> = (0..4).flat_map(|which| points(Some(which))).collect();
        samples.sort_unstable();
        assert_eq!(samples, points(None));
    }
}
