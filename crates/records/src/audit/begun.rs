//! What has begun: written before it is done, so that a process that dies in between loses no entry.

use jiff::Timestamp;

use super::{Entry, Outcome, append};
use crate::database::{Lock, Query, Transaction};
use crate::{AuditId, Error, Records, Result};

/// Entries closed in one transaction.
const BATCH: i64 = 500;
/// What the log says of what nobody lived to tell.
const LOST: &str = "the portal ended before it was known what became of it";

impl Records {
    /// Notes that what `entry` tells is about to be done. [`Records::append_audit`] with the same id takes the note away.
    pub async fn begin_audit(&self, entry: &Entry) -> Result<()> {
        entry.check()?;
        let text =
            serde_json::to_string(entry).map_err(|error| Error::invalid("entry", error.to_string()))?;
        let query = Query::new("INSERT INTO audit_begun (id, at, entry_json) VALUES ($1, $2, $3)");
        self.database.write(query.bind(&entry.id).bind(entry.at).bind(text)).await.map(|_| ())
    }

    /// Writes into the log what began before a time and never came to an end; tells how many. Whatever still goes on then
    /// must be left alone, so the time lies further back than anything lasts.
    pub async fn close_audit(&self, before: Timestamp) -> Result<u64> {
        let mut transaction = self.database.begin(Lock::Audit).await?;
        let query =
            Query::new("SELECT id, entry_json FROM audit_begun WHERE at < $1 ORDER BY at, id LIMIT $2");
        let rows = transaction.rows(query.bind(before).bind(BATCH)).await?;
        for row in &rows {
            let id = AuditId::new(row.text("id")?);
            let read = serde_json::from_str::<Entry>(&row.text("entry_json")?);
            let why = |error: serde_json::Error| Error::Damaged {
                field: "entry_json".to_owned(),
                why: error.to_string(),
            };
            let entry =
                Entry { outcome: Outcome::Unknown, detail: Some(LOST.to_owned()), ..read.map_err(why)? };
            append(&mut transaction, &entry).await?;
            forget(&mut transaction, &id).await?;
        }
        transaction.commit().await?;
        Ok(u64::try_from(rows.len()).unwrap_or(u64::MAX))
    }
}

/// It is in the log now.
pub(super) async fn forget(transaction: &mut Transaction, id: &AuditId) -> Result<()> {
    transaction.write(Query::new("DELETE FROM audit_begun WHERE id = $1").bind(id)).await.map(|_| ())
}
