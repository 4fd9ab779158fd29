//! Leader election on a `coordination.k8s.io` Lease.
//!
//! # What it promises
//! * At most one process believes that it leads, as long as no machine's monotonic clock runs faster than another's by
//!   more than the gap between [`Timing::renew_deadline`] and [`Timing::lease_duration`]. Wall clocks do not matter: a
//!   candidate measures, on its own clock, how long the Lease has not changed since it first saw it that way.
//! * A leader counts from the moment it *sent* its last successful renewal, so its term is over before anybody else may
//!   take the Lease. [`Leadership::is_leader`] compares clocks at the time of the call: a process that was suspended
//!   and wakes up gets "no", even before its election task has run.
//! * Whoever deletes or rewrites the Lease by hand forces an election; for up to one retry period the old leader may
//!   not know.
//!
//! # What it cannot promise
//! Between the check and the arrival of a write at the server a process can be suspended for any time. A lease is
//! therefore a hint; the fence is a precondition in the write itself (uid and resourceVersion, see [`crate::apply`]).
//! [`fenced`] refuses writes that are certainly too late; preconditions stop the rest.
//!
//! Start with `decide`, the pure part; `elector` does what it says.

mod decide;
mod elector;
mod fence;
mod leadership;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use elector::{Elector, ElectorConfig};
pub use fence::fenced;
pub use leadership::{Leadership, NotLeader, Term};

/// The times of an election.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// How long a Lease must stand unchanged before others may take it.
    pub lease_duration: Duration,
    /// How long after its last successful renewal a leader stops by itself.
    pub renew_deadline: Duration,
    /// How often a leader renews and a candidate looks.
    pub retry_period: Duration,
    /// Up to this part of `retry_period` is added by chance, so that candidates do not march in step.
    pub jitter: f64,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            jitter: 0.2,
        }
    }
}

/// Times that cannot work.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TimingError {
    /// Others could take the Lease while the leader still writes.
    #[error(
        "the renew deadline ({renew_deadline:?}) must be shorter than the lease duration ({lease_duration:?})"
    )]
    DeadlineTooLong {
        /// As given.
        renew_deadline: Duration,
        /// As given.
        lease_duration: Duration,
    },
    /// One missed renewal would end the term.
    #[error(
        "the retry period with jitter ({retry:?}) must be at most half of the renew deadline ({renew_deadline:?})"
    )]
    RetryTooLong {
        /// Longest time between two attempts.
        retry: Duration,
        /// As given.
        renew_deadline: Duration,
    },
    /// The API knows whole seconds only.
    #[error("the lease duration ({0:?}) must be a whole number of seconds, at least one")]
    NotWholeSeconds(Duration),
    /// Renewing without pause would flood the server.
    #[error("the retry period must be longer than zero and the jitter between 0 and 1")]
    NoPause,
}

impl Timing {
    /// Checks that the times fit together.
    pub fn validate(&self) -> Result<(), TimingError> {
        let Self { lease_duration, renew_deadline, retry_period, jitter } = *self;
        if lease_duration.subsec_nanos() != 0 || lease_duration.is_zero() {
            return Err(TimingError::NotWholeSeconds(lease_duration));
        }
        if retry_period.is_zero() || !(0.0..=1.0).contains(&jitter) {
            return Err(TimingError::NoPause);
        }
        if renew_deadline >= lease_duration {
            return Err(TimingError::DeadlineTooLong { renew_deadline, lease_duration });
        }
        let retry = retry_period.mul_f64(1.0 + jitter);
        if retry * 2 > renew_deadline {
            return Err(TimingError::RetryTooLong { retry, renew_deadline });
        }
        Ok(())
    }
}
