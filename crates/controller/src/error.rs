//! What can go wrong when talking to a cluster, and what to do about it.
//!
//! [`Category`] is the one answer to "what kind of failure was that": it labels metrics and decides when to try
//! again. The Display text of an error names the step and its subject; causes are joined once, by [`chain`], where the
//! error is logged.

use std::{error::Error as StdError, fmt};

use kube::core::Status;

use crate::lease::NotLeader;

/// Kinds of failure. The names are metric labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Category {
    /// Time heals it: no connection, overload, a server error.
    Transient,
    /// Somebody else wrote first.
    Conflict,
    /// The object is not there (any more).
    Missing,
    /// The server refuses the object itself.
    Invalid,
    /// Not allowed, by permissions, quota or admission.
    Denied,
    /// This process does not lead (any more).
    NotLeader,
}

/// When work that failed should be tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Now, on a fresh read.
    AtOnce,
    /// After a growing delay.
    BackOff,
    /// When the object changes; trying the same again cannot help.
    AwaitChange,
}

impl Category {
    /// The name used in labels.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Conflict => "conflict",
            Self::Missing => "missing",
            Self::Invalid => "invalid",
            Self::Denied => "denied",
            Self::NotLeader => "not_leader",
        }
    }

    /// When to try again.
    pub const fn retry(self) -> Retry {
        match self {
            Self::Conflict => Retry::AtOnce,
            // Permissions, quotas and namespaces change without the object changing.
            Self::Transient | Self::Missing | Self::Denied => Retry::BackOff,
            Self::Invalid | Self::NotLeader => Retry::AwaitChange,
        }
    }

    fn of_status(status: &Status) -> Self {
        match status.code {
            409 => Self::Conflict,
            404 | 410 => Self::Missing,
            401 | 403 => Self::Denied,
            400 | 405 | 406 | 413 | 415 | 422 => Self::Invalid,
            _ => Self::Transient,
        }
    }
}

/// An error that knows its [`Category`].
pub trait Categorized {
    /// The kind of failure.
    fn category(&self) -> Category;
}

impl Categorized for kube::Error {
    fn category(&self) -> Category {
        match self {
            Self::Api(status) => Category::of_status(status),
            Self::Service(source) if source.is::<NotLeader>() => Category::NotLeader,
            // The server's answer does not fit our type, or our object does not fit into a request.
            Self::SerdeError(_) | Self::BuildRequest(_) => Category::Invalid,
            _ => Category::Transient,
        }
    }
}

/// A failed step of talking to the cluster.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server answered with a failure.
    #[error("{step}")]
    Refused {
        /// What was being done, to what.
        step: String,
        /// The answer.
        source: Refusal,
    },
    /// No usable answer came.
    #[error("{step}")]
    Unanswered {
        /// What was being done, to what.
        step: String,
        /// Why there was no answer.
        source: Box<kube::Error>,
    },
    /// The write was not even sent, because this process does not lead.
    #[error("{step}")]
    NotLeader {
        /// What was being done, to what.
        step: String,
        /// Says so.
        source: NotLeader,
    },
    /// An object lacks what the step needs.
    #[error("{step}: the object has no {field}")]
    Incomplete {
        /// What was being done, to what.
        step: String,
        /// The missing field.
        field: &'static str,
    },
}

/// The Status a server refused with.
#[derive(Debug, Clone)]
pub struct Refusal(pub Box<Status>);

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Status { message, reason, code, .. } = self.0.as_ref();
        let message = if message.is_empty() { "the server gave no message" } else { message };
        write!(formatter, "{message} ({code}{}{reason})", if reason.is_empty() { "" } else { " " })
    }
}

impl StdError for Refusal {}

impl Error {
    /// Says what was being done when `source` happened.
    pub fn in_step(step: impl Into<String>, source: kube::Error) -> Self {
        let step = step.into();
        match source {
            kube::Error::Api(status) => Self::Refused { step, source: Refusal(status) },
            kube::Error::Service(source) if source.is::<NotLeader>() => {
                Self::NotLeader { step, source: NotLeader }
            }
            source => Self::Unanswered { step, source: Box::new(source) },
        }
    }
}

impl Categorized for Error {
    fn category(&self) -> Category {
        match self {
            Self::Refused { source, .. } => Category::of_status(&source.0),
            Self::Unanswered { source, .. } => source.category(),
            Self::NotLeader { .. } => Category::NotLeader,
            Self::Incomplete { .. } => Category::Invalid,
        }
    }
}

/// An error and its causes in one line. Causes that the text above already repeats are left out: kube and hyper put
/// their sources into their own messages.
pub fn chain(error: &dyn StdError) -> String {
    let mut line = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !line.contains(&text) {
            line = format!("{line}: {text}");
        }
        next = cause.source();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(code: u16, reason: &str) -> kube::Error {
        kube::Error::Api(Status::failure("no such luck", reason).with_code(code).boxed())
    }

    #[test]
    fn status_codes_have_categories_and_categories_have_policies() {
        let rows = [
            (409, Category::Conflict, Retry::AtOnce),
            (404, Category::Missing, Retry::BackOff),
            (410, Category::Missing, Retry::BackOff),
            (403, Category::Denied, Retry::BackOff),
            (401, Category::Denied, Retry::BackOff),
            (400, Category::Invalid, Retry::AwaitChange),
            (422, Category::Invalid, Retry::AwaitChange),
            (429, Category::Transient, Retry::BackOff),
            (500, Category::Transient, Retry::BackOff),
            (503, Category::Transient, Retry::BackOff),
            (0, Category::Transient, Retry::BackOff),
        ];
        for (code, want_category, want_retry) in rows {
            assert_eq!(answer(code, "").category(), want_category, "{code}");
            assert_eq!(Error::in_step("s", answer(code, "")).category(), want_category, "{code}");
            assert_eq!(want_category.retry(), want_retry, "{code}");
        }
    }

    #[test]
    fn a_fenced_write_is_recognised_through_the_client() {
        let error = Error::in_step("apply pod a/b", kube::Error::Service(Box::new(NotLeader)));
        assert_eq!(error.category(), Category::NotLeader);
        assert_eq!(chain(&error), "apply pod a/b: this process does not hold the lease");
    }

    #[test]
    fn the_chain_says_each_thing_once() {
        let refused = Error::in_step("apply pod a/b", answer(409, "Conflict"));
        assert_eq!(chain(&refused), "apply pod a/b: no such luck (409 Conflict)");
        let broken = kube::Error::Service("connection refused".into());
        assert_eq!(
            chain(&Error::in_step("list nodes", broken)),
            "list nodes: ServiceError: connection refused"
        );
    }
}
