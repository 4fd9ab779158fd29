//! Pods. [`PodSpec`] can be compared and hashed: Pods of one template have equal ones, and share what follows from it.

#![expect(clippy::struct_field_names, reason = "fields are called as in the API")]

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, de::IgnoredAny};

use super::{Labels, Meta, lean::served, null_as_default};

#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Pod {
    pub(crate) metadata: Meta,
    #[serde(default)]
    pub(crate) spec: PodSpec,
    #[serde(default)]
    pub(crate) status: PodStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodStatus {
    pub(crate) phase: String,
    pub(crate) nominated_node_name: String,
    pub(crate) start_time: Option<Timestamp>,
}

/// The fields that decide where a Pod goes.
#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq, Hash)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodSpec {
    pub(crate) node_name: String,
    pub(crate) scheduler_name: String,
    pub(crate) priority: Option<i32>,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) scheduling_gates: Vec<Gate>,
    pub(crate) scheduling_group: Option<SchedulingGroup>,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) containers: Vec<Container>,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) init_containers: Vec<Container>,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) resources: Resources,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) overhead: BTreeMap<String, String>,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) node_selector: Labels,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) affinity: Affinity,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) tolerations: Vec<Toleration>,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) topology_spread_constraints: Vec<SpreadConstraint>,
    #[serde(deserialize_with = "claims")]
    pub(crate) volumes: Vec<ClaimSource>,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) resource_claims: Vec<Gate>,
}

impl PodSpec {
    /// Takes out what Pods of one template have in common, and leaves what is a Pod's own.
    pub(crate) fn take_template(&mut self) -> Self {
        let mut template = std::mem::take(self);
        self.node_name = std::mem::take(&mut template.node_name);
        self.scheduler_name = std::mem::take(&mut template.scheduler_name);
        self.priority = template.priority.take();
        self.scheduling_gates = std::mem::take(&mut template.scheduling_gates);
        self.scheduling_group = template.scheduling_group.take();
        template.volumes.clear();
        template
    }
}

/// Something that only counts.
#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq, Hash)]
#[serde(default)]
pub(crate) struct Gate {
    pub(crate) name: String,
}

#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq, Hash)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SchedulingGroup {
    pub(crate) pod_group_name: String,
}

#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq, Hash)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Container {
    pub(crate) restart_policy: Option<String>,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) resources: Resources,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) ports: Vec<Port>,
}

#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq, Hash)]
#[serde(default)]
pub(crate) struct Resources {
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) requests: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq, Hash)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Port {
    pub(crate) host_port: u16,
    #[serde(rename = "hostIP")]
    pub(crate) host_ip: String,
    pub(crate) protocol: String,
}

#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq, Hash)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Affinity {
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) node_affinity: NodeAffinity,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) pod_affinity: PodAffinity,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) pod_anti_affinity: PodAffinity,
}

impl Affinity {
    /// Whether a term is about namespaces by their labels. The empty selector means all, whatever their labels are.
    pub(crate) fn selects_namespaces(&self) -> bool {
        let selects = |term: &PodAffinityTerm| {
            term.namespace_selector.as_ref().is_some_and(|one| *one != LabelSelector::default())
        };
        [&self.pod_affinity, &self.pod_anti_affinity].into_iter().any(|one| {
            one.required.iter().any(selects)
                || one.preferred.iter().any(|one| selects(&one.pod_affinity_term))
        })
    }
}

#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq, Hash)]
#[serde(default)]
pub(crate) struct NodeAffinity {
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    pub(crate) required: Option<NodeSelector>,
    #[serde(
        rename = "preferredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "null_as_default"
    )]
    pub(crate) preferred: Vec<PreferredNode>,
}

#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq, Hash)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodeSelector {
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) node_selector_terms: Vec<NodeSelectorTerm>,
}

#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq, Hash)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodeSelectorTerm {
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) match_expressions: Vec<Requirement>,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) match_fields: Vec<Requirement>,
}

#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq, Hash)]
#[serde(default)]
pub(crate) struct PreferredNode {
    pub(crate) weight: i32,
    pub(crate) preference: NodeSelectorTerm,
}

#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq, Hash)]
#[serde(default)]
pub(crate) struct Requirement {
    pub(crate) key: String,
    pub(crate) operator: String,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) values: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq, Hash)]
#[serde(default)]
pub(crate) struct PodAffinity {
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution", deserialize_with = "null_as_default")]
    pub(crate) required: Vec<PodAffinityTerm>,
    #[serde(
        rename = "preferredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "null_as_default"
    )]
    pub(crate) preferred: Vec<PreferredPod>,
}

impl PodAffinity {
    /// All terms, those that must hold and others.
    pub(crate) fn terms_mut(&mut self) -> impl Iterator<Item = &mut PodAffinityTerm> {
        self.required.iter_mut().chain(self.preferred.iter_mut().map(|one| &mut one.pod_affinity_term))
    }
}

#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq, Hash)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PreferredPod {
    pub(crate) weight: i32,
    pub(crate) pod_affinity_term: PodAffinityTerm,
}

#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq, Hash)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodAffinityTerm {
    pub(crate) label_selector: Option<LabelSelector>,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) namespaces: Vec<String>,
    pub(crate) namespace_selector: Option<LabelSelector>,
    pub(crate) topology_key: String,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) match_label_keys: Vec<String>,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) mismatch_label_keys: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq, Hash)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LabelSelector {
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) match_labels: Labels,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) match_expressions: Vec<Requirement>,
}

#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq, Hash)]
#[serde(default)]
pub(crate) struct Toleration {
    pub(crate) key: String,
    pub(crate) operator: String,
    pub(crate) value: String,
    pub(crate) effect: String,
}

#[derive(Debug, Clone, Default, Deserialize, PartialEq, Eq, Hash)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SpreadConstraint {
    pub(crate) max_skew: u32,
    pub(crate) min_domains: Option<u32>,
    pub(crate) topology_key: String,
    pub(crate) when_unsatisfiable: String,
    pub(crate) label_selector: Option<LabelSelector>,
    pub(crate) node_affinity_policy: String,
    pub(crate) node_taints_policy: String,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) match_label_keys: Vec<String>,
}

/// The volumes that can bind a Pod to some nodes; others are left out.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum ClaimSource {
    /// A claim by name.
    Claim(String),
    /// A claim that is made for the Pod and called after it and the volume.
    Ephemeral(String),
}

fn claims<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<ClaimSource>, D::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    #[derive(Default)]
    struct Volume {
        name: String,
        persistent_volume_claim: Option<ClaimName>,
        ephemeral: Option<IgnoredAny>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ClaimName {
        claim_name: String,
    }
    let volumes: Vec<Volume> = null_as_default(deserializer)?;
    let sources = volumes.into_iter().filter_map(|volume| match volume {
        Volume { persistent_volume_claim: Some(claim), .. } => Some(ClaimSource::Claim(claim.claim_name)),
        Volume { ephemeral: Some(_), name, .. } => Some(ClaimSource::Ephemeral(name)),
        _ => None,
    });
    Ok(sources.collect())
}

served!(Pod, "", "v1", "Pod", "pods");
