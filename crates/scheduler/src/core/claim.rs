//! Making room for a claimant by asking others to go.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{
    filter::clash,
    ledger::NodeState,
    model::{Amounts, GroupId, Pod, PodId},
    preempt::{Board, Plan, Room, Spot, choose},
    queue::{LaneId, Seat},
};

use super::{
    Action, Core, Reason,
    deferred::Leaving,
    need::{Need, need},
    victims::{Candidate, Claimant, Ground},
};

/// How often a choice is made anew because somebody in it had no longer to give.
const SECOND_CHOICES: usize = 8;

/// Groups that may be asked to go, and by what right.
pub(super) type Prey = BTreeMap<GroupId, Reason>;

/// Why no room was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// Not if all who may be asked went.
    NoPlan,
    /// There would have been room, but not for these: something else is in the way.
    NoPlace,
}

/// Pods that have been thought away for a claimant, with why they go.
pub(super) type Going = Vec<(PodId, Leaving, Option<Reason>)>;

/// What room is wanted for.
pub(super) struct Wish {
    /// Groups that start together or each by itself; of the first one the question is.
    pub(super) groups: Vec<GroupId>,
    /// By shape: the Pods, and fewest of them that must find room.
    pub(super) parts: Vec<(Vec<PodId>, usize)>,
    pub(super) claimant: Claimant,
}

impl Core {
    /// Has others asked to go so that a group can start, if it has a right to it and is then sure to be placed. Equal
    /// groups behind it in its lane are looked after together.
    pub(super) fn claim(
        &mut self,
        lane: LaneId,
        id: GroupId,
        need: &Need,
        actions: &mut Vec<Action>,
    ) -> bool {
        if !self.config.preemption {
            return false;
        }
        let mut hopeless: Option<Prey> = None;
        for right in [Reason::BestEffort, Reason::Reclaimed, Reason::Priority] {
            let mut most = if need.count() == 1 { self.config.batch.max(1) } else { 1 };
            loop {
                let Some(wish) = self.wish(lane, id, need, most) else { return false };
                most =
                    if need.count() == 1 { wish.parts.iter().map(|(pods, _)| pods.len()).sum() } else { 1 };
                let prey = self.prey(&wish.claimant, right);
                let nobody = prey.is_empty() && self.terminating.is_empty();
                if !nobody && hopeless.as_ref() != Some(&prey) {
                    match self.grant(&wish, &prey, actions) {
                        Ok(()) => return true,
                        Err(Failure::NoPlan) => hopeless = Some(prey),
                        Err(Failure::NoPlace) => hopeless = None,
                    }
                }
                if most == 1 {
                    break;
                }
                // Fewer have a right to more: an account may be below its part with some of them, but not with all.
                most = if right == Reason::Reclaimed { most / 4 } else { 1 };
                most = most.max(1);
            }
        }
        false
    }

    /// What to ask for on behalf of the first group of a lane. Where Pods come one by one it is for several of them, of this
    /// group and of those behind it, as far as limits allow.
    fn wish(&self, lane: LaneId, id: GroupId, need: &Need, most: usize) -> Option<Wish> {
        let payer = self.groups.get(&id)?.payer;
        let priority = self.ledger.group(id)?.group.priority;
        let asked = need.amounts(&self.ledger);
        if need.count() > 1 {
            let parts = need.parts.iter().map(|(_, pods)| (pods.clone(), pods.len())).collect();
            return Some(Wish { groups: vec![id], parts, claimant: Claimant { payer, priority, asked } });
        }
        let mut pods: Vec<PodId> = Vec::new();
        let behind = self.order.first(lane, most.max(1)).into_iter();
        let behind = behind.filter(|rank| rank.priority.0 == priority && rank.group != id);
        for group in [id].into_iter().chain(behind.map(|rank| rank.group)) {
            pods.extend(self.next_of(group, most.saturating_sub(pods.len())));
        }
        while pods.len() > 1 && self.tree.admit(payer, &times(&asked, pods.len())).is_err() {
            pods.truncate(pods.len() / 2);
        }
        let mut groups: Vec<GroupId> =
            pods.iter().filter_map(|pod| Some(self.ledger.pod(*pod)?.pod.group)).collect();
        groups.dedup();
        groups.first()?;
        let asked = times(&asked, pods.len());
        Some(Wish { groups, parts: vec![(pods, 1)], claimant: Claimant { payer, priority, asked } })
    }

