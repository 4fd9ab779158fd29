//! Which simulated nodes there are: the profile file.
//!
//! A profile is YAML; `profiles/default.yaml` at the repository root shows every field in use. Reading happens in two
//! steps: [`raw`] mirrors the file and refuses unknown fields, [`check`] turns it into the types here or into an error
//! that names the field and what it allows. What holds a [`Profile`] may rely on it: names are valid and distinct,
//! amounts are not negative, allocatable never exceeds capacity.

mod check;
mod raw;
mod scale;
mod syntax;

use std::{collections::BTreeMap, time::Duration};

use maar_quantities::{Quantity, ResourceList};
use serde::Deserialize;

use crate::events::EventPolicy;

pub use check::ProfileError;

/// The profile that is built in.
pub const DEFAULT_PROFILE: &str = include_str!("../../../profiles/default.yaml");

/// A cluster's worth of simulated nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Says which profile it is, in messages and in the annotation of each node.
    pub name: String,
    /// Time between two renewals of a node's lease; without it, what suits the number of nodes.
    pub heartbeat: Option<Duration>,
    /// How long a container takes from being assigned to running, unless its Pod says otherwise.
    pub start_delay: Duration,
    /// Which Events the kubelets write; without it, what suits the number of nodes.
    pub events: Option<EventPolicy>,
    /// The kinds of nodes.
    pub pools: Vec<Pool>,
}

/// Nodes that are alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Pool {
    /// Distinct within the profile.
    pub name: String,
    /// How many nodes there are to start with.
    pub count: u32,
    /// What precedes the number in a node's name; the pool's name and a dash unless given.
    pub name_prefix: String,
    /// Labels beside the ones that every node gets.
    pub labels: BTreeMap<String, String>,
    /// Annotations of every node of the pool.
    pub annotations: BTreeMap<String, String>,
    /// Taints of every node of the pool.
    pub taints: Vec<Taint>,
    /// What a node has.
    pub capacity: ResourceList,
    /// What a node offers to Pods: capacity less `reserved`.
    pub allocatable: ResourceList,
    /// Accelerator cards, if the pool has any.
    pub cards: Option<Cards>,
    /// `topology.kubernetes.io/region`.
    pub region: Option<String>,
    /// `topology.kubernetes.io/zone`, taken in turn.
    pub zones: Vec<String>,
    /// How many nodes share a rack label; none without it.
    pub nodes_per_rack: Option<u32>,
    /// `kubernetes.io/arch`.
    pub architecture: String,
}

/// A taint as the file and the Node write it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taint {
    /// Qualified name.
    pub key: String,
    /// Label value, often empty.
    #[serde(default)]
    pub value: String,
    /// What it does.
    pub effect: TaintEffect,
}

/// What a taint does to Pods that do not tolerate it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum TaintEffect {
    /// They are not scheduled there.
    NoSchedule,
    /// They are scheduled there only when nothing else is left.
    PreferNoSchedule,
    /// They are evicted.
    NoExecute,
}

impl TaintEffect {
    /// The spelling of the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
        }
    }
}

/// The accelerator cards of one node.
#[derive(Debug, Clone, PartialEq)]
pub struct Cards {
    /// The extended resource that Pods ask for.
    pub resource: String,
    /// Physical cards.
    pub count: u32,
    /// How many Pods may hold one card at a time; the node offers `count` × `replicas`.
    pub replicas: u32,
    /// Who makes the card; decides what its exporter and its command-line tool look like.
    pub vendor: Vendor,
    /// Marketing name as the vendor's tool prints it.
    pub model: String,
    /// Memory of one card.
    pub memory: Quantity,
    /// Draw in watts.
    pub power: Power,
}

/// Who makes a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Vendor {
    /// Metrics as the DCGM exporter names them.
    Nvidia,
    /// Metrics as the Ascend NPU exporter names them.
    Huawei,
    /// No exporter of its own.
    Other,
}

/// What a card draws, in watts.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Power {
    /// With nothing to do.
    pub idle: f64,
    /// At full load.
    pub full: f64,
}

impl Default for Power {
    fn default() -> Self {
        Self { idle: 50.0, full: 300.0 }
    }
}

impl Profile {
    /// Reads a profile; the error names the field and what it allows.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let raw: raw::Profile =
            serde_saphyr::from_str(text).map_err(|error| ProfileError::Syntax(error.to_string()))?;
        check::profile(raw)
    }

    /// The built-in profile.
    pub fn built_in() -> Self {
        Self::parse(DEFAULT_PROFILE).expect("a test parses the built-in profile")
    }

    /// Number of nodes of all pools.
    pub fn total(&self) -> u32 {
        self.pools.iter().map(|pool| pool.count).sum()
    }

    /// The same pools with `total` nodes altogether, in the proportions of the file.
    pub fn with_total(mut self, total: u32) -> Self {
        let counts: Vec<u32> = self.pools.iter().map(|pool| pool.count).collect();
        for (pool, count) in self.pools.iter_mut().zip(scale::apportion(&counts, total)) {
            pool.count = count;
        }
        self
    }
}

impl Pool {
    /// Name of the pool's node with number `index`.
    pub fn node_name(&self, index: u32) -> String {
        format!("{}{index}", self.name_prefix)
    }
}

#[cfg(test)]
mod tests;
