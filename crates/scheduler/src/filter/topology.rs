//! Questions about the Pods around a node: affinity, anti-affinity both ways, spread.
//!
//! Each distinct term has a [`Tally`]: how many Pods it is about in each domain. A tally follows the ledger by the log of
//! changed nodes, so that a question costs its domains and what changed since it was last asked, never all Pods.

mod residents;
mod tally;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, sync::Arc};

use self::{
    residents::{Domains, Residents},
    tally::{Eligible, Tally, TallyKey, Who},
};
use super::{
    Reason,
    labels::{about, matches_selector},
};
use crate::{
    ledger::Ledger,
    model::{Node, Pod, PodAffinityTerm, SpreadConstraint, Unsatisfiable},
};

/// Most tallies remembered; past it, those not asked for longest are dropped.
const MOST_TALLIES: usize = 512;

/// Counts of Pods by domain, for every term asked about.
#[derive(Debug)]
pub struct Topology {
    tallies: HashMap<TallyKey, Tally>,
    repelled: Residents,
    minding: Residents,
    asked: u64,
}

impl Default for Topology {
    fn default() -> Self {
        Self {
            tallies: HashMap::new(),
            repelled: Residents::repelling(),
            minding: Residents::minding(),
            asked: 0,
        }
    }
}

/// What has to be asked of each node for one Pod.
#[derive(Debug, Default)]
pub struct Question<'a> {
    affinity: Vec<(&'a str, &'a Tally)>,
    /// Nobody is there to be near to, and the Pod would be near to itself: it may be the first.
    first_of_its_kind: bool,
    anti_affinity: Vec<(&'a str, &'a Tally)>,
    repelled: Vec<(&'a str, &'a Domains)>,
    spread: Vec<Spread<'a>>,
    soft_spread: Vec<(&'a str, &'a Tally)>,
    /// Pods it would like near or away, with how much.
    liked: Vec<(&'a str, &'a Tally, i64)>,
    /// Where Pods are that would like this one near or away.
    liking: Vec<(&'a str, &'a Domains)>,
}

#[derive(Debug)]
struct Spread<'a> {
    key: &'a str,
    tally: &'a Tally,
    /// What may be in a domain before the Pod comes.
    most: i64,
}

impl Topology {
    /// Whether anything has to be asked at all for this Pod.
    pub fn concerns(ledger: &Ledger, pod: &Pod) -> bool {
        let shape = &pod.shape;
        !shape.affinity.is_empty()
            || !shape.anti_affinity.is_empty()
            || !shape.spread.is_empty()
            || !shape.preferred_pods.is_empty()
            || ledger.repelling_pods() > 0
            || ledger.minding_pods() > 0
    }

    /// Brings up to date what [`Self::question`] will need.
    pub fn follow(&mut self, ledger: &Ledger, pod: &Pod) {
        self.asked += 1;
        let keys: Vec<TallyKey> = affinity_keys(pod)
            .chain(anti_affinity_keys(pod))
            .chain(preference_keys(pod))
            .chain(pod.shape.spread.iter().map(|constraint| spread_key(pod, constraint)))
            .collect();
        for key in keys {
            let tally = self.tallies.entry(key.clone()).or_default();
            tally.asked = self.asked;
            tally.follow(&key, ledger);
        }
        self.repelled.follow(ledger);
        self.minding.follow(ledger);
        if self.tallies.len() > MOST_TALLIES {
            let mut ages: Vec<u64> = self.tallies.values().map(|tally| tally.asked).collect();
            ages.sort_unstable();
            let oldest = ages[ages.len() - MOST_TALLIES / 2];
            self.tallies.retain(|_, tally| tally.asked >= oldest);
        }
    }

    /// The question for this Pod, after [`Self::follow`].
    pub fn question<'a>(&'a self, pod: &'a Pod) -> Question<'a> {
        let find = |key: TallyKey| self.tallies.get(&key);
        let mut question = Question::default();
        for (term, key) in pod.shape.affinity.iter().zip(affinity_keys(pod)) {
            question.affinity.extend(find(key).map(|tally| (term.topology_key.as_str(), tally)));
        }
        let nobody = question.affinity.iter().all(|(_, tally)| tally.is_empty());
        question.first_of_its_kind = nobody && own_terms_hold(pod);
        for (term, key) in pod.shape.anti_affinity.iter().zip(anti_affinity_keys(pod)) {
            question.anti_affinity.extend(find(key).map(|tally| (term.topology_key.as_str(), tally)));
        }
        question.repelled = self.repelled.about(pod);
        question.liking = self.minding.about(pod);
        for (one, key) in pod.shape.preferred_pods.iter().zip(preference_keys(pod)) {
            // Where nobody is, all places are alike.
            let tally = find(key).filter(|tally| !tally.is_empty());
            question
                .liked
                .extend(tally.map(|tally| (one.term.topology_key.as_str(), tally, i64::from(one.weight))));
        }
        for constraint in &pod.shape.spread {
            let Some(tally) = find(spread_key(pod, constraint)) else { continue };
            let key = constraint.topology_key.as_str();
            match constraint.unsatisfiable {
                Unsatisfiable::ScheduleAnyway => question.soft_spread.push((key, tally)),
                Unsatisfiable::DoNotSchedule => {
                    let itself = i64::from(matches_selector(&constraint.selector, &pod.labels));
                    let emptiest = i64::from(tally.emptiest(constraint.min_domains.unwrap_or(1)));
                    let most = emptiest + i64::from(constraint.max_skew) - itself;
                    question.spread.push(Spread { key, tally, most });
                }
            }
        }
        question
    }
}

