//! What the volumes of a Pod demand of its node.

mod fixed;

use std::collections::{BTreeMap, BTreeSet};

use super::{Unfit, terms};
use crate::{
    adapter::wire::{self, ClaimSource},
    model::{StaticClaim, Term},
};

/// Made for classes whose volumes somebody has to make by hand.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// Claims, volumes and classes, as last seen.
#[derive(Debug, Default)]
#[expect(clippy::struct_field_names, reason = "claims, volumes and classes are what the API calls them")]
pub(crate) struct Volumes {
    pub(crate) claims: BTreeMap<String, wire::Claim>,
    pub(crate) volumes: BTreeMap<String, wire::Volume>,
    pub(crate) classes: BTreeMap<String, wire::StorageClass>,
    /// Volumes promised to claims that have not been seen, by name and without a uid.
    promised: BTreeSet<String>,
}

/// What the volumes of a Pod come to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Wanted {
    /// Each volume's must hold.
    pub(crate) terms: Vec<Vec<Term>>,
    /// How many of each driver are attached.
    pub(crate) drivers: BTreeMap<String, u32>,
    /// Claims, by name, that get a new volume once the node is known.
    pub(crate) choose: Vec<String>,
    /// Claims that get a volume made beforehand once the node is known, smallest first.
    pub(crate) claims: Vec<StaticClaim>,
    /// Something has to happen before the Pod can have a node: what.
    pub(crate) waits: Option<String>,
}

/// The name of the claim behind a source; none if there is no claim.
pub(crate) fn claim_name(pod: &str, source: &ClaimSource) -> Option<String> {
    match source {
        ClaimSource::Claim(name) => Some(name.clone()),
        ClaimSource::Ephemeral(volume) => Some(format!("{pod}-{volume}")),
        ClaimSource::Inline(_) => None,
    }
}

impl Volumes {
    /// What a Pod's volumes demand, as far as is known now.
    pub(crate) fn wanted(
        &self,
        namespace: &str,
        pod: &str,
        sources: &[ClaimSource],
    ) -> Result<Wanted, Unfit> {
        let mut wanted = Wanted::default();
        for source in sources {
            match claim_name(pod, source) {
                Some(name) => self.add_claim(&mut wanted, namespace, name)?,
                None => {
                    if let ClaimSource::Inline(driver) = source {
                        *wanted.drivers.entry(driver.clone()).or_default() += 1;
                    }
                }
            }
        }
        wanted.claims.sort_by(|one, other| (one.size, &one.name).cmp(&(other.size, &other.name)));
        Ok(wanted)
    }

    fn add_claim(&self, wanted: &mut Wanted, namespace: &str, name: String) -> Result<(), Unfit> {
        let Some(claim) = self.claims.get(&format!("{namespace}/{name}")) else {
            wanted.waits.get_or_insert(format!("the volume claim {name} does not exist"));
            return Ok(());
        };
        if !claim.spec.volume_name.is_empty() {
            return self.add_volume(wanted, &name, claim);
        }
        let class = self.classes.get(&claim.spec.storage_class_name);
        match class.filter(|class| class.volume_binding_mode == "WaitForFirstConsumer") {
            None => {
                wanted.waits.get_or_insert(format!("the volume claim {name} is not bound to a volume yet"));
            }
            Some(class) if class.provisioner == NO_PROVISIONER => {
                let claim = fixed::claim(claim)?;
                if !wanted.claims.contains(&claim) {
                    wanted.claims.push(claim);
                }
            }
            Some(class) => {
                let allowed = class.allowed_topologies.iter().map(|topology| wire::NodeSelectorTerm {
                    match_expressions: topology.match_label_expressions.iter().map(as_in).collect(),
                    match_fields: Vec::new(),
                });
                let allowed: Vec<_> = allowed.collect();
                if !allowed.is_empty() {
                    wanted.terms.push(terms::terms(&allowed)?);
                }
                *wanted.drivers.entry(class.provisioner.clone()).or_default() += 1;
                wanted.choose.push(name);
            }
        }
        Ok(())
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
            wanted.terms.push(terms::terms(&required.node_selector_terms)?);
        }
        if let Some(csi) = &volume.spec.csi {
            *wanted.drivers.entry(csi.driver.clone()).or_default() += 1;
        }
        Ok(())
    }
}

/// Topologies of a class name values and no operator.
fn as_in(one: &wire::Requirement) -> wire::Requirement {
    wire::Requirement { operator: "In".to_owned(), ..one.clone() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn volumes() -> Volumes {
        let mut all = Volumes::default();
        let claim = |value| serde_json::from_value::<wire::Claim>(value).unwrap();
        let bound = json!({"metadata": {"name": "data", "namespace": "n"}, "spec": {"volumeName": "v"},
            "status": {"phase": "Bound"}});
        let late =
            json!({"metadata": {"name": "late", "namespace": "n"}, "spec": {"storageClassName": "late"}});
        let early =
            json!({"metadata": {"name": "early", "namespace": "n"}, "spec": {"storageClassName": "early"}});
        for (name, value) in [("n/data", bound), ("n/late", late), ("n/early", early)] {
            all.claims.insert(name.to_owned(), claim(value));
        }
        let volume = json!({"metadata": {"name": "v"}, "spec": {"csi": {"driver": "d"}, "nodeAffinity": {"required":
            {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}}}});
        all.volumes.insert("v".to_owned(), serde_json::from_value(volume).unwrap());
        let class = json!({"metadata": {"name": "late"}, "provisioner": "d", "volumeBindingMode": "WaitForFirstConsumer",
            "allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}]});
        all.classes.insert("late".to_owned(), serde_json::from_value(class).unwrap());
        all
    }

    #[test]
    fn bound_volumes_bring_their_terms_and_unbound_ones_their_class() {
        let sources = [ClaimSource::Claim("data".into()), ClaimSource::Claim("late".into())];
        let wanted = volumes().wanted("n", "p", &sources).unwrap();
        assert_eq!(wanted.terms.len(), 2);
        assert_eq!(wanted.drivers["d"], 2);
        assert_eq!(wanted.choose, ["late"]);
        assert_eq!(wanted.waits, None);
    }

    #[test]
    fn a_pod_waits_for_claims_that_are_not_there_or_not_bound() {
        for (source, want) in [
            (ClaimSource::Claim("early".into()), "not bound"),
            (ClaimSource::Claim("none".into()), "does not exist"),
            (ClaimSource::Ephemeral("scratch".into()), "claim p-scratch does not exist"),
        ] {
            let waits = volumes().wanted("n", "p", std::slice::from_ref(&source)).unwrap().waits;
            assert!(waits.as_ref().is_some_and(|why| why.contains(want)), "{source:?}: {waits:?}");
        }
    }
}
