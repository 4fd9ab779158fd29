//! Groups that others define: Volcano's PodGroup and the upstream one; and namespaces, for their account.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Meta, lean::served, null_as_default};

#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Namespace {
    pub(crate) metadata: Meta,
}

/// `scheduling.volcano.sh/v1beta1`.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct VolcanoPodGroup {
    pub(crate) metadata: Meta,
    #[serde(default)]
    pub(crate) spec: VolcanoSpec,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct VolcanoSpec {
    pub(crate) min_member: u32,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) min_task_member: BTreeMap<String, u32>,
    pub(crate) queue: String,
}

/// `scheduling.k8s.io/v1alpha2`, behind the feature GenericWorkload.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct UpstreamPodGroup {
    pub(crate) metadata: Meta,
    #[serde(default)]
    pub(crate) spec: UpstreamSpec,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct UpstreamSpec {
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) scheduling_policy: SchedulingPolicy,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) scheduling_constraints: Constraints,
    pub(crate) priority: Option<i32>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SchedulingPolicy {
    pub(crate) gang: Option<Gang>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Gang {
    pub(crate) min_count: u32,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Constraints {
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) topology: Vec<TopologyKey>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TopologyKey {
    pub(crate) key: String,
}

served!(Namespace, "", "v1", "Namespace", "namespaces");
served!(VolcanoPodGroup, "scheduling.volcano.sh", "v1beta1", "PodGroup", "podgroups");
served!(UpstreamPodGroup, "scheduling.k8s.io", "v1alpha2", "PodGroup", "podgroups");
