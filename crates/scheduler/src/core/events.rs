//! What the watches saw, and what became of actions.

use std::sync::Arc;

use crate::model::{
    Account, Group, GroupId, Node, NodeId, Pod, PodId, PodPhase, PodVolumes, ResourceId, StaticVolume,
};

use super::{Core, DisruptionBudget, Known};
use crate::queue::Payer;

impl Core {
    /// A node was seen.
    pub fn upsert_node(&mut self, node: Node) -> NodeId {
        let before = self.ledger.generation();
        let id = self.ledger.upsert_node(node);
        self.news.nodes |= self.ledger.generation() != before;
        id
    }

    /// A node is gone.
    pub fn remove_node(&mut self, name: &str) {
        self.ledger.remove_node(name);
        self.news.nodes = true;
    }

    /// The number of a node by name, also of one that has not been seen yet.
    pub fn node_id(&mut self, name: &str) -> NodeId {
        self.ledger.node_id(name)
    }

    /// An account was seen.
    pub fn upsert_account(&mut self, account: Account) {
        self.ledger.upsert_account(account.clone());
        self.tree.upsert(account);
    }

    /// An account is gone.
    pub fn remove_account(&mut self, name: &str) {
        self.ledger.remove_account(name);
        self.tree.remove(name);
    }

    /// The most that the groups of a namespace may have together; a resource that is not named is not limited.
    pub fn limit_namespace(&mut self, name: &str, limits: Vec<(ResourceId, i64)>) {
        self.tree.limit_space(name, limits);
    }

    /// A volume was seen that was made beforehand and that claims may get.
    pub fn upsert_volume(&mut self, volume: StaticVolume) {
        let news = volume.claim.is_none() && self.ledger.volume(&volume.name) != Some(&volume);
        self.ledger.upsert_volume(volume);
        // Who waits for it could go nowhere, however empty the nodes were.
        self.news.nodes |= news;
    }

    /// A volume is gone, or bound to a claim for good.
    pub fn remove_volume(&mut self, name: &str) {
        self.ledger.remove_volume(name);
    }

    /// How many Pods may be stopped; all there is to know, each time.
    pub fn set_budgets(&mut self, budgets: Vec<DisruptionBudget>) {
        if self.budgets != budgets {
            self.budgets = budgets;
            self.news.room = true;
        }
    }

    /// A group was seen. Call it before its Pods are.
    pub fn upsert_group(&mut self, group: Group) -> GroupId {
        let payer = Payer {
            seat: self.tree.seat(&group.account),
            user: self.tree.user(&group.user),
            space: self.tree.space(group.name.split_once('/').map_or("", |(namespace, _)| namespace)),
            level: group.level,
        };
        let id = self.ledger.upsert_group(group);
        let known = self.groups.entry(id).or_insert(Known { payer, class: None });
        let moved = std::mem::replace(&mut known.payer, payer) != payer;
        if moved && let Some(state) = self.ledger.group(id) {
            for pod in state.placed.clone() {
                self.recharge(pod);
            }
        }
        self.dirty.insert(id);
        id
    }

    /// A group is gone.
    pub fn remove_group(&mut self, name: &str) {
        if let Some(id) = self.ledger.find_group(name) {
            self.ledger.remove_group(name);
            self.dirty.insert(id);
        }
    }

    /// A Pod was seen, ours or another scheduler's.
    pub fn upsert_pod(&mut self, pod: Pod) -> PodId {
        let known = self.ledger.find_pod(&pod.uid);
        if let Some(id) = known
            && self.deferred.is_leaving(id)
        {
            // Its place counts as given up already; only its end is news.
            if matches!(pod.phase, PodPhase::Ended | PodPhase::Failed) {
                self.has_left(id);
                self.ledger.upsert_pod(pod);
                self.follow(id, None);
            } else {
                self.deferred.saw(id, pod);
            }
            return id;
        }
        let before = known.and_then(|id| self.room_of(id));
        let shape = known.and_then(|id| self.ledger.pod(id)).map(|state| Arc::clone(&state.pod.shape));
        let id = self.ledger.upsert_pod(pod);
        if let Some((old, new)) = shape.zip(self.ledger.pod(id).map(|state| &state.pod.shape)) {
            // It may take less than before, or bear others beside it now.
            let other = old.requests != new.requests || old.anti_affinity != new.anti_affinity;
            self.news.room |= before.is_some() && !Arc::ptr_eq(&old, new) && other;
        }
        self.follow(id, before);
        id
    }

