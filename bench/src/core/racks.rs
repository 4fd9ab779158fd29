//! Gangs on 10 racks of 64 nodes: over how many racks more than needed they are spread.

use std::collections::BTreeSet;

use maar_scheduler::model::{Group, NodeId};
use serde_json::json;

use super::stage::{Stage, float, group};
use crate::report::Report;

const RACKS: u32 = 10;
const PER_RACK: u32 = 64;
/// Nodes of the gangs, one Pod of eight cards each, in the order in which they come; in all 620 of 640.
const GANGS: [u32; 18] = [16, 32, 64, 8, 24, 48, 96, 4, 12, 40, 64, 20, 56, 6, 28, 72, 10, 20];

pub(super) fn run(report: &mut Report) {
    let mut stage = Stage::new(RACKS * PER_RACK, PER_RACK);
    let (mut used, mut least) = (0, 0);
    for (number, nodes) in GANGS.into_iter().enumerate() {
        let gang = group(format!("gang-{number}"), "default", nodes);
        stage.submit(Group { topology_key: Some("rack".to_owned()), ..gang }, 8);
        let bound = stage.play().bound;
        let rack = |node: NodeId| stage.core.ledger().node(node)?.node.labels.get("rack").cloned();
        let racks: BTreeSet<String> = bound.iter().filter_map(|(_, node)| rack(*node)).collect();
        used += racks.len();
        least += usize::try_from(nodes.div_ceil(PER_RACK)).unwrap_or(0);
    }
    let ratio = float(used) / float(least);
    Report::say(&format!(
        "racks       {} gangs use {used} racks, {least} at least: {ratio:.2} times",
        GANGS.len()
    ));
    report.figure("coreRacks", json!({"used": used, "least": least, "ratio": ratio}));
}
