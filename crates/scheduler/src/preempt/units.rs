//! Gangs that go as a whole: what their Pods are priced at while choosing, and making a choice whole afterwards.

use std::collections::BTreeSet;

use super::{
    Board, Cost, Plan, Unit,
    curve::{Offer, Step, curve},
    spread::spread,
};

/// How many gangs are tried to be given back after a choice.
const SECOND_THOUGHTS: usize = 16;

/// What each unit costs where one of its Pods goes; `None` if it must not.
#[derive(Debug, Clone)]
pub(super) struct Prices {
    /// By unit: whether it may go, and whether each of its Pods costs as much as the whole.
    rules: Vec<Rule>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    Stays,
    ByPart,
    InFull,
    /// It goes already.
    Gone,
}

impl Prices {
    fn of(board: &Board, gang: Rule) -> Self {
        let rule = |unit: &Unit| if unit.is_gang() { gang } else { Rule::ByPart };
        Self { rules: board.units.iter().map(rule).collect() }
    }

    pub(super) fn without_gangs(board: &Board) -> Self {
        Self::of(board, Rule::Stays)
    }

    pub(super) fn by_part(board: &Board) -> Self {
        Self::of(board, Rule::ByPart)
    }

    pub(super) fn in_full(board: &Board) -> Self {
        Self::of(board, Rule::InFull)
    }

    /// Only these gangs go, and they do in any case.
    fn with_gone(board: &Board, gone: &BTreeSet<usize>) -> Self {
        let mut prices = Self::without_gangs(board);
        for unit in gone {
            prices.rules[*unit] = Rule::Gone;
        }
        prices
    }
}

/// The cheapest plan at these prices that places as many as possible, at most `most`.
pub(super) fn best_of(board: &Board, prices: &Prices, most: u32) -> Option<Plan> {
    let mut rooms: Vec<_> = board.spots.iter().map(|spot| spot.room.clone()).collect();
    let mut offers: Vec<Vec<Offer<'_>>> = vec![Vec::new(); board.spots.len()];
    let mut in_the_way: Vec<usize> = board.spots.iter().map(|spot| spot.in_the_way).collect();
    for (number, unit) in board.units.iter().enumerate() {
        let rule = prices.rules[number];
        let full = if rule == Rule::InFull { unit.cost() } else { Cost::default() };
        for (spot, victim) in &unit.victims {
            in_the_way[*spot] -= usize::from(victim.in_the_way && rule != Rule::Stays);
            match rule {
                Rule::Stays => {}
                Rule::Gone => rooms[*spot].give_back(&victim.requests, &victim.cards),
                Rule::ByPart => offers[*spot].push(Offer { unit: number, victim, cost: victim.cost }),
                Rule::InFull => offers[*spot].push(Offer { unit: number, victim, cost: full }),
            }
        }
    }
    let nodes = rooms.iter().zip(&offers).zip(in_the_way);
    let curves = nodes.map(|((room, offers), in_the_way)| {
        // Where somebody stays beside whom the claimant cannot be, nobody comes.
        if in_the_way > 0 { vec![Step::default()] } else { curve(&board.claim, room, offers, most) }
    });
    let curves: Vec<_> = curves.collect();
    let counts = spread(&curves, most)?;
    let gone = (0..board.units.len()).filter(|unit| prices.rules[*unit] == Rule::Gone);
    let mut units: BTreeSet<usize> = gone.collect();
    let mut places = Vec::new();
    for ((spot, curve), count) in board.spots.iter().zip(&curves).zip(counts) {
        if count > 0 {
            units.extend(&curve[count].units);
            places.push((spot.node, u32::try_from(count).unwrap_or(u32::MAX)));
        }
    }
    let cost = units.iter().fold(Cost::default(), |sum, unit| sum.plus(board.units[*unit].cost()));
    Some(Plan { units: units.into_iter().collect(), places, cost })
}

/// Takes into account that the gangs of a plan go whole: others may then stay, and perhaps some of the gangs.
pub(super) fn whole_gangs(board: &Board, plan: &Plan, most: u32) -> Option<Plan> {
    let is_gang = |unit: &&usize| board.units[**unit].is_gang();
    let mut gone: BTreeSet<usize> = plan.units.iter().filter(is_gang).copied().collect();
    let mut best = best_of(board, &Prices::with_gone(board, &gone), most)?;
    let mut order: Vec<usize> = gone.iter().copied().collect();
    order.sort_by_key(|unit| (std::cmp::Reverse(board.units[*unit].cost()), *unit));
    for unit in order.into_iter().take(SECOND_THOUGHTS) {
        gone.remove(&unit);
        match best_of(board, &Prices::with_gone(board, &gone), most) {
            Some(plan) if plan.placed() >= best.placed() && plan.cost < best.cost => best = plan,
            _ => {
                gone.insert(unit);
            }
        }
    }
    Some(best)
}
