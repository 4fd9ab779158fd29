//! What the volumes of a Pod demand of its node.

mod fixed;

use std::collections::{BTreeMap, BTreeSet};

use super::{Unfit, terms};
use crate::{
    adapter::wire::{self, ClaimSource},
    model::{Operator, PodVolumes, Requirement, StaticClaim, Term},
};

/// Made for classes whose volumes somebody has to make by hand.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";
/// A claim in this mode is for one Pod at a time.
const ONE_POD: &str = "ReadWriteOncePod";
/// How a claim is told which node its volume has to reach.
pub(crate) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// Labels of volumes and nodes that say where they are, each with the one that replaced it.
const ZONES: [(&str, &str); 4] = [
    ("topology.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    ("topology.kubernetes.io/region", "topology.kubernetes.io/region"),
    ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
];
/// Between the zones of a volume that is in several.
const ZONE_SEPARATOR: &str = "__";

/// Claims, volumes and classes, as last seen.
#[derive(Debug, Default)]
#[expect(clippy::struct_field_names, reason = "claims, volumes and classes are what the API calls them")]
pub(crate) struct Volumes {
    claims: BTreeMap<String, wire::Claim>,
    volumes: BTreeMap<String, wire::Volume>,
    pub(crate) classes: BTreeMap<String, wire::StorageClass>,
    /// Claims by the volume they name.
    by_volume: BTreeMap<String, BTreeSet<String>>,
    /// Volumes promised to claims that have not been seen, by name and without a uid.
    promised: BTreeSet<String>,
}

/// How volumes tie a Pod to nodes; the same for Pods with the same claims, and for many with different ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Ties {
    /// Each volume's must hold.
    pub(crate) terms: Vec<Vec<Term>>,
    /// Claims that get a volume made beforehand once the node is known, smallest first.
    pub(crate) claims: Vec<StaticClaim>,
}

/// What the volumes of a Pod come to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) ties: Ties,
    /// What it attaches, and what it has to itself.
    pub(crate) volumes: PodVolumes,
    /// Claims, by name, that get a new volume once the node is known.
    pub(crate) choose: Vec<String>,
    /// Something has to happen before the Pod can have a node: what.
    pub(crate) waits: Option<String>,
}

/// The claims of a Pod, as `namespace/name`.
pub(crate) fn claim_keys(meta: &wire::Meta, sources: &[ClaimSource]) -> BTreeSet<String> {
    let name = |source: &ClaimSource| match source {
        ClaimSource::Claim(name) => name.clone(),
        ClaimSource::Ephemeral(volume) => format!("{}-{volume}", meta.name),
    };
    sources.iter().map(|source| format!("{}/{}", meta.namespace, name(source))).collect()
}

impl Volumes {
    /// Remembers a claim.
    pub(crate) fn set_claim(&mut self, claim: wire::Claim) {
        let key = claim.metadata.key();
        self.remove_claim(&key);
        if !claim.spec.volume_name.is_empty() {
            self.by_volume.entry(claim.spec.volume_name.clone()).or_default().insert(key.clone());
        }
        self.claims.insert(key, claim);
    }

    /// A claim is gone.
    pub(crate) fn remove_claim(&mut self, key: &str) {
        let Some(claim) = self.claims.remove(key) else { return };
        if let Some(claims) = self.by_volume.get_mut(&claim.spec.volume_name) {
            claims.remove(key);
            if claims.is_empty() {
                self.by_volume.remove(&claim.spec.volume_name);
            }
        }
    }

    /// The claims that name a volume.
    pub(crate) fn claims_of(&self, volume: &str) -> impl Iterator<Item = &String> {
        self.by_volume.get(volume).into_iter().flatten()
    }