impl Question<'_> {
    /// Why the Pod cannot go to this node.
    pub fn judge(&self, node: &Node) -> Option<Reason> {
        let domain = |key: &str| node.labels.get(key).map(String::as_str);
        let mut near = true;
        for (key, tally) in &self.affinity {
            match domain(key) {
                None => return Some(Reason::Affinity),
                Some(value) => near &= tally.pods_in(value) > 0,
            }
        }
        if !near && !self.first_of_its_kind {
            return Some(Reason::Affinity);
        }
        if self
            .anti_affinity
            .iter()
            .any(|(key, tally)| domain(key).is_some_and(|value| tally.pods_in(value) > 0))
        {
            return Some(Reason::AntiAffinity);
        }
        if self
            .repelled
            .iter()
            .any(|(key, domains)| domain(key).is_some_and(|value| domains.contains_key(value)))
        {
            return Some(Reason::ExistingAntiAffinity);
        }
        for spread in &self.spread {
            match domain(spread.key) {
                None => return Some(Reason::SpreadLabel),
                Some(value) if i64::from(spread.tally.pods_in(value)) > spread.most => {
                    return Some(Reason::Spread);
                }
                Some(_) => {}
            }
        }
        None
    }

    /// Whether some nodes are better than others for the sake of the Pods there.
    pub fn has_wishes(&self) -> bool {
        !(self.soft_spread.is_empty() && self.liked.is_empty() && self.liking.is_empty())
    }

    /// How many Pods like this one are near, for constraints that need not hold: fewer is better. None for a node that
    /// lacks a label over which it is spread.
    pub fn crowding(&self, node: &Node) -> Option<u32> {
        let near = |(key, tally): &(&str, &Tally)| Some(tally.pods_in(node.labels.get(*key)?));
        self.soft_spread.iter().map(near).try_fold(0u32, |sum, near| Some(sum.saturating_add(near?)))
    }

    /// How much this Pod likes those near the node, and they it: more is better.
    pub fn liking(&self, node: &Node) -> i64 {
        let liked = self.liked.iter().filter_map(|(key, tally, weight)| {
            Some(i64::from(tally.pods_in(node.labels.get(*key)?)).saturating_mul(*weight))
        });
        let liking = self
            .liking
            .iter()
            .filter_map(|(key, domains)| domains.get(node.labels.get(*key)?).map(|felt| felt.weight));
        liked.chain(liking).fold(0, i64::saturating_add)
    }
}

/// Who a required affinity is about: Pods for which all its terms hold, counted by each term's key.
fn affinity_keys(pod: &Pod) -> impl Iterator<Item = TallyKey> + '_ {
    let namespace: Arc<str> = Arc::clone(&pod.namespace);
    pod.shape.affinity.iter().map(move |term| TallyKey {
        topology_key: term.topology_key.clone(),
        who: Who::AllOf { terms: pod.shape.affinity.clone(), own_namespace: Arc::clone(&namespace) },
        eligible: None,
    })
}

fn anti_affinity_keys(pod: &Pod) -> impl Iterator<Item = TallyKey> + '_ {
    pod.shape.anti_affinity.iter().map(|term| single_key(pod, term))
}

fn preference_keys(pod: &Pod) -> impl Iterator<Item = TallyKey> + '_ {
    pod.shape.preferred_pods.iter().map(|one| single_key(pod, &one.term))
}

/// Pods for which one term holds.
fn single_key(pod: &Pod, term: &PodAffinityTerm) -> TallyKey {
    TallyKey {
        topology_key: term.topology_key.clone(),
        who: Who::AllOf { terms: vec![term.clone()], own_namespace: Arc::clone(&pod.namespace) },
        eligible: None,
    }
}

fn spread_key(pod: &Pod, constraint: &SpreadConstraint) -> TallyKey {
    let shape = &pod.shape;
    let together = shape.spread.iter().filter(|other| other.unsatisfiable == constraint.unsatisfiable);
    let eligible = Eligible {
        keys: together.map(|other| other.topology_key.clone()).collect(),
        admitted: constraint.honor_affinity.then(|| (shape.node_selector.clone(), shape.node_terms.clone())),
        tolerations: constraint.honor_taints.then(|| shape.tolerations.clone()),
    };
    TallyKey {
        topology_key: constraint.topology_key.clone(),
        who: Who::Spread { selector: constraint.selector.clone(), namespace: Arc::clone(&pod.namespace) },
        eligible: Some(eligible),
    }
}

fn own_terms_hold(pod: &Pod) -> bool {
    pod.shape.affinity.iter().all(|term| about(term, &pod.namespace, &pod.namespace, &pod.labels))
}
