//! When work is ended for being forgotten: it ran for long, its cards idle, or it waited for long.
//!
//! Pure: a policy, what is known of a piece of work, and the time give a [`Verdict`]. Nothing is ended without a warning
//! that stood as long as the rule says, a warning is taken back when its reason is gone, and what is locked or kept is
//! left alone. A threshold that is missing cannot happen: the types demand them.

use jiff::{SignedDuration, Timestamp};
use maar_api::v1alpha1::{Account, CleanupSpec, JobType};

/// What is known of a job or a workspace.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Work {
    /// People sit in front of it: Jupyter, code-server, workspaces.
    pub interactive: bool,
    /// Its type, if it is a job.
    pub job_type: Option<JobType>,
    /// Since when it runs; none if it does not.
    pub running_since: Option<Timestamp>,
    /// Since when it waits; none if it does not.
    pub waiting_since: Option<Timestamp>,
    /// Highest use in percent of each card of each of its Pods over the window of the rule. None where it is not known
    /// for the whole window: what is not measured is not idle.
    pub cards: Vec<Option<f64>>,
    /// Somebody said that it is to be kept.
    pub keep: bool,
    /// Until when it is locked or protected.
    pub locked_until: Option<Timestamp>,
    /// When it will be ended, according to a warning that was given.
    pub warned_for: Option<Timestamp>,
}

/// Which rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CleanupRule {
    /// It ran for long.
    LongRunning,
    /// Its cards idle.
    Idle,
    /// It waited for long.
    Waiting,
}

/// What is to be done with a piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Leave,
    /// Nothing, because it is locked or kept.
    Kept,
    /// Tell people that it will be ended then.
    Warn {
        /// Why.
        rule: CleanupRule,
        /// When it will be ended.
        end: Timestamp,
    },
    /// People are warned; wait.
    Warned {
        /// When it will be ended.
        end: Timestamp,
    },
    /// The reason of the warning is gone.
    TakeBack,
    /// End it.
    End {
        /// Why.
        rule: CleanupRule,
    },
}

/// The policy that holds for an account: its own, or that of the nearest account above it.
pub fn policy_of<'a>(name: &str, accounts: &'a [Account]) -> Option<&'a CleanupSpec> {
    let mut next = name.to_owned();
    // No path to the root is longer than there are accounts; a cycle would be.
    for _ in 0..accounts.len() {
        let account = accounts.iter().find(|one| one.metadata.name.as_ref() == Some(&next))?;
        if let Some(policy) = &account.spec.cleanup {
            return Some(policy);
        }
        next = account.spec.parent.clone()?;
    }
    None
}

/// What a policy says of a piece of work.
pub fn judge(policy: &CleanupSpec, work: &Work, now: Timestamp) -> Verdict {
    if work.keep || work.locked_until.is_some_and(|until| until > now) {
        return if work.warned_for.is_some() { Verdict::TakeBack } else { Verdict::Kept };
    }
    let dues = [long_running(policy, work), idle(policy, work, now), waiting(policy, work)];
    let Some(due) = dues.into_iter().flatten().min_by_key(|due| due.at) else {
        return if work.warned_for.is_some() { Verdict::TakeBack } else { Verdict::Leave };
    };
    match work.warned_for {
        Some(end) if now >= end && now >= due.at => Verdict::End { rule: due.rule },
        Some(end) if now < end => Verdict::Warned { end },
        // The warning was for another reason that has gone; this one is still ahead.
        Some(_) => Verdict::TakeBack,
        None if later(now, due.notice) >= due.at => {
            Verdict::Warn { rule: due.rule, end: due.at.max(later(now, due.notice)) }
        }
        None => Verdict::Leave,
    }
}

/// When a rule ends a piece of work, and how long before people are told.
struct Due {
    rule: CleanupRule,
    at: Timestamp,
    notice: SignedDuration,
}

fn long_running(policy: &CleanupSpec, work: &Work) -> Option<Due> {
    let rule = policy.long_running.as_ref()?;
    let hours = if work.interactive { rule.interactive_hours } else { rule.batch_hours };
    let at = later(work.running_since?, SignedDuration::from_hours(hours));
    Some(Due { rule: CleanupRule::LongRunning, at, notice: SignedDuration::from_hours(rule.warn_hours) })
}

fn idle(policy: &CleanupSpec, work: &Work, now: Timestamp) -> Option<Due> {
    let rule = policy.idle.as_ref()?;
    let window = SignedDuration::from_mins(rule.window_minutes);
    let seen = later(work.running_since?, window);
    #[expect(clippy::cast_precision_loss, reason = "a percentage is small")]
    let most = rule.percent as f64;
    let all =
        !work.cards.is_empty() && work.cards.iter().all(|use_| use_.is_some_and(|percent| percent <= most));
    (all && seen <= now).then(|| Due {
        rule: CleanupRule::Idle,
        at: seen,
        notice: SignedDuration::from_mins(rule.warn_minutes),
    })
}

fn waiting(policy: &CleanupSpec, work: &Work) -> Option<Due> {
    let rule = policy.waiting.as_ref()?;
    let meant = rule.types.is_empty() || work.job_type.is_some_and(|kind| rule.types.contains(&kind));
    let at = later(work.waiting_since.filter(|_| meant)?, SignedDuration::from_mins(rule.minutes));
    Some(Due { rule: CleanupRule::Waiting, at, notice: SignedDuration::from_mins(rule.warn_minutes) })
}

fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.saturating_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const START: Timestamp = Timestamp::constant(1_767_225_600, 0);

    fn hours(count: i64) -> Timestamp {
        later(START, SignedDuration::from_hours(count))
    }

    fn policy() -> CleanupSpec {
        serde_json::from_value(json!({
            "longRunning": { "batchHours": 96, "interactiveHours": 48, "warnHours": 24 },
            "idle": { "windowMinutes": 60, "percent": 0, "warnMinutes": 30 },
            "waiting": { "minutes": 60, "warnMinutes": 0, "types": ["Jupyter"] },
        }))
        .unwrap()
    }

    fn running() -> Work {
        Work { running_since: Some(START), cards: vec![Some(50.0)], ..Work::default() }
    }

    #[test]
    fn long_runs_are_warned_and_then_ended() {
        let policy = policy();
        assert_eq!(judge(&policy, &running(), hours(71)), Verdict::Leave);
        let want = Verdict::Warn { rule: CleanupRule::LongRunning, end: hours(96) };
        assert_eq!(judge(&policy, &running(), hours(72)), want);
        let warned = Work { warned_for: Some(hours(96)), ..running() };
        assert_eq!(judge(&policy, &warned, hours(95)), Verdict::Warned { end: hours(96) });
        assert_eq!(judge(&policy, &warned, hours(96)), Verdict::End { rule: CleanupRule::LongRunning });
        let late = Verdict::Warn { rule: CleanupRule::LongRunning, end: hours(224) };
        assert_eq!(judge(&policy, &running(), hours(200)), late, "nobody is ended without a full warning");
        let desk = Work { interactive: true, ..running() };
        assert!(matches!(judge(&policy, &desk, hours(24)), Verdict::Warn { .. }));
    }

    #[test]
    fn all_cards_of_all_pods_must_idle() {
        let policy = policy();
        let with = |cards: Vec<Option<f64>>| Work { cards, ..running() };
        let idle =
            Verdict::Warn { rule: CleanupRule::Idle, end: later(hours(2), SignedDuration::from_mins(30)) };
        assert_eq!(judge(&policy, &with(vec![Some(0.0), Some(0.0)]), hours(2)), idle);
        for busy in [vec![Some(0.0), Some(3.0)], vec![Some(0.0), None], vec![]] {
            assert_eq!(judge(&policy, &with(busy), hours(2)), Verdict::Leave);
        }
        let again = Work { warned_for: Some(hours(3)), ..with(vec![Some(80.0)]) };
        assert_eq!(judge(&policy, &again, hours(3)), Verdict::TakeBack, "it is used again");
    }

    #[test]
    fn waiting_is_for_the_named_types_and_locks_hold() {
        let policy = policy();
        let wait = |kind| Work { waiting_since: Some(START), job_type: Some(kind), ..Work::default() };
        assert!(matches!(judge(&policy, &wait(JobType::Jupyter), hours(1)), Verdict::Warn { .. }));
        assert_eq!(judge(&policy, &wait(JobType::Single), hours(9)), Verdict::Leave);
        let kept = Work { keep: true, ..running() };
        assert_eq!(judge(&policy, &kept, hours(999)), Verdict::Kept);
        let locked = Work { locked_until: Some(hours(100)), warned_for: Some(hours(96)), ..running() };
        assert_eq!(judge(&policy, &locked, hours(99)), Verdict::TakeBack);
        assert!(matches!(judge(&policy, &locked, hours(101)), Verdict::End { .. }));
    }

    #[test]
    fn an_account_without_a_policy_has_that_of_its_parent() {
        let account = |name: &str, parent: Option<&str>, cleanup: Option<CleanupSpec>| {
            let spec = json!({ "parent": parent, "cleanup": cleanup });
            serde_json::from_value::<Account>(json!({ "metadata": { "name": name }, "spec": spec })).unwrap()
        };
        let own = CleanupSpec { dry_run: true, ..CleanupSpec::default() };
        let accounts = [
            account("lab", None, Some(policy())),
            account("vision", Some("lab"), None),
            account("speech", Some("lab"), Some(own.clone())),
            account("x", Some("y"), None),
            account("y", Some("x"), None),
        ];
        assert_eq!(policy_of("vision", &accounts), Some(&policy()));
        assert_eq!(policy_of("speech", &accounts), Some(&own));
        assert_eq!((policy_of("x", &accounts), policy_of("nobody", &accounts)), (None, None));
    }

    proptest! {
        #[test]
        fn nothing_ends_that_was_not_warned_or_is_kept(
            hour in 0_i64..500, keep: bool, locked in proptest::option::of(0_i64..500),
            warned in proptest::option::of(0_i64..500), percent in 0.0..100.0_f64,
        ) {
            let work = Work {
                keep, locked_until: locked.map(hours), warned_for: warned.map(hours), cards: vec![Some(percent)],
                ..running()
            };
            let now = hours(hour);
            if let Verdict::End { .. } = judge(&policy(), &work, now) {
                prop_assert!(!keep && warned.is_some_and(|at| hours(at) <= now));
                prop_assert!(locked.is_none_or(|until| hours(until) <= now));
            }
        }
    }
}
