//! What is wrong with the accounts as they were given. Nothing here stops scheduling: each has a stated way out.

use serde::Serialize;

/// A mistake in the tree of accounts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, thiserror::Error)]
#[serde(tag = "problem", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Problem {
    /// It counts as one without a parent.
    #[error("account {account} names the parent {parent}, which does not exist: it stands at the top")]
    UnknownParent {
        /// The account.
        account: String,
        /// The name it gives.
        parent: String,
    },
    /// It counts as one without a parent, which opens the circle.
    #[error("account {account} is its own ancestor: it stands at the top")]
    Cycle {
        /// The account.
        account: String,
    },
    /// The children's parts shrink alike.
    #[error(
        "the accounts under {parent} deserve {named} of {resource}, but it has {has}: each gets less, in proportion"
    )]
    DeservedTooMuch {
        /// The parent, or the cluster.
        parent: String,
        /// The resource.
        resource: String,
        /// What the children name together.
        named: i64,
        /// What there is.
        has: i64,
    },
    /// It cannot all be kept free.
    #[error("{named} of {resource} are guaranteed, but the cluster has {has}: not all of it can be kept")]
    GuaranteedTooMuch {
        /// The resource.
        resource: String,
        /// What is guaranteed together.
        named: i64,
        /// What there is.
        has: i64,
    },
}
