//! Which of the nodes that fit is best.

use std::cmp::Reverse;

use super::filter::{Prepared, crowd};
use super::ledger::{Ledger, Slot};
use super::request::Request;
use crate::controllers::placement;

const FULL: i64 = 100;
const NODE_WISH_WEIGHT: i64 = 2;
const COMPANY_WEIGHT: i64 = 2;
const SPREAD_WEIGHT: i64 = 2;
const TAINT_WEIGHT: i64 = 3;

/// The best of these nodes; of equally good ones the one with the fewest Pods, where Kubernetes takes any.
pub(crate) fn best<'a>(
    ledger: &'a Ledger,
    fitting: &[&'a Slot],
    request: &Request,
    prepared: &Prepared<'_>,
) -> Option<&'a Slot> {
    if let [only] = fitting {
        return Some(only);
    }
    let wishes = normal(fitting.iter().map(|slot| node_wishes(slot, request)).collect());
    let company = normal(company(ledger, fitting, request));
    let taints = normal(fitting.iter().map(|slot| -soft_taints(slot, request)).collect());
    let spread = normal(fitting.iter().map(|slot| -crowds(slot, request, prepared)).collect());
    let mut best: Option<((i64, Reverse<usize>), &Slot)> = None;
    for (index, slot) in fitting.iter().enumerate() {
        let worth = room(slot, request)
            + balance(slot, request)
            + NODE_WISH_WEIGHT * wishes[index]
            + COMPANY_WEIGHT * company[index]
            + TAINT_WEIGHT * taints[index]
            + SPREAD_WEIGHT * spread[index];
        let score = (worth, Reverse(slot.pods.len()));
        if best.is_none_or(|(highest, _)| score > highest) {
            best = Some((score, slot));
        }
    }
    best.map(|(_, slot)| slot)
}

/// How much would stay free, of a hundred.
fn room(slot: &Slot, request: &Request) -> i64 {
    let part = |capacity: i64, load: i128| {
        let capacity = i128::from(capacity);
        if capacity <= 0 || load > capacity { 0 } else { hundredths(capacity - load, capacity) }
    };
    let (cores, memory) = after(slot, request);
    i64::midpoint(part(slot.capacity.0, cores), part(slot.capacity.1, memory))
}

/// How evenly cores and memory would be used, of a hundred.
fn balance(slot: &Slot, request: &Request) -> i64 {
    let part =
        |capacity: i64, load: i128| if capacity <= 0 { 0 } else { hundredths(load, i128::from(capacity)) };
    let (cores, memory) = after(slot, request);
    FULL - (part(slot.capacity.0, cores) - part(slot.capacity.1, memory)).abs() / 2
}

/// A part of a whole, at most all of it.
fn hundredths(part: i128, whole: i128) -> i64 {
    i64::try_from(part * i128::from(FULL) / whole).map_or(FULL, |hundredths| hundredths.min(FULL))
}

fn after(slot: &Slot, request: &Request) -> (i128, i128) {
    (slot.load.0 + i128::from(request.weight.0), slot.load.1 + i128::from(request.weight.1))
}

fn node_wishes(slot: &Slot, request: &Request) -> i64 {
    let affinity = request.spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let wishes =
        affinity.and_then(|affinity| affinity.preferred_during_scheduling_ignored_during_execution.as_ref());
    let granted = wishes
        .into_iter()
        .flatten()
        .filter(|wish| placement::term_matches(&wish.preference, &slot.name, &slot.labels));
    granted.map(|wish| i64::from(wish.weight)).sum()
}

fn company(ledger: &Ledger, fitting: &[&Slot], request: &Request) -> Vec<i64> {
    let mut scores = vec![0; fitting.len()];
    for (weight, term) in &request.wishes {
        let mut by_value: std::collections::BTreeMap<&str, i64> = std::collections::BTreeMap::new();
        for placed in ledger.meant(term) {
            if let Some(value) = ledger.topology(&placed.node, &term.topology_key) {
                *by_value.entry(value).or_default() += weight;
            }
        }
        for (score, slot) in scores.iter_mut().zip(fitting) {
            let value = slot.labels.get(&term.topology_key);
            *score += value.and_then(|value| by_value.get(value.as_str())).copied().unwrap_or(0);
        }
    }
    scores
}

fn soft_taints(slot: &Slot, request: &Request) -> i64 {
    let tolerations = request.spec.tolerations.as_deref().unwrap_or_default();
    let soft = slot.taints.iter().filter(|taint| taint.effect == "PreferNoSchedule");
    let minded = soft.filter(|taint| !tolerations.iter().any(|one| placement::tolerates(one, taint)));
    i64::try_from(minded.count()).unwrap_or(i64::MAX)
}

fn crowds(slot: &Slot, request: &Request, prepared: &Prepared<'_>) -> i64 {
    if let Some(set) = &request.set {
        return slot.of_set(set);
    }
    let soft = request.spread.iter().enumerate().filter(|(_, spread)| !spread.required);
    soft.map(|(index, spread)| crowd(slot, spread, index, prepared)).sum()
}

/// Stretches scores to nought to a hundred; equal ones become nought.
fn normal(scores: Vec<i64>) -> Vec<i64> {
    let least = scores.iter().copied().min().unwrap_or(0);
    let range = scores.iter().copied().max().unwrap_or(0) - least;
    scores.into_iter().map(|score| if range == 0 { 0 } else { (score - least) * FULL / range }).collect()
}
