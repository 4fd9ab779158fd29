//! Why something is not given, in the words of the RFCs.

use serde_json::{Value, json};

/// A refusal. The code is for programs, the sentence for those who write them; neither tells anything of users.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {why}")]
pub struct Refusal {
    /// One of the codes of RFC 6749, 6750, 7009, 8628 or OpenID Connect.
    pub code: &'static str,
    /// In a sentence.
    pub why: String,
}

impl Refusal {
    pub(crate) fn new(code: &'static str, why: impl Into<String>) -> Self {
        Self { code, why: why.into() }
    }

    pub(crate) fn request(why: impl Into<String>) -> Self {
        Self::new("invalid_request", why)
    }

    pub(crate) fn grant(why: impl Into<String>) -> Self {
        Self::new("invalid_grant", why)
    }

    pub(crate) fn client(why: impl Into<String>) -> Self {
        Self::new("invalid_client", why)
    }

    /// Something that is needed does not answer; the cause goes to the log.
    pub(crate) fn unavailable(cause: &dyn std::error::Error) -> Self {
        tracing::warn!(error = %cause, "the OpenID provider cannot answer");
        Self::new("temporarily_unavailable", "try again")
    }

    /// The status of HTTP that goes with it.
    pub fn status(&self) -> u16 {
        match self.code {
            "invalid_client" | "invalid_token" => 401,
            "insufficient_scope" => 403,
            "temporarily_unavailable" => 503,
            _ => 400,
        }
    }

    /// The body that goes with it.
    pub fn body(&self) -> Value {
        json!({ "error": self.code, "error_description": self.why })
    }
}

impl From<maar_records::Error> for Refusal {
    fn from(error: maar_records::Error) -> Self {
        Self::unavailable(&error)
    }
}
