//! When work is ended for being forgotten: it ran for long, its cards idle, it waited for long, or it runs at night.
//!
//! Pure: a policy, what is known of a piece of work, and the time give a [`Verdict`]. Nothing is ended without a warning
//! that stood as long as the rule says, a warning is taken back when its reason is gone, and what is locked or kept is
//! left alone. A threshold that is missing cannot happen: the types demand them.

use jiff::{SignedDuration, Timestamp, civil, tz::TimeZone};
use maar_api::v1alpha1::{Account, CleanupRule, CleanupSpec, JobType, NightlyRule};

/// A night that was missed is made up for within this time; later, people are at work again.
pub(crate) const MAKE_UP: SignedDuration = SignedDuration::from_hours(6);

/// What is known of a job or a workspace.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Work {
    /// People sit in front of it: Jupyter, code-server, workspaces.
    pub interactive: bool,
    /// Its type, if it is a job or a workspace of such a type.
    pub job_type: Option<JobType>,
    /// Since when it runs; none if it does not.
    pub running_since: Option<Timestamp>,
    /// Since when it waits; none if it does not.
    pub waiting_since: Option<Timestamp>,
    /// Highest use in percent of each card of each of its Pods over the window of the rule. None where it is not known
    /// for the whole window: what is not measured is not idle.
    pub cards: Vec<Option<f64>>,
    /// Why no rule touches it, if so.
    pub kept: Option<Kept>,
    /// What people were told.
    pub warned: Option<Warning>,
    /// To end it is to suspend it: a workspace, which may go on in the morning.
    pub resumes: bool,
}

/// Why no rule touches a piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// Somebody said that it is to be kept.
    ForGood,
    /// It is locked or protected until then.
    Until(Timestamp),
    /// It is locked until a time that cannot be read: nothing is ended over a typing error.
    Unreadable(String),
}

/// A warning that was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Warning {
    /// Of which rule.
    pub rule: CleanupRule,
    /// When it will be ended.
    pub end: Timestamp,
}

/// What is to be done with a piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Leave,
    /// Nothing, because it is locked or kept.
    Kept(Kept),
    /// Tell people that it will be ended then.
    Warn(Warning),
    /// People are warned; wait.
    Warned(Warning),
    /// The reason of the warning is gone.
    TakeBack,
    /// End it.
    End(CleanupRule),
}

impl Verdict {
    /// What it is called in tables, with the rule and the end it is about.
    pub fn words(&self) -> (&'static str, Option<CleanupRule>, Option<Timestamp>) {
        match self {
            Self::Leave => ("leave", None, None),
            Self::Kept(_) => ("keep", None, None),
            Self::Warn(warning) => ("warn", Some(warning.rule), Some(warning.end)),
            Self::Warned(warning) => ("warned", Some(warning.rule), Some(warning.end)),
            Self::TakeBack => ("take-back", None, None),
            Self::End(rule) => ("end", Some(*rule), None),
        }
    }
}

/// The policy that holds for an account, and the account that has it: its own, or that of the nearest account above it.
pub fn policy_of<'a, A: AsRef<Account>>(name: &str, accounts: &'a [A]) -> Option<(&'a str, &'a CleanupSpec)> {
    let mut next = name;
    // No path to the root is longer than there are accounts; a cycle would be.
    for _ in 0..accounts.len() {
        let account =
            accounts.iter().map(AsRef::as_ref).find(|one| one.metadata.name.as_deref() == Some(next))?;
        if let Some(policy) = &account.spec.cleanup {
            return Some((account.metadata.name.as_deref()?, policy));
        }
        next = account.spec.parent.as_deref()?;
    }
    None
}

