//! Lists that are not at hand, made from those that are, and other circumstances: more nodes or fewer, more Pods or
//! fewer.

use maar_scheduler::simulate::{
    Trace,
    family::{Proportions, Relative, on_part_of_the_nodes, proportions, relative, without_model},
};

use crate::report::Report;

/// Lists made up while the method was chosen.
const LOOKED_AT: [(&str, Relative); 4] = [
    ("cpu050", Relative::WithoutCards(5.0)),
    ("gpushare80", Relative::Shares(80.0)),
    ("multigpu50", Relative::Several(50.0)),
    ("gpuspec33", Relative::Particular(33.0)),
];
/// Lists that were not looked at before the method stood.
const HELD_OUT: [(&str, Relative); 9] = [
    ("cpu100", Relative::WithoutCards(10.0)),
    ("cpu200", Relative::WithoutCards(20.0)),
    ("gpushare20", Relative::Shares(20.0)),
    ("gpushare60", Relative::Shares(60.0)),
    ("gpushare100", Relative::Shares(100.0)),
    ("multigpu30", Relative::Several(30.0)),
    ("multigpu40", Relative::Several(40.0)),
    ("gpuspec20", Relative::Particular(20.0)),
    ("gpuspec25", Relative::Particular(25.0)),
];
/// Lists made otherwise: one change after the other, and a model whose nodes are missing. The first four were looked at, or
/// ones made in the same way, while the method was chosen, the others not before it stood.
const MADE_OTHERWISE: [(&str, &[Relative], Option<&str>); 10] = [
    ("gpushare60 multigpu30", &[Relative::Shares(60.0), Relative::Several(30.0)], None),
    ("multigpu30 gpuspec40", &[Relative::Several(30.0), Relative::Particular(40.0)], None),
    ("inflated tenfold", &[Relative::Inflated(1000.0)], None),
    ("cores 130 %", &[Relative::Cores(130.0)], None),
    ("inflated fivefold", &[Relative::Inflated(500.0)], None),
    ("gpushare50 inflated", &[Relative::Shares(50.0), Relative::Inflated(300.0)], None),
    ("gpushare70 without T4", &[Relative::Shares(70.0)], Some("T4")),
    ("gpushare50 multigpu15", &[Relative::Shares(50.0), Relative::Several(15.0)], None),
    ("gpuspec50", &[Relative::Particular(50.0)], None),
    ("cores 120 %", &[Relative::Cores(120.0)], None),
];
/// Lists that are at hand, as they would be made here.
const MADE_AGAIN: [(&str, Relative); 4] = [
    ("cpu250", Relative::WithoutCards(25.0)),
    ("gpushare40", Relative::Shares(40.0)),
    ("multigpu20", Relative::Several(20.0)),
    ("gpuspec10", Relative::Particular(10.0)),
];
/// Fixes what is drawn.
const SEED: u64 = 77;

/// A trace, and how much its Pods ask for in percent of all cards if that is not what was asked for.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) trace: Trace,
    pub(super) load: Option<u32>,
}

/// Everything that is made from the lists at hand.
pub(super) fn cases(given: &[(&str, Trace)]) -> Vec<Case> {
    let find = |name: &str| given.iter().find(|(one, _)| *one == name).map(|(_, trace)| trace);
    let (Some(base), Some(insisting)) = (find("default"), find("gpuspec10")) else { return Vec::new() };
    let make = |(name, change): &(&str, Relative)| Case {
        name: (*name).to_owned(),
        trace: relative(base, insisting, *change, SEED),
        load: None,
    };
    let mut all: Vec<Case> = LOOKED_AT.iter().chain(&HELD_OUT).map(make).collect();
    for (name, changes, missing) in MADE_OTHERWISE {
        let change = |trace: Trace, change: &Relative| relative(&trace, insisting, *change, SEED);
        let trace = changes.iter().fold(base.clone(), change);
        let trace = missing.map_or_else(|| trace.clone(), |model| without_model(&trace, model));
        all.push(Case { name: name.to_owned(), trace, load: None });
    }
    for (name, trace) in given {
        let half = on_part_of_the_nodes(trace, 0.5, SEED);
        all.push(Case { name: format!("{name}, half the nodes"), trace: half, load: None });
        for load in [110, 200] {
            let name = format!("{name}, load {load} %");
            all.push(Case { name, trace: trace.clone(), load: Some(load) });
        }
    }
    all
}

/// Says how near lists made here come to those at hand.
pub(super) fn say_how_near(given: &[(&str, Trace)]) {
    let find = |name: &str| given.iter().find(|(one, _)| *one == name).map(|(_, trace)| trace);
    let (Some(base), Some(insisting)) = (find("default"), find("gpuspec10")) else { return };
    Report::say(&format!(
        "{:<22} {:>6} {:>11} {:>9} {:>10} {:>12}",
        "list", "Pods", "no cards %", "shares %", "several %", "particular %"
    ));
    for (name, change) in MADE_AGAIN {
        if let Some(trace) = find(name) {
            say(name, proportions(trace));
        }
        say(&format!("{name}, made here"), proportions(&relative(base, insisting, change, SEED)));
    }
}

fn say(name: &str, found: Proportions) {
    let Proportions { pods, without_cards, shares, several, particular } = found;
    Report::say(&format!(
        "{name:<22} {pods:>6} {without_cards:>11.2} {shares:>9.2} {several:>10.2} {particular:>12.2}"
    ));
}
