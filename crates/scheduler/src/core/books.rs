//! Which Pod is charged to whom.

use std::collections::{BTreeSet, HashMap};

use crate::{
    model::{Amounts, PodId, ServiceLevel},
    queue::{Payer, Seat},
};

/// What placed Pods cost, and whose they are.
#[derive(Debug, Clone, Default)]
pub(crate) struct Books {
    charges: HashMap<PodId, (Payer, Amounts)>,
    by_seat: HashMap<Seat, BTreeSet<PodId>>,
    best_effort: BTreeSet<PodId>,
}

impl Books {
    /// What a Pod is charged.
    pub(crate) fn get(&self, pod: PodId) -> Option<&(Payer, Amounts)> {
        self.charges.get(&pod)
    }

    /// Notes a charge.
    pub(crate) fn enter(&mut self, pod: PodId, payer: Payer, amounts: Amounts) {
        self.by_seat.entry(payer.seat).or_default().insert(pod);
        if payer.level == ServiceLevel::BestEffort {
            self.best_effort.insert(pod);
        }
        self.charges.insert(pod, (payer, amounts));
    }

    /// Strikes a charge out.
    pub(crate) fn strike(&mut self, pod: PodId) -> Option<(Payer, Amounts)> {
        let (payer, amounts) = self.charges.remove(&pod)?;
        if let Some(pods) = self.by_seat.get_mut(&payer.seat) {
            pods.remove(&pod);
        }
        self.best_effort.remove(&pod);
        Some((payer, amounts))
    }

    /// Best-effort Pods of all accounts.
    pub(crate) fn best_effort(&self) -> impl Iterator<Item = PodId> + '_ {
        self.best_effort.iter().copied()
    }

    /// Pods of one account, not of those below it.
    pub(crate) fn of(&self, seat: Seat) -> impl Iterator<Item = PodId> + '_ {
        self.by_seat.get(&seat).into_iter().flatten().copied()
    }

    /// Accounts with Pods, in a stable order.
    pub(crate) fn seats(&self) -> BTreeSet<Seat> {
        self.by_seat.iter().filter(|(_, pods)| !pods.is_empty()).map(|(seat, _)| *seat).collect()
    }
}
