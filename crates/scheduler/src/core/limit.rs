//! A guaranteed group that its account's limit refuses while best-effort work counts against the same limit.
//!
//! That work runs on what is left, so it gives way here as it does where nodes are full: the account gets no more than
//! its limit, but what it has a right to comes first. The group is bound when they have gone, so that the limit is not
//! exceeded meanwhile.

use std::{cmp::Reverse, collections::BTreeSet};

use crate::{
    model::{Amounts, GroupId, PodId, ServiceLevel},
    preempt::{Cost, Plan},
    queue::{Payer, Seat},
};

use super::{
    Action, Core,
    claim::{Going, Prey, Wish},
    need::Need,
    victims::{Candidate, Claimant, Ground},
};

impl Core {
    /// Has best-effort work asked to go that counts against the limit which refuses a group, if the group is then sure
    /// to be placed.
    pub(super) fn claim_within_limits(
        &mut self,
        id: GroupId,
        need: &Need,
        actions: &mut Vec<Action>,
    ) -> bool {
        let Some(payer) = self.groups.get(&id).map(|known| known.payer) else { return false };
        let Some(priority) = self.ledger.group(id).map(|state| state.group.priority) else { return false };
        if !self.config.preemption || payer.level != ServiceLevel::Guaranteed {
            return false;
        }
        let asked = need.amounts(&self.ledger);
        let Some(seat) = self.refusing(payer, &asked) else { return false };
        let prey = self.prey_within(seat);
        if prey.is_empty() {
            return false;
        }
        let parts = need.parts.iter().map(|(_, pods)| (pods.clone(), pods.len())).collect();
        let wish = Wish { groups: vec![id], parts, claimant: Claimant { payer, priority, asked } };
        // Where those who go have to make room on nodes, too, they are chosen by that.
        self.claim_share_of_limit(&wish, need, &prey, actions) || self.grant(&wish, &prey, actions).is_ok()
    }

    /// Those who have to leave before a group may be bound, as they count against its limits until then.
    pub(super) fn awaited_by_limits(&self, id: GroupId) -> BTreeSet<PodId> {
        let payer = self.groups.get(&id).map(|known| known.payer);
        let Some(seat) = payer.and_then(|payer| self.tree.over_until_left(payer)) else {
            return BTreeSet::new();
        };
        self.deferred.leaving_of(|payer| self.tree.chain(payer.seat).any(|above| above == seat))
    }

    /// The account whose limit refuses: the topmost one, as work that counts there is the most there is.
    fn refusing(&self, payer: Payer, asked: &Amounts) -> Option<Seat> {
        let refuses = |seat: &Seat| self.tree.refuses(*seat, payer, asked);
        self.tree.chain(payer.seat).filter(refuses).last()
    }

    /// Takes no more than the limit needs, and tries whether there is room then.
    fn claim_share_of_limit(
        &mut self,
        wish: &Wish,
        need: &Need,
        prey: &Prey,
        actions: &mut Vec<Action>,
    ) -> bool {
        let spots = self.ledger.nodes().map(|node| (node.id, 0)).collect();
        let everywhere = Ground { spots, claims_cards: true, ..Ground::default() };
        let candidates = self.candidates_to_go(prey, &everywhere);
        let Some(units) = self.fewest_for_limits(&wish.claimant, &candidates) else { return false };
        let mut going: Going = Vec::new();
        self.think_away(&candidates, &Plan { units, ..Plan::default() }, &mut going);
        if !self.fits_in_all(need) || self.place_all(wish.groups[0], need).is_err() {
            self.undo(&[], going);
            return false;
        }
        let placed: Vec<PodId> = need.pods().collect();
        if !self.leaves_guarantees(wish, &placed, &going) {
            self.undo(&placed, going);
            return false;
        }
        self.carry_out(wish, going, placed, actions);
        true
    }

    /// The cheapest units whose going lets the claimant keep to its limits, as found by sparing units in several orders.
    fn fewest_for_limits(&mut self, claimant: &Claimant, candidates: &[Candidate]) -> Option<Vec<usize>> {
        let ours = |index: &usize| candidates[*index].reason.is_some();
        let mut dearest: Vec<usize> = (0..candidates.len()).filter(ours).collect();
        dearest.sort_by_key(|index| (Reverse(candidates[*index].unit.cost()), *index));
        let mut cheapest = dearest.clone();
        cheapest.reverse();
        let mut oldest = dearest.clone();
        oldest.sort_by_key(|index| Reverse(candidates[*index].unit.cost().age));
        let tried = [dearest, oldest, cheapest].map(|order| self.spare(claimant, candidates, &order));
        let cost = |units: &Vec<usize>| {
            units.iter().fold(Cost::default(), |sum, unit| sum.plus(candidates[*unit].unit.cost()))
        };
        tried.into_iter().flatten().min_by_key(cost)
    }

    /// Everybody goes; then those stay, in this order, with whom the claimant still keeps to its limits.
    fn spare(
        &mut self,
        claimant: &Claimant,
        candidates: &[Candidate],
        order: &[usize],
    ) -> Option<Vec<usize>> {
        let charges = |core: &Self, unit: usize| -> Vec<(Payer, Amounts)> {
            candidates[unit].pods.iter().filter_map(|pod| core.books.get(*pod).cloned()).collect()
        };
        for unit in order {
            for (payer, amounts) in charges(self, *unit) {
                self.tree.refund(payer, &amounts);
            }
        }
        let fits = |core: &Self| core.tree.within_limits_when_left(claimant.payer, &claimant.asked);
        let possible = fits(self);
        let mut going = Vec::new();
        for unit in order {
            let all = charges(self, *unit);
            for (payer, amounts) in &all {
                self.tree.charge(*payer, amounts);
            }
            if possible && !fits(self) {
                for (payer, amounts) in &all {
                    self.tree.refund(*payer, amounts);
                }
                going.push(*unit);
            }
        }
        for unit in &going {
            for (payer, amounts) in charges(self, *unit) {
                self.tree.charge(payer, &amounts);
            }
        }
        going.sort_unstable();
        possible.then_some(going)
    }
}
