//! Gangs of 1,000 and of 10,000 Pods on 10,000 nodes: what a Pod of a large gang costs over one of a small gang.

use std::sync::Arc;

use maar_scheduler::model::{
    Group, LabelSelector, Operator, PodAffinityTerm, Requirement, ServiceLevel, Shape,
};
use serde_json::{Map, json};

use super::stage::{Stage, cpu_time, float, group};
use crate::report::Report;

const NODES: u32 = 10_000;
const PER_RACK: u32 = 64;
const SMALL: u32 = 1000;
const LARGE: u32 = 10_000;
/// Most that a Pod of a gang may cost, over one of a gang of a tenth: ten would be the square.
const GOAL: f64 = 3.0;

/// A gang that is asked for, on which cluster.
struct Case {
    what: &'static str,
    /// The nodes are full of work that gives way.
    full: bool,
    /// How many of so many Pods must start together.
    minimum: fn(u32) -> u32,
    change: fn(&mut Group, &mut Shape),
}

const CASES: [Case; 6] = [
    Case { what: "plain", full: false, minimum: |pods| pods, change: |_, _| {} },
    Case { what: "in few racks", full: false, minimum: |pods| pods, change: |group, _| in_racks(group) },
    Case { what: "one to a node", full: false, minimum: |pods| pods, change: |_, shape| apart(shape) },
    Case { what: "one after another", full: false, minimum: |_| 1, change: |_, _| {} },
    Case { what: "by preemption", full: true, minimum: |pods| pods, change: |_, _| {} },
    Case { what: "by preemption, one after another", full: true, minimum: |_| 1, change: |_, _| {} },
];

pub(crate) fn run(report: &mut Report) -> anyhow::Result<()> {
    let mut figures = Map::new();
    for case in &CASES {
        let (small, large) = (cost(case, SMALL)?, cost(case, LARGE)?);
        Report::say(&format!(
            "gangs       {}: {small:.1} us of CPU per Pod of {SMALL}, {large:.1} us of {LARGE}: {:.2} times",
            case.what,
            large / small
        ));
        report.under(
            &format!("core: gang {}: CPU per Pod of 10,000 over 1,000", case.what),
            large / small,
            GOAL,
            "",
        );
        figures.insert(case.what.to_owned(), json!({"microsOf1000": small, "microsOf10000": large}));
    }
    report.figure("coreGangs", figures.into());
    Ok(())
}

/// Microseconds of CPU time per Pod. Both sizes pay for looking at all nodes once.
fn cost(case: &Case, pods: u32) -> anyhow::Result<f64> {
    let mut stage = Stage::new(NODES, PER_RACK);
    if case.full {
        for number in 0..NODES {
            let scrap = group(format!("scrap-{number}"), "default", 1);
            stage.submit(Group { level: ServiceLevel::BestEffort, ..scrap }, 8);
        }
        stage.play();
    }
    let mut gang = group("gang".to_owned(), "default", (case.minimum)(pods));
    let mut shape = Stage::shape(if case.full { 8 } else { 1 });
    (case.change)(&mut gang, &mut shape);
    stage.submit_pods(gang, &Arc::new(shape), pods);
    let (played, seconds) = cpu_time(|| stage.play())?;
    stage.end(&played.evicted);
    let bound = played.bound.len() + stage.play().bound.len();
    anyhow::ensure!(bound == usize::try_from(pods)?, "{}: {bound} of {pods} Pods were bound", case.what);
    Ok(seconds * 1e6 / float(bound))
}

fn in_racks(group: &mut Group) {
    group.topology_key = Some("rack".to_owned());
}

/// No two on one node.
fn apart(shape: &mut Shape) {
    let same = Requirement { key: "job".to_owned(), operator: Operator::Exists, values: Vec::new() };
    shape.anti_affinity.push(PodAffinityTerm {
        selector: LabelSelector(Some(vec![same])),
        namespaces: None,
        topology_key: "kubernetes.io/hostname".to_owned(),
    });
}
