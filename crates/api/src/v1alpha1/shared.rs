//! What jobs and workspaces ask for alike.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Quantity;

/// Accelerator cards for one Pod: whole ones, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("(has(self.count) ? 1 : 0) + (has(self.share) ? 1 : 0) + (has(self.memory) ? 1 : 0) == 1")
        .message("say one of count, share and memory"),
    validation = Rule::new("!has(self.index) || !has(self.count)")
        .message("whole cards are asked for by indices, and index is for a part of one"),
    validation = Rule::new("!has(self.indices) || (has(self.count) && size(self.indices) == self.count)")
        .message("indices name as many whole cards as count says")
)]
pub struct CardsSpec {
    /// The resource that counts the cards.
    #[serde(default = "default_card")]
    pub resource: String,
    /// How many whole cards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1024))]
    pub count: Option<i32>,
    /// A part of one card, between 0 and 1, such as `0.5`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Quantity>,
    /// Memory of one card, such as `8Gi`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Quantity>,
    /// The card of the node to take a part of; the scheduler chooses if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1023))]
    pub index: Option<i32>,
    /// The whole cards of the node to take, by number, as many as `count`; the scheduler chooses if they are not said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128), inner(range(min = 0, max = 127)))]
    pub indices: Vec<i32>,
}

fn default_card() -> String {
    crate::resources::NVIDIA_GPU.to_owned()
}

/// Which nodes may be used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodesSpec {
    /// Only these nodes, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// Not these nodes, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// Only nodes of these pools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<String>,
    /// Only nodes of these architectures, such as `amd64`: those that the image is built for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub architectures: Vec<String>,
    /// Lent (virtual) nodes may be used too. Work without `maxRunSeconds` does not start on one that will close.
    #[serde(default)]
    pub lent: bool,
    /// Node label whose values are places close together, such as racks; Pods are kept in as few as possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology_key: Option<String>,
}

/// Network cards with RDMA for each Pod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RdmaSpec {
    /// The resource that counts them, such as `rdma/hca`.
    pub resource: String,
    /// How many.
    #[serde(default = "super::schema::one")]
    #[schemars(range(min = 1, max = 64))]
    pub count: i32,
}

/// A port that others reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PortSpec {
    /// Its name, distinct within the object.
    #[schemars(length(min = 1, max = 15), regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,
    /// Its number in the container.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
    /// Only Pods of this task have it; all have it if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

/// Files to be found in every container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new(
        "[has(self.claim), has(self.configMap), has(self.secret), has(self.memory)].filter(x, x).size() == 1"
    ).message("say one of claim, configMap, secret and memory"),
    validation = Rule::new("!has(self.subPath) || !self.subPath.split('/').exists(part, part == '..')")
        .message("subPath must stay inside the volume")
)]
pub struct MountSpec {
    /// Where they are found.
    #[schemars(length(min = 1, max = 4096), regex(pattern = r"^/"))]
    pub path: String,
    /// Of this PersistentVolumeClaim in the namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// Of this ConfigMap in the namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map: Option<String>,
    /// Of this Secret in the namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// A new file system in memory of at most this size, such as for `/dev/shm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Quantity>,
    /// Only this folder or file of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024), regex(pattern = r"^[^/]"))]
    pub sub_path: Option<String>,
    /// They can only be read.
    #[serde(default)]
    pub read_only: bool,
}
