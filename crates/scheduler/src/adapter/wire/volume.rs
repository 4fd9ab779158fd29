//! Volumes, as far as they tie Pods to nodes; and disruption budgets.

use serde::Deserialize;

use super::{LabelSelector, Meta, Requirement, lean::served, null_as_default};
use crate::adapter::wire::pod::NodeSelector;

#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Claim {
    pub(crate) metadata: Meta,
    #[serde(default)]
    pub(crate) spec: ClaimSpec,
    #[serde(default)]
    pub(crate) status: ClaimStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClaimSpec {
    pub(crate) volume_name: String,
    pub(crate) storage_class_name: String,
    pub(crate) volume_mode: String,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) access_modes: Vec<String>,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) resources: ClaimResources,
    pub(crate) selector: Option<LabelSelector>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ClaimResources {
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) requests: Storage,
}

/// An amount of storage, as it stands there.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Storage {
    pub(crate) storage: String,
}

/// Where a claim or a volume stands.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ClaimStatus {
    pub(crate) phase: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Volume {
    pub(crate) metadata: Meta,
    #[serde(default)]
    pub(crate) spec: VolumeSpec,
    #[serde(default)]
    pub(crate) status: ClaimStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct VolumeSpec {
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) node_affinity: VolumeAffinity,
    pub(crate) csi: Option<VolumeDriver>,
    pub(crate) storage_class_name: String,
    pub(crate) volume_mode: String,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) access_modes: Vec<String>,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) capacity: Storage,
    pub(crate) claim_ref: Option<ClaimReference>,
}

/// The claim that a volume is promised to.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ClaimReference {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Empty if an administrator made the promise by name.
    pub(crate) uid: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct VolumeAffinity {
    pub(crate) required: Option<NodeSelector>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct VolumeDriver {
    pub(crate) driver: String,
    pub(crate) volume_handle: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StorageClass {
    pub(crate) metadata: Meta,
    #[serde(default)]
    pub(crate) provisioner: String,
    #[serde(default)]
    pub(crate) volume_binding_mode: String,
    #[serde(default, deserialize_with = "null_as_default")]
    pub(crate) allowed_topologies: Vec<Topology>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Topology {
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) match_label_expressions: Vec<Requirement>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct CsiNode {
    pub(crate) metadata: Meta,
    #[serde(default)]
    pub(crate) spec: CsiNodeSpec,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CsiNodeSpec {
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) drivers: Vec<CsiDriver>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CsiDriver {
    pub(crate) name: String,
    pub(crate) allocatable: Option<CsiLimit>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CsiLimit {
    pub(crate) count: Option<u32>,
}

/// How many Pods may be stopped now.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Budget {
    pub(crate) metadata: Meta,
    #[serde(default)]
    pub(crate) spec: BudgetSpec,
    #[serde(default)]
    pub(crate) status: BudgetStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct BudgetSpec {
    pub(crate) selector: Option<LabelSelector>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct BudgetStatus {
    pub(crate) disruptions_allowed: u32,
    pub(crate) desired_healthy: u32,
}

served!(Budget, "policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets");
served!(Claim, "", "v1", "PersistentVolumeClaim", "persistentvolumeclaims");
served!(Volume, "", "v1", "PersistentVolume", "persistentvolumes");
served!(StorageClass, "storage.k8s.io", "v1", "StorageClass", "storageclasses");
served!(CsiNode, "storage.k8s.io", "v1", "CSINode", "csinodes");
