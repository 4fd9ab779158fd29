//! The whole log, or what a filter leaves of it, as a stream.

use std::collections::VecDeque;

use futures::Stream;
use futures::stream::try_unfold;

use super::{AuditFilter, AuditRecord, columns};
use crate::database::Query;
use crate::{Records, Result};

/// Entries read at once.
const BATCH: i64 = 500;

impl Records {
    /// Entries, oldest first, as they are read: a page at a time, so that a long export keeps nothing locked. Entries
    /// written meanwhile come at the end.
    pub fn export_audit(
        &self,
        filter: AuditFilter,
    ) -> impl Stream<Item = Result<AuditRecord>> + Send + 'static {
        let start = Export { records: self.clone(), filter, ready: VecDeque::new(), last: 0 };
        try_unfold(start, |mut export| async move {
            if export.ready.is_empty() {
                export.read().await?;
            }
            Ok(export.ready.pop_front().map(|record| (record, export)))
        })
    }
}

struct Export {
    records: Records,
    filter: AuditFilter,
    ready: VecDeque<AuditRecord>,
    last: i64,
}

impl Export {
    async fn read(&mut self) -> Result<()> {
        let query =
            Query::new(concat!("SELECT ", columns!(), " FROM audit WHERE position > $1")).bind(self.last);
        let query = self.filter.apply(query).push(" ORDER BY position LIMIT ").value(BATCH);
        let rows = self.records.database.rows(query).await?;
        self.ready = rows.iter().map(AuditRecord::read).collect::<Result<_>>()?;
        if let Some(record) = self.ready.back() {
            self.last = record.position;
        }
        Ok(())
    }
}
