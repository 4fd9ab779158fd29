//! Starting one group: limits, trial placement, and what follows when there is no room.

use crate::{
    model::{CardsTaken, GroupId, NodeId, Pod, PodId, PodPhase, ServiceLevel},
    place::{Refusal, Scope},
    queue::{Blocked, LaneId, Limit, Payer},
};

use super::{
    Action, Core,
    deferred::Start,
    need::{Need, need},
};

impl Core {
    /// Starts the first group of a lane, or says why it cannot.
    pub(super) fn start(
        &mut self,
        lane: LaneId,
        id: GroupId,
        actions: &mut Vec<Action>,
    ) -> Result<(), Blocked> {
        self.asked += 1;
        let Some(state) = self.ledger.group(id) else {
            self.queue(id);
            return Ok(());
        };
        let Ok(need) = need(&self.ledger, state) else {
            self.queue(id);
            return Ok(());
        };
        let Some(payer) = self.groups.get(&id).map(|known| known.payer) else { return Err(Blocked::Never) };
        if self.is_too_late(id) {
            self.release_reservation(id);
            return Err(Blocked::Never);
        }
        let admitted = self.admit(payer, &need);
        if admitted.is_ok() && self.fits_in_all(&need) && self.place_all(id, &need).is_ok() {
            self.release_reservation(id);
            self.settle_started(id, need.pods().collect(), actions);
            return Ok(());
        }
        // What is kept for others says nothing about room that is yet to be made.
        let may_claim = matches!(admitted, Ok(()) | Err(Limit::Kept { .. }));
        if may_claim && self.claim(lane, id, &need, actions) {
            return Ok(());
        }
        let limited = matches!(admitted, Err(Limit::Capability { .. } | Limit::Member { .. }));
        if limited && self.claim_within_limits(id, &need, actions) {
            return Ok(());
        }
        match admitted {
            Ok(()) => Err(self.no_room(id, &need, payer.level)),
            Err(limit) => {
                self.release_reservation(id);
                Err(Blocked::Limit(limit))
            }
        }
    }

    /// Whether a group is to be over by now: whoever made it ends it, and nobody has to go for it.
    pub(super) fn is_too_late(&self, id: GroupId) -> bool {
        let deadline = self.ledger.group(id).and_then(|state| state.group.deadline);
        deadline.is_some_and(|deadline| deadline <= self.now)
    }

    /// What becomes of a group that found no room.
    fn no_room(&mut self, id: GroupId, need: &Need, level: ServiceLevel) -> Blocked {
        let pods = need.parts.iter().filter_map(|(_, pods)| self.ledger.pod(*pods.first()?));
        if pods
            .map(|state| &state.pod.shape)
            .any(|shape| !shape.affinity.is_empty() || !shape.spread.is_empty())
        {
            self.sociable.insert(id);
        }
        // What only makes a running group larger does not make others wait.
        let starts = need.begun || self.ledger.group(id).is_some_and(|state| state.placed.is_empty());
        if level == ServiceLevel::Guaranteed && starts { self.reserve(id, need) } else { Blocked::Room }
    }

    /// Whether the account may have it.
    pub(super) fn admit(&mut self, payer: Payer, need: &Need) -> Result<(), Limit> {
        if self.tree.has_guarantees() {
            self.tree.set_free(self.free.follow(&self.ledger).clone());
        }
        self.tree.admit(payer, &need.amounts(&self.ledger))
    }

    /// Whether there is enough of everything, wherever it is: saves the trial of large gangs on a full cluster.
    pub(super) fn fits_in_all(&mut self, need: &Need) -> bool {
        if need.count() == 1 {
            return true;
        }
        let free = self.free.follow(&self.ledger);
        need.amounts(&self.ledger).iter().all(|(resource, amount)| amount <= free.get(resource))
    }

    /// Gives all Pods of a need places in the ledger, or none.
    pub(super) fn place_all(&mut self, id: GroupId, need: &Need) -> Result<(), Refusal> {
        let mut scope = self.scope(id);
        scope.near = self.near(id, need, &scope);
        let mut placed = Vec::with_capacity(need.count());
        for pod in need.pods() {
            if let Err(refusal) = self.place_one(pod, &scope) {
                self.unplace_all(&placed);
                return Err(refusal);
            }
            placed.push(pod);
        }
        Ok(())
    }

    /// Gives one Pod the best place there is.
    pub(super) fn place_one(&mut self, pod: PodId, scope: &Scope) -> Result<(), Refusal> {
        let Some(state) = self.ledger.pod(pod) else { return Err(Refusal::default()) };
        let found = self.placer.best(&self.ledger, &state.pod, scope)?;
        self.ledger.place(pod, found.node, found.cards, self.now).map_err(|_| Refusal::default())
    }

    /// Gives one Pod a place on one node.
    pub(super) fn place_on(&mut self, pod: PodId, node: NodeId, scope: &Scope) -> bool {
        self.finds_on(pod, node, scope)
            .is_some_and(|cards| self.ledger.place(pod, node, cards, self.now).is_ok())
    }

    /// The best cards for a Pod on one node, if it may go there.
    pub(super) fn finds_on(&mut self, pod: PodId, node: NodeId, scope: &Scope) -> Option<CardsTaken> {
        let promised = Pod { nominated: Some(node), ..self.ledger.pod(pod)?.pod.clone() };
        let found = self.placer.best(&self.ledger, &promised, scope).ok()?;
        (found.node == node).then_some(found.cards)
    }

    /// Undoes a trial.
    pub(super) fn unplace_all(&mut self, pods: &[PodId]) {
        for pod in pods.iter().rev() {
            self.ledger.unplace(*pod);
        }
    }

    /// Charges what has been placed, lets its binds go (or keeps them until all who leave its nodes have left), and
    /// looks at what the group needs next.
    pub(super) fn settle_started(&mut self, id: GroupId, pods: Vec<PodId>, actions: &mut Vec<Action>) {
        for pod in &pods {
            self.recharge(*pod);
        }
        let nodes = pods.iter().filter_map(|pod| self.place_of(*pod));
        let mut awaited = self.deferred.leaving_from(nodes);
        awaited.extend(self.deferred.awaited_to_begin(id));
        awaited.extend(self.awaited_by_limits(id));
        if awaited.is_empty() {
            actions.extend(pods.iter().filter_map(|pod| self.bind(*pod)));
        } else {
            let placed = self.ledger.group(id).map_or(0, |state| state.placed.len());
            let begins = placed == pods.len();
            self.deferred.defer(Start { group: id, pods, begins, awaited, since: self.now });
        }
        self.queue(id);
    }

    /// The bind of a Pod that has a place in the ledger.
    pub(super) fn bind(&self, pod: PodId) -> Option<Action> {
        match &self.ledger.pod(pod)?.pod.phase {
            PodPhase::Placed { node, cards, .. } => {
                Some(Action::Bind { pod, node: *node, cards: cards.clone() })
            }
            _ => None,
        }
    }
}
