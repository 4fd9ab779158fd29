//! Pods that start together or not at all.

use super::Millis;

/// A group as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

impl GroupId {
    /// No group: for Pods of other schedulers.
    pub const NONE: Self = Self(u32::MAX);
}

/// Whether work may be stopped for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum ServiceLevel {
    /// Runs on what is free, and gives way with notice.
    BestEffort,
    /// Stopped only when its account is over its deserved part and others are under theirs.
    #[default]
    Guaranteed,
}

/// How many Pods of one task must start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskMinimum {
    /// The task; Pods say theirs in [`super::Pod::task`].
    pub task: String,
    /// Fewest Pods of it.
    pub minimum: u32,
}

/// A job, a PodGroup, or one Pod by itself: the unit of queueing and of starting.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Group {
    /// `namespace/name` of the object that asked for it.
    pub name: String,
    /// Who pays.
    pub account: String,
    /// The member of the account whose cap applies.
    pub user: String,
    /// Whether it may be stopped for others.
    pub level: ServiceLevel,
    /// Higher goes first within an account.
    pub priority: i32,
    /// Fewest Pods to start with.
    pub minimum: u32,
    /// Fewest Pods per task.
    pub task_minimums: Vec<TaskMinimum>,
    /// Since when it waits.
    pub created: Millis,
    /// Longest run, if it is known; backfill and lent nodes need it.
    pub max_run: Option<Millis>,
    /// When it must be over, and is stopped if it is not.
    pub deadline: Option<Millis>,
    /// Node label whose values are topology domains that the group should span as few of as possible.
    pub topology_key: Option<String>,
    /// Whether it may run on lent nodes.
    pub lent_nodes: bool,
    /// Waits on purpose.
    pub suspended: bool,
    /// The object that says what it asks for has not been seen, only Pods that name it: they wait for it.
    pub unknown: bool,
    /// How long its Pods get to stop when they must give way; the scheduler's default if absent.
    pub grace: Option<Millis>,
}

impl Group {
    /// When it will have ended at the latest if it starts then; `None` if nobody can say.
    pub fn ends_by(&self, start: Millis) -> Option<Millis> {
        let run = self.max_run.map(|run| start.saturating_add(run));
        [run, self.deadline].into_iter().flatten().min()
    }
}
