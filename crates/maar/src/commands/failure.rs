//! How commands fail, so that scripts can tell: stable exit codes.
//!
//! | Code | Meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | failed, also: the job that was waited for failed |
//! | 2 | the command line makes no sense |
//! | 3 | there is no such object |
//! | 4 | the cluster, the portal or the database refuses: not allowed, not valid, or already there |
//! | 5 | the cluster, the portal or the database cannot be reached |
//! | 6 | it has not happened within --timeout; what was begun goes on |
//!
//! `maar ssh` ends with the code of ssh, and `maar workspace exec` and `maar job exec` with that of the command they run.

use std::process::ExitCode;

use kube::core::Status;
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

    /// A program that was run in the user's name has ended with this code.
    pub(crate) fn with_code(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The command line makes no sense.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { code: 2, message: message.into() }
    }

    /// There is no such object.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self { code: 3, message: message.into() }
    }

    /// Not allowed, not valid, or already there.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self { code: 4, message: message.into() }
    }

    /// Who should answer does not.
    pub(crate) fn unreachable(message: impl Into<String>) -> Self {
        Self { code: 5, message: message.into() }
    }

    /// What was waited for did not come in time.
    pub(crate) fn timed_out(message: impl Into<String>) -> Self {
        Self { code: 6, message: message.into() }
    }
}

/// The exit code of an error.
pub(crate) fn exit_code(error: &anyhow::Error) -> ExitCode {
    ExitCode::from(number(error))
}

/// Whether an error says that there is no such object.
pub(crate) fn is_missing(error: &anyhow::Error) -> bool {
    number(error) == 3
}

/// The same as a number.
pub(crate) fn number(error: &anyhow::Error) -> u8 {
    for cause in error.chain() {
        if let Some(failure) = cause.downcast_ref::<Failure>() {
            return failure.code;
        }
        if let Some(error) = cause.downcast_ref::<maar_records::Error>() {
            return of_records(error);
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

/// An error and its causes, each once, as people read them: of an API server's refusal its own words only.
pub(crate) fn words(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain() {
        let answer = match cause.downcast_ref::<kube::Error>() {
            Some(kube::Error::Api(status)) => Some(status),
            _ => None,
        };
        let text = answer.map_or_else(|| cause.to_string(), |status| refusal(status));
        if !line.contains(&text) {
            let joint = if line.is_empty() { "" } else { ": " };
            line = format!("{line}{joint}{text}");
        }
        // What lies below it is the answer once more.
        if answer.is_some() {
            break;
        }
    }
    line
}

fn refusal(status: &Status) -> String {
    match (status.message.as_str(), status.reason.as_str()) {
        ("", "") => format!("the API server answered with {}", status.code),
        ("", reason) => reason.to_owned(),
        (message, _) => message.to_owned(),
    }
}

fn of_records(error: &maar_records::Error) -> u8 {
    match error.category() {
        "missing" => 3,
        "conflict" | "invalid" => 4,
        "transient" => 5,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn a_refusal_is_told_in_the_servers_own_words_once() {
        let answer = |message: &str, reason: &str| {
            let status = Status::failure(message, reason).with_code(404).boxed();
            anyhow::Error::new(kube::Error::Api(status)).context("reading job nope")
        };
        let missing = answer("aijobs.maar.io \"nope\" not found", "NotFound");
        assert_eq!(words(&missing), "reading job nope: aijobs.maar.io \"nope\" not found");
        assert_eq!(words(&answer("", "NotFound")), "reading job nope: NotFound");
        assert_eq!(words(&answer("", "")), "reading job nope: the API server answered with 404");
        let twice = anyhow::anyhow!("no route").context("connecting: no route").context("listing nodes");
        assert_eq!(words(&twice), "listing nodes: connecting: no route");
    }

    #[test]
    fn codes_tell_what_happened() {
        let answer = |code| kube::Error::Api(Status::failure("no", "").with_code(code).boxed());
        let rows = [(404, 3), (403, 4), (422, 4), (409, 4), (503, 5)];
        for (status, want) in rows {
            let error = Err::<(), _>(answer(status)).context("reading the job").unwrap_err();
            assert_eq!(number(&error), want, "{status}");
        }
        let conflict = maar_records::Error::Conflict { field: "name".to_owned() };
        assert_eq!(number(&anyhow::Error::new(conflict).context("saving")), 4);
        assert_eq!(number(&maar_records::Error::NotFound { what: "user" }.into()), 3);
        assert_eq!(number(&anyhow::anyhow!("anything")), 1);
        let failures = [
            (Failure::failed(""), 1),
            (Failure::usage("what?"), 2),
            (Failure::not_found(""), 3),
            (Failure::refused(""), 4),
            (Failure::unreachable(""), 5),
            (Failure::timed_out(""), 6),
            (Failure::with_code(9, ""), 9),
        ];
        for (failure, want) in failures {
            assert_eq!(number(&anyhow::Error::from(failure).context("waiting")), want);
        }
    }
}
