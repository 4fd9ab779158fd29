//! Somebody who can administer remains, whatever changes.

use jiff::Timestamp;

use crate::database::{Query, Transaction};
use crate::{Error, Result};

/// How many administrators there are. Counted under [`crate::database::Lock::Administrators`], so that two of them
/// cannot remove each other at the same moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Administrators {
    /// Who can come in now.
    active: i64,
    /// Who can come in now and for good.
    lasting: i64,
}

impl Administrators {
    pub(super) async fn count(transaction: &mut Transaction, now: Timestamp) -> Result<Self> {
        let query = Query::new(
            "SELECT COUNT(*) AS active, COUNT(*) - COUNT(expires_at) AS lasting FROM users \
             WHERE admin AND disabled_at IS NULL AND (expires_at IS NULL OR expires_at > $1)",
        );
        let row = transaction.row(query.bind(now)).await?.ok_or(Error::NotFound { what: "user" })?;
        Ok(Self { active: row.number("active")?, lasting: row.number("lasting")? })
    }

    /// Refuses a change that leaves none now, or none later. Where there were none before it does no harm.
    pub(super) const fn allow(self, after: Self) -> Result<()> {
        let lost = (self.active > 0 && after.active == 0) || (self.lasting > 0 && after.lasting == 0);
        if lost { Err(Error::LastAdministrator) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn administrators(active: i64, lasting: i64) -> Administrators {
        Administrators { active, lasting }
    }

    #[test]
    fn one_must_remain_now_and_later() {
        let rows = [
            ((1, 1), (0, 0), false),
            ((2, 1), (1, 0), false),
            ((2, 2), (1, 1), true),
            ((1, 0), (0, 0), false),
            ((2, 0), (1, 0), true),
            ((0, 0), (0, 0), true),
            ((0, 0), (1, 1), true),
        ];
        for (before, after, want) in rows {
            let allowed = administrators(before.0, before.1).allow(administrators(after.0, after.1));
            assert_eq!(allowed.is_ok(), want, "{before:?} to {after:?}");
        }
    }
}
