//! How a finished command is reported: a Kubernetes `Status` on the error channel.

use serde::{Deserialize, Serialize};

/// The reason in the `Status` of a command that ended with a code other than zero.
const NON_ZERO_EXIT_CODE: &str = "NonZeroExitCode";
/// The cause that carries the code itself.
const EXIT_CODE: &str = "ExitCode";

/// How a command ended, or why it could not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExitStatus {
    /// It ended with code 0 (or, for attach, the stream ended).
    Success,
    /// It ended with this code; 0 is the same as [`ExitStatus::Success`].
    Code(u8),
    /// It could not be run or was lost; the text says why.
    Error(String),
}

impl ExitStatus {
    /// From a process's exit code; what does not fit the one byte the protocol has becomes 255.
    pub fn from_code(code: i32) -> Self {
        match u8::try_from(code) {
            Ok(0) => Self::Success,
            Ok(code) => Self::Code(code),
            Err(_) => Self::Code(u8::MAX),
        }
    }

    /// The code a shell would show for this; `None` where the command has no code.
    pub fn code(&self) -> Option<u8> {
        match self {
            Self::Success => Some(0),
            Self::Code(code) => Some(*code),
            Self::Error(_) => None,
        }
    }

    /// The `Status` JSON that protocol versions 4 and later put on the error channel.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(&Status::from(self)).expect("a struct of strings and numbers always serializes")
    }

    /// What protocol versions before 4 put on the error channel: text, and nothing at all on success.
    pub(crate) fn to_text(&self) -> Option<String> {
        match self {
            Self::Success | Self::Code(0) => None,
            other => Status::from(other).message,
        }
    }

    /// Reads the error channel of protocol versions 4 and later.
    pub(crate) fn from_json(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        let status: Status = serde_json::from_slice(bytes)?;
        if status.status == "Success" {
            return Ok(Self::Success);
        }
        let code = status
            .details
            .iter()
            .filter(|_| status.reason.as_deref() == Some(NON_ZERO_EXIT_CODE))
            .flat_map(|details| &details.causes)
            .filter(|cause| cause.reason.as_deref() == Some(EXIT_CODE))
            .find_map(|cause| cause.message.parse().ok());
        Ok(match code {
            Some(code) => Self::Code(code),
            None => Self::Error(status.message.unwrap_or_else(|| "unknown failure".to_owned())),
        })
    }
}

/// The part of `metav1.Status` that travels here. The empty `metadata` is what Go clients send and expect.
#[derive(Debug, Default, Serialize, Deserialize)]
#[expect(clippy::struct_field_names, reason = "the field is Kubernetes' own")]
struct Status {
    #[serde(default)]
    metadata: Empty,
    status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    details: Option<Details>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<u16>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Empty {}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Details {
    #[serde(default)]
    causes: Vec<Cause>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Cause {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(default)]
    message: String,
}

impl From<&ExitStatus> for Status {
    fn from(status: &ExitStatus) -> Self {
        match status {
            ExitStatus::Success | ExitStatus::Code(0) => {
                Self { status: "Success".to_owned(), ..Self::default() }
            }
            ExitStatus::Code(code) => Self {
                status: "Failure".to_owned(),
                message: Some(format!("command terminated with non-zero exit code: exit status {code}")),
                reason: Some(NON_ZERO_EXIT_CODE.to_owned()),
                details: Some(Details {
                    causes: vec![Cause { reason: Some(EXIT_CODE.to_owned()), message: code.to_string() }],
                }),
                ..Self::default()
            },
            ExitStatus::Error(message) => Self {
                status: "Failure".to_owned(),
                message: Some(format!("Internal error occurred: {message}")),
                reason: Some("InternalError".to_owned()),
                details: Some(Details { causes: vec![Cause { reason: None, message: message.clone() }] }),
                code: Some(500),
                ..Self::default()
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_non_zero_code_is_a_cause_that_kubectl_reads() {
        let json = String::from_utf8(ExitStatus::Code(3).to_json()).unwrap();
        assert_eq!(
            json,
            r#"{"metadata":{},"status":"Failure","message":"command terminated with non-zero exit code: exit status 3","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"3"}]}}"#
        );
    }

    #[test]
    fn success_has_no_text_before_version_four() {
        assert_eq!(ExitStatus::Success.to_json(), br#"{"metadata":{},"status":"Success"}"#);
        assert_eq!(ExitStatus::Success.to_text(), None);
        assert_eq!(ExitStatus::Code(0).to_text(), None);
        assert!(ExitStatus::Code(1).to_text().is_some());
    }

    #[test]
    fn every_status_reads_back_as_itself() {
        for code in 1..=u8::MAX {
            let status = ExitStatus::Code(code);
            assert_eq!(ExitStatus::from_json(&status.to_json()).unwrap(), status);
        }
        assert_eq!(ExitStatus::from_json(&ExitStatus::Success.to_json()).unwrap(), ExitStatus::Success);
        let lost = ExitStatus::from_json(&ExitStatus::Error("no shell".into()).to_json()).unwrap();
        assert_eq!(lost, ExitStatus::Error("Internal error occurred: no shell".into()));
    }

    #[test]
    fn codes_outside_a_byte_become_the_largest() {
        assert_eq!(ExitStatus::from_code(0), ExitStatus::Success);
        assert_eq!(ExitStatus::from_code(137), ExitStatus::Code(137));
        assert_eq!(ExitStatus::from_code(-1), ExitStatus::Code(255));
    }
}
