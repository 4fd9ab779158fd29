//! When a schedule is due.

use croner::{
    Cron,
    parser::{CronParser, Seconds, Year},
};
use jiff::{Timestamp, tz::TimeZone};
use maar_api::v1alpha1::ScheduleSpec;

/// A schedule that was read.
#[derive(Debug)]
pub(crate) struct Schedule {
    cron: Cron,
    zone: TimeZone,
}

impl Schedule {
    /// Reads a schedule; the error says what is wrong with it.
    pub(crate) fn parse(spec: &ScheduleSpec) -> Result<Self, String> {
        Self::new(&spec.cron, &spec.time_zone)
    }

    /// By a cron expression of five fields, in a time zone.
    pub(crate) fn new(cron: &str, zone: &str) -> Result<Self, String> {
        let zone = TimeZone::get(zone).map_err(|_| format!("there is no time zone called {zone:?}"))?;
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let cron = parser
            .parse(cron.trim())
            .map_err(|error| format!("the schedule {cron:?} cannot be read: {error}"))?;
        Ok(Self { cron, zone })
    }

    /// The first time after another.
    pub(crate) fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let after = after.to_zoned(self.zone.clone());
        self.cron.find_next_occurrence(&after, false).ok().map(|next| next.timestamp())
    }

    /// The latest time after `since` and not after `now`, found by halving, however many there were.
    pub(crate) fn latest(&self, since: Timestamp, now: Timestamp) -> Option<Timestamp> {
        let first_after =
            |second: i64| self.next(Timestamp::from_second(second).ok()?).filter(|time| *time <= now);
        // Times are whole minutes, so whole seconds tell them apart.
        let (mut early, mut late) = (since.as_second(), now.as_second());
        let mut latest = self.next(since).filter(|time| *time <= now)?;
        while late - early > 1 {
            let middle = early + (late - early) / 2;
            match first_after(middle) {
                Some(time) => (early, latest) = (middle, latest.max(time)),
                None => late = middle,
            }
        }
        Some(latest)
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
    fn the_latest_counts_also_where_times_are_dense_for_an_hour_and_then_none() {
        // A thousand of these are seventeen nights.
        let nightly = schedule("* 0 * * *", "UTC").unwrap();
        let (since, now) = (at("2026-01-10T12:00:00Z"), at("2026-03-10T15:00:00Z"));
        assert_eq!(nightly.latest(since, now), Some(at("2026-03-10T00:59:00Z")));
        let daily = schedule("0 3 * * *", "Europe/Berlin").unwrap();
        assert_eq!(daily.latest(at("2020-01-01T00:00:00Z"), now), Some(at("2026-03-10T02:00:00Z")));
        assert_eq!(daily.latest(at("2026-03-10T02:00:00Z"), now), None);
        // Half past two is left out in one night, and comes twice in another.
        let berlin = schedule("30 2 * * *", "Europe/Berlin").unwrap();
        let spring = berlin.latest(at("2026-03-28T12:00:00Z"), at("2026-03-29T12:00:00Z"));
        assert_eq!(
            spring,
            berlin.next(at("2026-03-28T12:00:00Z")).filter(|time| *time < at("2026-03-29T12:00:00Z"))
        );
        let autumn = at("2026-10-25T12:00:00Z");
        let last = berlin.latest(at("2026-10-24T12:00:00Z"), autumn).unwrap();
        assert_eq!(berlin.latest(last, autumn), None, "each time counts once");
    }

    #[test]
    fn nonsense_is_named() {
        assert!(schedule("61 * * * *", "UTC").unwrap_err().contains("61 * * * *"));
        assert!(schedule("* * * * *", "Mars/North").unwrap_err().contains("Mars/North"));
    }
}