/// What a policy says of a piece of work.
pub fn judge(policy: &CleanupSpec, work: &Work, now: Timestamp) -> Verdict {
    if let Some(kept) = &work.kept {
        return if work.warned.is_some() { Verdict::TakeBack } else { Verdict::Kept(kept.clone()) };
    }
    let dues = [
        long_running(policy, work),
        idle(policy, work, now),
        waiting(policy, work),
        nightly(policy, work, now),
    ];
    let mut dues = dues.into_iter().flatten();
    let Some(warned) = work.warned else {
        let near = dues.filter(|due| due.is_near(now)).min_by_key(|due| due.end(now));
        return near
            .map_or(Verdict::Leave, |due| Verdict::Warn(Warning { rule: due.rule, end: due.end(now) }));
    };
    // Each rule has its own notice, so the warning of one is none of another.
    match dues.find(|due| due.rule == warned.rule) {
        Some(due) if now >= warned.end && now >= due.at => Verdict::End(due.rule),
        Some(due) if now < warned.end && due.is_near(now) => Verdict::Warned(warned),
        _ => Verdict::TakeBack,
    }
}

/// When a rule ends a piece of work, and how long before people are told.
struct Due {
    rule: CleanupRule,
    at: Timestamp,
    notice: SignedDuration,
}

impl Due {
    /// Whether people are to be told by now.
    fn is_near(&self, now: Timestamp) -> bool {
        later(now, self.notice) >= self.at
    }

    /// When it is ended if people are told now: nobody is ended without the whole notice.
    fn end(&self, now: Timestamp) -> Timestamp {
        self.at.max(later(now, self.notice))
    }
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

/// The first night since it runs; one that nobody was there for is made up for as long as it is night.
fn nightly(policy: &CleanupSpec, work: &Work, now: Timestamp) -> Option<Due> {
    let rule = policy.nightly.as_ref().filter(|_| work.resumes)?;
    let since = work.running_since?.max(now.saturating_sub(MAKE_UP).unwrap_or(now));
    let at = Nights::of(rule).ok()?.after(since)?;
    Some(Due { rule: CleanupRule::Nightly, at, notice: SignedDuration::from_mins(rule.warn_minutes) })
}

/// What the next night does with work that no rule is about now; for previews.
pub(crate) fn tonight(policy: &CleanupSpec, work: &Work, now: Timestamp) -> Option<Warning> {
    let due = nightly(policy, work, now).filter(|_| work.kept.is_none())?;
    Some(Warning { rule: due.rule, end: due.end(now) })
}

/// When the nights of a rule are.
struct Nights {
    time: civil::Time,
    zone: TimeZone,
}

impl Nights {
    /// The error names the field that cannot be read, and why.
    fn of(rule: &NightlyRule) -> Result<Self, (&'static str, String)> {
        let time = civil::Time::strptime("%H:%M", &rule.at);
        let time = time.map_err(|_| ("at", format!("{:?} is no time such as 23:30", rule.at)))?;
        let zone = TimeZone::get(&rule.time_zone);
        let zone =
            zone.map_err(|_| ("timeZone", format!("there is no time zone called {:?}", rule.time_zone)))?;
        Ok(Self { time, zone })
    }

    /// The first night after a time. Where clocks are put forward over it, it is when they have been.
    fn after(&self, time: Timestamp) -> Option<Timestamp> {
        let today = time.to_zoned(self.zone.clone()).date();
        let on =
            |day: civil::Date| Some(day.to_datetime(self.time).to_zoned(self.zone.clone()).ok()?.timestamp());
        on(today).filter(|night| *night > time).or_else(|| on(today.tomorrow().ok()?))
    }
}

/// What is wrong with a policy that the schema cannot say: the field, and why.
pub fn check_policy(policy: &CleanupSpec) -> Result<(), (String, String)> {
    let Some(rule) = &policy.nightly else { return Ok(()) };
    Nights::of(rule).map(drop).map_err(|(field, why)| (format!("nightly.{field}"), why))
}

pub(crate) fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
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

    fn warned(rule: CleanupRule, hour: i64) -> Warning {
        Warning { rule, end: hours(hour) }
    }

