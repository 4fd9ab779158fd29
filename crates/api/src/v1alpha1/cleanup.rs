//! Clean-up: when work is ended for being forgotten, and what it is told before.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{JobType, reasons};

/// When work is ended for being forgotten. Each rule is warned of first, and leaves locked and kept work alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CleanupSpec {
    /// Only say what would be ended.
    #[serde(default)]
    pub dry_run: bool,
    /// Work that has run for long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_running: Option<LongRunningRule>,
    /// Work whose cards are not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleRule>,
    /// Jobs that have waited for long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<WaitingRule>,
    /// Workspaces that run at night.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nightly: Option<NightlyRule>,
}

/// Work that has run for long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LongRunningRule {
    /// Hours for jobs that end by themselves.
    #[schemars(range(min = 1, max = 87600))]
    pub batch_hours: i64,
    /// Hours for Jupyter, code-server and workspaces.
    #[schemars(range(min = 1, max = 87600))]
    pub interactive_hours: i64,
    /// Hours between the warning and the end.
    #[schemars(range(min = 0, max = 87600))]
    pub warn_hours: i64,
}

/// Work whose cards are not used: all cards of all its Pods.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdleRule {
    /// Minutes over which use is looked at.
    #[schemars(range(min = 1, max = 43200))]
    pub window_minutes: i64,
    /// Percent of use at or below which a card is idle.
    #[schemars(range(min = 0, max = 99))]
    pub percent: i64,
    /// Minutes between the warning and the end.
    #[schemars(range(min = 0, max = 43200))]
    pub warn_minutes: i64,
}

/// Jobs that have waited for long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitingRule {
    /// Minutes.
    #[schemars(range(min = 1, max = 525_600))]
    pub minutes: i64,
    /// Minutes between the warning and the end.
    #[schemars(range(min = 0, max = 43200))]
    pub warn_minutes: i64,
    /// Only jobs of these types; all if none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<JobType>,
}

/// Workspaces that run at a time of the night: they are suspended, and their owners let them go on in the morning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NightlyRule {
    /// The time, such as `23:30`.
    #[schemars(regex(pattern = "^([01][0-9]|2[0-3]):[0-5][0-9]$"))]
    pub at: String,
    /// The time zone it is meant in, such as `Asia/Shanghai`.
    #[serde(default = "utc")]
    pub time_zone: String,
    /// Minutes between the warning and the end.
    #[schemars(range(min = 0, max = 1440))]
    pub warn_minutes: i64,
}

fn utc() -> String {
    "UTC".to_owned()
}

/// Which rule of a clean-up policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum CleanupRule {
    /// It ran for long.
    LongRunning,
    /// Its cards idle.
    Idle,
    /// It waited for long.
    Waiting,
    /// It ran at night.
    Nightly,
}

impl CleanupRule {
    /// The reason of what this rule has ended.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::LongRunning => reasons::CLEANED_UP_LONG_RUNNING,
            Self::Idle => reasons::CLEANED_UP_IDLE,
            Self::Waiting => reasons::CLEANED_UP_WAITING,
            Self::Nightly => reasons::CLEANED_UP_NIGHTLY,
        }
    }

    /// The rule that has ended something, from the reason it gives.
    pub fn of_reason(reason: &str) -> Option<Self> {
        let all = [Self::LongRunning, Self::Idle, Self::Waiting, Self::Nightly];
        all.into_iter().find(|rule| rule.reason() == reason)
    }
}

impl fmt::Display for CleanupRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, formatter)
    }
}

/// What a clean-up policy is about to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CleanupStatus {
    /// Which rule.
    pub rule: CleanupRule,
    /// The account whose policy it is.
    pub account: String,
    /// When it is ended, unless the reason is gone by then.
    pub end_time: Time,
    /// It is being ended.
    #[serde(default)]
    pub ending: bool,
    /// The generation of the spec that was judged. What changed since then is not ended before it is judged again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}
