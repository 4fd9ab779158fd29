//! The three patch formats that change an object without saying who owns what: RFC 6902, RFC 7396 and
//! Kubernetes' strategic merge patch. Server-side apply is in [`crate::apply`].
//!
//! Each takes the object as it is and the patch as parsed JSON, and gives the patched object or a
//! [`PatchError`] that knows which HTTP answer it is.

pub mod json;
pub mod merge;
pub mod strategic;

/// Why a patch was refused, by the HTTP answer that the API server gives.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// 400: the patch is no patch of its kind.
    #[error("{0}")]
    BadRequest(String),
    /// 413: the patch has more operations than a server takes.
    #[error("{0}")]
    TooLarge(String),
    /// 415: this kind of patch does not go with this kind of object.
    #[error("{0}")]
    UnsupportedMediaType(String),
    /// 422, reason `Invalid`: a well-formed patch that does not go with this object. The API server's message does not
    /// carry the reason, so it stands apart in `detail`.
    #[error("the server rejected our request due to an error in our request")]
    Unprocessable {
        /// What did not fit, for logs and for people.
        detail: String,
    },
    /// 500: the patch met an object it cannot work on, which the API server reports as its own fault.
    #[error("{0}")]
    Internal(String),
}

impl PatchError {
    /// The HTTP status code of the answer.
    pub fn code(&self) -> u16 {
        match self {
            Self::BadRequest(_) => 400,
            Self::TooLarge(_) => 413,
            Self::UnsupportedMediaType(_) => 415,
            Self::Unprocessable { .. } => 422,
            Self::Internal(_) => 500,
        }
    }

    fn unprocessable(detail: impl Into<String>) -> Self {
        Self::Unprocessable { detail: detail.into() }
    }
}
