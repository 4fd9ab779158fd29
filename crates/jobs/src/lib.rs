//! AIJobs and Workspaces: from what people ask for to Pods, and back to what they are told.
//!
//! Deciding is pure: [`job::plan`](mod@job) takes a job, its Pods and the time, and says what to write. Types of jobs are
//! [`kind`]s; [`pod`] makes a Pod of a task. [`role`] puts the controllers together.
#![warn(missing_docs)]

mod account;
mod card;
mod cleanup;
mod cron;
mod error;
mod family;
mod field;
mod index;
mod install;
mod job;
mod key;
mod kind;
mod malformed;
mod metrics;
mod name;
mod object;
mod own;
mod pod;
mod pod_kind;
mod policy;
mod role;
mod status;
mod template;
mod views;
mod volcano_queue;
mod workspace;

pub use cleanup::{
    ANNOTATION_SUSPENDED_BY, CardUse, Everything, Finding, Kind, Night, Nightly, NodeCards, Points,
    Prometheus, PrometheusError, Readings, Series, UseError, Uses, findings, node_metrics, samples, suspend,
    uses_of,
};
pub use install::{InstallError, install};
pub use key::Entropy;
pub use metrics::{CleanupLabels, JobsMetrics, PhaseLabel};
pub use pod::{has_slices, hide_cards};
pub use pod_kind::{PodKind, PodKinds};
pub use policy::{Kept, Verdict, Warning, Work, check_policy, judge, policy_of};
pub use role::{Settings, role};
pub use template::lost as lost_fields;
pub use volcano_queue::{Imported, QueueError, accounts_from_queues};
pub use workspace::{ANNOTATION_GRANT, GrantedPath, WorkspaceGrant};
