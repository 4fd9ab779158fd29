//! Whether a Pod may be on a node, and if not, why in the words of Kubernetes.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{NodeSelector, Taint, Toleration};

use super::ledger::{Ledger, Slot};
use super::request::{Request, Spread};
use crate::controllers::placement::{self, NO_EXECUTE, NO_SCHEDULE};

pub(crate) type Reason = Cow<'static, str>;

const UNSCHEDULABLE: &str = "node(s) were unschedulable";
const NODE_NAME: &str = "node(s) didn't match the requested node name";
const TAINTS: &str = "node(s) had untolerated taint(s)";
const AFFINITY: &str = "node(s) didn't match Pod's node affinity/selector";
const PORTS: &str = "node(s) didn't have free ports for the requested pod ports";
const TOO_MANY_PODS: &str = "Too many pods";
const VOLUME_NODE: &str = "node(s) didn't match PersistentVolume's node affinity";
const NO_VOLUME: &str = "node(s) didn't find available persistent volumes to bind";
const SPREAD: &str = "node(s) didn't match pod topology spread constraints";
const SPREAD_LABEL: &str = "node(s) didn't match pod topology spread constraints (missing required label)";
const NEAR: &str = "node(s) didn't match pod affinity rules";
const APART: &str = "node(s) didn't match pod anti-affinity rules";
const OTHERS_APART: &str = "node(s) didn't satisfy existing pods anti-affinity rules";

/// Where the volumes of a Pod may be.
#[derive(Debug, Default)]
pub(crate) struct Volumes {
    /// The nodes of volumes that are bound already.
    pub(crate) bound: Vec<NodeSelector>,
    /// For each claim that waits for a node: the nodes of volumes it could take, and whether one can be made.
    pub(crate) waiting: Vec<WaitingClaim>,
}

/// A claim that is bound once its Pod has a node.
#[derive(Debug, Default)]
pub(crate) struct WaitingClaim {
    pub(crate) name: String,
    /// Volumes that exist and suit it, best first.
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) provisioned: bool,
    /// The node chosen for it before.
    pub(crate) selected: Option<String>,
}

/// A volume that a claim could take, and the nodes it can be used on; none means all.
#[derive(Debug, Default)]
pub(crate) struct Candidate {
    pub(crate) volume: String,
    pub(crate) nodes: Option<NodeSelector>,
}

impl Volumes {
    /// Which volume each waiting claim takes if the Pod goes to that node; none where one is to be made.
    pub(crate) fn choose(&self, slot: &Slot) -> Vec<(String, Option<String>)> {
        let mut taken: BTreeSet<&str> = BTreeSet::new();
        let mut choices = Vec::new();
        for claim in &self.waiting {
            let mut usable = claim.candidates.iter().filter(|candidate| candidate.reaches(slot));
            let volume = usable.find(|candidate| taken.insert(&candidate.volume));
            choices.push((claim.name.clone(), volume.map(|candidate| candidate.volume.clone())));
        }
        choices
    }
}

impl Candidate {
    fn reaches(&self, slot: &Slot) -> bool {
        let matches = |nodes: &NodeSelector| placement::selector_matches(nodes, &slot.name, &slot.labels);
        self.nodes.as_ref().is_none_or(matches)
    }
}

/// What is worked out once per Pod, for all nodes.
#[derive(Debug)]
pub(crate) struct Prepared<'a> {
    volumes: &'a Volumes,
    /// Topology key and value where a Pod sits that wants none like this one near.
    refused: BTreeSet<(String, String)>,
    /// For each term: the values of its topology key where a Pod it means sits.
    with: Vec<BTreeSet<String>>,
    /// Whether the Pod is the first of its kind and may be anywhere its keys are known.
    first_of_its_kind: bool,
    apart: Vec<BTreeSet<String>>,
    spread: Vec<Counts>,
}

/// How many Pods each domain has.
#[derive(Debug, Default)]
struct Counts {
    by_value: BTreeMap<String, i64>,
    least: i64,
    own: i64,
}

