//! Relatives of a trace: the same Pods in other proportions.
//!
//! The openb trace comes in lists that were made from its default one by taking some of its Pods more or less often:
//! Pods without cards (`cpu`), shares of cards (`gpushare`), several cards (`multigpu`); in others some Pods insist on
//! certain models (`gpuspec`). Only a few of the lists are at hand. The others are made here in the same way, to see
//! that a method of placing was not tuned to those few.

use std::{collections::HashMap, sync::Arc};

use super::{
    table::LABEL_MODEL,
    trace::{Trace, TracePod},
};
use crate::{
    model::{CardRequest, Node, ResourceId, Shape, Term},
    place::random::Random,
};

/// What is changed, in percent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Relative {
    /// So many of all Pods ask for no cards.
    WithoutCards(f64),
    /// So much of the cards asked for is asked for in shares; as many Pods ask for cards as before.
    Shares(f64),
    /// So much of the cards asked for is asked for by Pods that want several; the others come as before.
    Several(f64),
    /// So many of the Pods that ask for cards insist on certain models.
    Particular(f64),
    /// Each shape comes more or less often, by a factor of its own up to this many percent or down to its inverse.
    Inflated(f64),
    /// Pods that ask for cards ask for so much of the cores they asked for before.
    Cores(f64),
}

/// What tells relatives apart, in percent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proportions {
    /// Pods.
    pub pods: usize,
    /// Pods without cards among all.
    pub without_cards: f64,
    /// Shares among the cards asked for.
    pub shares: f64,
    /// What Pods with several cards ask for, among the cards asked for.
    pub several: f64,
    /// Pods that insist on models among those with cards.
    pub particular: f64,
}

/// A relative of a trace. `insisting` is another trace from which Pods that insist on models take their terms.
pub fn relative(base: &Trace, insisting: &Trace, change: Relative, seed: u64) -> Trace {
    let mut random = Random::new(seed);
    let pods = match change {
        Relative::WithoutCards(percent) => without_cards(&base.pods, percent / 100.0, &mut random),
        Relative::Shares(percent) => shares(&base.pods, percent / 100.0, &mut random),
        Relative::Several(percent) => several(&base.pods, percent / 100.0, &mut random),
        Relative::Particular(percent) => particular(&base.pods, insisting, percent / 100.0, &mut random),
        Relative::Inflated(percent) => inflated(&base.pods, percent / 100.0, &mut random),
        Relative::Cores(percent) => cores(&base.pods, percent / 100.0),
    };
    Trace { pods: numbered(pods), ..base.clone() }
}

/// The same Pods on a part of the nodes, chosen at random.
pub fn on_part_of_the_nodes(base: &Trace, part: f64, seed: u64) -> Trace {
    let mut random = Random::new(seed);
    let nodes: Vec<Node> = base.nodes.iter().filter(|_| random.unit() < part).cloned().collect();
    Trace { nodes, ..base.clone() }
}

/// The same Pods on all nodes but those with cards of one model.
pub fn without_model(base: &Trace, model: &str) -> Trace {
    let has = |node: &&Node| node.labels.get(LABEL_MODEL).is_some_and(|one| one == model);
    let nodes = base.nodes.iter().filter(|node| !has(node)).cloned().collect();
    Trace { nodes, ..base.clone() }
}

/// Measures a trace.
pub fn proportions(trace: &Trace) -> Proportions {
    let percent = |part: f64, whole: f64| if whole == 0.0 { 0.0 } else { 100.0 * part / whole };
    let (with, without): (Vec<&TracePod>, Vec<&TracePod>) =
        trace.pods.iter().partition(|pod| pod.cards() > 0);
    let all = asked(with.iter().copied());
    Proportions {
        pods: trace.pods.len(),
        without_cards: percent(float(without.len()), float(trace.pods.len())),
        shares: percent(asked(with.iter().copied().filter(|pod| is_share(pod))), all),
        several: percent(asked(with.iter().copied().filter(|pod| wants_several(pod))), all),
        particular: percent(
            float(with.iter().filter(|pod| !pod.shape.node_terms.is_empty()).count()),
            float(with.len()),
        ),
    }
}

