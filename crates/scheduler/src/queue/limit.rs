//! Why an account may not have more now.

use crate::model::ResourceId;

use super::{Seat, SpaceId, UserId};

/// The limit that refuses a request. Cards are in thousandths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Limit {
    /// Nobody has made the account.
    NoAccount {
        /// The name that was given.
        account: String,
    },
    /// The account, or one above it, would have more than it ever may.
    Capability {
        /// The account whose limit it is.
        account: Seat,
        /// Of what, and how much.
        excess: Excess,
    },
    /// The member would have more than it ever may.
    Member {
        /// The account.
        account: Seat,
        /// The member.
        user: UserId,
        /// Of what, and how much.
        excess: Excess,
    },
    /// The namespace would have more than it ever may, whichever accounts pay.
    Space {
        /// The namespace.
        space: SpaceId,
        /// Of what, and how much.
        excess: Excess,
    },
    /// What is free is kept for accounts that have less than is guaranteed to them.
    Kept {
        /// Of what, and how much: `used` is what is kept for others, `cap` what is free.
        excess: Excess,
    },
}

/// By how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Excess {
    /// The resource.
    pub resource: ResourceId,
    /// In use.
    pub used: i64,
    /// Asked for on top.
    pub asked: i64,
    /// At most.
    pub cap: i64,
}

impl Limit {
    /// The account whose use must shrink before it is worth asking again; the whole cluster's if there is none.
    pub fn account(&self) -> Option<Seat> {
        match self {
            Self::Capability { account, .. } | Self::Member { account, .. } => Some(*account),
            Self::NoAccount { .. } | Self::Space { .. } | Self::Kept { .. } => None,
        }
    }

    /// By how much, where it is about an amount.
    pub fn excess(&self) -> Option<&Excess> {
        match self {
            Self::NoAccount { .. } => None,
            Self::Capability { excess, .. }
            | Self::Member { excess, .. }
            | Self::Space { excess, .. }
            | Self::Kept { excess } => Some(excess),
        }
    }
}