/// Works out what does not depend on the node.
pub(crate) fn prepare<'a>(ledger: &Ledger, request: &Request, volumes: &'a Volumes) -> Prepared<'a> {
    let with: Vec<BTreeSet<String>> = request.with.iter().map(|term| values_of(ledger, term)).collect();
    let own_labels = ledger.namespaces.get(&request.namespace);
    let means_itself =
        |term: &super::request::Term| term.means(&request.namespace, own_labels, &request.labels);
    let first_of_its_kind = !request.with.is_empty()
        && with.iter().all(BTreeSet::is_empty)
        && request.with.iter().all(means_itself);
    Prepared {
        volumes,
        refused: refused(ledger, request),
        with,
        first_of_its_kind,
        apart: request.apart.iter().map(|term| values_of(ledger, term)).collect(),
        spread: request.spread.iter().map(|spread| count(ledger, request, spread)).collect(),
    }
}

fn values_of(ledger: &Ledger, term: &super::request::Term) -> BTreeSet<String> {
    let values = ledger.meant(term).filter_map(|placed| ledger.topology(&placed.node, &term.topology_key));
    values.map(ToOwned::to_owned).collect()
}

fn refused(ledger: &Ledger, request: &Request) -> BTreeSet<(String, String)> {
    let mut pairs = BTreeSet::new();
    let own_labels = ledger.namespaces.get(&request.namespace);
    for placed in ledger.apart.iter().filter_map(|key| ledger.placed.get(key)) {
        for term in &placed.apart {
            if term.means(&request.namespace, own_labels, &request.labels)
                && let Some(value) = ledger.topology(&placed.node, &term.topology_key)
            {
                pairs.insert((term.topology_key.clone(), value.to_owned()));
            }
        }
    }
    pairs
}

fn count(ledger: &Ledger, request: &Request, spread: &Spread) -> Counts {
    let eligible = |slot: &&Slot| {
        slot.present
            && (!spread.honor_affinity || placement::affinity_allows(&request.spec, &slot.name, &slot.labels))
            && (!spread.honor_taints || tolerated(slot, request))
    };
    let mut by_value: BTreeMap<String, i64> = BTreeMap::new();
    for slot in ledger.slots().iter().filter(eligible) {
        let Some(value) = slot.labels.get(&spread.topology_key) else { continue };
        let pods = slot.pods.iter().filter_map(|key| ledger.placed.get(key));
        let same = pods.filter(|placed| {
            !placed.deleting
                && placed.namespace == request.namespace
                && spread.selector.matches(&placed.labels)
        });
        *by_value.entry(value.clone()).or_default() += i64::try_from(same.count()).unwrap_or(0);
    }
    let enough = by_value.len() >= spread.min_domains;
    let least = if enough { by_value.values().copied().min().unwrap_or(0) } else { 0 };
    Counts { by_value, least, own: i64::from(spread.selector.matches(&request.labels)) }
}

fn tolerated(slot: &Slot, request: &Request) -> bool {
    let tolerations = request.spec.tolerations.as_deref().unwrap_or_default();
    placement::untolerated(&slot.taints, tolerations, &[NO_SCHEDULE, NO_EXECUTE]).is_none()
}

/// Why the Pod may not be on the node; nothing if it may.
pub(crate) fn refusals(
    ledger: &Ledger,
    slot: &Slot,
    request: &Request,
    prepared: &Prepared<'_>,
) -> Vec<Reason> {
    if let Some(reason) = node_refusal(slot, request) {
        return vec![reason.into()];
    }
    let short = shortages(ledger, slot, request);
    if !short.is_empty() {
        return short;
    }
    let reason = volume_refusal(slot, prepared.volumes)
        .or_else(|| spread_refusal(slot, request, prepared))
        .or_else(|| company_refusal(slot, request, prepared));
    reason.map(Cow::from).into_iter().collect()
}