    #[test]
    fn long_runs_are_warned_and_then_ended() {
        let policy = policy();
        assert_eq!(judge(&policy, &running(), hours(71)), Verdict::Leave);
        let end = Warning { rule: CleanupRule::LongRunning, end: hours(96) };
        assert_eq!(judge(&policy, &running(), hours(72)), Verdict::Warn(end));
        let told = Work { warned: Some(end), ..running() };
        assert_eq!(judge(&policy, &told, hours(95)), Verdict::Warned(end));
        assert_eq!(judge(&policy, &told, hours(96)), Verdict::End(CleanupRule::LongRunning));
        let late = Verdict::Warn(Warning { rule: CleanupRule::LongRunning, end: hours(224) });
        assert_eq!(judge(&policy, &running(), hours(200)), late, "nobody is ended without a full warning");
        let desk = Work { interactive: true, ..running() };
        assert!(matches!(judge(&policy, &desk, hours(24)), Verdict::Warn(_)));
    }

    #[test]
    fn all_cards_of_all_pods_must_idle() {
        let policy = policy();
        let with = |cards: Vec<Option<f64>>| Work { cards, ..running() };
        let end = later(hours(2), SignedDuration::from_mins(30));
        let idle = Verdict::Warn(Warning { rule: CleanupRule::Idle, end });
        assert_eq!(judge(&policy, &with(vec![Some(0.0), Some(0.0)]), hours(2)), idle);
        for busy in [vec![Some(0.0), Some(3.0)], vec![Some(0.0), None], vec![]] {
            assert_eq!(judge(&policy, &with(busy), hours(2)), Verdict::Leave);
        }
        let again = Work { warned: Some(warned(CleanupRule::Idle, 3)), ..with(vec![Some(80.0)]) };
        assert_eq!(judge(&policy, &again, hours(3)), Verdict::TakeBack, "it is used again");
    }

    #[test]
    fn the_warning_of_one_rule_is_none_of_another() {
        let told = Work { warned: Some(warned(CleanupRule::Idle, 100)), ..running() };
        // It ran too long as well, which hid behind the other warning; that one asks for a day of notice.
        assert_eq!(judge(&policy(), &told, hours(100)), Verdict::TakeBack);
        let want = Verdict::Warn(Warning { rule: CleanupRule::LongRunning, end: hours(124) });
        assert_eq!(judge(&policy(), &running(), hours(100)), want);
    }

    #[test]
    fn a_warning_is_taken_back_at_once_when_the_end_has_moved() {
        let resumed = Work {
            running_since: Some(hours(90)),
            warned: Some(warned(CleanupRule::LongRunning, 96)),
            ..running()
        };
        assert_eq!(judge(&policy(), &resumed, hours(91)), Verdict::TakeBack);
    }

    #[test]
    fn waiting_is_for_the_named_types_and_locks_hold() {
        let policy = policy();
        let wait = |kind| Work { waiting_since: Some(START), job_type: Some(kind), ..Work::default() };
        assert!(matches!(judge(&policy, &wait(JobType::Jupyter), hours(1)), Verdict::Warn(_)));
        assert_eq!(judge(&policy, &wait(JobType::Single), hours(9)), Verdict::Leave);
        let kept = Work { kept: Some(Kept::ForGood), ..running() };
        assert_eq!(judge(&policy, &kept, hours(999)), Verdict::Kept(Kept::ForGood));
        let told = Work { warned: Some(warned(CleanupRule::LongRunning, 96)), ..running() };
        let locked = Work { kept: Some(Kept::Until(hours(100))), ..told.clone() };
        assert_eq!(judge(&policy, &locked, hours(99)), Verdict::TakeBack);
        assert_eq!(judge(&policy, &told, hours(101)), Verdict::End(CleanupRule::LongRunning));
    }