    /// More has become known of the volumes that a Pod uses.
    pub fn set_pod_volumes(&mut self, id: PodId, volumes: &Arc<PodVolumes>) {
        self.deferred.see_volumes(id, volumes);
        self.ledger.set_pod_volumes(id, Arc::clone(volumes));
        self.dirty.extend(self.ledger.pod(id).map(|state| state.pod.group));
        self.news.room = true;
    }

    /// A Pod is gone.
    pub fn remove_pod(&mut self, uid: &str) {
        let Some(id) = self.ledger.find_pod(uid) else { return };
        if self.deferred.is_leaving(id) {
            self.has_left(id);
        }
        let before = self.room_of(id);
        self.news.nodes |= !self.ledger.volumes_held(id).is_empty();
        let group = self.ledger.pod(id).map(|state| state.pod.group);
        self.told.remove(&id);
        self.ledger.remove_pod(uid);
        self.follow(id, before);
        self.dirty.extend(group);
    }

    /// A bind did not happen: the Pod waits again.
    pub fn bind_failed(&mut self, pod: PodId) {
        let before = self.place_of(pod);
        self.news.nodes |= !self.ledger.volumes_held(pod).is_empty();
        if self.ledger.unplace(pod) {
            self.follow(pod, before);
        }
    }

    /// A Pod that was asked to go will not: those it was to make room for wait again.
    pub fn evict_failed(&mut self, pod: PodId) {
        self.give_up(pod);
    }

    /// Whether a notice stands on a Pod that it has to go. Whoever gave it may have died: of equal victims those are chosen
    /// who were told, so that nobody else is told, too.
    pub fn set_told(&mut self, pod: PodId, told: bool) {
        if told {
            self.told.insert(pod);
        } else {
            self.told.remove(&pod);
        }
    }

    /// Brings everything that is counted along in line with the ledger after a change of one Pod.
    pub(super) fn follow(&mut self, id: PodId, before: Option<NodeId>) {
        self.recharge(id);
        let now = self.place_of(id);
        self.news.room |= before.is_some() && before != self.room_of(id);
        let state = self.ledger.pod(id);
        if state.is_some_and(|state| state.pod.terminating) && now.is_some() {
            self.terminating.insert(id);
        } else {
            self.terminating.remove(&id);
        }
        if let Some(state) = state
            && state.pod.group != GroupId::NONE
        {
            self.dirty.insert(state.pod.group);
        }
    }

    /// The node a Pod has.
    pub(super) fn place_of(&self, id: PodId) -> Option<NodeId> {
        match self.ledger.pod(id)?.pod.phase {
            PodPhase::Placed { node, .. } => Some(node),
            _ => None,
        }
    }

    /// The node on which nobody else has the room of a Pod: its own, or the one that another scheduler promised it.
    fn room_of(&self, id: PodId) -> Option<NodeId> {
        self.place_of(id).or_else(|| self.ledger.promised_to(id))
    }

    /// Charges a Pod to its account as the ledger has it.
    pub(super) fn recharge(&mut self, id: PodId) {
        let due = self.due(id);
        if self.books.get(id) == due.as_ref() {
            return;
        }
        if let Some((payer, amounts)) = self.books.strike(id) {
            self.tree.refund(payer, &amounts);
            self.order.shares_changed(&self.tree, payer.seat);
            self.order.less_used(&self.tree, payer.seat);
        }
        if let Some((payer, amounts)) = due {
            self.tree.charge(payer, &amounts);
            self.order.shares_changed(&self.tree, payer.seat);
            self.books.enter(id, payer, amounts);
        }
    }

    fn due(&self, id: PodId) -> Option<(Payer, crate::model::Amounts)> {
        let state = self.ledger.pod(id)?;
        let PodPhase::Placed { cards, .. } = &state.pod.phase else { return None };
        let payer = self.groups.get(&state.pod.group)?.payer;
        Some((payer, self.ledger.amounts(&state.pod.shape, cards)))
    }
}
