//! `maar records audit export`.

use std::io::{ErrorKind, Write};

use anyhow::Context as _;
use futures::TryStreamExt as _;
use jiff::Timestamp;
use maar_records::{AuditFilter, Outcome, Records};

use super::DatabaseArgs;

/// What `maar records audit export` can be told.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Only from this time on, such as 2026-01-31T00:00:00Z
    #[arg(long, value_name = "TIME")]
    from: Option<Timestamp>,
    /// Only before this time
    #[arg(long, value_name = "TIME")]
    until: Option<Timestamp>,
    /// Only what somebody of this name did
    #[arg(long, value_name = "NAME")]
    actor: Option<String>,
    /// Only this action, such as workspace.create
    #[arg(long)]
    action: Option<String>,
    /// Only in this account
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// Only on this kind of object
    #[arg(long, value_name = "KIND")]
    object_kind: Option<String>,
    /// Only on the object of this name
    #[arg(long, value_name = "NAME")]
    object_name: Option<String>,
    /// Only what ended so
    #[arg(long, value_parser = outcome, value_name = "done|denied|failed")]
    outcome: Option<Outcome>,
}

fn outcome(text: &str) -> Result<Outcome, String> {
    let known = [Outcome::Done, Outcome::Denied, Outcome::Failed];
    let found = known.into_iter().find(|outcome| outcome.as_str() == text);
    found.ok_or_else(|| "it is done, denied or failed".to_owned())
}

impl From<Arguments> for AuditFilter {
    fn from(arguments: Arguments) -> Self {
        Self {
            actor_name: arguments.actor,
            action: arguments.action,
            object_kind: arguments.object_kind,
            object_name: arguments.object_name,
            account: arguments.account,
            outcome: arguments.outcome,
            from: arguments.from,
            until: arguments.until,
            ..Self::default()
        }
    }
}

pub(super) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let records = Records::open_as_is(&arguments.database.records).await.context("opening the records")?;
    write(&records, arguments.into(), &mut std::io::BufWriter::new(std::io::stdout())).await
}

/// Writes entries as they are read: an export need not fit in memory.
async fn write(records: &Records, filter: AuditFilter, to: &mut impl Write) -> anyhow::Result<()> {
    let mut entries = std::pin::pin!(records.export_audit(filter));
    while let Some(entry) = entries.try_next().await.context("reading the audit log")? {
        let line = serde_json::to_string(&entry)?;
        match writeln!(to, "{line}") {
            // Nobody listening any more (`| head`) is no reason to fall over.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            written => written.context("writing the audit log")?,
        }
    }
    match to.flush() {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context("writing the audit log"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use maar_records::{Actor, AuditId, Entry};

    use super::*;

    #[tokio::test]
    async fn entries_are_lines_of_json() {
        let records = Records::open("sqlite::memory:").await.unwrap();
        for (number, action) in ["user.create", "user.disable"].into_iter().enumerate() {
            let at = Timestamp::from_second(i64::try_from(number).unwrap()).unwrap();
            let id = AuditId::new(format!("entry-{number}"));
            let mut entry = Entry::new(id, at, Actor::system("test"), action, ("User", "alice"));
            entry.after = Some(serde_json::json!({"name": "alice"}));
            records.append_audit(&entry).await.unwrap();
        }
        let mut text = Vec::new();
        write(&records, AuditFilter::default(), &mut text).await.unwrap();
        insta::assert_snapshot!(String::from_utf8(text).unwrap());
    }

    #[test]
    fn an_outcome_is_one_of_three() {
        assert_eq!(outcome("denied"), Ok(Outcome::Denied));
        assert!(outcome("maybe").is_err());
    }
}