fn node_refusal(slot: &Slot, request: &Request) -> Option<&'static str> {
    let tolerations = request.spec.tolerations.as_deref().unwrap_or_default();
    if slot.unschedulable && !tolerates_unschedulable(tolerations) {
        return Some(UNSCHEDULABLE);
    }
    let wanted = request.spec.node_name.as_deref().unwrap_or_default();
    if !wanted.is_empty() && wanted != slot.name {
        return Some(NODE_NAME);
    }
    if !tolerated(slot, request) {
        return Some(TAINTS);
    }
    if !placement::affinity_allows(&request.spec, &slot.name, &slot.labels) {
        return Some(AFFINITY);
    }
    let taken = |port| slot.ports.iter().any(|(_, open): &(String, _)| open.clashes(port));
    request.ports.iter().any(taken).then_some(PORTS)
}

fn tolerates_unschedulable(tolerations: &[Toleration]) -> bool {
    let taint = Taint {
        key: "node.kubernetes.io/unschedulable".into(),
        effect: NO_SCHEDULE.into(),
        ..Taint::default()
    };
    tolerations.iter().any(|toleration| placement::tolerates(toleration, &taint))
}

fn shortages(ledger: &Ledger, slot: &Slot, request: &Request) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = Vec::new();
    if i64::try_from(slot.pods.len()).unwrap_or(i64::MAX) >= slot.most_pods {
        reasons.push(TOO_MANY_PODS.into());
    }
    for (resource, amount) in &request.amounts {
        if slot.free(*resource) < i128::from(*amount) {
            reasons.push(format!("Insufficient {}", ledger.names.text(*resource)).into());
        }
    }
    reasons
}

fn volume_refusal(slot: &Slot, volumes: &Volumes) -> Option<&'static str> {
    let reaches = |selector: &NodeSelector| placement::selector_matches(selector, &slot.name, &slot.labels);
    if !volumes.bound.iter().all(reaches) {
        return Some(VOLUME_NODE);
    }
    let served = |claim: &WaitingClaim| match &claim.selected {
        Some(node) => *node == slot.name,
        None => claim.provisioned || claim.candidates.iter().any(|candidate| candidate.reaches(slot)),
    };
    (!volumes.waiting.iter().all(served)).then_some(NO_VOLUME)
}

fn spread_refusal(slot: &Slot, request: &Request, prepared: &Prepared<'_>) -> Option<&'static str> {
    for (spread, counts) in request.spread.iter().zip(&prepared.spread).filter(|(spread, _)| spread.required)
    {
        let Some(value) = slot.labels.get(&spread.topology_key) else { return Some(SPREAD_LABEL) };
        let here = counts.by_value.get(value).copied().unwrap_or(0);
        if here + counts.own - counts.least > spread.max_skew {
            return Some(SPREAD);
        }
    }
    None
}

fn company_refusal(slot: &Slot, request: &Request, prepared: &Prepared<'_>) -> Option<&'static str> {
    let near = |(term, values): (&super::request::Term, &BTreeSet<String>)| {
        let here = slot.labels.get(&term.topology_key);
        here.is_some_and(|value| prepared.first_of_its_kind || values.contains(value))
    };
    if !request.with.iter().zip(&prepared.with).all(near) {
        return Some(NEAR);
    }
    let clash = |(term, values): (&super::request::Term, &BTreeSet<String>)| {
        slot.labels.get(&term.topology_key).is_some_and(|value| values.contains(value))
    };
    if request.apart.iter().zip(&prepared.apart).any(clash) {
        return Some(APART);
    }
    let refused = prepared.refused.iter().any(|(key, value)| slot.labels.get(key) == Some(value));
    refused.then_some(OTHERS_APART)
}

/// How many Pods of the kind a spread constraint counts are where the node is.
pub(crate) fn crowd(slot: &Slot, spread: &Spread, index: usize, prepared: &Prepared<'_>) -> i64 {
    let value = slot.labels.get(&spread.topology_key);
    value.and_then(|value| prepared.spread[index].by_value.get(value)).copied().unwrap_or(0)
}
