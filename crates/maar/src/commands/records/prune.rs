//! `maar records prune`: for a CronJob.

use anyhow::Context as _;
use jiff::{SignedDuration, Timestamp};
use maar_controller::clock::{Clock as _, SystemClock};
use maar_records::{Keep, Purged, Records};

use super::DatabaseArgs;
use crate::commands::output::print;

/// What `maar records prune` can be told.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Keep audit entries for so many days; without it, for ever
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    audit_days: Option<u32>,
    /// Keep sessions that ended for so many days
    #[arg(long, value_name = "DAYS", default_value = "30", value_parser = clap::value_parser!(u32).range(..=36_500))]
    session_days: u32,
}

pub(super) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let records = Records::open_as_is(&arguments.database.records).await.context("opening the records")?;
    let (purged, entries) =
        prune(&records, arguments.audit_days, arguments.session_days, SystemClock.now()).await?;
    let Purged { sessions, attempts } = purged;
    print(&format!(
        "taken out: {entries} audit entries, {sessions} sessions, {attempts} counts of tries to log in\n"
    ));
    Ok(())
}

async fn prune(
    records: &Records,
    audit_days: Option<u32>,
    session_days: u32,
    now: Timestamp,
) -> anyhow::Result<(Purged, u64)> {
    let days = |days: u32| SignedDuration::from_hours(24 * i64::from(days));
    let keep = Keep { audit: audit_days.map(days), ended: days(session_days) };
    let id = format!("prune-{}", now.as_microsecond());
    records.prune(keep, ("maar records prune", &id), now).await.context("taking out what is old")
}

#[cfg(test)]
mod tests {
    use futures::TryStreamExt as _;
    use maar_records::{Actor, AuditFilter, AuditId, Entry};

    use super::*;

    async fn actions(records: &Records) -> Vec<String> {
        let entries: Vec<_> = records.export_audit(AuditFilter::default()).try_collect().await.unwrap();
        entries.into_iter().map(|one| one.entry.action).collect()
    }

    #[tokio::test]
    async fn entries_are_kept_for_the_days_asked_and_for_ever_without() {
        let records = Records::open("sqlite::memory:").await.unwrap();
        let day = |days: i64| Timestamp::from_second(86_400 * days).unwrap();
        for days in [1, 2, 3] {
            let id = AuditId::new(days.to_string());
            let entry =
                Entry::new(id, day(days), Actor::system("test"), format!("day-{days}"), ("Test", "x"));
            records.append_audit(&entry).await.unwrap();
        }
        assert_eq!(prune(&records, None, 30, day(100)).await.unwrap().1, 0);
        assert_eq!(prune(&records, Some(97), 30, day(100)).await.unwrap().1, 2);
        assert_eq!(actions(&records).await, ["day-3", "audit.retain"]);
    }
}
