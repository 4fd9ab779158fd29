//! The one truth in memory: who holds what, on which node, on whose account.
//!
//! A plain struct that is told what the watches saw ([`Ledger::upsert_pod`] and friends) and what the scheduler decided
//! ([`Ledger::place`]). Every change costs what changed, and counts are kept, never recomputed.
//!
//! What holds at all times:
//! - [`Ledger::place`] hands nothing out twice: it checks resources and cards itself, whoever chose them. Facts (Pods
//!   that other schedulers bound) are counted even if they overcommit a node.
//! - The phase of a Pod only moves forward (waits, has a place, has ended). A view from before a bind does not undo
//!   it; only [`Ledger::unplace`] takes a place back that was assumed and not yet seen.
//! - Numbers given out are never given to something else.
//!
//! Start reading at [`Ledger::upsert_pod`] and [`Ledger::place`].

mod accounts;
mod cards;
mod groups;
mod nodes;
mod pods;
mod promises;
mod shapes;
#[cfg(test)]
mod tests;
mod volumes;

use crate::model::{Amounts, CardKind, CardKindId, CardRequest, CardsTaken, Resources, Shape, WHOLE_CARD};

pub use accounts::{AccountState, Usage};
pub use cards::{Card, Cards};
pub use groups::{GroupState, TaskCounts};
pub use nodes::{NodeState, PoolTotal};
pub use pods::{Lifted, PodState, Refused};
pub use volumes::Held;

/// See the module.
#[derive(Debug, Clone)]
pub struct Ledger {
    kinds: Vec<CardKind>,
    resources: Resources,
    nodes: nodes::Nodes,
    pods: pods::Pods,
    groups: groups::Groups,
    accounts: accounts::Accounts,
    shapes: shapes::Shapes,
    volumes: volumes::Volumes,
    promises: promises::Promises,
}

impl Ledger {
    /// An empty ledger for these kinds of cards.
    pub fn new(kinds: Vec<CardKind>, resources: Resources) -> Self {
        Self {
            kinds,
            resources,
            nodes: nodes::Nodes::default(),
            pods: pods::Pods::default(),
            groups: groups::Groups::default(),
            accounts: accounts::Accounts::default(),
            shapes: shapes::Shapes::default(),
            volumes: volumes::Volumes::default(),
            promises: promises::Promises::default(),
        }
    }

    /// The kinds of cards there are.
    pub fn kinds(&self) -> &[CardKind] {
        &self.kinds
    }

    /// One kind of card.
    pub fn kind(&self, kind: CardKindId) -> Option<&CardKind> {
        self.kinds.get(usize::from(kind.0))
    }

    /// The names of resources.
    pub fn resources(&self) -> &Resources {
        &self.resources
    }

    /// The names of resources, to turn new ones into numbers.
    pub fn resources_mut(&mut self) -> &mut Resources {
        &mut self.resources
    }

    /// What a Pod of this shape will take, cards included. A share by memory is counted as on the smallest card of
    /// its kind: no node takes more of an account than was foreseen.
    pub fn demand(&self, shape: &Shape) -> Amounts {
        let mut all = shape.requests.clone();
        if let Some(kind) = shape.cards.kind() {
            let milli = shape.cards.milli(self.nodes.smallest_card(kind)).unwrap_or(WHOLE_CARD);
            self.add_cards(&mut all, kind, i64::from(milli) * i64::from(shape.cards.count()));
        }
        all
    }

    /// What a Pod takes that holds these cards.
    pub(crate) fn amounts(&self, shape: &Shape, cards: &CardsTaken) -> Amounts {
        let mut all = shape.requests.clone();
        if let Some(kind) = cards.kind {
            self.add_cards(&mut all, kind, cards.total());
        }
        all
    }

    fn add_cards(&self, all: &mut Amounts, kind: CardKindId, milli: i64) {
        if let Some(kind) = self.kind(kind) {
            all.set(kind.resource, all.get(kind.resource).saturating_add(milli));
        }
    }

    /// How many Pods may share one card, for this request.
    pub(crate) fn sharers(&self, request: &CardRequest) -> u16 {
        request.kind().and_then(|kind| self.kind(kind)).map_or(1, |kind| kind.sharers.max(1))
    }
}