    #[test]
    fn at_night_workspaces_are_suspended_and_people_who_come_back_are_left_alone() {
        let policy: CleanupSpec = serde_json::from_value(
            json!({ "nightly": { "at": "23:00", "timeZone": "Asia/Shanghai", "warnMinutes": 30 } }),
        )
        .unwrap();
        let at = |text: &str| -> Timestamp { format!("2026-01-{text}Z").parse().unwrap() };
        let desk = |since: &str| Work { resumes: true, running_since: Some(at(since)), ..Work::default() };
        let told = Warning { rule: CleanupRule::Nightly, end: at("02T15:00:00") };
        let warned = |since: &str| Work { warned: Some(told), ..desk(since) };
        let day = "02T02:00:00";
        assert_eq!(judge(&policy, &desk(day), at("02T14:29:59")), Verdict::Leave);
        assert_eq!(tonight(&policy, &desk(day), at("02T03:00:00")), Some(told), "a preview looks ahead");
        assert_eq!(judge(&policy, &desk(day), at("02T14:30:00")), Verdict::Warn(told));
        assert_eq!(judge(&policy, &warned(day), at("02T14:59:59")), Verdict::Warned(told));
        assert_eq!(judge(&policy, &warned(day), at("02T15:00:00")), Verdict::End(CleanupRule::Nightly));
        assert_eq!(judge(&policy, &desk("02T15:30:00"), at("02T16:00:00")), Verdict::Leave, "he works late");
        assert_eq!(judge(&policy, &warned(day), at("02T20:59:00")), Verdict::End(CleanupRule::Nightly));
        assert_eq!(judge(&policy, &warned(day), at("02T21:00:01")), Verdict::TakeBack, "it is morning");
        let job = Work { resumes: false, ..desk(day) };
        assert_eq!(judge(&policy, &job, at("02T14:45:00")), Verdict::Leave, "jobs run at night");
        assert_eq!(
            tonight(&policy, &Work { kept: Some(Kept::ForGood), ..desk(day) }, at("02T03:00:00")),
            None
        );
    }

    #[test]
    fn nights_are_in_the_zone_of_the_people_and_what_is_wrong_is_named() {
        let rule = |at: &str, zone: &str| NightlyRule {
            at: at.to_owned(),
            time_zone: zone.to_owned(),
            warn_minutes: 0,
        };
        // The clocks of Berlin go forward in the night to 29 March 2026, from two to three.
        let nights = Nights::of(&rule("02:30", "Europe/Berlin")).unwrap();
        let night = nights.after("2026-03-28T12:00:00Z".parse().unwrap()).unwrap();
        assert_eq!(night.to_string(), "2026-03-29T01:30:00Z");
        assert_eq!(nights.after(night).unwrap().to_string(), "2026-03-30T00:30:00Z");
        for (at, zone, field) in [("25:00", "UTC", "nightly.at"), ("23:00", "Moon/Base", "nightly.timeZone")]
        {
            let policy = CleanupSpec { nightly: Some(rule(at, zone)), ..CleanupSpec::default() };
            assert_eq!(check_policy(&policy).unwrap_err().0, field);
        }
    }

    #[test]
    fn an_account_without_a_policy_has_that_of_its_parent() {
        let account = |name: &str, parent: Option<&str>, cleanup: Option<CleanupSpec>| {
            let spec = json!({ "parent": parent, "cleanup": cleanup });
            let object = json!({ "metadata": { "name": name }, "spec": spec });
            std::sync::Arc::new(serde_json::from_value::<Account>(object).unwrap())
        };
        let own = CleanupSpec { dry_run: true, ..CleanupSpec::default() };
        let accounts = [
            account("lab", None, Some(policy())),
            account("vision", Some("lab"), None),
            account("speech", Some("lab"), Some(own.clone())),
            account("x", Some("y"), None),
            account("y", Some("x"), None),
        ];
        assert_eq!(policy_of("vision", &accounts), Some(("lab", &policy())));
        assert_eq!(policy_of("speech", &accounts), Some(("speech", &own)));
        assert_eq!((policy_of("x", &accounts), policy_of("nobody", &accounts)), (None, None));
    }

    proptest! {
        #[test]
        fn nothing_ends_that_was_not_warned_or_is_kept(
            hour in 0_i64..500, keep: bool, rule in 0..3_usize, told in proptest::option::of(0_i64..500),
            percent in 0.0..100.0_f64,
        ) {
            let rule = [CleanupRule::LongRunning, CleanupRule::Idle, CleanupRule::Waiting][rule];
            let work = Work {
                kept: keep.then_some(Kept::ForGood), warned: told.map(|hour| warned(rule, hour)),
                cards: vec![Some(percent)], ..running()
            };
            let now = hours(hour);
            if let Verdict::End(ended) = judge(&policy(), &work, now) {
                prop_assert!(!keep && ended == rule && told.is_some_and(|at| hours(at) <= now));
            }
        }
    }
}
