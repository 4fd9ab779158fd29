//! When a schedule is due.

use croner::{
    Cron,
    parser::{CronParser, Seconds, Year},
};
use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use maar_api::v1alpha1::ScheduleSpec;

/// How many missed times are walked through one by one.
const WALK: usize = 1000;

/// A schedule that was read.
#[derive(Debug)]
pub(crate) struct Schedule {
    cron: Cron,
    zone: TimeZone,
}

impl Schedule {
    /// Reads a schedule; the error says what is wrong with it.
    pub(crate) fn parse(spec: &ScheduleSpec) -> Result<Self, String> {
        let zone = TimeZone::get(&spec.time_zone)
            .map_err(|_| format!("there is no time zone called {:?}", spec.time_zone))?;
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let cron = parser
            .parse(spec.cron.trim())
            .map_err(|error| format!("the schedule {:?} cannot be read: {error}", spec.cron))?;
        Ok(Self { cron, zone })
    }

    /// The first time after another.
    pub(crate) fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let after = after.to_zoned(self.zone.clone());
        self.cron.find_next_occurrence(&after, false).ok().map(|next| next.timestamp())
    }

    /// The latest time after `since` and not after `now`.
    pub(crate) fn latest(&self, since: Timestamp, now: Timestamp) -> Option<Timestamp> {
        let mut latest = self.next(since).filter(|time| *time <= now)?;
        for _ in 0..WALK {
            match self.next(latest).filter(|time| *time <= now) {
                Some(next) => latest = next,
                None => return Some(latest),
            }
        }
        // Very many were missed, so times are close together: leap to the last hour of them.
        let close = now.saturating_sub(SignedDuration::from_hours(1)).unwrap_or(now);
        if close > latest { self.latest(close, now).or(Some(latest)) } else { Some(latest) }
    }
}

#[cfg(test)]
mod tests {
    use maar_api::v1alpha1::Concurrency;

    use super::*;

    fn schedule(cron: &str, zone: &str) -> Result<Schedule, String> {
        Schedule::parse(&ScheduleSpec {
            cron: cron.to_owned(),
            time_zone: zone.to_owned(),
            concurrency: Concurrency::Forbid,
            starting_deadline_seconds: None,
            history_limit: 3,
        })
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn times_are_meant_in_their_zone() {
        let nightly = schedule("30 2 * * *", "Europe/Berlin").unwrap();
        assert_eq!(nightly.next(at("2026-01-10T12:00:00Z")), Some(at("2026-01-11T01:30:00Z")));
        assert_eq!(nightly.next(at("2026-07-10T12:00:00Z")), Some(at("2026-07-11T00:30:00Z")));
    }

    #[test]
    fn of_many_missed_times_the_latest_counts() {
        let often = schedule("*/10 * * * *", "UTC").unwrap();
        let (since, now) = (at("2026-01-10T12:00:00Z"), at("2026-01-10T12:35:00Z"));
        assert_eq!(often.latest(since, now), Some(at("2026-01-10T12:30:00Z")));
        assert_eq!(often.latest(now, now), None);
        let minutely = schedule("* * * * *", "UTC").unwrap();
        assert_eq!(minutely.latest(since, at("2027-01-10T12:35:20Z")), Some(at("2027-01-10T12:35:00Z")));
    }

    #[test]
    fn nonsense_is_named() {
        assert!(schedule("61 * * * *", "UTC").unwrap_err().contains("61 * * * *"));
        assert!(schedule("* * * * *", "Mars/North").unwrap_err().contains("Mars/North"));
    }
}
