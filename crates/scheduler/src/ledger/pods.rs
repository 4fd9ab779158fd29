//! Pods: what the watches say about them, and places given to them.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use thiserror::Error;

use super::{Ledger, promises::promise};
use crate::{
    filter::judge_volumes,
    model::{
        CardsTaken, GroupId, Millis, NodeId, Pod, PodId, PodPhase, PodVolumes, ResourceId, ShapeId,
        WHOLE_CARD,
    },
};

/// A Pod, and how sure its place is.
#[derive(Debug, Clone)]
pub struct PodState {
    /// The Pod. The cards in its phase are those counted, also where they had to be presumed.
    pub pod: Pod,
    /// The number of its shape; equal shapes have equal numbers.
    pub shape: ShapeId,
    /// Its place was decided here and has not been seen in the cluster yet.
    pub assumed: bool,
}

/// Why a place was not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refused {
    /// No such Pod.
    #[error("the Pod is not known")]
    NoSuchPod,
    /// It has a place, must not have one yet, or has ended.
    #[error("the Pod does not wait for a place")]
    NotPending,
    /// No such node.
    #[error("the node does not exist")]
    NoSuchNode,
    /// Not enough of a resource.
    #[error("too little is left of resource {}", .0.index())]
    Resource(ResourceId),
    /// No volume there for a claim of the Pod, no room for one more, or a claim is another Pod's for now.
    #[error("a volume or a claim of the Pod cannot be used there")]
    Volume,
    /// Not the kind, number or share of cards that the Pod asks for.
    #[error("the cards are not what the Pod asks for")]
    OtherCards,
    /// The node has no such card, or withholds it.
    #[error("card {0} cannot be used")]
    NoSuchCard(u16),
    /// Too little is left of a card, or too many share it.
    #[error("card {0} is taken")]
    CardTaken(u16),
}

#[derive(Debug, Clone, Default)]
pub(super) struct Pods {
    states: BTreeMap<PodId, PodState>,
    numbers: HashMap<Arc<str>, PodId>,
    next: u32,
}

impl Pods {
    pub(super) fn cards(&self, id: PodId) -> Option<&CardsTaken> {
        match &self.states.get(&id)?.pod.phase {
            PodPhase::Placed { cards, .. } => Some(cards),
            _ => None,
        }
    }
}

impl Ledger {
    /// A Pod was seen, ours or another scheduler's. A view older than what is known takes nothing back.
    pub fn upsert_pod(&mut self, mut pod: Pod) -> PodId {
        let known = self.pods.numbers.get(&pod.uid).copied();
        let id = known.unwrap_or_else(|| {
            self.pods.next += 1;
            self.pods.numbers.insert(Arc::clone(&pod.uid), PodId(self.pods.next));
            PodId(self.pods.next)
        });
        if !pod.ours {
            pod.group = GroupId::NONE;
        }
        let Some(old) = self.pods.states.remove(&id) else {
            let (shape, shared) = self.shapes.hold(&pod.shape);
            pod.shape = shared;
            self.presume_cards(&mut pod);
            self.count(id, &pod);
            self.pods.states.insert(id, PodState { pod, shape, assumed: false });
            return id;
        };
        let assumed;
        (pod.phase, assumed) = newest(pod.phase, &old);
        if old.assumed && !assumed {
            self.seen_in_place(id, &old.pod.phase, &pod.phase);
        }
        let mut shape = old.shape;
        // The same one is nearly always also the same in memory; comparing and hashing it costs more than all else here.
        if !Arc::ptr_eq(&pod.shape, &old.pod.shape) {
            (shape, pod.shape) = self.shapes.hold(&pod.shape);
            self.shapes.release(&old.pod.shape);
        }
        if !counts_alike(&pod, &old.pod) {
            self.discount(id, &old.pod);
            self.presume_cards(&mut pod);
            self.count(id, &pod);
            self.settle(&old.pod);
        }
        self.pods.states.insert(id, PodState { pod, shape, assumed });
        id
    }

