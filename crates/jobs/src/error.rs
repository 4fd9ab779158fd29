//! What can go wrong in a reconcile.

use maar_controller::{Categorized, Category, Error};

/// A reconcile failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JobError {
    /// The cluster did not do what was asked.
    #[error(transparent)]
    Cluster(#[from] Error),
    /// The cluster refuses what would be made; that may change without the job changing.
    #[error(transparent)]
    Refused(Error),
    /// Somebody else has what would be made; that may change as well.
    #[error("{0} is there already and belongs to somebody else")]
    Taken(String),
    /// What would be made is still there from before.
    #[error("{0} of an earlier one of the same name is still there")]
    Leaving(String),
    /// What was read is older than what was already done; reading again helps.
    #[error("the view of {0} is older than its Pods")]
    Stale(String),
    /// The machine has no randomness to give.
    #[error("no randomness for the keys of {0}")]
    NoEntropy(String),
}

impl JobError {
    /// What people have to be told, because it does not pass by itself; it is tried again all the same, since what
    /// refuses today (a quota, a policy, a name that is taken) may allow tomorrow.
    pub(crate) fn into_refusal(self) -> Result<Self, Self> {
        match self {
            Self::Cluster(error) if matches!(error.category(), Category::Denied | Category::Invalid) => {
                Ok(Self::Refused(error))
            }
            Self::Taken(_) => Ok(self),
            _ => Err(self),
        }
    }
}

impl Categorized for JobError {
    fn category(&self) -> Category {
        match self {
            Self::Cluster(error) => error.category(),
            Self::Refused(_) | Self::Taken(_) => Category::Denied,
            Self::Leaving(_) | Self::Stale(_) | Self::NoEntropy(_) => Category::Transient,
        }
    }
}
