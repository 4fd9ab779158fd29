//! Who may be asked to go for a claimant, and by what right.

use std::{
    cmp::Reverse as Descending,
    collections::{BTreeMap, BTreeSet, HashMap},
};

use crate::{
    filter::matches_selector,
    ledger::GroupState,
    model::{Amounts, GroupId, Millis, NodeId, Pod, PodId, PodPhase, ResourceId, ServiceLevel},
    preempt::{Cost, Unit, Victim},
    queue::{Payer, Seat, Standing},
};

use super::{Core, DisruptionBudget, Reason};

/// Where room is wanted.
#[derive(Debug, Default)]
pub(super) struct Ground {
    /// Nodes that may be used, with their numbers.
    pub(super) spots: HashMap<NodeId, usize>,
    /// Pods there beside which the claimant cannot be.
    pub(super) in_the_way: BTreeSet<PodId>,
    /// What is claimed has cards.
    pub(super) claims_cards: bool,
}

/// Somebody who wants room.
#[derive(Debug, Clone)]
pub(super) struct Claimant {
    pub(super) payer: Payer,
    pub(super) priority: i32,
    /// What it asks for in all.
    pub(super) asked: Amounts,
}

/// A unit, with all that goes with it.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) unit: Unit,
    pub(super) group: GroupId,
    pub(super) payer: Option<Payer>,
    pub(super) reason: Option<Reason>,
    /// All Pods that go if it does. Without a reason they go anyway.
    pub(super) pods: Vec<PodId>,
}

impl Core {
    /// Groups that a claimant may have asked to go by a right, or by a better one.
    pub(super) fn prey(&self, claimant: &Claimant, right: Reason) -> BTreeMap<GroupId, Reason> {
        let mut found = BTreeMap::new();
        if claimant.payer.level == ServiceLevel::Guaranteed {
            self.add_groups(&mut found, self.books.best_effort(), Reason::BestEffort, |_| true);
        }
        if right >= Reason::Reclaimed && claimant.payer.level == ServiceLevel::Guaranteed {
            for seat in self.books.seats() {
                if self.may_reclaim(claimant, seat) {
                    self.add_groups(&mut found, self.books.of(seat), Reason::Reclaimed, |_| true);
                }
            }
        }
        if right >= Reason::Priority {
            let below = |state: &GroupState| {
                state.group.priority < claimant.priority && state.group.level <= claimant.payer.level
            };
            self.add_groups(&mut found, self.books.of(claimant.payer.seat), Reason::Priority, below);
        }
        found
    }

    /// Groups that a claimant at a limit may have asked to go: best-effort work that counts against the same limit.
    pub(super) fn prey_within(&self, seat: Seat) -> BTreeMap<GroupId, Reason> {
        let mut found = BTreeMap::new();
        let counts = |pod: &PodId| {
            let payer = self.books.get(*pod).map(|(payer, _)| payer.seat);
            payer.is_some_and(|payer| self.tree.chain(payer).any(|above| above == seat))
        };
        self.add_groups(&mut found, self.books.best_effort().filter(counts), Reason::BestEffort, |_| true);
        found
    }

    fn add_groups(
        &self,
        found: &mut BTreeMap<GroupId, Reason>,
        pods: impl Iterator<Item = PodId>,
        reason: Reason,
        may: impl Fn(&GroupState) -> bool,
    ) {
        let mut seen = BTreeSet::new();
        for pod in pods {
            let Some(group) = self.ledger.pod(pod).map(|state| state.pod.group) else { continue };
            if found.contains_key(&group) || !seen.insert(group) {
                continue;
            }
            let Some(state) = self.ledger.group(group) else { continue };
            // Who is about to be bound cannot be asked to go yet.
            let on_its_way = |pod: &PodId| self.ledger.pod(*pod).is_some_and(|state| state.assumed);
            if may(state) && !state.placed.iter().any(on_its_way) {
                found.insert(group, reason);
            }
        }
    }

    /// Whether an account has to give to the claimant's: where their ways up part, one side has less than its part with
    /// what is asked for, the other more without it.
    pub(super) fn may_reclaim(&self, claimant: &Claimant, victim: Seat) -> bool {
        let own: Vec<Seat> = self.tree.chain(claimant.payer.seat).collect();
        let above: Vec<Seat> = self.tree.chain(victim).take_while(|seat| !own.contains(seat)).collect();
        let Some(meet) = above.last().and_then(|seat| self.tree.parent(*seat)) else { return false };
        let below: Vec<Seat> = own.into_iter().take_while(|seat| *seat != meet).collect();
        let standing = below.iter().map(|seat| self.tree.standing(*seat, &claimant.asked)).max();
        match standing {
            None | Some(Standing::Over) => false,
            Some(standing) => above.iter().all(|seat| self.tree.exceeds(*seat, &claimant.asked, standing)),
        }
    }

    /// The units of the groups that may be asked, youngest group first, as far as budgets allow; and Pods that are going
    /// anyway.
    pub(super) fn candidates_to_go(
        &self,
        prey: &BTreeMap<GroupId, Reason>,
        ground: &Ground,
    ) -> Vec<Candidate> {
        let mut allowed = self.budgets_left();
        let mut order: Vec<(Descending<Millis>, GroupId)> =
            prey.keys().map(|group| (Descending(self.youngest(*group)), *group)).collect();
        order.sort_unstable();
        let mut all: Vec<Candidate> = Vec::new();
        for (_, group) in order {
            let Some(state) = self.ledger.group(group) else { continue };
            let reason = prey.get(&group).copied();
            for pods in self.units_of(state) {
                let payer = self.groups.get(&group).map(|known| known.payer);
                let unit = self.unit(&pods, ground);
                if !unit.victims.is_empty() && self.within_budgets(&mut allowed, &pods) {
                    all.push(Candidate { unit, group, payer, reason, pods });
                }
            }
        }
        for pod in &self.terminating {
            let mut unit = self.unit(&[*pod], ground);
            for (_, victim) in &mut unit.victims {
                victim.cost = Cost::default();
            }
            if !unit.victims.is_empty() {
                all.push(Candidate {
                    unit,
                    group: GroupId::NONE,
                    payer: None,
                    reason: None,
                    pods: vec![*pod],
                });
            }
        }
        all
    }

