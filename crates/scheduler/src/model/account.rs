//! Who pays: a tree of accounts with what is theirs by right, by fairness and at most.

use super::{Amounts, ResourceId};

/// An account as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountId(pub u32);

/// An account.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// The account it is part of.
    pub parent: Option<String>,
    /// Kept free for it even when idle.
    pub guaranteed: Amounts,
    /// Its fair part: borrowed beyond it may be reclaimed.
    pub deserved: Amounts,
    /// Never more than this. A resource that is not named is not limited.
    pub capability: Vec<(ResourceId, i64)>,
    /// How the part of its parent that nobody deserves is divided.
    pub weight: u32,
    /// Members with a cap of their own.
    pub members: Vec<Member>,
    /// Never more than this for anybody else who runs something on it. A resource that is not named is not limited.
    pub member_capability: Vec<(ResourceId, i64)>,
    /// Node pools it may use; empty means every pool nobody owns.
    pub pools: Vec<String>,
    /// Node pools that are its alone.
    pub owned_pools: Vec<String>,
}

/// A member of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The user.
    pub user: String,
    /// Never more than this; a resource that is not named is not limited.
    pub capability: Vec<(ResourceId, i64)>,
}
