//! Why a group waits, in data and in words.
//!
//! [`crate::core::Core::explain`] answers for one group when somebody asks; nothing is kept or written per waiting Pod. An
//! [`Explanation`] is plain data of a bounded size, and prints as a few lines.

#[cfg(test)]
mod tests;
mod text;
mod words;

use serde::{Deserialize, Serialize};

pub(crate) use words::of_nodes;
pub use words::{count, plural};

/// Most names in any list of an explanation.
pub const LONGEST_LIST: usize = 5;

/// Why a group waits, or that it does not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// `namespace/name` of the group.
    pub group: String,
    /// Who pays.
    pub account: String,
    /// Where it stands.
    pub state: State,
    /// Its place in the queue, while it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Position>,
    /// What kept it from the nodes, if there was no room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Nodes>,
    /// What would have to end first, soonest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub must_end: Vec<Ending>,
    /// When it will start if nothing better comes, in milliseconds since 1970. Absent if nobody can say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<i64>,
    /// When it must be over, and whether it can be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Outlook>,
    /// Whether nodes are held for it.
    #[serde(default)]
    pub reserved: bool,
}

impl Explanation {
    /// Fills in what kept the nodes from another group that asks for the same, if room is what this one waits for.
    pub(crate) fn share_nodes(&mut self, of: &Self) {
        let room = |state: &State| matches!(state, State::NoRoom { .. } | State::NeverFits { .. });
        if room(&self.state) && room(&of.state) {
            self.state = of.state.clone();
            self.nodes.clone_from(&of.nodes);
        }
    }
}

/// Where a group stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum State {
    /// All its Pods have places.
    Placed {
        /// How many.
        pods: u32,
    },
    /// It waits on purpose.
    Suspended,
    /// Not enough of its Pods exist, or some must not be placed yet.
    WaitsForPods {
        /// Pods there are.
        have: u32,
        /// Pods it needs at least.
        need: u32,
        /// The task they are of, where the others have enough.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<String>,
    },
    /// The job or PodGroup that its Pods name is not there.
    Unknown,
    /// Its account may not have more.
    Limited {
        /// Which limit.
        limit: LimitReached,
    },
    /// There is no room now.
    NoRoom {
        /// Pods that must be placed together.
        pods: u32,
        /// How many of them would find a place; absent where that has not been counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fit: Option<u32>,
    },
    /// There would be no room even if the nodes it may use were empty.
    NeverFits {
        /// Pods that must be placed together.
        pods: u32,
    },
    /// Others were asked to go for it.
    MakingRoom {
        /// How many are still there.
        leaving: u32,
    },
    /// Its deadline has passed.
    TooLate,
    /// It can start, and will in the next pass.
    Next,
}

/// A deadline, and what is known of keeping it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outlook {
    /// When it must be over, in milliseconds since 1970.
    pub at: i64,
    /// Whether it will be.
    pub chance: Chance,
}

/// Whether a deadline can be kept. The longest run is what is counted with: who is faster may keep it all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Chance {
    /// Nobody can say when it starts, or for how long it runs.
    Unknown,
    /// It starts early enough for its longest run.
    Kept,
    /// It starts before, but its longest run would end after it.
    CutShort,
    /// It does not start before.
    Missed,
}

/// A limit that was reached. Amounts are as people write them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum LimitReached {
    /// Nobody has made the account.
    NoAccount,
    /// Most that an account may have.
    Capability {
        /// The account whose limit it is.
        account: String,
        /// Of what, and how much.
        amount: Amount,
    },
    /// Most that a member may have.
    Member {
        /// The account.
        account: String,
        /// The member.
        user: String,
        /// Of what, and how much.
        amount: Amount,
    },
    /// Most that a namespace may have, whichever accounts pay.
    Namespace {
        /// The namespace.
        namespace: String,
        /// Of what, and how much.
        amount: Amount,
    },
    /// What is free is guaranteed to others: `used` is kept for them, `cap` is free.
    KeptForOthers {
        /// Of what, and how much.
        amount: Amount,
    },
}

/// How much of a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Amount {
    /// The resource.
    pub resource: String,
    /// In use.
    pub used: String,
    /// Asked for on top.
    pub asked: String,
    /// At most.
    pub cap: String,
}

/// A place in the queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Position {
    /// How many groups of its account come before it.
    pub ahead: usize,
    /// The first of them.
    pub first: Vec<String>,
    /// How much of its part the account has: 1 is all of it. Accounts that have less of theirs go first.
    pub share: f64,
    /// Accounts beside it that go first and have something waiting.
    pub accounts: Vec<String>,
}

/// What became of the nodes for the first Pod that found no place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Nodes {
    /// How many there are.
    pub total: usize,
    /// How many each filter removed, most first.
    pub removed: Vec<Removed>,
}

/// Nodes removed for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Removed {
    /// How many.
    pub nodes: usize,
    /// A phrase that agrees with how many: `have too little cpu left`, of one `has …`.
    pub why: String,
}

/// Work whose end makes room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ending {
    /// The group, or the Pod of another scheduler.
    pub name: String,
    /// How many of its Pods are in the way.
    pub pods: usize,
    /// When it will have ended, if it says how long it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<i64>,
}