    fn youngest(&self, group: GroupId) -> Millis {
        let placed = self.ledger.group(group).into_iter().flat_map(|state| &state.placed);
        placed.map(|pod| self.since(*pod)).max().unwrap_or(0)
    }

    fn since(&self, pod: PodId) -> Millis {
        match self.ledger.pod(pod).map(|state| &state.pod.phase) {
            Some(PodPhase::Placed { since, .. }) => *since,
            _ => 0,
        }
    }

    /// The Pods of a group that can go by themselves, youngest first, and then those that cannot go without the rest.
    fn units_of(&self, state: &GroupState) -> Vec<Vec<PodId>> {
        let mut pods: Vec<PodId> =
            state.placed.iter().copied().filter(|pod| !self.terminating.contains(pod)).collect();
        pods.sort_by_key(|pod| (Descending(self.since(*pod)), Descending(*pod)));
        let there: u32 = state.tasks.values().map(|counts| counts.placed + counts.ended).sum();
        let mut spare = there.saturating_sub(state.group.minimum.max(1));
        let mut spare_by_task: HashMap<&str, u32> = HashMap::new();
        for task in &state.group.task_minimums {
            let counts = state.tasks.get(task.task.as_str()).copied().unwrap_or_default();
            spare_by_task.insert(&task.task, (counts.placed + counts.ended).saturating_sub(task.minimum));
        }
        let (mut units, mut core) = (Vec::new(), Vec::new());
        for pod in pods {
            let task = self.ledger.pod(pod).map(|state| &*state.pod.task).unwrap_or_default();
            let of_task = spare_by_task.get_mut(task);
            if spare == 0 || of_task.as_ref().is_some_and(|left| **left == 0) {
                core.push(pod);
                continue;
            }
            spare -= 1;
            if let Some(left) = of_task {
                *left -= 1;
            }
            units.push(vec![pod]);
        }
        if !core.is_empty() {
            units.push(core);
        }
        units
    }

    fn unit(&self, pods: &[PodId], ground: &Ground) -> Unit {
        let mut unit = Unit::default();
        for pod in pods {
            let Some(state) = self.ledger.pod(*pod) else { continue };
            let PodPhase::Placed { node, cards, since } = &state.pod.phase else { continue };
            let amounts = self.ledger.amounts(&state.pod.shape, cards);
            let mut cost = self.cost(&amounts, *since, ground.claims_cards);
            cost.untold = u64::from(!self.told.contains(pod));
            match ground.spots.get(node) {
                Some(spot) => {
                    let (requests, cards) = (state.pod.shape.requests.clone(), cards.clone());
                    let in_the_way = ground.in_the_way.contains(pod);
                    unit.victims.push((*spot, Victim { pod: *pod, requests, cards, cost, in_the_way }));
                }
                None => unit.elsewhere = unit.elsewhere.plus(cost),
            }
        }
        unit
    }

    /// What it costs if a Pod goes. Where no cards are claimed, fewest cores come after fewest cards.
    fn cost(&self, amounts: &Amounts, since: Millis, claims_cards: bool) -> Cost {
        let kinds: BTreeSet<ResourceId> = self.ledger.kinds().iter().map(|kind| kind.resource).collect();
        let cards: i64 = kinds.into_iter().map(|resource| amounts.get(resource)).sum();
        let mut cards = u64::try_from(cards).unwrap_or(0);
        if !claims_cards {
            let cores = u64::try_from(amounts.get(ResourceId::CPU)).unwrap_or(0);
            cards = cards.saturating_mul(1 << 32).saturating_add(cores);
        }
        Cost { cards, pods: 1, untold: 1, age: u64::try_from(self.now.saturating_sub(since)).unwrap_or(0) }
    }

    /// How many more each budget lets go: those that were asked already and still run are not in its count yet.
    fn budgets_left(&self) -> Vec<u32> {
        let mut left: Vec<u32> = self.budgets.iter().map(|budget| budget.allowed).collect();
        if left.is_empty() {
            return left;
        }
        for state in self.deferred.asked().filter_map(|pod| self.ledger.pod(pod)) {
            for (budget, left) in self.budgets.iter().zip(&mut left) {
                *left = left.saturating_sub(u32::from(is_covered(budget, &state.pod)));
            }
        }
        left
    }

    /// Whether all these Pods may go by the budgets that are left; takes them out of the budgets if so.
    fn within_budgets(&self, allowed: &mut Vec<u32>, pods: &[PodId]) -> bool {
        if self.budgets.is_empty() {
            return true;
        }
        let mut left = allowed.clone();
        for pod in pods {
            let Some(state) = self.ledger.pod(*pod) else { continue };
            for (budget, left) in self.budgets.iter().zip(&mut left) {
                if !is_covered(budget, &state.pod) {
                    continue;
                }
                if *left == 0 {
                    return false;
                }
                *left -= 1;
            }
        }
        *allowed = left;
        true
    }
}

fn is_covered(budget: &DisruptionBudget, pod: &Pod) -> bool {
    *budget.namespace == *pod.namespace && matches_selector(&budget.selector, &pod.labels)
}