    /// A Pod is gone.
    pub fn remove_pod(&mut self, uid: &str) {
        let Some(id) = self.pods.numbers.remove(uid) else { return };
        let Some(state) = self.pods.states.remove(&id) else { return };
        self.volumes.release(id);
        self.discount(id, &state.pod);
        self.settle(&state.pod);
        self.shapes.release(&state.pod.shape);
    }

    /// A place that was assumed has been seen, or another one, or the end of the Pod.
    fn seen_in_place(&mut self, id: PodId, assumed: &PodPhase, seen: &PodPhase) {
        let node = |phase: &PodPhase| match phase {
            PodPhase::Placed { node, .. } => Some(*node),
            _ => None,
        };
        if node(seen) == node(assumed) {
            self.volumes.settle(id);
        } else {
            self.volumes.release(id);
        }
    }

    /// A Pod, unless it is gone.
    pub fn pod(&self, id: PodId) -> Option<&PodState> {
        self.pods.states.get(&id)
    }

    /// The number of a Pod by its uid.
    pub fn find_pod(&self, uid: &str) -> Option<PodId> {
        self.pods.numbers.get(uid).copied()
    }

    /// All Pods, in the order in which they were first seen.
    pub fn pods(&self) -> impl Iterator<Item = (PodId, &PodState)> {
        self.pods.states.iter().map(|(id, state)| (*id, state))
    }

    /// Pods first seen after another one.
    pub fn pods_after(&self, newest: Option<PodId>) -> impl Iterator<Item = (PodId, &PodState)> {
        let from = newest.map_or(PodId(0), |newest| PodId(newest.0.saturating_add(1)));
        self.pods.states.range(from..).map(|(id, state)| (*id, state))
    }

    /// Gives a Pod its place, to be bound there. Nothing is handed out twice, whoever chose the place.
    pub fn place(&mut self, id: PodId, node: NodeId, cards: CardsTaken, now: Millis) -> Result<(), Refused> {
        let state = self.pods.states.get(&id).ok_or(Refused::NoSuchPod)?;
        if state.pod.phase != PodPhase::Pending || state.pod.terminating || !state.pod.ours {
            return Err(Refused::NotPending);
        }
        self.check_place(&state.pod, node, &cards)?;
        if let Some(there) = self.nodes.get(node) {
            self.volumes.hold(id, &state.pod.shape.static_claims, &there.node);
        }
        self.change_phase(id, PodPhase::Placed { node, cards, since: now }, true);
        Ok(())
    }

    /// Takes back a place that was given and not seen in the cluster: a bind failed, or it was only a trial. Says
    /// whether there was one.
    pub fn unplace(&mut self, id: PodId) -> bool {
        let Some(state) = self.pods.states.get(&id).filter(|state| state.assumed) else { return false };
        let PodPhase::Placed { node, .. } = state.pod.phase else { return false };
        self.volumes.release(id);
        self.change_phase(id, PodPhase::Pending, false);
        self.nodes.forget_if_gone(node);
        true
    }

    /// Thinks a placed Pod away, to see what would fit without it. Its former state must be given to
    /// [`Self::put_back`], or to [`Self::let_go`] once the Pod has really left.
    pub fn lift(&mut self, id: PodId) -> Option<Lifted> {
        let state = self.pods.states.get(&id)?;
        let PodPhase::Placed { node, .. } = state.pod.phase else { return None };
        let lifted = Lifted { id, node, phase: state.pod.phase.clone(), assumed: state.assumed };
        self.nodes.lifted(node, id, true);
        self.change_phase(id, PodPhase::Gated, false);
        Some(lifted)
    }

    /// Ends a trial: the Pod is where it was.
    pub fn put_back(&mut self, lifted: Lifted) {
        self.nodes.lifted(lifted.node, lifted.id, false);
        self.change_phase(lifted.id, lifted.phase, lifted.assumed);
    }

