//! Points at which a test lets something fail: all of them, or every eighth.
//!
//! Trying every write of a story takes minutes, and is what CI does, `cargo test`, and `make test` until it has passed once. After
//! a change `make test` says `MAAR_TEST_SAMPLE`, a number that differs from change to change, and so which eighth is tried, of few points one.

use std::ops::RangeInclusive;

/// Says that a part will do, and which.
const VARIABLE: &str = "MAAR_TEST_SAMPLE";
const EVERY: u64 = 8;

/// The points of a range that are tried.
pub fn sample(all: RangeInclusive<u64>) -> impl Iterator<Item = u64> {
    chosen(all, which())
}

/// Whether a part will do, for what has no points to choose from.
pub fn sampled() -> bool {
    which().is_some()
}

#[expect(clippy::disallowed_methods, reason = "tests learn how thorough to be by the environment")]
fn which() -> Option<u64> {
    let said = std::env::var(VARIABLE).ok();
    said.map(|said| said.parse().expect("MAAR_TEST_SAMPLE is a number"))
}

fn chosen(all: RangeInclusive<u64>, which: Option<u64>) -> impl Iterator<Item = u64> {
    let every = EVERY.min((all.end() + 1).saturating_sub(*all.start())).max(1);
    all.filter(move |point| which.is_none_or(|which| point % every == which % every))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_tried_by_one_sample_and_all_without_one() {
        let points = |last, which| chosen(1..=last, which).collect::<Vec<_>>();
        assert_eq!(points(20, None), (1..=20).collect::<Vec<_>>());
        assert_eq!(points(20, Some(5)), [5, 13]);
        assert_eq!(points(3, Some(5)), [2], "one of few");
        assert_eq!(points(0, Some(5)), [0_u64; 0]);
        for last in [1, 3, 8, 20] {
            let mut samples: Vec<u64> =
                (0..EVERY.min(last)).flat_map(|which| points(last, Some(which))).collect();
            samples.sort_unstable();
            assert_eq!(samples, points(last, None));
        }
    }
}
