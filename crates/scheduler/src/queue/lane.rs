//! Groups that are alike for every question the scheduler asks, in the order of their turn.
//!
//! What refuses one of them refuses all that stand behind it, so a lane is asked once, however many wait in it.

use std::{cmp::Reverse, collections::BTreeSet};

use crate::model::{GroupId, Millis};

use super::{Limit, Payer};

/// The turn of a group among those of its account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank {
    /// Groups that have been begun are completed first: what they hold is of no use before.
    pub begun: Reverse<bool>,
    /// Higher goes first.
    pub priority: Reverse<i32>,
    /// Among equals, who has to be over sooner goes first; [`Millis::MAX`] has none to keep.
    pub deadline: Millis,
    /// Older goes first.
    pub created: Millis,
    /// Makes it unique.
    pub group: GroupId,
}

/// A lane as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneId(pub(super) u32);

/// What groups of a lane have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LaneKey {
    /// On whose account.
    pub payer: Payer,
    /// What they need; the same number means the same need.
    pub class: u32,
}

/// Why the first of a lane could not start, and so none behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocked {
    /// A limit of an account: ask again when that account has given something back.
    Limit(Limit),
    /// No room: ask again when a Pod has gone or a node has come or changed.
    Room,
    /// No room even if all Pods went: ask again when a node has come or changed.
    Never,
}

#[derive(Debug, Clone)]
pub(super) struct Lane {
    pub(super) key: LaneKey,
    pub(super) waiting: BTreeSet<Rank>,
    pub(super) blocked: Option<Blocked>,
}
