//! When keys are made, sign, and are forgotten.
//!
//! A new key is shown for a while before it signs, so that who keeps a copy of the keys has it by then. An old one is
//! shown until the last token that it can have signed has ended.

use jiff::{SignedDuration, Timestamp};

/// How long things last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    /// How long a key signs.
    pub(crate) signs: SignedDuration,
    /// How long it is shown before.
    pub(crate) ahead: SignedDuration,
    /// How long it is shown after: at least as long as a token lasts.
    pub(crate) after: SignedDuration,
}

/// What is to be done with keys.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The key that signs, by its place; none if there is none.
    pub(crate) signer: Option<usize>,
    /// One has to be made.
    pub(crate) make: bool,
    /// How many of the oldest are to be forgotten.
    pub(crate) forget: usize,
}

/// The plan for keys that were made at these times, the oldest first.
pub(crate) fn plan(keys: &[Timestamp], now: Timestamp, schedule: Schedule) -> Plan {
    let signs_from = |at: Timestamp| at.saturating_add(schedule.ahead).unwrap_or(Timestamp::MAX);
    let passed = |at: Timestamp, for_long: SignedDuration| now.duration_since(at) >= for_long;
    // Where none has been shown for long enough, the oldest has been for longest.
    let current = keys.iter().rposition(|at| signs_from(*at) <= now);
    let signer = if keys.is_empty() { None } else { Some(current.unwrap_or(0)) };
    let make = keys.last().is_none_or(|newest| passed(*newest, schedule.signs));
    let forget = keys.iter().rposition(|at| passed(signs_from(*at), schedule.after)).unwrap_or(0);
    Plan { signer, make, forget }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SCHEDULE: Schedule = Schedule {
        signs: SignedDuration::from_hours(720),
        ahead: SignedDuration::from_hours(24),
        after: SignedDuration::from_hours(2),
    };

    fn at(hours: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_hours(hours)
    }

    #[test]
    fn a_key_is_shown_before_it_signs_and_after() {
        assert_eq!(plan(&[], at(0), SCHEDULE), Plan { signer: None, make: true, forget: 0 });
        let rows = [
            (vec![0], 1, Plan { signer: Some(0), make: false, forget: 0 }),
            (vec![0], 720, Plan { signer: Some(0), make: true, forget: 0 }),
            (vec![0, 720], 743, Plan { signer: Some(0), make: false, forget: 0 }),
            (vec![0, 720], 744, Plan { signer: Some(1), make: false, forget: 0 }),
            (vec![0, 720], 745, Plan { signer: Some(1), make: false, forget: 0 }),
            (vec![0, 720], 746, Plan { signer: Some(1), make: false, forget: 1 }),
        ];
        for (made, now, want) in rows {
            let made: Vec<Timestamp> = made.into_iter().map(at).collect();
            assert_eq!(plan(&made, at(now), SCHEDULE), want, "{made:?} at {now}");
        }
    }

    proptest! {
        /// However often the plan is followed: every token can be checked with a key that is shown for as long as it lasts.
        #[test]
        fn every_token_can_be_checked_until_it_ends(steps in proptest::collection::vec(0_i64..900, 1..60)) {
            let (mut now, mut keys, mut tokens) = (0_i64, Vec::<Timestamp>::new(), Vec::<(Timestamp, i64)>::new());
            for step in steps {
                now += step;
                let planned = plan(&keys, at(now), SCHEDULE);
                if planned.make {
                    keys.push(at(now));
                }
                keys.drain(..planned.forget);
                let signer = plan(&keys, at(now), SCHEDULE).signer.unwrap();
                tokens.retain(|(_, end)| *end > now);
                for (key, _) in &tokens {
                    prop_assert!(keys.contains(key));
                }
                tokens.push((keys[signer], now + 2));
            }
        }
    }
}
