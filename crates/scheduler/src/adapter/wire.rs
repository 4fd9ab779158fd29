//! What the scheduler reads of Kubernetes objects, and nothing else.
//!
//! A Pod on the wire is two to five kilobytes, most of it managed fields, environment and volumes that do not decide
//! where it goes. Reading it into these types skips the rest, which is most of the CPU of a watch. Texts stay texts:
//! a quantity that makes no sense is found by [`super::translate`] and refuses that one Pod.

mod annotations;
mod group;
mod lean;
mod maar;
mod node;
mod pod;
mod volume;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};

pub(crate) use annotations::Annotations;
pub(crate) use group::{Namespace, UpstreamPodGroup, VolcanoPodGroup};
pub(crate) use lean::{Lean, Wire};
pub(crate) use maar::{Account, Job, JobSpec, Stop, Task};
pub(crate) use node::{Node, Taint};
pub(crate) use pod::{
    Affinity, ClaimSource, Container, LabelSelector, NodeAffinity, NodeSelectorTerm, Pod, PodAffinityTerm,
    PodSpec, PreferredNode, PreferredPod, Requirement, SpreadConstraint, Toleration,
};
pub(crate) use volume::{Budget, Claim, ClaimReference, CsiNode, StorageClass, Volume};

pub(crate) type Labels = BTreeMap<String, String>;

/// The metadata of an object.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Meta {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) labels: Labels,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) annotations: Annotations,
    pub(crate) creation_timestamp: Option<Timestamp>,
    pub(crate) deletion_timestamp: Option<Timestamp>,
}

impl Meta {
    /// `namespace/name`.
    pub(crate) fn key(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// The version as a number, which only grows.
    pub(crate) fn version(&self) -> u64 {
        self.resource_version.parse().unwrap_or(0)
    }

    /// When it was made, in milliseconds since the epoch.
    pub(crate) fn created(&self) -> i64 {
        self.creation_timestamp.map_or(0, Timestamp::as_millisecond)
    }
}

/// The API writes `null` where Go has nothing.
pub(super) fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