    /// A Pod that was thought away has left its node.
    #[expect(clippy::needless_pass_by_value, reason = "a Pod that has left cannot be put back")]
    pub fn let_go(&mut self, lifted: Lifted) {
        self.nodes.lifted(lifted.node, lifted.id, false);
        self.nodes.forget_if_gone(lifted.node);
    }

    /// More has become known of the volumes that a Pod uses.
    pub fn set_pod_volumes(&mut self, id: PodId, volumes: Arc<PodVolumes>) {
        self.change(id, |state| state.pod.volumes = volumes);
    }

    fn change_phase(&mut self, id: PodId, phase: PodPhase, assumed: bool) {
        self.change(id, |state| {
            state.pod.phase = phase;
            state.assumed = assumed;
        });
    }

    fn change(&mut self, id: PodId, change: impl FnOnce(&mut PodState)) {
        let Some(mut state) = self.pods.states.remove(&id) else { return };
        self.discount(id, &state.pod);
        change(&mut state);
        self.count(id, &state.pod);
        self.pods.states.insert(id, state);
    }

    /// Whether a Pod may have this place, as far as amounts and cards go.
    fn check_place(&self, pod: &Pod, node: NodeId, cards: &CardsTaken) -> Result<(), Refused> {
        let state = self.nodes.get(node).filter(|state| state.present).ok_or(Refused::NoSuchNode)?;
        for (resource, amount) in pod.shape.requests.iter() {
            if amount > state.node.allocatable.get(resource) - state.used.get(resource) {
                return Err(Refused::Resource(resource));
            }
        }
        if judge_volumes(self, pod, state).is_some() {
            return Err(Refused::Volume);
        }
        let request = &pod.shape.cards;
        let Some(kind) = request.kind() else {
            return if cards.indices.is_empty() { Ok(()) } else { Err(Refused::OtherCards) };
        };
        let as_asked = cards.kind == Some(kind)
            && cards.indices.len() == usize::from(request.count())
            && cards.indices.is_sorted_by(|one, next| one < next)
            && request.milli(state.card_memory(kind)) == Some(cards.milli)
            && cards.indices.iter().all(|index| request.allows(*index));
        if !as_asked {
            return Err(Refused::OtherCards);
        }
        let limit = self.sharers(request);
        for index in &cards.indices {
            let card = state.cards.of_kind(kind).get(usize::from(*index));
            let card = card.filter(|card| !card.withheld).ok_or(Refused::NoSuchCard(*index))?;
            if card.left_for(limit) < cards.milli {
                return Err(Refused::CardTaken(*index));
            }
        }
        Ok(())
    }

    /// A Pod that has a node and cards, but does not say which: finds some for it.
    fn presume_cards(&self, pod: &mut Pod) {
        let PodPhase::Placed { node, cards, .. } = &mut pod.phase else { return };
        let request = pod.shape.cards;
        if cards.kind.is_some() || request.kind().is_none() {
            return;
        }
        let Some(state) = self.nodes.get(*node) else { return };
        let memory = request.kind().and_then(|kind| state.card_memory(kind));
        *cards = state.cards.presume(&request, request.milli(memory).unwrap_or(WHOLE_CARD));
    }

    /// A node was seen after Pods on it: finds cards for those that could not be given any before.
    pub(super) fn presume_missing_cards(&mut self, id: NodeId) {
        let lacks = |pod: &&PodId| {
            let (state, cards) = (self.pods.states.get(pod), self.pods.cards(**pod));
            let held = cards.map_or(0, |cards| cards.indices.len());
            state.is_some_and(|state| usize::from(state.pod.shape.cards.count()) > held)
        };
        let lacking: Vec<PodId> =
            self.nodes.get(id).iter().flat_map(|state| &state.pods).filter(lacks).copied().collect();
        for pod in lacking {
            let Some(mut state) = self.pods.states.remove(&pod) else { continue };
            self.discount(pod, &state.pod);
            if let PodPhase::Placed { cards, .. } = &mut state.pod.phase {
                *cards = CardsTaken::default();
            }
            self.presume_cards(&mut state.pod);
            self.count(pod, &state.pod);
            self.pods.states.insert(pod, state);
        }
    }

