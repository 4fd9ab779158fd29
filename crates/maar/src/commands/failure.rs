//! How commands fail, so that scripts can tell: stable exit codes.
//!
//! | Code | Meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | failed, also: the job that was waited for failed |
//! | 2 | the command line makes no sense |
//! | 3 | there is no such object |
//! | 4 | the cluster refuses: not allowed, not valid, or already there |
//! | 5 | the cluster cannot be reached |

use std::process::ExitCode;

use maar_controller::{Categorized, Category};

/// A failure whose code is known where it happens.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    /// What was asked for did not happen.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self { code: 1, message: message.into() }
    }

    /// The command line makes no sense.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { code: 2, message: message.into() }
    }

    /// There is no such object.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self { code: 3, message: message.into() }
    }
}

/// The exit code of an error.
pub(crate) fn exit_code(error: &anyhow::Error) -> ExitCode {
    ExitCode::from(number(error))
}

fn number(error: &anyhow::Error) -> u8 {
    for cause in error.chain() {
        if let Some(failure) = cause.downcast_ref::<Failure>() {
            return failure.code;
        }
        let category = cause
            .downcast_ref::<kube::Error>()
            .map(Categorized::category)
            .or_else(|| cause.downcast_ref::<maar_controller::Error>().map(Categorized::category));
        match category {
            Some(Category::Missing) => return 3,
            Some(Category::Denied | Category::Invalid | Category::Conflict) => return 4,
            Some(Category::Transient) => return 5,
            Some(Category::NotLeader) | None => {}
        }
    }
    1
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;
    use kube::core::Status;

    use super::*;

    #[test]
    fn codes_tell_what_happened() {
        let answer = |code| kube::Error::Api(Status::failure("no", "").with_code(code).boxed());
        let rows = [(404, 3), (403, 4), (422, 4), (409, 4), (503, 5)];
        for (status, want) in rows {
            let error = Err::<(), _>(answer(status)).context("reading the job").unwrap_err();
            assert_eq!(number(&error), want, "{status}");
        }
        assert_eq!(number(&anyhow::anyhow!("anything")), 1);
        assert_eq!(number(&Failure::usage("what?").into()), 2);
    }
}
