//! When a CronJob is due.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// A schedule in a time zone.
#[derive(Debug)]
pub(crate) enum Schedule {
    Cron(Box<Cron>, TimeZone),
    Every(SignedDuration),
}

/// Why a schedule cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ScheduleError {
    #[error("invalid timeZone: {0:?}: {1}")]
    Zone(String, String),
    #[error("unparseable schedule: {0:?} : {1}")]
    Pattern(String, String),
}

impl Schedule {
    /// Reads a schedule; without a zone it is meant in UTC.
    pub(crate) fn parse(text: &str, zone: Option<&str>) -> Result<Self, ScheduleError> {
        let zone = match zone {
            Some(name) => {
                TimeZone::get(name).map_err(|error| ScheduleError::Zone(name.into(), error.to_string()))?
            }
            None => TimeZone::UTC,
        };
        let bad = |why: String| ScheduleError::Pattern(text.to_owned(), why);
        if let Some(period) = text.trim().strip_prefix("@every ") {
            return period_of(period.trim()).map(Self::Every).map_err(bad);
        }
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let cron = parser.parse(&text.trim().replace('?', "*")).map_err(|error| bad(error.to_string()))?;
        Ok(Self::Cron(Box::new(cron), zone))
    }

    /// The first time after another one.
    pub(crate) fn next(&self, after: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Every(period) => {
                let whole = Timestamp::from_second(after.as_second()).ok()?;
                whole.checked_add(*period).ok()
            }
            Self::Cron(cron, zone) => {
                let zoned = after.to_zoned(zone.clone());
                cron.find_next_occurrence(&zoned, false).ok().map(|next| next.timestamp())
            }
        }
    }

    /// How times of this schedule are written in its zone.
    pub(crate) fn local_text(&self, time: Timestamp) -> String {
        match self {
            Self::Cron(_, zone) if *zone != TimeZone::UTC => {
                time.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
            }
            _ => time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        }
    }
}

/// `1h30m`, at least a second.
fn period_of(text: &str) -> Result<SignedDuration, String> {
    let period: SignedDuration = text.parse().map_err(|error: jiff::Error| error.to_string())?;
    Ok(period.max(SignedDuration::from_secs(1)))
}

/// The latest time that is due, and whether suspiciously many were missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) time: Timestamp,
    pub(crate) many_missed: bool,
}

/// What is due at `now`, having last looked after `since`.
pub(crate) fn due(schedule: &Schedule, since: Timestamp, now: Timestamp) -> Option<Due> {
    let first = schedule.next(since).filter(|first| *first <= now)?;
    let Some(second) = schedule.next(first).filter(|second| *second <= now) else {
        return Some(Due { time: first, many_missed: false });
    };
    // Leap close to now instead of walking through every missed time.
    let between = second.duration_since(first).as_secs().max(1);
    let missed = now.duration_since(first).as_secs() / between + 1;
    let leap = SignedDuration::from_secs((missed - 2).max(0).saturating_mul(between));
    let mut latest = second.max(first.saturating_add(leap).unwrap_or(second));
    if schedule.next(latest.saturating_sub(SignedDuration::from_secs(1)).unwrap_or(latest)) != Some(latest) {
        // The leap landed between two times (schedules are not always even).
        latest = schedule.next(latest).filter(|next| *next <= now).unwrap_or(second);
    }
    while let Some(next) = schedule.next(latest).filter(|next| *next <= now) {
        latest = next;
    }
    Some(Due { time: latest, many_missed: missed > 100 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn patterns_zones_and_periods() {
        let next = |pattern: &str, zone: Option<&str>, after: &str| {
            Schedule::parse(pattern, zone).unwrap().next(at(after)).unwrap().to_string()
        };
        assert_eq!(next("*/15 * * * *", None, "2026-01-01T00:14:59Z"), "2026-01-01T00:15:00Z");
        assert_eq!(next("0 9 * * *", Some("Asia/Shanghai"), "2026-01-01T00:00:00Z"), "2026-01-01T01:00:00Z");
        assert_eq!(
            next("30 4 1,15 * 5", None, "2026-01-01T05:00:00Z"),
            "2026-01-02T04:30:00Z",
            "Friday or 15th"
        );
        assert_eq!(next("@hourly", None, "2026-01-01T00:00:00Z"), "2026-01-01T01:00:00Z");
        assert_eq!(next("@every 1h30m", None, "2026-01-01T00:00:00Z"), "2026-01-01T01:30:00Z");
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(matches!(Schedule::parse("nonsense", None), Err(ScheduleError::Pattern(..))));
        assert!(matches!(Schedule::parse("* * * * * *", None), Err(ScheduleError::Pattern(..))));
        assert!(matches!(Schedule::parse("* * * * *", Some("Moon/Base")), Err(ScheduleError::Zone(..))));
    }

    #[test]
    fn the_latest_missed_time_is_due() {
        let minutely = Schedule::parse("* * * * *", None).unwrap();
        let since = at("2026-01-01T00:00:30Z");
        assert_eq!(due(&minutely, since, at("2026-01-01T00:00:59Z")), None);
        let one = due(&minutely, since, at("2026-01-01T00:01:00Z")).unwrap();
        assert_eq!((one.time, one.many_missed), (at("2026-01-01T00:01:00Z"), false));
        let many = due(&minutely, since, at("2026-01-02T00:00:10Z")).unwrap();
        assert_eq!((many.time, many.many_missed), (at("2026-01-02T00:00:00Z"), true));
    }

    #[test]
    fn uneven_schedules_are_not_leapt_over() {
        let uneven = Schedule::parse("0 9,10 * * *", None).unwrap();
        let since = at("2026-01-01T00:00:00Z");
        let latest = |now: &str| due(&uneven, since, at(now)).unwrap().time.to_string();
        assert_eq!(latest("2026-01-05T08:00:00Z"), "2026-01-04T10:00:00Z");
        assert_eq!(latest("2026-01-05T09:30:00Z"), "2026-01-05T09:00:00Z");
    }
}
