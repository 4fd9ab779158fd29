//! Who stands where, and the choice itself.

use crate::model::{Amounts, CardsTaken, NodeId, PodId};

use super::{
    Claim, Room,
    units::{Prices, best_of},
};

/// What it costs when somebody goes. Compared field by field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Cost {
    /// Thousandths of cards; where no cards are claimed, what else is taken counts on top.
    pub cards: u64,
    /// Pods.
    pub pods: u64,
    /// Pods that have not been told to go: of equal ones those go who were.
    pub untold: u64,
    /// How long they have run, added up: the younger, the less is lost.
    pub age: u64,
}

impl Cost {
    /// Both.
    pub fn plus(self, other: Self) -> Self {
        Self {
            cards: self.cards.saturating_add(other.cards),
            pods: self.pods.saturating_add(other.pods),
            untold: self.untold.saturating_add(other.untold),
            age: self.age.saturating_add(other.age),
        }
    }
}

/// A Pod that may be asked to go.
#[derive(Debug, Clone)]
pub struct Victim {
    /// The Pod.
    pub pod: PodId,
    /// What it holds, without cards.
    pub requests: Amounts,
    /// Its cards.
    pub cards: CardsTaken,
    /// What its going costs.
    pub cost: Cost,
    /// The claimant cannot be on its node beside it, however much room there is.
    pub in_the_way: bool,
}

/// Pods that go together, with the node each is on (its number among the spots).
#[derive(Debug, Clone, Default)]
pub struct Unit {
    /// Where, and who.
    pub victims: Vec<(usize, Victim)>,
    /// What the going of its Pods on nodes that the claimant cannot use costs.
    pub elsewhere: Cost,
}

impl Unit {
    /// What it costs if the whole unit goes.
    pub fn cost(&self) -> Cost {
        self.victims.iter().fold(self.elsewhere, |sum, (_, victim)| sum.plus(victim.cost))
    }

    /// Whether the going of one Pod makes others go.
    pub fn is_gang(&self) -> bool {
        self.victims.len() > 1 || self.elsewhere != Cost::default()
    }
}

/// A node the claimant may use.
#[derive(Debug, Clone)]
pub struct Spot {
    /// The node.
    pub node: NodeId,
    /// What is free on it.
    pub room: Room,
    /// How many Pods there are in the way, of those that may be asked to go and of others.
    pub in_the_way: usize,
}

/// Everything the choice is made from.
#[derive(Debug, Clone, Default)]
pub struct Board {
    /// What each Pod of the claimant takes.
    pub claim: Claim,
    /// Nodes it may use.
    pub spots: Vec<Spot>,
    /// Who may be asked to go.
    pub units: Vec<Unit>,
}

/// Who goes, and where the claimant's Pods come.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// Numbers of the units, ascending.
    pub units: Vec<usize>,
    /// Nodes, with how many Pods of the claimant each takes.
    pub places: Vec<(NodeId, u32)>,
    /// What it costs.
    pub cost: Cost,
}

impl Plan {
    /// How many Pods of the claimant it places.
    pub fn placed(&self) -> u32 {
        self.places.iter().map(|(_, count)| count).sum()
    }
}

/// Places as many of `most` Pods as there can be room for, but not fewer than `least`, with the least that has to go.
pub fn choose(board: &Board, least: u32, most: u32) -> Option<Plan> {
    let gangs = board.units.iter().any(Unit::is_gang);
    let alone = best_of(board, &Prices::without_gangs(board), most);
    let plan = if gangs {
        let candidates = [Prices::by_part(board), Prices::in_full(board)];
        let with = candidates.iter().filter_map(|prices| best_of(board, prices, most));
        let with = with.filter_map(|plan| super::units::whole_gangs(board, &plan, most));
        alone.into_iter().chain(with).min_by_key(|plan| (std::cmp::Reverse(plan.placed()), plan.cost))
    } else {
        alone
    };
    plan.filter(|plan| plan.placed() >= least && plan.placed() > 0)
}