    /// The Pods that a group takes next and one by one, alike and at most so many; none if it needs several at once.
    fn next_of(&self, id: GroupId, most: usize) -> Vec<PodId> {
        let Some(state) = self.ledger.group(id) else { return Vec::new() };
        let Some(first) = need_of_one(&self.ledger, state) else { return Vec::new() };
        let shape = |pod: PodId| self.ledger.pod(pod).map(|state| state.shape);
        let others = state.pending.iter().copied().filter(|pod| *pod != first && shape(*pod) == shape(first));
        std::iter::once(first).chain(others).take(most).collect()
    }

    /// Tries a right: thinks the victims away, places the claimants, and only then has anybody asked to go.
    pub(super) fn grant(
        &mut self,
        wish: &Wish,
        prey: &Prey,
        actions: &mut Vec<Action>,
    ) -> Result<(), Failure> {
        let mut going: Going = Vec::new();
        let mut placed: Vec<PodId> = Vec::new();
        for (pods, least) in &wish.parts {
            let done = match self.make_room(wish, prey, pods, *least, &mut going) {
                None => Err(Failure::NoPlan),
                Some(plan) => {
                    let found = self.place_as_planned(wish.groups[0], pods, &plan);
                    placed.extend(&found);
                    let all = found.len() == usize::try_from(plan.placed()).unwrap_or(usize::MAX);
                    if all { Ok(()) } else { Err(Failure::NoPlace) }
                }
            };
            if done.is_err() {
                self.undo(&placed, going);
                return done;
            }
        }
        if !self.leaves_guarantees(wish, &placed, &going) {
            self.undo(&placed, going);
            return Err(Failure::NoPlace);
        }
        self.carry_out(wish, going, placed, actions);
        Ok(())
    }

    /// Whether the claimants keep to their limits and to what is guaranteed to others, with their victims gone.
    pub(super) fn leaves_guarantees(&mut self, wish: &Wish, placed: &[PodId], going: &Going) -> bool {
        let mut taken = Amounts::default();
        for state in placed.iter().filter_map(|pod| self.ledger.pod(*pod)) {
            taken += &self.ledger.demand(&state.pod.shape);
        }
        if self.tree.has_guarantees() {
            let mut free = self.free.follow(&self.ledger).clone();
            free += &taken;
            self.tree.set_free(free);
        }
        let gone: Vec<_> = going.iter().filter_map(|(pod, _, _)| self.books.get(*pod).cloned()).collect();
        for (payer, amounts) in &gone {
            self.tree.refund(*payer, amounts);
        }
        let payer = wish.claimant.payer;
        let may =
            self.tree.within_limits_when_left(payer, &taken) && self.tree.leaves_guarantees(payer, &taken);
        for (payer, amounts) in &gone {
            self.tree.charge(*payer, amounts);
        }
        may
    }

