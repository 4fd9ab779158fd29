//! Who did what, when, from where, and how it ended. The log only grows: triggers in the database refuse everything
//! else, and [`Records::retain_audit`] is the one way out, which leaves an entry itself.

mod begun;
mod entry;
mod export;
mod filter;
mod retention;

use crate::database::{Lock, Query, Transaction};
use crate::page::{Cursor, Listing, Page};
use crate::{Records, Result};

use entry::columns;
pub use entry::{Actor, ActorKind, AuditRecord, Entry, Outcome};
pub use filter::AuditFilter;
pub use retention::Retention;

impl Records {
    /// Writes an entry. Writing one of the same id again changes nothing, so that a caller may try again. What was noted
    /// of it by [`Records::begin_audit`] goes in the same moment.
    pub async fn append_audit(&self, entry: &Entry) -> Result<()> {
        entry.check()?;
        let mut transaction = self.database.begin(Lock::Audit).await?;
        append(&mut transaction, entry).await?;
        begun::forget(&mut transaction, &entry.id).await?;
        transaction.commit().await
    }

    /// Entries, newest first.
    pub async fn audit(&self, filter: &AuditFilter, page: &Page) -> Result<Listing<AuditRecord>> {
        let query = filter.apply(Query::new(concat!("SELECT ", columns!(), " FROM audit WHERE 1 = 1")));
        let before = page.cursor().map(Cursor::position).transpose()?;
        let query = page.limited(query.and("position < ", before), " ORDER BY position DESC");
        let rows = self.database.rows(query).await?;
        Listing::read(page, rows, AuditRecord::read, |one| Cursor::new(one.position.to_string()))
    }
}

/// Whether it was new.
pub(crate) async fn append(transaction: &mut Transaction, entry: &Entry) -> Result<bool> {
    let query = Query::new(
        "INSERT INTO audit (id, at, actor_kind, actor_id, actor_name, via, action, object_kind, object_name, \
         account, outcome, detail, before_json, after_json, address, request_id) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) \
         ON CONFLICT (id) DO NOTHING",
    );
    Ok(transaction.write(entry.bind(query)).await? > 0)
}
