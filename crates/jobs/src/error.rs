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
    /// What was read is older than what was already done; reading again helps.
    #[error("the view of {0} is older than its Pods")]
    Stale(String),
    /// The machine has no randomness to give.
    #[error("no randomness for the keys of {0}")]
    NoEntropy(String),
}

impl Categorized for JobError {
    fn category(&self) -> Category {
        match self {
            Self::Cluster(error) => error.category(),
            Self::Refused(_) => Category::Denied,
            Self::Stale(_) | Self::NoEntropy(_) => Category::Transient,
        }
    }
}
