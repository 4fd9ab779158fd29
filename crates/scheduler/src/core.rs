//! One scheduling pass: what the cluster looks like in, what should be done about it out.
//!
//! [`Core`] is told what the watches saw ([`Core::upsert_pod`] and friends) and asked for [`Core::pass`] now and then. It
//! has no client, clock or randomness: the same calls give the same actions.
//!
//! A pass asks groups in the order of [`crate::queue`]. A group that may start by its account's limits is placed whole,
//! on trial, in the ledger; only when all of its minimum has places do binds leave the core. A group that finds no
//! room may have others asked to go ([`crate::preempt`]), or nodes held for it until they are free. Whoever is refused is
//! not asked again before something has changed that could change the answer.
//!
//! Start reading at [`Core::pass`] (`core/pass.rs`), then `start.rs`, `claim.rs` and `hold.rs`.

mod action;
mod books;
mod claim;
mod config;
mod deferred;
mod domains;
mod events;
mod explain;
mod free;
mod hold;
mod limit;
mod need;
mod pass;
mod scope;
mod start;
#[cfg(test)]
mod tests;
mod victims;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use crate::{
    ledger::Ledger,
    model::{CardKind, GroupId, Millis, NodeId, PodId, Resources},
    place::{Placer, Pools},
    queue::{Order, Payer, Problem, Reservation, Seat, Tree},
};

pub use action::{Action, Reason};
pub use config::{Config, DisruptionBudget};
pub(crate) use need::Wait;
pub use pass::Budget;

use books::Books;
use deferred::Deferred;
use free::Free;
use need::Classes;

/// See the module.
#[derive(Debug)]
pub struct Core {
    ledger: Ledger,
    placer: Placer,
    tree: Tree,
    order: Order,
    config: Config,
    budgets: Vec<DisruptionBudget>,
    groups: HashMap<GroupId, Known>,
    books: Books,
    classes: Classes,
    deferred: Deferred,
    reservations: Vec<Reservation>,
    /// All nodes of all reservations, with when they are wanted.
    held: Arc<BTreeMap<NodeId, Millis>>,
    /// Pools that accounts may use, as far as somebody has asked.
    pools: HashMap<Seat, Pools>,
    /// Groups to be looked at again before the next pass.
    dirty: BTreeSet<GroupId>,
    /// Groups that found no room and may find some when others come: they want to be near them, or evenly spread.
    sociable: BTreeSet<GroupId>,
    /// Pods that are being deleted and still have their places.
    terminating: BTreeSet<PodId>,
    /// Pods on which a notice stands, by whichever process.
    told: BTreeSet<PodId>,
    /// When to look at groups again that have waited for long.
    alarms: BTreeMap<Millis, BTreeSet<GroupId>>,
    /// Gangs of which some Pods have places and others not, and since when.
    begun: BTreeMap<GroupId, Begun>,
    free: Free,
    news: News,
    asked: u64,
    /// How many more forecasts the present pass may make.
    forecasts: usize,
    now: Millis,
}

/// What the core remembers of a group.
#[derive(Debug, Clone)]
struct Known {
    payer: Payer,
    /// Its class while it is in the queue.
    class: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Begun {
    since: Millis,
    reported: bool,
}

/// What has happened since the last pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct News {
    /// A Pod has given up its place.
    room: bool,
    /// A node has come, gone or changed.
    nodes: bool,
}

impl Core {
    /// A core that knows nothing yet.
    pub fn new(config: Config, kinds: Vec<CardKind>, resources: Resources) -> Self {
        Self {
            ledger: Ledger::new(kinds, resources),
            placer: Placer::default(),
            tree: Tree::default(),
            order: Order::default(),
            config,
            budgets: Vec::new(),
            groups: HashMap::new(),
            books: Books::default(),
            classes: Classes::default(),
            deferred: Deferred::default(),
            reservations: Vec::new(),
            held: Arc::default(),
            pools: HashMap::new(),
            dirty: BTreeSet::new(),
            sociable: BTreeSet::new(),
            terminating: BTreeSet::new(),
            told: BTreeSet::new(),
            alarms: BTreeMap::new(),
            begun: BTreeMap::new(),
            free: Free::default(),
            news: News::default(),
            asked: 0,
            forecasts: 0,
            now: 0,
        }
    }

    /// Who holds what.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The names of resources, to turn new ones into numbers.
    pub fn resources_mut(&mut self) -> &mut Resources {
        self.ledger.resources_mut()
    }

    /// The accounts.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// How many Pods may be stopped.
    pub fn budgets(&self) -> &[DisruptionBudget] {
        &self.budgets
    }

    /// What is held for whom.
    pub fn reservations(&self) -> &[Reservation] {
        &self.reservations
    }

    /// How many groups are in the queue.
    pub fn waiting(&self) -> usize {
        self.order.waiting()
    }

    /// How often a group has been asked whether it can start: what passes cost.
    pub fn asked(&self) -> u64 {
        self.asked
    }

    /// What is wrong with the accounts.
    pub fn problems(&self) -> Vec<Problem> {
        self.tree.problems(self.ledger.resources())
    }

    /// Takes over new settings.
    pub fn set_config(&mut self, config: Config) {
        self.config = config;
        self.news.nodes = true;
    }

    /// When a pass is worth while although nothing has been seen.
    pub fn next_alarm(&self) -> Option<Millis> {
        let stalled = self.begun.values().filter(|begun| !begun.reported);
        let stalled = stalled.map(|begun| begun.since.saturating_add(self.config.gang_deadline)).min();
        let patience = self.alarms.keys().next().copied();
        let leaving = self.deferred.oldest().map(|since| since.saturating_add(self.config.leave_deadline));
        [stalled, patience, leaving].into_iter().flatten().min()
    }
}
