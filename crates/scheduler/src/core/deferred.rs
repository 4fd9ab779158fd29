//! Starts that wait for others to leave.
//!
//! A Pod that was asked to go is thought away in the ledger at once, so that its room can be given to those it goes for
//! and to nobody else. Nothing is bound on its node before it has really gone, and then only what may still go there.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use crate::{
    filter::judge_node,
    ledger::Lifted,
    model::{Amounts, CardsTaken, GroupId, Millis, NodeId, Pod, PodId, PodPhase, PodVolumes},
    place::Scope,
    queue::Payer,
};

use super::{Action, Core};

/// Pods of a group that have places and are bound when others have gone.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    pub(crate) group: GroupId,
    pub(crate) pods: Vec<PodId>,
    /// They are what the group begins with: others of it are not bound before them.
    pub(crate) begins: bool,
    /// Who has to go first.
    pub(crate) awaited: BTreeSet<PodId>,
    pub(crate) since: Millis,
}

/// A Pod that is on its way out.
#[derive(Debug)]
pub(crate) struct Leaving {
    pub(crate) lifted: Lifted,
    pub(crate) node: NodeId,
    /// What it is charged to whom, if it is ours.
    pub(crate) charge: Option<(Payer, Amounts)>,
    /// What was seen of it since.
    pub(crate) seen: Option<Pod>,
}

/// Who leaves, and who waits for it.
#[derive(Debug, Default)]
pub(crate) struct Deferred {
    /// By number, so by age.
    starts: BTreeMap<u64, Start>,
    /// Starts that wait for nobody any more.
    ready: BTreeSet<u64>,
    waiters: HashMap<PodId, BTreeSet<u64>>,
    by_group: HashMap<GroupId, BTreeSet<u64>>,
    next: u64,
    leaving: BTreeMap<PodId, Leaving>,
    by_node: HashMap<NodeId, BTreeSet<PodId>>,
}

impl Deferred {
    pub(crate) fn is_leaving(&self, pod: PodId) -> bool {
        self.leaving.contains_key(&pod)
    }

