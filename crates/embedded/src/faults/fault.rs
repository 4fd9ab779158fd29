//! The things that go wrong.

use std::time::Duration;

use crate::status::ApiError;

/// Before or after a write took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The cluster never heard of it.
    Before,
    /// The cluster has done it, and nobody was told.
    After,
}

/// One thing that goes wrong with one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// 409, as if somebody else had written first. Nothing is written.
    Conflict,
    /// 429 with `Retry-After`. Nothing is written.
    TooManyRequests {
        /// What the answer asks for.
        retry_seconds: u32,
    },
    /// 500. Nothing is written.
    InternalError,
    /// The request takes effect and the answer is lost: the client sees a time-out.
    LostAnswer,
    /// The request waits before it reaches the cluster.
    Slow(Duration),
    /// A list is answered from so many revisions ago, as a lagging cache would.
    StaleList {
        /// How many revisions it lags behind.
        behind: u64,
    },
    /// Events of a watch arrive late.
    LateWatch(Duration),
    /// A watch ends after so many events.
    DroppedWatch {
        /// How many events still arrive.
        after: u64,
    },
    /// After every so many events of a watch the last ones come again, in order.
    RepeatedWatch {
        /// How many events are repeated each time.
        events: usize,
    },
    /// The component dies at this request.
    Crash(Moment),
}

impl Fault {
    /// A word for logs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Conflict => "conflict",
            Self::TooManyRequests { .. } => "too-many-requests",
            Self::InternalError => "internal-error",
            Self::LostAnswer => "lost-answer",
            Self::Slow(_) => "slow",
            Self::StaleList { .. } => "stale-list",
            Self::LateWatch(_) => "late-watch",
            Self::DroppedWatch { .. } => "dropped-watch",
            Self::RepeatedWatch { .. } => "repeated-watch",
            Self::Crash(Moment::Before) => "crash-before",
            Self::Crash(Moment::After) => "crash-after",
        }
    }

    /// The refusal, for faults that are one.
    pub(super) fn refusal(&self, resource: &str, name: &str) -> Option<ApiError> {
        match self {
            Self::Conflict => Some(ApiError::new(
                409,
                "Conflict",
                format!(
                    "Operation cannot be fulfilled on {resource} {name:?}: the object has been modified; please \
                     apply your changes to the latest version and try again"
                ),
            )),
            Self::TooManyRequests { retry_seconds } => {
                Some(ApiError::too_many_requests("too many requests, please try again later", *retry_seconds))
            }
            Self::InternalError => Some(ApiError::internal("an injected fault")),
            _ => None,
        }
    }
}
