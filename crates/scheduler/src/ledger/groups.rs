//! Groups with their Pods.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use super::Ledger;
use crate::model::{AccountId, Amounts, Group, GroupId, Pod, PodId, PodPhase};

/// How many Pods of a task there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TaskCounts {
    /// Wait for a node.
    pub pending: u32,
    /// Must not be placed yet.
    pub gated: u32,
    /// Have a node.
    pub placed: u32,
    /// Have ended, and not failed.
    pub ended: u32,
    /// Have failed.
    pub failed: u32,
}

/// A group and its Pods.
#[derive(Debug, Clone)]
pub struct GroupState {
    /// Its number.
    pub id: GroupId,
    /// The group.
    pub group: Group,
    /// Who pays.
    pub account: AccountId,
    /// Pods that wait for a node.
    pub pending: BTreeSet<PodId>,
    /// Pods that must not be placed yet.
    pub gated: BTreeSet<PodId>,
    /// Pods that have a node.
    pub placed: BTreeSet<PodId>,
    /// Pods by task.
    pub tasks: BTreeMap<Arc<str>, TaskCounts>,
    /// What its placed Pods hold.
    pub used: Amounts,
    removed: bool,
}

impl GroupState {
    fn count(&mut self, id: PodId, pod: &Pod, add: bool) {
        let counts = self.tasks.entry(Arc::clone(&pod.task)).or_default();
        let (number, set) = match pod.phase {
            PodPhase::Pending => (&mut counts.pending, Some(&mut self.pending)),
            PodPhase::Gated => (&mut counts.gated, Some(&mut self.gated)),
            PodPhase::Placed { .. } => (&mut counts.placed, Some(&mut self.placed)),
            PodPhase::Ended => (&mut counts.ended, None),
            PodPhase::Failed => (&mut counts.failed, None),
        };
        if add {
            *number += 1;
        } else {
            *number -= 1;
        }
        match set {
            Some(set) if add => {
                set.insert(id);
            }
            Some(set) => {
                set.remove(&id);
            }
            None => {}
        }
        if *counts == TaskCounts::default() {
            self.tasks.remove(&pod.task);
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct Groups {
    states: BTreeMap<GroupId, GroupState>,
    numbers: HashMap<String, GroupId>,
    next: u32,
    pending: BTreeSet<GroupId>,
}

impl Groups {
    pub(super) fn get(&self, id: GroupId) -> Option<&GroupState> {
        self.states.get(&id)
    }

    /// Adds a Pod in its phase to its group, or takes it out.
    pub(super) fn count(&mut self, id: PodId, pod: &Pod, add: bool) {
        let Some(state) = self.states.get_mut(&pod.group) else { return };
        state.count(id, pod, add);
        if state.pending.is_empty() {
            self.pending.remove(&pod.group);
        } else {
            self.pending.insert(pod.group);
        }
    }

    pub(super) fn get_mut(&mut self, id: GroupId) -> Option<&mut GroupState> {
        self.states.get_mut(&id)
    }

    /// Drops a group that is neither wanted nor has Pods.
    pub(super) fn forget_if_gone(&mut self, id: GroupId) {
        if self.states.get(&id).is_some_and(|state| state.removed && state.tasks.is_empty()) {
            self.states.remove(&id);
        }
    }
}

impl Ledger {
    /// A group was seen. Call it before its Pods are.
    pub fn upsert_group(&mut self, group: Group) -> GroupId {
        let account = self.accounts.number(&group.account);
        let Some(id) = self.groups.numbers.get(&group.name).copied() else {
            let id = GroupId(self.groups.next);
            self.groups.next += 1;
            self.groups.numbers.insert(group.name.clone(), id);
            let state = GroupState {
                id,
                group,
                account,
                pending: BTreeSet::new(),
                gated: BTreeSet::new(),
                placed: BTreeSet::new(),
                tasks: BTreeMap::new(),
                used: Amounts::default(),
                removed: false,
            };
            self.groups.states.insert(id, state);
            return id;
        };
        let Some(state) = self.groups.states.get_mut(&id) else { return id };
        if !state.used.is_zero() {
            // What it holds moves with it when somebody else pays now.
            let old = &state.group;
            self.accounts.count(state.account, &old.user, old.level, &state.used, false);
            self.accounts.count(account, &group.user, group.level, &state.used, true);
        }
        state.group = group;
        state.account = account;
        id
    }

    /// A group is gone. While Pods of it are left, they stay counted with it; a new group of its name is another one.
    pub fn remove_group(&mut self, name: &str) {
        let Some(id) = self.groups.numbers.remove(name) else { return };
        if let Some(state) = self.groups.states.get_mut(&id) {
            state.removed = true;
        }
        self.groups.forget_if_gone(id);
    }

    /// A group, unless it is gone.
    pub fn group(&self, id: GroupId) -> Option<&GroupState> {
        self.groups.get(id)
    }

    /// The number of a group by name.
    pub fn find_group(&self, name: &str) -> Option<GroupId> {
        self.groups.numbers.get(name).copied()
    }

    /// All groups, in the order of their numbers.
    pub fn groups(&self) -> impl Iterator<Item = &GroupState> {
        self.groups.states.values()
    }

    /// Groups with Pods that wait for a node, in the order of their numbers.
    pub fn groups_pending(&self) -> impl Iterator<Item = &GroupState> {
        self.groups.pending.iter().filter_map(|id| self.groups.get(*id))
    }
}
