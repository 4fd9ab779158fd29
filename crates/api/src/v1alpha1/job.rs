//! AIJob: programs that start together, in one or many Pods.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    AIJobStatus, ArraySpec, LaunchSpec, MountSpec, NodesSpec, PortSpec, RdmaSpec, ScheduleSpec, StopSpec,
    TaskSpec,
};
use crate::names;

/// What a job is.
#[derive(Debug, Clone, PartialEq, CustomResource, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "maar.io",
    version = "v1alpha1",
    kind = "AIJob",
    plural = "aijobs",
    shortname = "aij",
    category = "maar",
    namespaced,
    status = "AIJobStatus",
    derive = "PartialEq",
    doc = "Programs that start together or not at all, in one or many Pods.",
    validation = Rule::new("self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$') && size(self.metadata.name) <= 40")
        .message("the name of a job is part of host names: a letter, then letters, digits and dashes, at most 40"),
    printcolumn(name = "Type", type_ = "string", json_path = ".spec.type"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.reason"),
    printcolumn(name = "Account", type_ = "string", json_path = ".spec.account"),
    printcolumn(name = "User", type_ = "string", json_path = ".spec.user"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.ready"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Level", type_ = "string", json_path = ".spec.serviceLevel", priority = 1),
    printcolumn(name = "Message", type_ = "string", json_path = ".status.message", priority = 1)
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(oldSelf.cancel) || !oldSelf.cancel || (has(self.cancel) && self.cancel)")
        .message("a cancelled job cannot be taken back: make a new one"),
    validation = Rule::new("!has(self.schedule) || !has(self.deadline)")
        .message("a deadline is one moment, and a schedule has many: use maxRunSeconds"),
    validation = Rule::new("has(self.schedule) == has(oldSelf.schedule) && has(self.array) == has(oldSelf.array)")
        .message("a job does not begin or cease to have a schedule or an array: make a new one"),
    validation = Rule::new("self.backend == oldSelf.backend")
        .message("the backend of a job stays as it is: make a new one")
)]
pub struct AIJobSpec {
    /// What kind of program it is: decides environment, ports and when it has succeeded.
    #[serde(rename = "type", default)]
    pub job_type: JobType,
    /// Who pays; the account of everyone if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub account: Option<String>,
    /// The member of the account whose cap applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub user: Option<String>,
    /// Whether it may be stopped for others.
    #[serde(default)]
    pub service_level: ServiceLevel,
    /// Higher goes first within the account.
    #[serde(default)]
    #[schemars(range(min = -1_000_000, max = 1_000_000))]
    pub priority: i32,
    /// The Pods.
    #[schemars(length(min = 1, max = 32), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub tasks: Vec<TaskSpec>,
    /// How many Pods must be able to start at once for any to start; the sum of the tasks' minimums if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub min_available: Option<i32>,
    /// How the programs find each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch: Option<LaunchSpec>,
    /// The job has succeeded when all Pods of these tasks have ended well; each type knows its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub success_tasks: Vec<String>,
    /// What is made again when a Pod fails.
    #[serde(default)]
    pub restart_policy: RestartPolicy,
    /// How often something is made again before the job has failed. Evictions do not count.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1000))]
    pub retries: i32,
    /// Seconds before the first retry; doubles each time, up to ten minutes.
    #[serde(default = "ten")]
    #[schemars(range(min = 0, max = 600))]
    pub backoff_seconds: i64,
    /// The longest run in seconds, counted from the start of each attempt. The scheduler plans with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 315_360_000))]
    pub max_run_seconds: Option<i64>,
    /// The moment by which it must be over; it is stopped then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Time>,
    /// Seconds after its end at which the job is deleted; it is kept if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 315_360_000))]
    pub ttl_seconds_after_finished: Option<i64>,
    /// Its Pods are taken away until this is unset.
    #[serde(default)]
    pub suspend: bool,
    /// Stops it for good; the record stays.
    #[serde(default)]
    pub cancel: bool,
    /// How Pods are stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopSpec>,
    /// Which nodes may be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NodesSpec>,
    /// Network cards with RDMA for each Pod that has cards, or for each Pod if none has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rdma: Option<RdmaSpec>,
    /// Ports that others reach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub ports: Vec<PortSpec>,
    /// Files to be found in every container.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub mounts: Vec<MountSpec>,
    /// Makes jobs by the clock instead of running itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<ScheduleSpec>,
    /// Makes one job per index instead of running itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArraySpec>,
    /// Who makes and places the Pods.
    #[serde(default)]
    pub backend: Backend,
}

const fn ten() -> i64 {
    10
}

impl AIJobSpec {
    /// Who pays.
    pub fn account(&self) -> &str {
        self.account.as_deref().unwrap_or(names::DEFAULT_ACCOUNT)
    }

    /// How many Pods must be able to start at once.
    pub fn minimum(&self) -> i32 {
        self.min_available.unwrap_or_else(|| self.tasks.iter().map(|task| self.minimum_of(task)).sum())
    }

    /// How many Pods of a task must be able to start.
    pub fn minimum_of(&self, task: &TaskSpec) -> i32 {
        let elastic = self.launch.as_ref().and_then(|launch| launch.elastic.as_ref());
        let others =
            self.tasks.iter().filter(|other| other.name != task.name).map(|other| other.replicas).sum();
        let asked = elastic.and_then(|elastic| elastic.minimum_of(&task.name, task.replicas, others));
        task.min.or(asked).unwrap_or(task.replicas)
    }

    /// How many Pods it has when it is complete.
    pub fn replicas(&self) -> i32 {
        self.tasks.iter().map(|task| task.replicas).sum()
    }

    /// How Pods are stopped.
    pub fn stop(&self) -> StopSpec {
        self.stop.clone().unwrap_or_default()
    }
}

/// What kind of program a job is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum JobType {
    /// Programs that know nothing of each other.
    #[default]
    Single,
    /// A Jupyter server.
    Jupyter,
    /// Visual Studio Code in the browser.
    CodeServer,
    /// PyTorch, distributed data parallel, plain or by torchrun.
    PyTorch,
    /// TensorFlow with parameter servers.
    TensorFlow,
    /// MPI: a launcher and workers.
    #[serde(rename = "MPI")]
    Mpi,
    /// DeepSpeed: a launcher and workers, as MPI, with DeepSpeed's host file.
    DeepSpeed,
    /// A Ray cluster of a head and workers.
    Ray,
}

/// Whether work may be stopped for others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum ServiceLevel {
    /// Stopped only when its account has more than it deserves and others less.
    #[default]
    Guaranteed,
    /// Runs on what is free, and gives way with notice.
    BestEffort,
}

impl ServiceLevel {
    /// The value of the label `maar.io/service-level`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Guaranteed => names::LEVEL_GUARANTEED,
            Self::BestEffort => names::LEVEL_BEST_EFFORT,
        }
    }
}

/// What is made again when a Pod fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum RestartPolicy {
    /// Nothing: the job has failed.
    Never,
    /// The Pod.
    Task,
    /// All Pods of the job.
    #[default]
    Job,
}

/// Who makes and places the Pods.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Backend {
    /// Maar.
    #[default]
    Maar,
    /// Volcano, where it is installed.
    Volcano,
}
