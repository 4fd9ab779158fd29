//! Account: who pays, and how much of the cluster is theirs.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CleanupSpec, schema};
use crate::ResourceList;

/// What an account may have.
#[derive(Debug, Clone, Default, PartialEq, CustomResource, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "maar.io",
    version = "v1alpha1",
    kind = "Account",
    plural = "accounts",
    shortname = "acct",
    category = "maar",
    status = "AccountStatus",
    derive = "PartialEq",
    doc = "Who pays for work: a node in a tree of accounts, with what is its own by right, by fairness and at most.",
    validation = Rule::new("!has(self.spec.parent) || self.spec.parent != self.metadata.name")
        .message("an account is not its own parent"),
    printcolumn(name = "Parent", type_ = "string", json_path = ".spec.parent"),
    printcolumn(name = "Weight", type_ = "integer", json_path = ".spec.weight"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type=='Ready')].status"),
    printcolumn(name = "Running", type_ = "integer", json_path = ".status.runningPods"),
    printcolumn(name = "Pending", type_ = "integer", json_path = ".status.pendingPods"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct AccountSpec {
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub display_name: Option<String>,
    /// The account it is part of; none makes it a root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub parent: Option<String>,
    /// Kept free for it even when it is idle.
    #[serde(default, skip_serializing_if = "ResourceList::is_empty")]
    pub guaranteed: ResourceList,
    /// Its fair part. What it borrows beyond it may be reclaimed.
    #[serde(default, skip_serializing_if = "ResourceList::is_empty")]
    pub deserved: ResourceList,
    /// Never more than this. A resource that is not named is not limited.
    #[serde(default, skip_serializing_if = "ResourceList::is_empty")]
    pub capability: ResourceList,
    /// How what nobody deserves is divided among the children of one parent.
    #[serde(default = "schema::one")]
    #[schemars(range(min = 1, max = 100_000))]
    pub weight: i32,
    /// Everyone is a member, and jobs that name no account are its own. The account `default` is always so.
    #[serde(default)]
    pub everyone: bool,
    /// Who may use it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10000), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["user"]))]
    pub members: Vec<MemberSpec>,
    /// The most a member may have who has no cap of his own.
    #[serde(default, skip_serializing_if = "ResourceList::is_empty")]
    pub member_capability: ResourceList,
    /// Node pools it may use; every pool that nobody owns if none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<String>,
    /// Node pools that are its alone, and its children's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owned_pools: Vec<String>,
    /// When work is ended for being forgotten; as the parent says if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleanup: Option<CleanupSpec>,
}

/// A member of an account.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemberSpec {
    /// The user.
    #[schemars(length(min = 1, max = 63))]
    pub user: String,
    /// What he may do.
    #[serde(default)]
    pub role: MemberRole,
    /// Never more than this. A resource that is not named is not limited.
    #[serde(default, skip_serializing_if = "ResourceList::is_empty")]
    pub capability: ResourceList,
}

/// What a member may do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MemberRole {
    /// Use it.
    #[default]
    Member,
    /// Use it and change its members.
    Admin,
    /// See what is done in it, and use nothing of it.
    Viewer,
}

/// What an account has.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountStatus {
    /// The generation of the spec that this is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What its Pods and those of its children hold.
    #[serde(default, skip_serializing_if = "ResourceList::is_empty")]
    pub used: ResourceList,
    /// How much of that is best-effort.
    #[serde(default, skip_serializing_if = "ResourceList::is_empty")]
    pub used_best_effort: ResourceList,
    /// How much it holds beyond what it deserves, of what it names as deserved: this may be reclaimed.
    #[serde(default, skip_serializing_if = "ResourceList::is_empty")]
    pub borrowed: ResourceList,
    /// How much of what is guaranteed to it it does not hold: this is kept free.
    #[serde(default, skip_serializing_if = "ResourceList::is_empty")]
    pub kept_free: ResourceList,
    /// What its Pods that wait ask for, and those of its children.
    #[serde(default, skip_serializing_if = "ResourceList::is_empty")]
    pub pending: ResourceList,
    /// How many accounts have it as their parent.
    #[serde(default)]
    pub children: i32,
    /// How many Pods hold something.
    #[serde(default)]
    pub running_pods: i32,
    /// How many Pods wait.
    #[serde(default)]
    pub pending_pods: i32,
    /// What each user holds and waits for in this account, without its children; at most 1000 users.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["user"]))]
    pub members: Vec<MemberStatus>,
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}

/// What a member holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemberStatus {
    /// The user.
    pub user: String,
    /// What his Pods hold.
    #[serde(default)]
    pub used: ResourceList,
    /// What his Pods that wait ask for.
    #[serde(default, skip_serializing_if = "ResourceList::is_empty")]
    pub pending: ResourceList,
    /// How many of his Pods hold something.
    #[serde(default)]
    pub running_pods: i32,
    /// How many of his Pods wait.
    #[serde(default)]
    pub pending_pods: i32,
}
