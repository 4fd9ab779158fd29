//! What became of a job.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CleanupStatus, schema};

/// What became of a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AIJobStatus {
    /// The generation of the spec that this is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Where it stands.
    #[serde(default)]
    pub phase: JobPhase,
    /// Why, in one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub message: Option<String>,
    /// Pods that run, of those there should be, such as `3/4`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// Counts of Pods.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub tasks: Vec<TaskStatus>,
    /// Which attempt this is, from 0: grows when all Pods are made again.
    #[serde(default)]
    pub attempt: i32,
    /// How often something was made again after a failure.
    #[serde(default)]
    pub retries: i32,
    /// How often it lost its place to others.
    #[serde(default)]
    pub preemptions: i32,
    /// Since when it waits for nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_time: Option<Time>,
    /// When the first attempt began to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// When this attempt began to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt_start_time: Option<Time>,
    /// When it was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<Time>,
    /// When the phase last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// Not before this moment is anything made again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_time: Option<Time>,
    /// Uids of Pods whose end is accounted for and that are being replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<String>,
    /// Nodes its Pods are on, or were on at the end; at most 1000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// Cards its Pods hold, or held at the end; at most 1000 Pods.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cards: Vec<CardUse>,
    /// Pods are being stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopStatus>,
    /// Of a job with a schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<ScheduleStatus>,
    /// Of a job with an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayStatus>,
    /// Why it waits, from the scheduler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueStatus>,
    /// What a clean-up policy is about to do with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleanup: Option<CleanupStatus>,
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}

/// Where a job stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum JobPhase {
    /// Its Pods have not been made yet.
    #[default]
    Prequeue,
    /// Pods wait for nodes, or start.
    Pending,
    /// Enough Pods run.
    Running,
    /// Something failed and is about to be made again.
    Restarting,
    /// It has succeeded; Pods that are not needed any more are being stopped.
    Completing,
    /// It has succeeded.
    Completed,
    /// It has failed; what is left is being stopped.
    Terminating,
    /// It has failed.
    Failed,
    /// It was cancelled; Pods are being stopped.
    Aborting,
    /// It was cancelled.
    Aborted,
    /// It lost its place to others and waits for a new one.
    Preempted,
    /// Pods are being stopped because it is suspended.
    Suspending,
    /// It is suspended.
    Suspended,
    /// It makes jobs by the clock.
    Scheduled,
}

impl JobPhase {
    /// Whether it is over.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Aborted)
    }
}

impl fmt::Display for JobPhase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, formatter)
    }
}

/// Counts of the Pods of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskStatus {
    /// The task.
    pub name: String,
    /// How many there should be.
    #[serde(default)]
    pub replicas: i32,
    /// How many wait for a node.
    #[serde(default)]
    pub pending: i32,
    /// How many have a node and are starting.
    #[serde(default)]
    pub starting: i32,
    /// How many run.
    #[serde(default)]
    pub running: i32,
    /// How many ended well.
    #[serde(default)]
    pub succeeded: i32,
    /// How many ended badly and are still there.
    #[serde(default)]
    pub failed: i32,
    /// How many are being stopped.
    #[serde(default)]
    pub stopping: i32,
    /// Numbers of the Pods of this attempt that ended well, such as `0-3,7`. They count also when they are gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub succeeded_indices: Option<String>,
}

/// The cards that a Pod holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CardUse {
    /// The Pod.
    pub pod: String,
    /// Its node.
    pub node: String,
    /// The cards, such as `nvidia.com/gpu=2,3`; `?` for each whose number is known to its node alone, because another
    /// scheduler placed the Pod.
    pub cards: String,
}

/// Pods are being stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StopStatus {
    /// Why, in one word.
    pub reason: String,
    /// The moment of the signal; until then they have notice.
    pub at: Time,
}

/// What a schedule has done and will do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleStatus {
    /// The last time for which a job was made or left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_time: Option<Time>,
    /// The schedule that `lastTime` is about, such as `0 3 * * * Europe/Berlin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// The next time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_time: Option<Time>,
    /// Jobs that are not over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub active: Vec<String>,
}

/// How far an array is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArrayStatus {
    /// How many indices there are.
    pub total: i32,
    /// How many jobs are under way.
    pub active: i32,
    /// How many ended well.
    pub succeeded: i32,
    /// How many ended otherwise.
    pub failed: i32,
    /// The indices for which a job was made, as `0-9,12`. None is made for them again, also if theirs is deleted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub started_indices: String,
    /// The indices that ended well.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub succeeded_indices: String,
    /// The indices that ended otherwise, and those whose jobs were deleted before their end.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failed_indices: String,
}

/// Why a job waits, and for how long.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueStatus {
    /// Its place in the queue of its account, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<i32>,
    /// Why it waits, in one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why it waits, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub message: Option<String>,
    /// How many nodes each filter removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub filters: Vec<FilterCount>,
    /// What would have to end first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub waits_for: Vec<String>,
    /// When it may start, by what is known now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_start: Option<Time>,
}

/// How many nodes a filter removed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FilterCount {
    /// The filter.
    pub filter: String,
    /// How many nodes it removed.
    pub nodes: i32,
}
