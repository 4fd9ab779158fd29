//! Taking out what has ended and nobody asks for. The audit log has its own: [`Records::retain_audit`].

use jiff::{SignedDuration, Timestamp};

use crate::database::Query;
use crate::{Actor, AuditId, Records, Result, Retention};

/// For how long what is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// Entries of the audit log; for ever if it is not said.
    pub audit: Option<SignedDuration>,
    /// Sessions, and what else let somebody in, after their end.
    pub ended: SignedDuration,
}

impl Default for Keep {
    fn default() -> Self {
        Self { audit: None, ended: SignedDuration::from_hours(30 * 24) }
    }
}

/// What was taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Purged {
    /// Sessions that had ended.
    pub sessions: u64,
    /// Counts of tries to log in that are paid off.
    pub attempts: u64,
}

/// Used refresh tokens stay until they would have ended: that somebody comes with one again shows that it was stolen.
const ISSUED: [&str; 5] = [
    "DELETE FROM issuer_interactions WHERE expires_at < $1",
    "DELETE FROM issuer_codes WHERE expires_at < $1",
    "DELETE FROM issuer_tokens WHERE expires_at < $1",
    "DELETE FROM issuer_devices WHERE expires_at < $1",
    "DELETE FROM issuer_grants WHERE expires_at < $1",
];

const PORTS: [&str; 2] =
    ["DELETE FROM port_visits WHERE expires_at <= $1", "DELETE FROM shared_ports WHERE expires_at <= $1"];

impl Records {
    /// Takes out sessions, grants, codes and tokens that ended before a time, and counts of tries to log in that no
    /// longer matter. What let people see ports goes as soon as it has expired.
    pub async fn purge(&self, ended_before: Timestamp, now: Timestamp) -> Result<Purged> {
        let sessions = Query::new("DELETE FROM sessions WHERE expires_at < $1 OR revoked_at < $1");
        let attempts = Query::new("DELETE FROM login_attempts WHERE due_at <= $1");
        for text in ISSUED {
            self.database.write(Query::new(text).bind(ended_before)).await?;
        }
        for text in PORTS {
            self.database.write(Query::new(text).bind(now)).await?;
        }
        Ok(Purged {
            sessions: self.database.write(sessions.bind(ended_before)).await?,
            attempts: self.database.write(attempts.bind(now)).await?,
        })
    }

    /// Takes out what is older than `keep` says, and tells how many entries of the audit log were among it. `who` asks for
    /// it, in the entries that tell of it; `id` begins their identifiers and was never used before.
    pub async fn prune(&self, keep: Keep, (who, id): (&str, &str), now: Timestamp) -> Result<(Purged, u64)> {
        let before = |kept| now.saturating_sub(kept).unwrap_or(Timestamp::MIN);
        let purged = self.purge(before(keep.ended), now).await?;
        let Some(kept) = keep.audit else { return Ok((purged, 0)) };
        let mut total = 0;
        for batch in 0.. {
            let id = AuditId::new(format!("{id}-{batch}"));
            let retention = Retention { id, actor: Actor::system(who), before: before(kept) };
            let count = self.retain_audit(&retention, now).await?;
            if count == 0 {
                break;
            }
            total += count;
        }
        Ok((purged, total))
    }
}