    /// Who was asked to go and is not seen to go yet: nobody else knows of it.
    pub(crate) fn asked(&self) -> impl Iterator<Item = PodId> + '_ {
        let going = |leaving: &Leaving| leaving.seen.as_ref().is_some_and(|pod| pod.terminating);
        self.leaving.iter().filter(move |(_, leaving)| !going(leaving)).map(|(pod, _)| *pod)
    }

    /// Who leaves any of these nodes.
    pub(crate) fn leaving_from(&self, nodes: impl Iterator<Item = NodeId>) -> BTreeSet<PodId> {
        if self.leaving.is_empty() {
            return BTreeSet::new();
        }
        nodes.filter_map(|node| self.by_node.get(&node)).flatten().copied().collect()
    }

    /// Who leaves and is charged to a payer of whom this is true.
    pub(crate) fn leaving_of(&self, is: impl Fn(Payer) -> bool) -> BTreeSet<PodId> {
        let charged = |leaving: &Leaving| leaving.charge.as_ref().is_some_and(|(payer, _)| is(*payer));
        self.leaving.iter().filter(|(_, leaving)| charged(leaving)).map(|(pod, _)| *pod).collect()
    }

    pub(crate) fn defer(&mut self, start: Start) {
        self.next += 1;
        for pod in &start.awaited {
            self.waiters.entry(*pod).or_default().insert(self.next);
        }
        self.by_group.entry(start.group).or_default().insert(self.next);
        self.starts.insert(self.next, start);
    }

    /// Who has to go before the group may begin.
    pub(crate) fn awaited_to_begin(&self, group: GroupId) -> BTreeSet<PodId> {
        let starts = self.by_group.get(&group).into_iter().flatten();
        let begins = starts.filter_map(|number| self.starts.get(number)).filter(|start| start.begins);
        begins.flat_map(|start| start.awaited.iter().copied()).collect()
    }

    pub(crate) fn leave(&mut self, pod: PodId, leaving: Leaving) {
        self.by_node.entry(leaving.node).or_default().insert(pod);
        self.leaving.insert(pod, leaving);
    }

    /// Keeps the newest view of a Pod that leaves, in case it stays.
    pub(crate) fn saw(&mut self, id: PodId, pod: Pod) {
        if let Some(leaving) = self.leaving.get_mut(&id) {
            leaving.seen = Some(pod);
        }
    }

    /// The same where only the volumes are new.
    pub(crate) fn see_volumes(&mut self, id: PodId, volumes: &Arc<PodVolumes>) {
        if let Some(seen) = self.leaving.get_mut(&id).and_then(|leaving| leaving.seen.as_mut()) {
            seen.volumes = Arc::clone(volumes);
        }
    }

    /// The start that a group waits for.
    pub(crate) fn of(&self, group: GroupId) -> Option<&Start> {
        self.by_group.get(&group)?.first().and_then(|number| self.starts.get(number))
    }

    /// Those who wait for a Pod to go.
    fn waiting_for(&self, pod: PodId) -> impl Iterator<Item = &Start> {
        self.waiters.get(&pod).into_iter().flatten().filter_map(|number| self.starts.get(number))
    }

    /// Groups that wait for others to go.
    fn groups(&self) -> impl Iterator<Item = GroupId> + '_ {
        self.starts.values().map(|start| start.group)
    }

    /// Since when the longest has been waiting.
    pub(crate) fn oldest(&self) -> Option<Millis> {
        self.starts.values().next().map(|start| start.since)
    }

    /// A Pod leaves no longer: it has gone, or it stays. Who waited for it, and how it left.
    fn forget(&mut self, pod: PodId) -> Option<(Leaving, BTreeSet<u64>)> {
        let leaving = self.leaving.remove(&pod)?;
        if let Some(pods) = self.by_node.get_mut(&leaving.node) {
            pods.remove(&pod);
            if pods.is_empty() {
                self.by_node.remove(&leaving.node);
            }
        }
        Some((leaving, self.waiters.remove(&pod).unwrap_or_default()))
    }

    fn take(&mut self, number: u64) -> Option<Start> {
        let start = self.starts.remove(&number)?;
        self.ready.remove(&number);
        if let Some(numbers) = self.by_group.get_mut(&start.group) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.by_group.remove(&start.group);
            }
        }
        for pod in &start.awaited {
            if let Some(waiters) = self.waiters.get_mut(pod) {
                waiters.remove(&number);
            }
        }
        Some(start)
    }
}

impl Core {
    /// Whether somebody still counts on the room of a Pod that was asked to go.
    pub fn is_awaited(&self, pod: PodId) -> bool {
        let is_there =
            |pod: &PodId| self.ledger.pod(*pod).is_some_and(|state| state.assumed && !state.pod.terminating);
        self.deferred.waiting_for(pod).any(|start| start.pods.iter().all(is_there))
    }

    /// Groups with Pods that are not bound: they wait for a place, or for others to leave the one they have.
    pub fn groups_waiting(&self) -> BTreeSet<GroupId> {
        self.ledger.groups_pending().map(|state| state.id).chain(self.deferred.groups()).collect()
    }

    /// A Pod that was asked to go has gone.
    pub(super) fn has_left(&mut self, pod: PodId) {
        let Some((leaving, waiters)) = self.deferred.forget(pod) else { return };
        self.ledger.let_go(leaving.lifted);
        if let Some((payer, amounts)) = leaving.charge {
            self.tree.left(payer, &amounts);
            self.order.less_used(&self.tree, payer.seat);
        }
        for number in waiters {
            if let Some(start) = self.deferred.starts.get_mut(&number) {
                start.awaited.remove(&pod);
                if start.awaited.is_empty() {
                    self.deferred.ready.insert(number);
                }
            }
        }
    }

    /// Binds those for whom everybody has left by now, and gives up on those who do not leave.
    pub(super) fn finish_deferred(&mut self) -> Vec<Action> {
        let latest = self.now.saturating_sub(self.config.leave_deadline);
        let overdue = self.deferred.starts.values().take_while(|start| start.since < latest);
        let stuck: BTreeSet<PodId> = overdue.flat_map(|start| start.awaited.iter().copied()).collect();
        for pod in stuck {
            self.give_up(pod);
        }
        let mut actions = Vec::new();
        while let Some(number) = self.deferred.ready.pop_first() {
            if let Some(start) = self.deferred.take(number) {
                self.finish(&start, &mut actions);
            }
        }
        actions
    }