fn without_cards(pods: &[TracePod], part: f64, random: &mut Random) -> Vec<TracePod> {
    let (with, without) = split(pods, |pod| pod.cards() > 0);
    let wanted = rounded(float(with.len()) * part / (1.0 - part));
    [with, drawn(&without, wanted, random)].concat()
}

fn shares(pods: &[TracePod], part: f64, random: &mut Random) -> Vec<TracePod> {
    let (with, without) = split(pods, |pod| pod.cards() > 0);
    let (small, large) = split(&with, is_share);
    let mean = |pods: &[TracePod]| asked(pods.iter()) / float(pods.len().max(1));
    let (of_small, of_large) = (mean(&small), mean(&large));
    // n shares and the rest whole, so that n·small = part·(n·small + (all - n)·large).
    let wanted = part * float(with.len()) * of_large / (of_small * (1.0 - part) + of_large * part);
    let wanted = rounded(wanted).min(with.len());
    [without, drawn(&small, wanted, random), drawn(&large, with.len() - wanted, random)].concat()
}

fn several(pods: &[TracePod], part: f64, random: &mut Random) -> Vec<TracePod> {
    let (many, _) = split(pods, wants_several);
    let missing = (part * asked(pods.iter()) - asked(many.iter())) / (1.0 - part);
    let more = rounded(missing.max(0.0) * float(many.len()) / asked(many.iter()).max(1.0));
    [pods.to_vec(), drawn(&many, more, random)].concat()
}

fn particular(pods: &[TracePod], insisting: &Trace, part: f64, random: &mut Random) -> Vec<TracePod> {
    let terms: Vec<&Vec<Term>> =
        insisting.pods.iter().map(|pod| &pod.shape.node_terms).filter(|terms| !terms.is_empty()).collect();
    let insist = |pod: &TracePod, random: &mut Random| {
        let mut pod = pod.clone();
        if pod.cards() > 0 && !terms.is_empty() && random.unit() < part {
            let node_terms = terms[random.below(terms.len())].clone();
            pod.shape = Arc::new(Shape { node_terms, ..(*pod.shape).clone() });
        }
        pod
    };
    pods.iter().map(|pod| insist(pod, random)).collect()
}

fn inflated(pods: &[TracePod], most: f64, random: &mut Random) -> Vec<TracePod> {
    let mut factors: HashMap<&Arc<Shape>, f64> = HashMap::new();
    let mut all = Vec::new();
    for pod in pods {
        let factor = *factors.entry(&pod.shape).or_insert_with(|| most.powf(2.0 * random.unit() - 1.0));
        let times = rounded((factor + random.unit() - 0.5).max(0.0));
        all.extend(std::iter::repeat_n(pod, times).cloned());
    }
    all
}

fn cores(pods: &[TracePod], part: f64) -> Vec<TracePod> {
    let mut shapes: HashMap<&Arc<Shape>, Arc<Shape>> = HashMap::new();
    let change = |shape: &Arc<Shape>| {
        let mut changed = (**shape).clone();
        if changed.cards.count() > 0 {
            changed.requests.set(ResourceId::CPU, scaled(changed.requests.get(ResourceId::CPU), part));
        }
        Arc::new(changed)
    };
    let mut all = Vec::with_capacity(pods.len());
    for pod in pods {
        let shape = Arc::clone(shapes.entry(&pod.shape).or_insert_with(|| change(&pod.shape)));
        all.push(TracePod { shape, ..pod.clone() });
    }
    all
}

fn split(pods: &[TracePod], is: impl Fn(&TracePod) -> bool) -> (Vec<TracePod>, Vec<TracePod>) {
    pods.iter().cloned().partition(is)
}

