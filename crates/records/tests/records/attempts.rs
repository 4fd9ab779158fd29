//! Tries to log in, counted for everybody together.

use jiff::SignedDuration;
use maar_records::{Attempt, AttemptLimit, Error, Purged, Records};
use proptest::prelude::*;

use crate::support::{World, at};

const LIMIT: AttemptLimit = AttemptLimit { burst: 5, every: SignedDuration::from_secs(10) };

on_both!(a_burst_is_allowed_and_then_one_in_each_interval, async |world: World| {
    let records = &world.records;
    for _ in 0..5 {
        assert_eq!(records.attempt_login("name:alice", LIMIT, at(0)).await.unwrap(), Attempt::Allowed);
    }
    let refused = |seconds| Attempt::Refused { retry_after: SignedDuration::from_secs(seconds) };
    assert_eq!(records.attempt_login("name:alice", LIMIT, at(0)).await.unwrap(), refused(10));
    assert_eq!(records.attempt_login("name:alice", LIMIT, at(9)).await.unwrap(), refused(1));
    assert_eq!(records.attempt_login("name:bob", LIMIT, at(9)).await.unwrap(), Attempt::Allowed);
    assert_eq!(records.attempt_login("name:alice", LIMIT, at(10)).await.unwrap(), Attempt::Allowed);
    assert_eq!(records.attempt_login("name:alice", LIMIT, at(10)).await.unwrap(), refused(10));
    records.forgive_login("name:alice").await.unwrap();
    assert_eq!(records.attempt_login("name:alice", LIMIT, at(10)).await.unwrap(), Attempt::Allowed);
});

on_both!(tries_at_once_over_several_replicas_count_together, async |world: World| {
    let other = Records::open(&world.url).await.unwrap();
    let tasks: Vec<_> = (0..60)
        .map(|number| {
            let records = if number % 2 == 0 { world.records.clone() } else { other.clone() };
            tokio::spawn(
                async move { records.attempt_login("address:192.0.2.1", LIMIT, at(0)).await.unwrap() },
            )
        })
        .collect();
    let mut allowed = 0;
    for task in tasks {
        allowed += usize::from(task.await.unwrap() == Attempt::Allowed);
    }
    assert_eq!(allowed, 5);
});

on_both!(a_limit_that_limits_nothing_is_refused, async |world: World| {
    let rows = [(0, 10), (5, 0), (5, -1), (u32::MAX, i64::MAX / 1_000_000)];
    for (burst, seconds) in rows {
        let limit = AttemptLimit { burst, every: SignedDuration::from_secs(seconds) };
        let error = world.records.attempt_login("x", limit, at(0)).await.unwrap_err();
        assert!(matches!(error, Error::Invalid { field: "limit", .. }), "{error}");
    }
});

on_both!(what_is_paid_off_is_taken_out, async |world: World| {
    let records = &world.records;
    records.attempt_login("a", LIMIT, at(0)).await.unwrap();
    records.attempt_login("b", LIMIT, at(5)).await.unwrap();
    assert_eq!(records.purge(at(0), at(10)).await.unwrap(), Purged { sessions: 0, attempts: 1 });
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// In any stretch of time there are never more than the burst and what the time allows.
    #[test]
    fn no_stretch_of_time_holds_more_than_the_limit(
        burst in 1u32..5,
        every in 1i64..20,
        steps in prop::collection::vec(0i64..15, 1..40),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let limit = AttemptLimit { burst, every: SignedDuration::from_secs(every) };
        let allowed: Vec<i64> = runtime.block_on(async {
            let records = Records::open("sqlite::memory:").await.unwrap();
            let (mut now, mut allowed) = (0, Vec::new());
            for step in steps {
                now += step;
                match records.attempt_login("x", limit, at(now)).await.unwrap() {
                    Attempt::Allowed => allowed.push(now),
                    Attempt::Refused { retry_after } => {
                        assert!(retry_after > SignedDuration::ZERO);
                        assert!(retry_after <= limit.every);
                    }
                }
            }
            allowed
        });
        for (index, first) in allowed.iter().enumerate() {
            for (count, last) in (1i64..).zip(&allowed[index..]) {
                prop_assert!(count <= i64::from(burst) + (last - first) / every, "{allowed:?}");
            }
        }
    }
}