    /// What these claims demand of the node of a Pod, as far as is known now.
    pub(crate) fn wanted<'a>(&self, claims: impl IntoIterator<Item = &'a str>) -> Result<Wanted, Unfit> {
        let mut wanted = Wanted::default();
        for key in claims {
            self.add_claim(&mut wanted, key)?;
        }
        wanted.ties.claims.sort_by(|one, other| (one.size, &one.name).cmp(&(other.size, &other.name)));
        Ok(wanted)
    }

    /// What a Pod that has a node uses through these claims, as far as is known now.
    pub(crate) fn used<'a>(&self, claims: impl IntoIterator<Item = &'a str>) -> PodVolumes {
        let mut used = PodVolumes::default();
        for key in claims {
            if let Some(claim) = self.claims.get(key) {
                self.add_use(&mut used, key, claim);
            }
        }
        used
    }

    fn add_claim(&self, wanted: &mut Wanted, key: &str) -> Result<(), Unfit> {
        let name = key.split_once('/').map_or(key, |(_, name)| name);
        let Some(claim) = self.claims.get(key) else {
            wanted.waits.get_or_insert(format!("the volume claim {name} does not exist"));
            return Ok(());
        };
        // As in kube-scheduler: who starts with it now would keep it from going, or wait on its node for ever.
        if claim.metadata.deletion_timestamp.is_some() {
            wanted.waits.get_or_insert(format!("the volume claim {name} is being deleted"));
        } else if claim.status.phase == "Lost" {
            wanted.waits.get_or_insert(format!("the volume claim {name} has lost its volume"));
        }
        self.add_use(&mut wanted.volumes, key, claim);
        if !claim.spec.volume_name.is_empty() {
            return self.add_volume(wanted, name, claim);
        }
        let class = self.classes.get(&claim.spec.storage_class_name);
        match class.filter(|class| class.volume_binding_mode == "WaitForFirstConsumer") {
            None => {
                wanted.waits.get_or_insert(format!("the volume claim {name} is not bound to a volume yet"));
            }
            Some(class) if class.provisioner == NO_PROVISIONER => {
                wanted.ties.claims.push(fixed::claim(claim)?);
            }
            Some(class) => {
                wanted.ties.terms.extend(to_be_made(claim, class)?);
                wanted.choose.push(name.to_owned());
            }
        }
        Ok(())
    }

    /// What a claim attaches to the node: its volume if that is a driver's, else the one that its class will make.
    fn add_use(&self, used: &mut PodVolumes, key: &str, claim: &wire::Claim) {
        if claim.spec.access_modes.iter().any(|mode| mode == ONE_POD) {
            used.exclusive.insert(key.to_owned());
        }
        if let Some(volume) = self.volumes.get(&claim.spec.volume_name) {
            let csi = volume.spec.csi.as_ref();
            used.attached.extend(csi.map(|csi| (csi.driver.clone(), csi.volume_handle.clone())));
        } else if let Some(class) = self.classes.get(&claim.spec.storage_class_name)
            && class.provisioner != NO_PROVISIONER
        {
            // Limits are by driver, so a provisioner that is no driver does no harm.
            used.attached.insert((class.provisioner.clone(), format!("claim {key}")));
        }
    }

    fn add_volume(&self, wanted: &mut Wanted, name: &str, claim: &wire::Claim) -> Result<(), Unfit> {
        let Some(volume) = self.volumes.get(&claim.spec.volume_name) else {
            let volume = &claim.spec.volume_name;
            wanted.waits.get_or_insert(format!("the volume {volume} of claim {name} does not exist"));
            return Ok(());
        };
        if claim.status.phase != "Bound" {
            wanted.waits.get_or_insert(format!("the volume claim {name} is being bound to its volume"));
        }
        if let Some(required) = &volume.spec.node_affinity.required {
            wanted.ties.terms.push(terms::terms(&required.node_selector_terms)?);
        }
        wanted.ties.terms.extend(zones(&volume.metadata.labels));
        Ok(())
    }
}

/// Where a volume that is still to be made can be used.
fn to_be_made(claim: &wire::Claim, class: &wire::StorageClass) -> Result<Vec<Vec<Term>>, Unfit> {
    let mut all = Vec::new();
    let allowed = class.allowed_topologies.iter().map(|topology| wire::NodeSelectorTerm {
        match_expressions: topology.match_label_expressions.iter().map(as_in).collect(),
        match_fields: Vec::new(),
    });
    let allowed: Vec<_> = allowed.collect();
    if !allowed.is_empty() {
        all.push(terms::terms(&allowed)?);
    }
    // It is being made for that node, whoever chose it. A provisioner that cannot do it takes the choice back.
    if let Some(node) = claim.metadata.annotations.get(SELECTED_NODE).filter(|node| !node.is_empty()) {
        let is = requirement("metadata.name", Operator::In, vec![node.to_owned()]);
        all.push(vec![Term { labels: Vec::new(), names: vec![is] }]);
    }
    Ok(all)
}

/// Where a volume is by its labels, as older drivers say it: on nodes of these zones, or on nodes that say nothing of
/// theirs.
fn zones(labels: &wire::Labels) -> Vec<Vec<Term>> {
    let silent = ZONES.map(|(label, _)| requirement(label, Operator::DoesNotExist, Vec::new()));
    let silent = Term { labels: silent.into(), names: Vec::new() };
    let said = ZONES.iter().filter_map(|(label, newer)| {
        let values: Vec<String> = labels.get(*label)?.split(ZONE_SEPARATOR).map(str::to_owned).collect();
        let one_of = |label: &str| requirement(label, Operator::In, values.clone());
        let absent = requirement(label, Operator::DoesNotExist, Vec::new());
        let by_label = Term { labels: vec![one_of(label)], names: Vec::new() };
        let by_newer = Term { labels: vec![absent, one_of(newer)], names: Vec::new() };
        let known = if label == newer { vec![by_label] } else { vec![by_label, by_newer] };
        Some(known.into_iter().chain([silent.clone()]).collect())
    });
    said.collect()
}

fn requirement(key: &str, operator: Operator, values: Vec<String>) -> Requirement {
    Requirement { key: key.to_owned(), operator, values }
}

/// Topologies of a class name values and no operator.
fn as_in(one: &wire::Requirement) -> wire::Requirement {
    wire::Requirement { operator: "In".to_owned(), ..one.clone() }
}

#[cfg(test)]
mod tests;