    /// Thinks those away whose going makes room for Pods of one shape.
    fn make_room(
        &mut self,
        wish: &Wish,
        prey: &Prey,
        pods: &[PodId],
        least: usize,
        going: &mut Going,
    ) -> Option<Plan> {
        let scope = self.scope(wish.groups[0]);
        let pod = &self.ledger.pod(*pods.first()?)?.pod;
        let claim = self.claim_of(pod);
        let mut ground = Ground { claims_cards: claim.cards.kind().is_some(), ..Ground::default() };
        let mut spots = Vec::new();
        for node in self.candidates(&pod.shape, &scope) {
            let obstacles = self.in_the_way(pod, node);
            ground.spots.insert(node.id, spots.len());
            spots.push(Spot { node: node.id, room: Room::of(node, &claim), in_the_way: obstacles.len() });
            ground.in_the_way.extend(obstacles);
        }
        let mut candidates = self.candidates_to_go(prey, &ground);
        let mut board = Board { claim, spots, units: Vec::new() };
        let (least, most) = (u32::try_from(least).ok()?, u32::try_from(pods.len()).ok()?);
        for _ in 0..SECOND_CHOICES {
            board.units = candidates.iter().map(|candidate| candidate.unit.clone()).collect();
            let plan = choose(&board, least, most)?;
            let exhausted = self.exhausted_by(&wish.claimant, &candidates, &plan);
            if exhausted.is_empty() {
                self.think_away(&candidates, &plan, going);
                return Some(plan);
            }
            let mut number = 0;
            candidates.retain(|candidate| {
                number += 1;
                let may_give = candidate.payer.and_then(|payer| exhausted.get(&payer.seat));
                candidate.reason != Some(Reason::Reclaimed)
                    || may_give.is_none_or(|may_give| may_give.contains(&(number - 1)))
            });
        }
        None
    }

    /// Pods on a node beside which a Pod cannot be there.
    fn in_the_way(&self, pod: &Pod, node: &NodeState) -> Vec<PodId> {
        let asks = !(pod.shape.host_ports.is_empty() && pod.shape.anti_affinity.is_empty());
        let among = if asks { &node.pods } else { &node.repelling };
        let clashes = |id: &&PodId| self.ledger.pod(**id).is_some_and(|one| clash(&one.pod, pod, &node.node));
        among.iter().filter(clashes).copied().collect()
    }

    /// Accounts of which a plan takes more than what is above their part, with the units that may be taken.
    fn exhausted_by(
        &mut self,
        claimant: &Claimant,
        candidates: &[Candidate],
        plan: &Plan,
    ) -> BTreeMap<Seat, BTreeSet<usize>> {
        let mut may_give: BTreeMap<Seat, BTreeSet<usize>> = BTreeMap::new();
        let mut exhausted = BTreeSet::new();
        let mut given = Vec::new();
        for unit in &plan.units {
            let candidate = &candidates[*unit];
            let Some(payer) = candidate.payer else { continue };
            if candidate.reason == Some(Reason::Reclaimed) {
                if !self.may_reclaim(claimant, payer.seat) {
                    exhausted.insert(payer.seat);
                    continue;
                }
                may_give.entry(payer.seat).or_default().insert(*unit);
            }
            for pod in &candidate.pods {
                if let Some((payer, amounts)) = self.books.get(*pod) {
                    self.tree.refund(*payer, amounts);
                    given.push((*payer, amounts.clone()));
                }
            }
        }
        for (payer, amounts) in given {
            self.tree.charge(payer, &amounts);
        }
        exhausted.into_iter().map(|seat| (seat, may_give.remove(&seat).unwrap_or_default())).collect()
    }

    /// Takes the Pods of a plan out of the ledger for now. Of a gang that loses its minimum all Pods go.
    pub(super) fn think_away(&mut self, candidates: &[Candidate], plan: &Plan, going: &mut Going) {
        for unit in &plan.units {
            let candidate = &candidates[*unit];
            let mut pods = candidate.pods.clone();
            if candidate.unit.is_gang() || self.is_core(candidate) {
                let all = self.ledger.group(candidate.group).map(|state| state.placed.clone());
                pods.extend(all.unwrap_or_default());
            }
            for pod in pods {
                let Some(node) = self.place_of(pod) else { continue };
                if let Some(lifted) = self.ledger.lift(pod) {
                    let leaving = Leaving { lifted, node, charge: None, seen: None };
                    going.push((pod, leaving, candidate.reason.filter(|_| !self.terminating.contains(&pod))));
                }
            }
        }
    }

