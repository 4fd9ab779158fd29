//! The pass itself.

use std::cmp::Reverse;

use crate::{
    ledger::GroupState,
    model::{GroupId, Millis, ServiceLevel},
    queue::{Blocked, LaneKey, Rank},
};

use super::{Action, Begun, Core, News, need::need};

/// How much a pass may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Actions after which it ends; a gang is not cut in two.
    pub actions: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { actions: 2048 }
    }
}

impl Core {
    /// Decides what can be decided now. Binds and evictions are counted in the ledger as done.
    pub fn pass(&mut self, now: Millis, budget: Budget) -> Vec<Action> {
        self.now = now;
        // A forecast looks at every Pod; those who are not among the first few can wait for theirs.
        self.forecasts = self.config.reservations.saturating_mul(2);
        self.settle();
        let mut actions = self.finish_deferred();
        if self.news != News::default() {
            // Some got back what they had been given: they ask again, and their places may do for others.
            self.settle();
        }
        for level in [ServiceLevel::Guaranteed, ServiceLevel::BestEffort] {
            while actions.len() < budget.actions
                && let Some((lane, rank)) = self.order.next(&self.tree, level)
            {
                if let Err(blocked) = self.start(lane, rank.group, &mut actions) {
                    self.order.block(&self.tree, lane, blocked);
                }
            }
        }
        self.report_stalled(&mut actions);
        actions
    }

    /// Brings tree, order and reservations up to date with what has been seen.
    fn settle(&mut self) {
        self.tree.set_total(self.total());
        if self.tree.settle() {
            self.order.rebuild(&self.tree);
            self.pools.clear();
        }
        let news = std::mem::take(&mut self.news);
        if news.nodes {
            self.review_deferred();
            self.order.other_nodes(&self.tree);
        } else if news.room {
            self.order.more_room(&self.tree);
        }
        for group in std::mem::take(&mut self.dirty) {
            self.queue(group);
        }
        for group in std::mem::take(&mut self.sociable) {
            self.ask_again(group);
        }
        self.ring();
        self.review_reservations();
    }

    /// What there is to divide: everything, lent nodes included.
    fn total(&self) -> crate::model::Amounts {
        let mut all = self.ledger.total();
        for (_, pool) in self.ledger.pools() {
            all += &pool.lent;
        }
        all
    }

    /// Puts a group where it belongs now: in the queue, or out of it.
    pub(super) fn queue(&mut self, id: GroupId) {
        let Some(known) = self.groups.get_mut(&id) else {
            self.order.remove(&self.tree, id);
            return;
        };
        let old = known.class.take();
        if let Some(state) = self.ledger.group(id) {
            match need(&self.ledger, state) {
                Ok(need) => {
                    let class = self.classes.hold(&self.ledger, state, &need);
                    known.class = Some(class);
                    let rank = rank(state, need.begun);
                    self.order.insert(&self.tree, LaneKey { payer: known.payer, class }, rank);
                }
                Err(_) => self.order.remove(&self.tree, id),
            }
            watch_begun(&mut self.begun, state, self.now);
        } else {
            self.order.remove(&self.tree, id);
            self.groups.remove(&id);
            self.begun.remove(&id);
        }
        if let Some(old) = old {
            self.classes.release(old);
        }
    }

    /// Asks those again whose patience has run out.
    fn ring(&mut self) {
        while let Some(entry) = self.alarms.first_entry()
            && *entry.key() <= self.now
        {
            for group in entry.remove() {
                self.ask_again(group);
            }
        }
    }

    /// Asks a group again that found no room.
    fn ask_again(&mut self, group: GroupId) {
        if let Some((lane, _)) = self.order.place(group)
            && self.order.blocked(lane) == Some(&Blocked::Room)
        {
            self.order.wake(&self.tree, lane);
        }
    }

    /// Says once of every gang that has stood half placed for too long.
    fn report_stalled(&mut self, actions: &mut Vec<Action>) {
        let deadline = self.now.saturating_sub(self.config.gang_deadline);
        for (group, begun) in &mut self.begun {
            if begun.reported || begun.since > deadline {
                continue;
            }
            begun.reported = true;
            if let Some(state) = self.ledger.group(*group) {
                let placed = u32::try_from(state.placed.len()).unwrap_or(u32::MAX);
                actions.push(Action::Stalled { group: *group, placed, minimum: state.group.minimum });
            }
        }
    }
}

/// Its turn among the groups of its account.
fn rank(state: &GroupState, begun: bool) -> Rank {
    Rank {
        begun: Reverse(begun),
        priority: Reverse(state.group.priority),
        deadline: state.group.deadline.unwrap_or(Millis::MAX),
        created: state.group.created,
        group: state.id,
    }
}

/// Keeps the list of gangs that have some of their Pods placed and not enough.
fn watch_begun(begun: &mut std::collections::BTreeMap<GroupId, Begun>, state: &GroupState, now: Millis) {
    let there: u32 = state.tasks.values().map(|counts| counts.placed + counts.ended).sum();
    let short = |task: &crate::model::TaskMinimum| {
        let counts = state.tasks.get(task.task.as_str()).copied().unwrap_or_default();
        counts.placed + counts.ended < task.minimum
    };
    let enough = there >= state.group.minimum && !state.group.task_minimums.iter().any(short);
    // Where none waits, it is not for want of places that some are missing.
    if state.placed.is_empty() || state.pending.is_empty() || enough {
        begun.remove(&state.id);
    } else {
        begun.entry(state.id).or_insert(Begun { since: now, reported: false });
    }
}
