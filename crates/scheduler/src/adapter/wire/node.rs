//! Nodes.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Meta, lean::served, null_as_default};

#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Node {
    pub(crate) metadata: Meta,
    #[serde(default)]
    pub(crate) spec: NodeSpec,
    #[serde(default)]
    pub(crate) status: NodeStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct NodeSpec {
    pub(crate) unschedulable: bool,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) taints: Vec<Taint>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Taint {
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) effect: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct NodeStatus {
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) allocatable: BTreeMap<String, String>,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) capacity: BTreeMap<String, String>,
}

served!(Node, "", "v1", "Node", "nodes");
