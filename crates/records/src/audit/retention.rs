//! Taking out what is too old to keep, in the open.

use jiff::Timestamp;
use serde_json::json;

use super::{Actor, Entry, append};
use crate::database::{Lock, Query};
use crate::{AuditId, Error, Records, Result};

/// Entries removed in one transaction, so that others are not kept waiting.
const BATCH: i64 = 5000;

/// What to take out, and who says so.
#[derive(Debug, Clone)]
pub struct Retention {
    /// For the entry that tells of it.
    pub id: AuditId,
    /// Who asks for it.
    pub actor: Actor,
    /// What happened before this goes.
    pub before: Timestamp,
}

impl Records {
    /// Takes out entries from before a time, a few thousand at most, and writes down that it did; tells how many. To be
    /// called again, with another id, until it says 0.
    pub async fn retain_audit(&self, retention: &Retention, now: Timestamp) -> Result<u64> {
        if retention.before > now {
            return Err(Error::invalid("before", "it is in the future"));
        }
        let mut transaction = self.database.begin(Lock::Audit).await?;
        let permit = Query::new("INSERT INTO audit_permit (before_at) VALUES ($1)").bind(retention.before);
        transaction.write(permit).await?;
        let remove = Query::new(
            "DELETE FROM audit WHERE position IN \
             (SELECT position FROM audit WHERE at < $1 ORDER BY position LIMIT $2)",
        );
        let count = transaction.write(remove.bind(retention.before).bind(BATCH)).await?;
        transaction.write(Query::new("DELETE FROM audit_permit")).await?;
        if count == 0 {
            return Ok(0);
        }
        if !append(&mut transaction, &told(retention, count, now)).await? {
            return Err(Error::Conflict { field: "id".to_owned() });
        }
        transaction.commit().await?;
        Ok(count)
    }
}

fn told(retention: &Retention, count: u64, now: Timestamp) -> Entry {
    let mut entry =
        Entry::new(retention.id.clone(), now, retention.actor.clone(), "audit.retain", ("Audit", "log"));
    entry.after = Some(json!({"before": retention.before, "removed": count}));
    entry
}