/// So many of these Pods: each as often as any other, save for one.
fn drawn(pods: &[TracePod], count: usize, random: &mut Random) -> Vec<TracePod> {
    let mut order: Vec<&TracePod> = pods.iter().collect();
    for index in (1..order.len()).rev() {
        order.swap(index, random.below(index + 1));
    }
    order.into_iter().cycle().take(count).cloned().collect()
}

/// Pods with names of their own, as some have come more than once.
fn numbered(pods: Vec<TracePod>) -> Vec<TracePod> {
    let name = |(number, pod): (usize, TracePod)| TracePod { name: format!("pod-{number}").into(), ..pod };
    let mut all: Vec<TracePod> = pods.into_iter().enumerate().map(name).collect();
    all.sort_by_key(|pod| pod.arrives);
    all
}

fn is_share(pod: &TracePod) -> bool {
    matches!(pod.shape.cards, CardRequest::Share { .. })
}

fn wants_several(pod: &TracePod) -> bool {
    pod.shape.cards.count() > 1
}

#[expect(clippy::cast_precision_loss, reason = "thousandths of cards are far below 2^53")]
fn asked<'a>(pods: impl Iterator<Item = &'a TracePod>) -> f64 {
    pods.map(TracePod::cards).sum::<i64>() as f64
}

#[expect(clippy::cast_precision_loss, reason = "a number of Pods")]
fn float(number: usize) -> f64 {
    number as f64
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "thousandths of the cores of a Pod"
)]
fn scaled(amount: i64, part: f64) -> i64 {
    (amount as f64 * part).round() as i64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of Pods")]
fn rounded(number: f64) -> usize {
    number.round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::generate::{RECIPES, generate};

    #[test]
    fn relatives_have_the_proportions_asked_for() {
        let base = generate(RECIPES[0].1, 1);
        let insisting = generate(RECIPES[4].1, 2);
        let of = |change| proportions(&relative(&base, &insisting, change, 3));
        let before = proportions(&base);
        let near = |one: f64, other: f64| (one - other).abs() < 0.6;
        let without = of(Relative::WithoutCards(40.0));
        assert!(near(without.without_cards, 40.0) && near(without.shares, before.shares), "{without:?}");
        for percent in [20.0, 70.0, 100.0] {
            let shares = of(Relative::Shares(percent));
            assert!(near(shares.shares, percent), "{shares:?}");
            assert_eq!(shares.pods, before.pods);
        }
        let several = of(Relative::Several(80.0));
        assert!(near(several.several, 80.0) && several.pods > before.pods, "{several:?}");
        let particular = of(Relative::Particular(25.0));
        assert!((particular.particular - 25.0).abs() < 3.0, "{particular:?}");
        let inflated = relative(&base, &insisting, Relative::Inflated(500.0), 3);
        let often = |trace: &Trace| -> HashMap<Arc<Shape>, f64> { trace.shapes().into_iter().collect() };
        let (before, after) = (often(&base), often(&inflated));
        let factors = before.iter().filter(|(_, count)| **count > 50.0);
        let factors: Vec<f64> =
            factors.map(|(shape, count)| after.get(shape).unwrap_or(&0.0) / count).collect();
        assert!(factors.iter().all(|factor| (0.1..5.1).contains(factor)), "{factors:?}");
        assert!(factors.iter().any(|factor| *factor < 0.7) && factors.iter().any(|factor| *factor > 1.5));
        let cores = relative(&base, &insisting, Relative::Cores(150.0), 3);
        let of = |trace: &Trace| -> i64 {
            let asking = trace.pods.iter().filter(|pod| pod.cards() > 0);
            asking.map(|pod| pod.shape.requests.get(ResourceId::CPU)).sum()
        };
        assert_eq!(of(&cores) * 2, of(&base) * 3);
        let half = on_part_of_the_nodes(&base, 0.5, 1);
        assert!((250..350).contains(&half.nodes.len()));
    }
}
