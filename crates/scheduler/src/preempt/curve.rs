//! What it costs one node to take in one, two, three… Pods of the claimant.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{CardRequest, WHOLE_CARD};

use super::{
    Claim, Cost, Room, Victim,
    cover::{Item, covers},
};

/// A Pod on the node that may go, at a price.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offer<'a> {
    pub(super) unit: usize,
    pub(super) victim: &'a Victim,
    pub(super) cost: Cost,
}

/// The cheapest way to take in some number of Pods.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Step {
    pub(super) cost: Cost,
    /// Units that go.
    pub(super) units: BTreeSet<usize>,
}

/// Steps for 0, 1, 2, … Pods, as far as there can be room and at most `most`.
pub(super) fn curve(claim: &Claim, room: &Room, offers: &[Offer<'_>], most: u32) -> Vec<Step> {
    if offers.iter().any(|offer| offer.victim.in_the_way) {
        return beyond_obstacles(claim, room, offers, most);
    }
    let now = room.fits(claim).min(most);
    let mut steps = vec![Step::default(); usize::try_from(now).unwrap_or(0) + 1];
    if now == most || offers.is_empty() {
        return steps;
    }
    let mut empty = room.clone();
    for offer in offers {
        empty.give_back(&offer.victim.requests, &offer.victim.cards);
    }
    let then = empty.fits(claim).min(most);
    let by_cards = if then > now { by_cards(claim, room, offers, then) } else { Vec::new() };
    for count in now + 1..=then {
        let exact = by_cards.get(usize::try_from(count).unwrap_or(usize::MAX)).and_then(Option::as_ref);
        let exact = exact.filter(|chosen| enough(claim, room, offers, chosen, count));
        let chosen = exact.cloned().unwrap_or_else(|| cheapest_reprieve(claim, &empty, offers, count));
        steps.push(step(offers, &chosen));
    }
    steps
}

/// The same where some have to go in any case if somebody comes.
fn beyond_obstacles(claim: &Claim, room: &Room, offers: &[Offer<'_>], most: u32) -> Vec<Step> {
    let (first, others): (Vec<Offer<'_>>, Vec<Offer<'_>>) =
        offers.iter().copied().partition(|offer| offer.victim.in_the_way);
    let mut room = room.clone();
    for offer in &first {
        room.give_back(&offer.victim.requests, &offer.victim.cards);
    }
    let obstacles = step(&first, &(0..first.len()).collect::<Vec<_>>());
    let mut steps = curve(claim, &room, &others, most);
    for step in steps.iter_mut().skip(1) {
        step.cost = step.cost.plus(obstacles.cost);
        step.units.extend(&obstacles.units);
    }
    steps
}

fn step(offers: &[Offer<'_>], chosen: &[usize]) -> Step {
    let cost = chosen.iter().fold(Cost::default(), |sum, index| sum.plus(offers[*index].cost));
    Step { cost, units: chosen.iter().map(|index| offers[*index].unit).collect() }
}

/// Whether it is enough, in everything, if these go.
fn enough(claim: &Claim, room: &Room, offers: &[Offer<'_>], chosen: &[usize], count: u32) -> bool {
    let mut room = room.clone();
    for index in chosen {
        let victim = offers[*index].victim;
        room.give_back(&victim.requests, &victim.cards);
    }
    room.fits(claim) >= count
}

/// For every number of Pods the offers whose going yields enough cards at the least cost; other amounts are not looked
/// at.
fn by_cards(claim: &Claim, room: &Room, offers: &[Offer<'_>], most: u32) -> Vec<Option<Vec<usize>>> {
    match claim.cards {
        CardRequest::None => Vec::new(),
        CardRequest::Whole { .. } => whole_cards(&claim.cards, room, offers, most),
        CardRequest::Share { index, .. } => vec![None, one_share(index, room, offers)],
    }
}

/// Whole cards come free with the Pods that hold them alone, and with the last one that shares them.
fn whole_cards(asked: &CardRequest, room: &Room, offers: &[Offer<'_>], most: u32) -> Vec<Option<Vec<usize>>> {
    let (items, sets) = card_items(asked, room, offers);
    let (each, free) = (u32::from(asked.count().max(1)), room.empty_cards(asked));
    let needs = |count: u32| usize::try_from((count * each).saturating_sub(free)).unwrap_or(usize::MAX);
    let best = covers(&items, needs(most));
    let chosen = |count: u32| {
        let (_, items) = best.get(needs(count))?.as_ref()?;
        Some(items.iter().flat_map(|item| sets[*item].iter().copied()).collect())
    };
    (0..=most).map(chosen).collect()
}

/// Items of whole cards: each with the offers that must go for it.
fn card_items(asked: &CardRequest, room: &Room, offers: &[Offer<'_>]) -> (Vec<Item>, Vec<Vec<usize>>) {
    let usable = |card: u16| asked.allows(card) && room.usable(usize::from(card));
    let mut sharing: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
    let (mut items, mut sets) = (Vec::new(), Vec::new());
    for (index, offer) in offers.iter().enumerate() {
        let cards = &offer.victim.cards;
        if cards.kind.is_none() || cards.kind != room.kind() {
            continue;
        }
        if cards.milli >= WHOLE_CARD {
            let gain = cards.indices.iter().filter(|card| usable(**card)).count();
            items.push(Item { gain, cost: offer.cost });
            sets.push(vec![index]);
        } else {
            cards.indices.iter().for_each(|card| sharing.entry(*card).or_default().push(index));
        }
    }
    let left: Vec<u16> = room.left().collect();
    for (card, sharers) in sharing {
        let given_back: u32 = sharers.iter().map(|index| u32::from(offers[*index].victim.cards.milli)).sum();
        let left = left.get(usize::from(card)).copied().unwrap_or(0);
        if usable(card) && u32::from(left) + given_back >= u32::from(WHOLE_CARD) {
            let cost = sharers.iter().fold(Cost::default(), |sum, index| sum.plus(offers[*index].cost));
            items.push(Item { gain: 1, cost });
            sets.push(sharers);
        }
    }
    (items, sets)
}

/// The cheapest way to make room for one share on one of the cards.
fn one_share(asked: Option<u16>, room: &Room, offers: &[Offer<'_>]) -> Option<Vec<usize>> {
    let milli = usize::from(room.milli()?);
    let mut best: Option<(Cost, Vec<usize>)> = None;
    for (card, left) in room.left().enumerate() {
        if !room.usable(card) || asked.is_some_and(|asked| usize::from(asked) != card) {
            continue;
        }
        let on_it = |offer: &Offer<'_>| {
            let cards = &offer.victim.cards;
            cards.kind == room.kind() && cards.indices.iter().any(|index| usize::from(*index) == card)
        };
        let holders: Vec<usize> =
            offers.iter().enumerate().filter(|(_, offer)| on_it(offer)).map(|(index, _)| index).collect();
        let item = |index: &usize| Item {
            gain: usize::from(offers[*index].victim.cards.milli),
            cost: offers[*index].cost,
        };
        let items: Vec<Item> = holders.iter().map(item).collect();
        let found = covers(&items, milli.saturating_sub(usize::from(left))).pop().flatten();
        if let Some((cost, chosen)) = found
            && best.as_ref().is_none_or(|(known, _)| cost < *known)
        {
            best = Some((cost, chosen.into_iter().map(|item| holders[item]).collect()));
        }
    }
    best.map(|(_, chosen)| chosen)
}

/// Everybody goes, and then those whom there is room for may stay, asked in several orders.
fn cheapest_reprieve(claim: &Claim, empty: &Room, offers: &[Offer<'_>], count: u32) -> Vec<usize> {
    let mut dearest: Vec<usize> = (0..offers.len()).collect();
    dearest.sort_by_key(|index| (std::cmp::Reverse(offers[*index].cost), offers[*index].victim.pod));
    let mut cheapest = dearest.clone();
    cheapest.reverse();
    let mut oldest = dearest.clone();
    oldest.sort_by_key(|index| std::cmp::Reverse(offers[*index].cost.age));
    let tried =
        [dearest, oldest, cheapest].into_iter().map(|order| reprieve(claim, empty, offers, &order, count));
    tried.min_by_key(|chosen| step(offers, chosen).cost).unwrap_or_default()
}

fn reprieve(claim: &Claim, empty: &Room, offers: &[Offer<'_>], order: &[usize], count: u32) -> Vec<usize> {
    let mut room = empty.clone();
    let mut going = Vec::new();
    for index in order {
        let victim = offers[*index].victim;
        room.take(&victim.requests, &victim.cards);
        if room.fits(claim) < count {
            room.give_back(&victim.requests, &victim.cards);
            going.push(*index);
        }
    }
    going
}
