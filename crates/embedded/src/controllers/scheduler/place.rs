//! Finds a node for a Pod.

use std::collections::BTreeMap;

use super::filter::{self, Reason, Volumes, prepare};
use super::ledger::{Ledger, Slot};
use super::request::Request;
use super::score;

/// In a large cluster, so many fitting nodes are enough to choose from.
const ENOUGH: usize = 100;

/// Where the search of the next Pod begins, so that in large clusters all nodes get their turn.
#[derive(Debug, Default)]
pub(crate) struct Turn(usize);

/// Where a Pod goes, and what its waiting claims take there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    pub(crate) node: String,
    /// Claims with the volume each takes, or none where one is to be made.
    pub(crate) claims: Vec<(String, Option<String>)>,
}

/// The node for a Pod, or why there is none.
pub(crate) fn place(
    ledger: &Ledger,
    turn: &mut Turn,
    request: &Request,
    volumes: &Volumes,
) -> Result<Placement, String> {
    let prepared = prepare(ledger, request, volumes);
    let slots = ledger.slots();
    let enough = enough(ledger.nodes());
    let mut fitting: Vec<&Slot> = Vec::new();
    let mut reasons: BTreeMap<Reason, usize> = BTreeMap::new();
    let mut looked_at = 0;
    for offset in 0..slots.len() {
        let slot = &slots[(turn.0 + offset) % slots.len()];
        looked_at += 1;
        if !slot.present {
            continue;
        }
        let refusals = filter::refusals(ledger, slot, request, &prepared);
        if refusals.is_empty() {
            fitting.push(slot);
            if fitting.len() >= enough {
                break;
            }
        }
        for reason in refusals {
            *reasons.entry(reason).or_default() += 1;
        }
    }
    if !slots.is_empty() {
        turn.0 = (turn.0 + looked_at) % slots.len();
    }
    match score::best(ledger, &fitting, request, &prepared) {
        Some(slot) => Ok(Placement { node: slot.name.clone(), claims: volumes.choose(slot) }),
        None => Err(explain(ledger.nodes(), &reasons)),
    }
}

/// How many fitting nodes to look for, as Kubernetes does: a share that shrinks as the cluster grows.
fn enough(nodes: usize) -> usize {
    if nodes <= ENOUGH {
        return nodes.max(1);
    }
    let percent = 50usize.saturating_sub(nodes / 125).max(5);
    (nodes * percent / 100).max(ENOUGH)
}

/// `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.`
fn explain(nodes: usize, reasons: &BTreeMap<Reason, usize>) -> String {
    if nodes == 0 {
        return "no nodes available to schedule pods".into();
    }
    let mut parts: Vec<String> = reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    parts.sort();
    format!("0/{nodes} nodes are available: {}.", parts.join(", "))
}
