//! How a job is launched, stopped, repeated and multiplied.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the programs of a distributed job find each other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LaunchSpec {
    /// Processes in each Pod: ranks of PyTorch, slots of MPI. One per whole card if it is not said, or one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1024))]
    pub processes_per_pod: Option<i32>,
    /// The port at which they meet; each type has its own default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<i32>,
    /// PyTorch by torchrun, with a number of Pods that may change while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elastic: Option<ElasticSpec>,
}

/// Torchrun with a number of Pods that may change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.minPods <= self.maxPods").message("minPods is larger than maxPods"))]
pub struct ElasticSpec {
    /// It starts, and goes on, with this many.
    #[schemars(range(min = 1, max = 10000))]
    pub min_pods: i32,
    /// It uses at most this many.
    #[schemars(range(min = 1, max = 10000))]
    pub max_pods: i32,
    /// How often torchrun begins anew by itself.
    #[serde(default = "ten")]
    #[schemars(range(min = 0, max = 10000))]
    pub max_restarts: i32,
}

const fn ten() -> i32 {
    10
}

impl ElasticSpec {
    /// How many of the workers must be able to start beside so many other Pods; `None` for tasks that have to be whole.
    pub fn minimum_of(&self, task: &str, replicas: i32, others: i32) -> Option<i32> {
        (task == "worker").then(|| self.min_pods.saturating_sub(others).clamp(0, replicas))
    }
}

/// How Pods are stopped, so that they can save their work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StopSpec {
    /// Seconds between the notice (annotation `maar.io/stop-at` of the Pod) and the signal. If it is not said, the scheduler
    /// gives its usual notice before it takes the place away, and every other stop comes at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 86400))]
    pub notice_seconds: Option<i64>,
    /// Seconds between the signal and the end.
    #[serde(default = "thirty")]
    #[schemars(range(min = 0, max = 86400))]
    pub grace_seconds: i64,
    /// Signal sent to the first process of each container before SIGTERM, such as `USR1`; needs `/bin/sh` there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[A-Z][A-Z0-9]{1,9}$"))]
    pub signal: Option<String>,
}

const fn thirty() -> i64 {
    30
}

impl StopSpec {
    /// The notice before a stop that the job itself or its owner wants.
    pub fn notice(&self) -> i64 {
        self.notice_seconds.unwrap_or(0)
    }
}

impl Default for StopSpec {
    fn default() -> Self {
        Self { notice_seconds: None, grace_seconds: thirty(), signal: None }
    }
}

/// Makes jobs by the clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleSpec {
    /// Five fields as in crontab: minute, hour, day, month, weekday.
    #[schemars(length(min = 1, max = 256))]
    pub cron: String,
    /// Name of a time zone, such as `Europe/Berlin`.
    #[serde(default = "utc")]
    #[schemars(length(min = 1, max = 64))]
    pub time_zone: String,
    /// What if the job before is not over.
    #[serde(default)]
    pub concurrency: Concurrency,
    /// A time missed by more than this many seconds is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 31_536_000))]
    pub starting_deadline_seconds: Option<i64>,
    /// How many finished jobs are kept.
    #[serde(default = "three")]
    #[schemars(range(min = 0, max = 1000))]
    pub history_limit: i32,
}

fn utc() -> String {
    "UTC".to_owned()
}

const fn three() -> i32 {
    3
}

/// What a schedule does when the job before is not over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Concurrency {
    /// Jobs may run beside each other.
    Allow,
    /// The new one is left out.
    #[default]
    Forbid,
    /// The old one is cancelled.
    Replace,
}

/// Makes one job per index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArraySpec {
    /// Numbers and ranges, such as `0-9,12,20-40:5`; each finds its own in `MAAR_ARRAY_INDEX`.
    #[schemars(
        length(min = 1, max = 1024),
        regex(pattern = r"^[0-9]+(-[0-9]+(:[0-9]+)?)?(,[0-9]+(-[0-9]+(:[0-9]+)?)?)*$")
    )]
    pub indices: String,
    /// How many may be under way at a time; all if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10000))]
    pub parallelism: Option<i32>,
    /// How many may fail before the rest is not started; any number if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 10000))]
    pub failures_allowed: Option<i32>,
}
