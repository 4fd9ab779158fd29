//! Why a policy does something, in sentences for people.

use jiff::{SignedDuration, Timestamp};
use maar_api::{
    names,
    v1alpha1::{CleanupRule, CleanupSpec, reasons},
};

use crate::policy::{Kept, Verdict, Work};

/// Why a warning is taken back, if nobody keeps the work.
pub(super) const GONE: &str = "the reason of the warning is gone";

/// Why the nightly rule is broken.
pub(super) const NIGHT: &str = "it runs, and its account suspends workspaces at night";

/// Why a policy says so.
pub(super) fn why(policy: &CleanupSpec, work: &Work, verdict: &Verdict, now: Timestamp) -> String {
    match verdict {
        Verdict::Leave => unknown(policy, work),
        Verdict::Kept(kept) => lock(kept),
        Verdict::Warn(warning) | Verdict::Warned(warning) => rule(policy, work, warning.rule, now),
        Verdict::End(ended) => rule(policy, work, *ended, now),
        Verdict::TakeBack => match &work.kept {
            Some(kept) => lock(kept),
            None => GONE.to_owned(),
        },
    }
}

/// Why the rule is broken.
fn rule(policy: &CleanupSpec, work: &Work, rule: CleanupRule, now: Timestamp) -> String {
    let since =
        |time: Option<Timestamp>| time.map_or_else(String::new, |time| span(now.duration_since(time)));
    match rule {
        CleanupRule::LongRunning => {
            let allowed = policy
                .long_running
                .as_ref()
                .map_or(0, |rule| if work.interactive { rule.interactive_hours } else { rule.batch_hours });
            let kind = if work.interactive { "interactive work" } else { "jobs" };
            format!("it has run for {}; {kind} may run for {allowed}h", since(work.running_since))
        }
        CleanupRule::Idle => {
            let (percent, minutes) =
                policy.idle.as_ref().map_or((0, 0), |rule| (rule.percent, rule.window_minutes));
            let count = work.cards.len();
            format!(
                "none of its cards ({count}) was used more than {percent} % in the last {minutes} minutes"
            )
        }
        CleanupRule::Waiting => {
            let allowed = policy.waiting.as_ref().map_or(0, |rule| rule.minutes);
            format!("it has waited for {}; it may wait for {allowed}m", since(work.waiting_since))
        }
        CleanupRule::Nightly => NIGHT.to_owned(),
    }
}

/// What is being ended says little more.
pub(crate) fn ending(rule: CleanupRule) -> String {
    match rule {
        CleanupRule::LongRunning => "it ran for longer than its account allows".to_owned(),
        CleanupRule::Idle => "its cards were not used".to_owned(),
        CleanupRule::Waiting => "it waited for longer than its account allows".to_owned(),
        CleanupRule::Nightly => "the nightly clean-up suspended it".to_owned(),
    }
}

/// Why something is suspended that its owner did not suspend, from the reason it gives.
pub(crate) fn suspended_by(reason: &str) -> Option<String> {
    match CleanupRule::of_reason(reason) {
        Some(rule) => Some(ending(rule)),
        None => (reason == reasons::MAX_RUN_TIME).then(|| "it ran longer than maxRunSeconds".to_owned()),
    }
}

fn lock(kept: &Kept) -> String {
    match kept {
        Kept::ForGood => format!("{} is true", names::ANNOTATION_KEEP),
        Kept::Until(time) => format!("it is locked until {time}"),
        Kept::Unreadable(text) => {
            format!(
                "{} is {text:?}, which is no time: nothing is ended over that",
                names::ANNOTATION_LOCKED_UNTIL
            )
        }
    }
}

/// What is left alone because too little is known.
fn unknown(policy: &CleanupSpec, work: &Work) -> String {
    let ignorant =
        policy.idle.is_some() && work.running_since.is_some() && work.cards.iter().any(Option::is_none);
    if ignorant { "the use of its cards is not known for the whole window".to_owned() } else { String::new() }
}

/// A time in hours and minutes.
fn span(time: SignedDuration) -> String {
    let minutes = time.as_mins().max(0);
    match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes}m"),
        (hours, 0) => format!("{hours}h"),
        (hours, minutes) => format!("{hours}h {minutes}m"),
    }
}