    /// Whether a unit of one Pod is one that its gang cannot do without.
    fn is_core(&self, candidate: &Candidate) -> bool {
        let Some(state) = self.ledger.group(candidate.group) else { return false };
        let there: u32 = state.tasks.values().map(|counts| counts.placed + counts.ended).sum();
        let going = u32::try_from(candidate.pods.len()).unwrap_or(u32::MAX);
        let short = |task: &crate::model::TaskMinimum| {
            let counts = state.tasks.get(task.task.as_str()).copied().unwrap_or_default();
            let going = candidate.pods.iter().filter_map(|pod| self.ledger.pod(*pod));
            let going = going.filter(|state| *state.pod.task == *task.task).count();
            counts.placed + counts.ended
                < task.minimum.saturating_add(u32::try_from(going).unwrap_or(u32::MAX))
        };
        there < state.group.minimum.saturating_add(going) || state.group.task_minimums.iter().any(short)
    }

    /// Ends a trial: nobody has a place who had none, and everybody is where it was.
    pub(super) fn undo(&mut self, placed: &[PodId], going: Going) {
        self.unplace_all(placed);
        for (_, leaving, _) in going.into_iter().rev() {
            self.ledger.put_back(leaving.lifted);
        }
    }

    /// Places Pods on the nodes of a plan; those that found a place.
    fn place_as_planned(&mut self, id: GroupId, pods: &[PodId], plan: &Plan) -> Vec<PodId> {
        let scope = self.scope(id);
        let mut waiting = pods.iter();
        let mut placed = Vec::new();
        for (node, count) in &plan.places {
            for _ in 0..*count {
                let Some(pod) = waiting.next() else { return placed };
                if self.place_on(*pod, *node, &scope) {
                    placed.push(*pod);
                }
            }
        }
        placed
    }

    /// Everybody has a place: the victims are asked to go, and the claimants are bound when they have.
    pub(super) fn carry_out(
        &mut self,
        wish: &Wish,
        going: Going,
        placed: Vec<PodId>,
        actions: &mut Vec<Action>,
    ) {
        for (pod, mut leaving, reason) in going {
            leaving.charge = self.books.strike(pod);
            if let Some((payer, amounts)) = &leaving.charge {
                self.tree.leave(*payer, amounts);
                self.order.shares_changed(&self.tree, payer.seat);
            }
            let state = self.ledger.pod(pod);
            let group = state.map(|state| state.pod.group);
            let grace = group.and_then(|group| self.ledger.group(group)).and_then(|state| state.group.grace);
            if let Some(reason) = reason {
                let grace = grace.unwrap_or(self.config.grace);
                actions.push(Action::Evict { pod, claimant: wish.groups[0], reason, grace });
            }
            self.terminating.remove(&pod);
            self.dirty.extend(group);
            self.deferred.leave(pod, leaving);
        }
        let mut by_group: HashMap<GroupId, Vec<PodId>> = HashMap::new();
        for pod in placed {
            if let Some(state) = self.ledger.pod(pod) {
                by_group.entry(state.pod.group).or_default().push(pod);
            }
        }
        for group in &wish.groups {
            self.release_reservation(*group);
            if let Some(pods) = by_group.remove(group) {
                self.settle_started(*group, pods, actions);
            }
        }
    }
}

/// The one Pod a group needs next, if it needs one at a time.
fn need_of_one(ledger: &crate::ledger::Ledger, state: &crate::ledger::GroupState) -> Option<PodId> {
    let need = need(ledger, state).ok()?;
    (need.count() == 1).then(|| need.pods().next()).flatten()
}

fn times(amounts: &Amounts, count: usize) -> Amounts {
    let mut all = Amounts::default();
    for (resource, amount) in amounts.iter() {
        all.set(resource, amount.saturating_mul(i64::try_from(count).unwrap_or(i64::MAX)));
    }
    all
}
