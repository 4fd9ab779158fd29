//! Holding nodes for a group that cannot start yet, so that it will.

use std::collections::BTreeSet;

use crate::{
    filter::is_one_per_node,
    ledger::NodeState,
    model::{GroupId, Millis, NodeId, Pod, PodId, PodPhase},
    place::Scope,
    preempt::{Claim, Room},
    queue::{Blocked, Opening, Reservation, earliest},
};

use super::{Core, need::Need};

/// When and where a group could start if nobody else came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Forecast {
    /// Not on these nodes, even if they were empty.
    Never,
    /// Then, or nobody can say when; there, or nowhere that is not held for others.
    At { start: Option<Millis>, nodes: Vec<NodeId> },
}

impl Core {
    /// Holds nodes for a group that found no room, if it is its turn to have some held.
    pub(super) fn reserve(&mut self, id: GroupId, need: &Need) -> Blocked {
        let full = self.reservations.len() >= self.config.reservations;
        if full || self.forecasts == 0 || self.reservations.iter().any(|reservation| reservation.group == id)
        {
            return Blocked::Room;
        }
        self.forecasts -= 1;
        match self.forecast(id, need) {
            Forecast::Never => return Blocked::Never,
            // Where there seems to be room now, it is not room that is missing.
            Forecast::At { start, nodes }
                if !nodes.is_empty() && start.is_none_or(|start| start > self.now) =>
            {
                let created = self.ledger.group(id).map_or(self.now, |state| state.group.created);
                let patient_until = created.saturating_add(self.config.patience);
                if start.is_some() || patient_until <= self.now {
                    self.reservations.push(Reservation { group: id, nodes, start });
                    self.reservations_changed();
                } else {
                    self.alarms.entry(patient_until).or_default().insert(id);
                }
            }
            Forecast::At { .. } => {}
        }
        Blocked::Room
    }

    /// Nothing is held for a group any more, if something was: others may ask for those nodes.
    pub(super) fn release_reservation(&mut self, id: GroupId) {
        let before = self.reservations.len();
        self.reservations.retain(|reservation| reservation.group != id);
        if self.reservations.len() != before {
            self.reservations_changed();
            self.order.more_room(&self.tree);
        }
    }

    /// Drops reservations of groups that no longer wait for room, and has those counted anew that did not come true.
    pub(super) fn review_reservations(&mut self) {
        let stale = |reservation: &&Reservation| {
            let waits = self.order.place(reservation.group).is_some_and(|(lane, _)| {
                !matches!(self.order.blocked(lane), Some(Blocked::Limit(_) | Blocked::Never))
            });
            let gone = |node: &NodeId| !self.ledger.node(*node).is_some_and(|state| state.present);
            let overdue = reservation.start.is_some_and(|start| start < self.now);
            !waits || overdue || reservation.nodes.iter().any(gone)
        };
        let stale: Vec<GroupId> = self.reservations.iter().filter(stale).map(|one| one.group).collect();
        for group in stale {
            self.release_reservation(group);
            if let Some((lane, _)) = self.order.place(group) {
                self.order.wake(&self.tree, lane);
            }
        }
    }

    /// When and where a group could start. Looks at every Pod on the nodes it may use.
    pub(super) fn forecast(&mut self, id: GroupId, need: &Need) -> Forecast {
        // Held nodes are left out below, not here: they are no reason to say never.
        let scope = Scope { held: std::sync::Arc::default(), ..self.scope(id) };
        let mut taken: BTreeSet<NodeId> = self
            .reservations
            .iter()
            .filter(|reservation| reservation.group != id)
            .flat_map(|reservation| reservation.nodes.iter().copied())
            .collect();
        let (mut start, mut nodes) = (Some(0), Vec::new());
        for (_, pods) in &need.parts {
            let Some(pod) = pods.first().and_then(|pod| self.ledger.pod(*pod)) else {
                return Forecast::Never;
            };
            let count = u32::try_from(pods.len()).unwrap_or(u32::MAX);
            let openings = self.openings(&pod.pod, &scope);
            if earliest(count, &openings).is_none() {
                return Forecast::Never;
            }
            let others: Vec<Opening> =
                openings.into_iter().filter(|opening| !taken.contains(&opening.node)).collect();
            let Some((from, chosen)) = earliest(count, &others) else {
                return Forecast::At { start: None, nodes: Vec::new() };
            };
            start = start.filter(|_| from != Millis::MAX).map(|start| from.max(start));
            taken.extend(&chosen);
            nodes.extend(chosen);
        }
        nodes.sort_unstable();
        Forecast::At { start, nodes }
    }

    /// How many Pods of a shape each node takes, now and as its Pods end.
    fn openings(&self, pod: &Pod, scope: &Scope) -> Vec<Opening> {
        let claim = self.claim_of(pod);
        self.candidates(&pod.shape, scope).flat_map(|node| self.openings_on(node, &claim)).collect()
    }

    fn openings_on(&self, node: &NodeState, claim: &Claim) -> Vec<Opening> {
        let mut room = Room::of(node, claim);
        let mut count = room.fits(claim);
        let mut openings = vec![Opening { node: node.id, from: self.now, count }];
        let mut ends: Vec<(Millis, PodId)> = node.pods.iter().map(|pod| (self.end_of(*pod), *pod)).collect();
        ends.sort_unstable();
        for (from, pod) in ends {
            let Some(state) = self.ledger.pod(pod) else { continue };
            if let PodPhase::Placed { cards, .. } = &state.pod.phase {
                room.give_back(&state.pod.shape.requests, cards);
            }
            let fits = room.fits(claim);
            if fits > count {
                count = fits;
                openings.push(Opening { node: node.id, from, count });
            }
        }
        openings
    }

    /// When a Pod will have ended; [`Millis::MAX`] if nobody can say, or if it should have already.
    pub(crate) fn end_of(&self, pod: PodId) -> Millis {
        let Some(state) = self.ledger.pod(pod) else { return Millis::MAX };
        let group = self.ledger.group(state.pod.group);
        if state.pod.terminating {
            let grace = group.and_then(|state| state.group.grace).unwrap_or(self.config.grace);
            return self.now.saturating_add(grace);
        }
        let PodPhase::Placed { since, .. } = state.pod.phase else { return Millis::MAX };
        let end = group.and_then(|state| state.group.ends_by(since));
        end.filter(|end| *end >= self.now).unwrap_or(Millis::MAX)
    }

    /// What Pods like this take.
    pub(super) fn claim_of(&self, pod: &Pod) -> Claim {
        let shape = &pod.shape;
        Claim {
            requests: shape.requests.clone(),
            cards: shape.cards,
            sharers: self.ledger.sharers(&shape.cards),
            one_per_node: is_one_per_node(pod),
        }
    }
}
