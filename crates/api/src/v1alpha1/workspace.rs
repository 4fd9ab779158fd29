//! Workspace: one interactive Pod and what it keeps when it is away.

use std::fmt;

use k8s_openapi::{
    api::core::v1::EnvVar,
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CardsSpec, MountSpec, NodesSpec, PortSpec, RdmaSpec, ServiceLevel, StopSpec, schema};
use crate::{Quantity, ResourceList, names};

/// What a workspace is.
#[derive(Debug, Clone, PartialEq, CustomResource, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "maar.io",
    version = "v1alpha1",
    kind = "Workspace",
    plural = "workspaces",
    shortname = "wks",
    category = "maar",
    namespaced,
    status = "WorkspaceStatus",
    derive = "PartialEq",
    doc = "One interactive Pod with its volumes, which can be suspended and resumed.",
    validation = Rule::new("self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$') && size(self.metadata.name) <= 50")
        .message("the name of a workspace is a host name: a letter, then letters, digits and dashes, at most 50"),
    printcolumn(name = "Type", type_ = "string", json_path = ".spec.type"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "User", type_ = "string", json_path = ".spec.user"),
    printcolumn(name = "Node", type_ = "string", json_path = ".status.node"),
    printcolumn(name = "Image", type_ = "string", json_path = ".spec.image", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceSpec {
    /// What runs in it: decides the port and the environment.
    #[serde(rename = "type", default)]
    pub workspace_type: WorkspaceType,
    /// Whether its Pod shall be there.
    #[serde(default)]
    pub state: WorkspaceState,
    /// Its image.
    #[schemars(length(min = 1, max = 1024))]
    pub image: String,
    /// What to run instead of what the image says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Arguments of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Its environment, as in a container.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::objects")]
    pub env: Vec<EnvVar>,
    /// Who pays; the account of everyone if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub account: Option<String>,
    /// Whose it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub user: Option<String>,
    /// Whether it may be stopped for others.
    #[serde(default)]
    pub service_level: ServiceLevel,
    /// Processor time, memory and other things it gets.
    #[serde(default, skip_serializing_if = "ResourceList::is_empty")]
    pub resources: ResourceList,
    /// Cards it gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cards: Option<CardsSpec>,
    /// Network cards with RDMA.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rdma: Option<RdmaSpec>,
    /// Volumes of its own, which stay while it is suspended and go with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub volumes: Vec<WorkspaceVolume>,
    /// Files of others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub mounts: Vec<MountSpec>,
    /// More ports that others reach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub ports: Vec<PortSpec>,
    /// Which nodes may be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NodesSpec>,
    /// How it is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopSpec>,
    /// Until this moment no clean-up policy touches it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protected_until: Option<Time>,
    /// It is suspended after it has run this many seconds at a stretch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60, max = 315_360_000))]
    pub max_run_seconds: Option<i64>,
}

impl WorkspaceSpec {
    /// Who pays.
    pub fn account(&self) -> &str {
        self.account.as_deref().unwrap_or(names::DEFAULT_ACCOUNT)
    }
}

/// What runs in a workspace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WorkspaceType {
    /// Whatever the image does; people use a terminal.
    #[default]
    Terminal,
    /// A Jupyter server on port 8888.
    Jupyter,
    /// Visual Studio Code in the browser, on port 8080.
    CodeServer,
}

/// Whether the Pod of a workspace shall be there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WorkspaceState {
    /// It shall.
    #[default]
    Running,
    /// It shall not; volumes stay.
    Suspended,
}

/// A volume of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceVolume {
    /// Its name, distinct within the workspace.
    #[schemars(length(min = 1, max = 12), regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,
    /// Where it is found.
    #[schemars(length(min = 1, max = 4096), regex(pattern = r"^/"))]
    pub path: String,
    /// How large it is.
    pub size: Quantity,
    /// Its storage class; the cluster's default if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_class: Option<String>,
    /// Pods on several nodes may use it.
    #[serde(default)]
    pub shared: bool,
}

/// What became of a workspace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceStatus {
    /// The generation of the spec that this is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Where it stands.
    #[serde(default)]
    pub phase: WorkspacePhase,
    /// Why, in one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub message: Option<String>,
    /// Its Pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,
    /// The node of its Pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The cards of its Pod, such as `nvidia.com/gpu=2,3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cards: Option<String>,
    /// The Service that reaches it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Since when it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// When the phase last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// How often its Pod was made again after it had failed or was taken away.
    #[serde(default)]
    pub restarts: i32,
    /// Not before this moment is its Pod made again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_time: Option<Time>,
    /// The Pod is being stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<super::StopStatus>,
    /// What a clean-up policy is about to do with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleanup: Option<super::CleanupStatus>,
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}

/// Where a workspace stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WorkspacePhase {
    /// Its Pod waits for a node.
    #[default]
    Pending,
    /// Its Pod has a node and is starting.
    Starting,
    /// It can be used.
    Running,
    /// Its Pod is being stopped.
    Stopping,
    /// It has no Pod; volumes stay.
    Suspended,
    /// Its Pod ended or cannot be made; see the message.
    Failed,
}

impl fmt::Display for WorkspacePhase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, formatter)
    }
}
