//! How a program in a Pod ended.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code; none if it never ran, or nobody knows.
    pub code: Option<i32>,
    /// What there is to say if there is no code.
    pub message: String,
}

impl Exit {
    /// The stream ended and the program said nothing.
    pub(crate) fn lost() -> Self {
        Self { code: None, message: "the connection to the Pod was lost".to_owned() }
    }

    /// From what Kubernetes says on the channel for it.
    pub(super) fn read(bytes: &[u8]) -> Self {
        let Ok(status) = serde_json::from_slice::<Status>(bytes) else { return Self::lost() };
        if status.status.as_deref() == Some("Success") {
            return Self { code: Some(0), message: String::new() };
        }
        let causes = status.details.iter().flat_map(|details| details.causes.iter().flatten());
        let code = causes
            .filter(|cause| cause.reason.as_deref() == Some("ExitCode"))
            .find_map(|cause| cause.message.as_ref()?.parse().ok());
        Self { code, message: status.message.unwrap_or_else(|| "the program could not be run".to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_from_causes() {
        let code = |text: &str| Exit::read(text.as_bytes()).code;
        assert_eq!(code(r#"{"status":"Success"}"#), Some(0));
        assert_eq!(
            code(r#"{"status":"Failure","details":{"causes":[{"reason":"ExitCode","message":"7"}]}}"#),
            Some(7)
        );
        assert_eq!(code(r#"{"status":"Failure","message":"no such file"}"#), None);
        assert_eq!(Exit::read(b"nonsense"), Exit::lost());
    }
}