    /// Drops the node and the group of a Pod if they were kept only for it.
    fn settle(&mut self, pod: &Pod) {
        if let PodPhase::Placed { node, .. } = pod.phase {
            self.nodes.forget_if_gone(node);
        }
        self.groups.forget_if_gone(pod.group);
    }

    /// Adds a Pod to all counts, as its phase says.
    fn count(&mut self, id: PodId, pod: &Pod) {
        if let PodPhase::Placed { node, cards, .. } = &pod.phase {
            let amounts = self.amounts(&pod.shape, cards);
            self.nodes.occupy(*node, id, pod, &amounts, cards);
            self.volumes.take_claims(id, &pod.volumes);
            if let Some(group) = self.groups.get_mut(pod.group) {
                group.used += &amounts;
                self.accounts.count(group.account, &group.group.user, group.group.level, &amounts, true);
            }
        }
        if let Some(node) = promise(pod) {
            self.promises.add(node, id);
        }
        self.groups.count(id, pod, true);
    }

    /// Takes a Pod out of all counts.
    fn discount(&mut self, id: PodId, pod: &Pod) {
        if let PodPhase::Placed { node, cards, .. } = &pod.phase {
            let amounts = self.amounts(&pod.shape, cards);
            self.nodes.vacate(*node, id, pod, &amounts, cards);
            self.volumes.give_back_claims(id, &pod.volumes);
            if let Some(group) = self.groups.get_mut(pod.group) {
                group.used -= &amounts;
                self.accounts.count(group.account, &group.group.user, group.group.level, &amounts, false);
            }
        }
        if let Some(node) = promise(pod) {
            self.promises.remove(node, id);
        }
        self.groups.count(id, pod, false);
    }
}

/// The place of a Pod thought away by [`Ledger::lift`].
#[derive(Debug, Clone)]
#[must_use = "the Pod has to be put back or let go"]
pub struct Lifted {
    id: PodId,
    node: NodeId,
    phase: PodPhase,
    assumed: bool,
}

impl Lifted {
    /// The Pod.
    pub fn pod(&self) -> PodId {
        self.id
    }
}

/// Which of two phases holds, what is seen now or what was known; and whether the place is still only assumed.
fn newest(seen: PodPhase, known: &PodState) -> (PodPhase, bool) {
    match (seen, &known.pod.phase) {
        (PodPhase::Pending | PodPhase::Gated, PodPhase::Placed { .. }) => {
            (known.pod.phase.clone(), known.assumed)
        }
        (_, PodPhase::Ended | PodPhase::Failed) => (known.pod.phase.clone(), false),
        (
            PodPhase::Placed { node, cards, since },
            PodPhase::Placed { node: old_node, cards: old_cards, .. },
        ) if node == *old_node && cards.kind.is_none() => {
            (PodPhase::Placed { node, cards: old_cards.clone(), since }, false)
        }
        (seen, _) => (seen, false),
    }
}

/// Whether two views of a Pod weigh the same for everybody else.
fn counts_alike(one: &Pod, other: &Pod) -> bool {
    let same_place = match (&one.phase, &other.phase) {
        (
            PodPhase::Placed { node, cards, .. },
            PodPhase::Placed { node: other_node, cards: other_cards, .. },
        ) => node == other_node && cards == other_cards,
        (one, other) => one == other,
    };
    same_place
        && Arc::ptr_eq(&one.shape, &other.shape)
        && one.labels == other.labels
        && one.volumes == other.volumes
        && promise(one) == promise(other)
        && (one.group, &one.task, one.terminating) == (other.group, &other.task, other.terminating)
}
