//! The profile file as it is written, before anything is checked.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Power, Taint, Vendor};
use crate::events::EventPolicy;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Profile {
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) heartbeat: Option<Scalar>,
    #[serde(default)]
    pub(super) start_delay: Option<Scalar>,
    #[serde(default)]
    pub(super) events: Option<EventPolicy>,
    pub(super) pools: Vec<Pool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Pool {
    pub(super) name: String,
    pub(super) count: u32,
    #[serde(default)]
    pub(super) name_prefix: Option<String>,
    #[serde(default)]
    pub(super) labels: BTreeMap<String, Scalar>,
    #[serde(default)]
    pub(super) annotations: BTreeMap<String, Scalar>,
    #[serde(default)]
    pub(super) taints: Vec<Taint>,
    pub(super) cpu: Scalar,
    pub(super) memory: Scalar,
    #[serde(default)]
    pub(super) ephemeral_storage: Option<Scalar>,
    #[serde(default)]
    pub(super) pods: Option<Scalar>,
    #[serde(default)]
    pub(super) resources: BTreeMap<String, Scalar>,
    #[serde(default)]
    pub(super) reserved: BTreeMap<String, Scalar>,
    #[serde(default)]
    pub(super) cards: Option<Cards>,
    #[serde(default)]
    pub(super) region: Option<String>,
    #[serde(default)]
    pub(super) zones: Vec<String>,
    #[serde(default)]
    pub(super) nodes_per_rack: Option<u32>,
    #[serde(default)]
    pub(super) architecture: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Cards {
    pub(super) resource: String,
    pub(super) count: u32,
    #[serde(default)]
    pub(super) replicas: Option<u32>,
    pub(super) vendor: Vendor,
    pub(super) model: String,
    pub(super) memory: Scalar,
    #[serde(default)]
    pub(super) power: Option<Power>,
}

/// Text that people may write without quotes although it looks like a number or a truth value.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Scalar {
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
}

impl Scalar {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Bool(value) => value.to_string(),
            Self::Integer(value) => value.to_string(),
            Self::Float(value) => value.to_string(),
            Self::Text(value) => value.clone(),
        }
    }
}