    /// Binds the Pods of a start, if they are all still there to be bound and may still be where they were to go: a
    /// gang is not begun with fewer.
    fn finish(&mut self, start: &Start, actions: &mut Vec<Action>) {
        let waits =
            |pod: &PodId| self.ledger.pod(*pod).is_some_and(|state| state.assumed && !state.pod.terminating);
        if start.pods.iter().all(waits) && self.confirm(start) {
            actions.extend(start.pods.iter().filter_map(|pod| self.bind(*pod)));
        } else {
            self.take_back(start);
        }
    }

    /// Gives the Pods of a start their places once more, with everything asked anew: others may have taken minutes to
    /// leave, and the node may have been tainted, have shrunk or have got neighbours that bar them since. They keep their
    /// cards: others that look free may be of somebody who was asked to go later and is still there.
    fn confirm(&mut self, start: &Start) -> bool {
        // Nodes that are held for others by now are held from when these Pods have ended.
        let scope = Scope { held: Arc::default(), ..self.scope(start.group) };
        let place = |pod: &PodId| match self.ledger.pod(*pod)?.pod.phase.clone() {
            PodPhase::Placed { node, cards, .. } => Some((*pod, node, cards)),
            _ => None,
        };
        let places: Vec<(PodId, NodeId, CardsTaken)> = start.pods.iter().filter_map(place).collect();
        self.unplace_all(&start.pods);
        let good = places.iter().all(|(pod, node, cards)| {
            self.finds_on(*pod, *node, &scope).is_some()
                && self.ledger.place(*pod, *node, cards.clone(), self.now).is_ok()
        });
        if !good {
            for (pod, node, _) in places {
                self.follow(pod, Some(node));
            }
        }
        good
    }

    /// Nodes have changed: takes starts back that may not go where they were to, so that nobody goes for them who has
    /// not been stopped yet.
    pub(super) fn review_deferred(&mut self) {
        let lost = |start: &Start| start.pods.iter().any(|pod| self.is_barred(*pod));
        let starts = self.deferred.starts.iter().filter(|(_, start)| lost(start));
        for number in starts.map(|(number, _)| *number).collect::<Vec<_>>() {
            if let Some(start) = self.deferred.take(number) {
                self.take_back(&start);
            }
        }
    }

    /// Whether the node that a Pod was given does not take it any more, whatever runs there.
    fn is_barred(&self, pod: PodId) -> bool {
        let Some((state, node)) = self.ledger.pod(pod).zip(self.place_of(pod)) else { return false };
        let node = self.ledger.node(node).filter(|node| node.present);
        node.is_none_or(|node| judge_node(&state.pod.shape, &node.node).is_some())
    }

    /// A Pod that was asked to go stays: whoever counted on its room waits again.
    pub(super) fn give_up(&mut self, pod: PodId) {
        let Some((leaving, waiters)) = self.deferred.forget(pod) else { return };
        for number in waiters {
            if let Some(start) = self.deferred.take(number) {
                self.take_back(&start);
            }
        }
        self.ledger.put_back(leaving.lifted);
        if let Some((payer, amounts)) = leaving.charge {
            self.tree.stay(payer, &amounts);
            self.books.enter(pod, payer, amounts);
            self.order.shares_changed(&self.tree, payer.seat);
        }
        if let Some(seen) = leaving.seen {
            self.ledger.upsert_pod(seen);
        }
        self.follow(pod, None);
    }

    /// Takes the places of a start away again, and of all that were to follow it.
    fn take_back(&mut self, start: &Start) {
        let following = self.deferred.by_group.get(&start.group).filter(|_| start.begins).cloned();
        for number in following.into_iter().flatten() {
            if let Some(start) = self.deferred.take(number) {
                self.take_back(&Start { begins: false, ..start });
            }
        }
        for pod in &start.pods {
            let before = self.place_of(*pod);
            if self.ledger.unplace(*pod) {
                self.follow(*pod, before);
            }
        }
        self.queue(start.group);
    }
}
