//! How often somebody may try to log in, counted for all replicas together.
//!
//! Each name or address that tries owes for it: a try makes it due some time later than it was, and who is due too far
//! ahead is refused. One row and one statement, so that many tries at once are counted one after the other. A try is
//! counted before the password is looked at: what fails and what succeeds cost the same.

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};

use crate::database::Query;
use crate::{Error, Records, Result};

/// A year in microseconds: nobody owes for longer.
const YEAR: i64 = 366 * 24 * 3600 * 1_000_000;

/// How often: so many at once, and then one in each interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptLimit {
    /// Tries that may follow each other at once.
    pub burst: u32,
    /// After what time one more is allowed.
    pub every: SignedDuration,
}

/// Whether a try is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// It is, and is counted.
    Allowed,
    /// It is not, and is not counted.
    Refused {
        /// When the next one is.
        retry_after: SignedDuration,
    },
}

impl AttemptLimit {
    /// Microseconds: of one interval, and of all that may be owed.
    fn micros(self) -> Result<(i64, i64)> {
        let every = i64::try_from(self.every.as_micros()).ok().filter(|every| *every > 0);
        let pair = every.and_then(|every| Some((every, every.checked_mul(i64::from(self.burst))?)));
        match pair {
            Some((every, most)) if self.burst > 0 && most <= YEAR => Ok((every, most)),
            _ => Err(Error::invalid("limit", "burst times interval must be between nothing and a year")),
        }
    }
}

impl Records {
    /// Counts a try to log in by a subject, which is a name or an address with a word before it that says which.
    pub async fn attempt_login(&self, subject: &str, limit: AttemptLimit, now: Timestamp) -> Result<Attempt> {
        let (every, most) = limit.micros()?;
        let count = Query::new(
            "INSERT INTO login_attempts AS a (subject, due_at) VALUES ($1, $2 + $3) \
             ON CONFLICT (subject) DO UPDATE \
             SET due_at = (CASE WHEN a.due_at > $2 THEN a.due_at ELSE $2 END) + $3 \
             WHERE (CASE WHEN a.due_at > $2 THEN a.due_at ELSE $2 END) + $3 <= $2 + $4",
        );
        let key = key(subject);
        let count = count.bind(&key).bind(now).bind(every).bind(most);
        if self.database.write(count).await? > 0 {
            return Ok(Attempt::Allowed);
        }
        let query = Query::new("SELECT due_at FROM login_attempts WHERE subject = $1").bind(&key);
        // Gone meanwhile: somebody has just logged in.
        let due = self.database.row(query).await?.map_or(Ok(now), |row| row.time("due_at"))?;
        let wait = due.as_microsecond() + every - most - now.as_microsecond();
        Ok(Attempt::Refused { retry_after: SignedDuration::from_micros(wait.max(0)) })
    }

    /// Forgets the tries of a subject: it has shown who it is. Not for addresses, since one good account would then
    /// open the way for guessing others.
    pub async fn forgive_login(&self, subject: &str) -> Result<()> {
        let query = Query::new("DELETE FROM login_attempts WHERE subject = $1").bind(key(subject));
        self.database.write(query).await.map(|_| ())
    }
}

/// What is stored of a subject. People type passwords where their name belongs, and names of any length.
fn key(subject: &str) -> String {
    format!("{:x}", Sha256::digest(subject))
}
