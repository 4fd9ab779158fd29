//! One account in the tree.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
};

use crate::model::{Amounts, ResourceId, ServiceLevel};

use super::{
    limit::Excess,
    share::{Part, Share},
};

/// The place of an account in the tree. It stays when the account goes, for what still runs on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seat(pub(super) u32);

impl Seat {
    /// The cluster itself, above all accounts.
    pub const ROOT: Self = Self(0);

    pub(super) fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// A member as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserId(pub(super) u32);

/// A namespace as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpaceId(pub(super) u32);

impl SpaceId {
    pub(super) fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// On whose account something runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Payer {
    /// The account.
    pub seat: Seat,
    /// The member.
    pub user: UserId,
    /// The namespace.
    pub space: SpaceId,
    /// Whether it may be stopped for others.
    pub level: ServiceLevel,
}

/// An account as the tree keeps it.
#[derive(Debug, Clone, Default)]
pub(super) struct Entry {
    pub(super) name: String,
    /// Somebody made it, or it is the default account.
    pub(super) declared: bool,
    pub(super) parent: Option<Seat>,
    pub(super) children: Vec<Seat>,
    pub(super) guaranteed: Amounts,
    pub(super) named: Amounts,
    pub(super) capability: Vec<(ResourceId, i64)>,
    pub(super) weight: u32,
    pub(super) members: BTreeMap<UserId, Vec<(ResourceId, i64)>>,
    /// The cap of everybody who has none of their own.
    pub(super) member_capability: Vec<(ResourceId, i64)>,
    pub(super) part: Part,
    /// Held by its own groups.
    pub(super) own: Held,
    /// Held by it and all below it.
    pub(super) used: Held,
    pub(super) by_user: HashMap<UserId, Held>,
    /// Guaranteed to it or to accounts below it, and not in use.
    pub(super) owed: Amounts,
    /// The sum of `owed` of its children.
    pub(super) owed_below: Amounts,
    pub(super) shares: [Share; 2],
    /// Shares counted for its own groups only, against its whole part.
    pub(super) own_shares: [Share; 2],
}

/// What is held, in all and by work that has a right to stay.
#[derive(Debug, Clone, Default)]
pub(super) struct Held {
    pub(super) all: Amounts,
    pub(super) guaranteed: Amounts,
    /// By Pods that have been asked to go: no longer in `all`, but still there.
    pub(super) leaving: Amounts,
}

impl Held {
    pub(super) fn add(&mut self, level: ServiceLevel, amounts: &Amounts) {
        self.all += amounts;
        if level == ServiceLevel::Guaranteed {
            self.guaranteed += amounts;
        }
    }

    pub(super) fn take(&mut self, level: ServiceLevel, amounts: &Amounts) {
        self.all -= amounts;
        if level == ServiceLevel::Guaranteed {
            self.guaranteed -= amounts;
        }
    }

    pub(super) fn sum(&mut self, other: &Self) {
        self.all += &other.all;
        self.guaranteed += &other.guaranteed;
        self.leaving += &other.leaving;
    }
}

/// Where a level stands in arrays by level.
pub(super) fn by_level(level: ServiceLevel) -> usize {
    match level {
        ServiceLevel::Guaranteed => 0,
        ServiceLevel::BestEffort => 1,
    }
}

impl Entry {
    /// What a user may have at most. Members of the portal are not all listed by name, and work may come from anybody
    /// whom admission lets name the account: the cap for members binds them all.
    pub(super) fn limits_of(&self, user: UserId) -> &[(ResourceId, i64)] {
        self.members.get(&user).unwrap_or(&self.member_capability)
    }

    /// What a user has.
    pub(super) fn held_by(&self, user: UserId) -> Cow<'_, Held> {
        self.by_user.get(&user).map_or_else(Cow::default, Cow::Borrowed)
    }

    /// Counts its shares anew. Work that has a right to stay is not put back for what best-effort work of the same
    /// account borrows; that is measured by all that the account has.
    pub(super) fn measure(&mut self) {
        self.shares = [self.part.share(&self.used.guaranteed), self.part.share(&self.used.all)];
        self.own_shares = [self.part.share(&self.own.guaranteed), self.part.share(&self.own.all)];
    }

    /// What is owed to it if it held `more` on top.
    pub(super) fn owed_with(&self, resource: ResourceId, more: i64, owed_below: i64) -> i64 {
        let missing = self.guaranteed.get(resource) - self.used.all.get(resource) - more;
        missing.max(0).max(owed_below)
    }
}

/// The first limit of a list that is exceeded. What is leaving counts until it has left.
pub(super) fn exceeded(limits: &[(ResourceId, i64)], held: &Held, asked: &Amounts) -> Option<Excess> {
    limits.iter().find_map(|(resource, cap)| {
        let used = held.all.get(*resource).saturating_add(held.leaving.get(*resource));
        let asked = asked.get(*resource);
        let over = asked > 0 && used.saturating_add(asked) > *cap;
        over.then_some(Excess { resource: *resource, used, asked, cap: *cap })
    })
}
