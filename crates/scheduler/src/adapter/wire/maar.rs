//! Maar's own kinds, without the templates of jobs, which are most of them.

use jiff::Timestamp;
use maar_api::{
    ResourceList,
    v1alpha1::{LaunchSpec, MemberSpec, NodesSpec, QueueStatus, ServiceLevel},
};
use serde::Deserialize;

use super::{Meta, lean::served, null_as_default};

#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Account {
    pub(crate) metadata: Meta,
    #[serde(default)]
    pub(crate) spec: AccountSpec,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AccountSpec {
    pub(crate) parent: Option<String>,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) guaranteed: ResourceList,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) deserved: ResourceList,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) capability: ResourceList,
    pub(crate) weight: Option<u32>,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) members: Vec<MemberSpec>,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) member_capability: ResourceList,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) pools: Vec<String>,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) owned_pools: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Job {
    pub(crate) metadata: Meta,
    #[serde(default)]
    pub(crate) spec: JobSpec,
    #[serde(default)]
    pub(crate) status: JobStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct JobSpec {
    pub(crate) account: Option<String>,
    pub(crate) user: Option<String>,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) service_level: ServiceLevel,
    pub(crate) priority: i32,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) tasks: Vec<Task>,
    pub(crate) min_available: Option<u32>,
    pub(crate) launch: Option<LaunchSpec>,
    pub(crate) max_run_seconds: Option<i64>,
    pub(crate) deadline: Option<Timestamp>,
    pub(crate) suspend: bool,
    pub(crate) cancel: bool,
    pub(crate) stop: Option<Stop>,
    pub(crate) nodes: Option<NodesSpec>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Task {
    pub(crate) name: String,
    pub(crate) replicas: u32,
    pub(crate) min: Option<u32>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Stop {
    pub(crate) notice_seconds: Option<i64>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct JobStatus {
    pub(crate) queue: Option<QueueStatus>,
}

served!(Account, "maar.io", "v1alpha1", "Account", "accounts");
served!(Job, "maar.io", "v1alpha1", "AIJob", "aijobs");
