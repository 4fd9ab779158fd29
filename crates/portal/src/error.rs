//! The one shape of every answer that is not what was asked for.

use std::error::Error as StdError;

use axum::{
    Json,
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, StatusCode, header};
use kube::core::Status;
use maar_controller::error::chain;
use schemars::JsonSchema;
use serde::Serialize;

/// Why a request was not done. Programs decide by it, so names stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Code {
    /// Nobody is signed in, or no longer.
    SignedOut,
    /// Name or password is wrong.
    WrongPassword,
    /// A provider of logins did not let in, or was not believed.
    LoginRefused,
    /// The password must be changed before anything else.
    PasswordChangeRequired,
    /// The request came from another site.
    CrossSite,
    /// The API key is not made for this.
    ScopeMissing,
    /// Not allowed.
    Forbidden,
    /// It does not exist, or the asker may not know of it.
    NotFound,
    /// The path exists, with other methods.
    MethodNotAllowed,
    /// What was sent makes no sense; `field` says where.
    Invalid,
    /// Something of that name exists, or it was changed meanwhile.
    Conflict,
    /// It has to be looked at what it would do before it is switched on.
    PreviewRequired,
    /// A quota would be exceeded.
    QuotaExceeded,
    /// The body is too large.
    TooLarge,
    /// Too many requests; see the header `Retry-After`.
    TooMany,
    /// Something that is needed does not answer.
    Unavailable,
    /// A fault of the portal.
    Internal,
}

impl Code {
    const fn status(self) -> StatusCode {
        match self {
            Self::SignedOut | Self::WrongPassword | Self::LoginRefused => StatusCode::UNAUTHORIZED,
            Self::PasswordChangeRequired
            | Self::CrossSite
            | Self::ScopeMissing
            | Self::Forbidden
            | Self::QuotaExceeded => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Conflict | Self::PreviewRequired => StatusCode::CONFLICT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// What is sent.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ErrorBody {
    /// Why, for programs.
    pub(crate) code: Code,
    /// Why, for people.
    pub(crate) message: String,
    /// The field of the request that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) field: Option<String>,
    /// Finds the request in the logs and the audit log.
    pub(crate) request_id: String,
}

impl From<maar_records::Error> for ApiError {
    fn from(error: maar_records::Error) -> Self {
        use maar_records::Error;
        match error {
            Error::NotFound { what } => Self::not_found(&format!("this {what}")),
            Error::Conflict { field } => {
                Self { message: format!("{field} is taken"), ..Self::invalid(field, "") }.with(Code::Conflict)
            }
            Error::Invalid { field, why } => Self::invalid(field, why),
            Error::LastAdministrator => Self::new(Code::Conflict, "nobody could administer any more"),
            other => Self::unavailable("the database", other),
        }
    }
}

/// Whether the cluster refuses because it has not counted yet what a quota limits: it does so with every new quota, and
/// for half a minute with kinds that are new to it.
pub(crate) fn is_uncounted(status: &Status) -> bool {
    status.code == 403 && status.message.contains("status unknown for quota")
}

/// Whether the cluster gave up counting because others counted the same quota at the same time: the request itself may be all
/// right.
pub(crate) fn is_contended(status: &Status) -> bool {
    let about = status.details.as_ref().map(|details| details.kind.as_str());
    status.code == 409 && about == Some("resourcequotas")
}

/// A request that was not done.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct ApiError {
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) field: Option<String>,
    /// The message repeats what was sent.
    quotes: bool,
    /// Seconds.
    pub(crate) retry_after: Option<u64>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl ApiError {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), field: None, quotes: false, retry_after: None, source: None }
    }

    pub(crate) fn invalid(field: impl Into<String>, why: impl Into<String>) -> Self {
        Self { field: Some(field.into()), ..Self::new(Code::Invalid, why) }
    }

    /// What was sent has not the shape that is wanted. The message may hold any of it, a password too: it is for the sender
    /// alone.
    pub(crate) fn shape(field: impl Into<String>, error: impl std::fmt::Display) -> Self {
        Self { quotes: true, ..Self::invalid(field, error.to_string()) }
    }

    /// What others than the sender may read of it, in the audit log.
    pub(crate) fn detail(&self) -> String {
        match (&self.field, self.quotes) {
            (Some(field), true) => format!("{field} is not what is wanted there"),
            (None, true) => "what was sent makes no sense".to_owned(),
            (_, false) => self.message.clone(),
        }
    }

    /// The same about a field of the request.
    pub(crate) fn at(self, field: impl Into<String>) -> Self {
        Self { field: Some(field.into()), ..self }
    }

    fn with(self, code: Code) -> Self {
        Self { code, ..self }
    }

    pub(crate) fn not_found(what: &str) -> Self {
        Self::new(Code::NotFound, format!("{what} does not exist"))
    }

    pub(crate) fn too_many(seconds: u64) -> Self {
        let message = format!("too many requests: try again in {seconds} s");
        Self { retry_after: Some(seconds), ..Self::new(Code::TooMany, message) }
    }

    /// Something that is needed does not answer; the cause goes to the log only.
    pub(crate) fn unavailable(what: &str, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self {
            source: Some(source.into()),
            ..Self::new(Code::Unavailable, format!("{what} does not answer: try again"))
        }
    }

    /// It will be possible soon.
    fn not_yet(why: &str, seconds: u64) -> Self {
        let message = format!("{why}: try again in {seconds} s");
        Self { retry_after: Some(seconds), ..Self::new(Code::Unavailable, message) }
    }

    /// A refusal of the cluster, in its words where they concern the request.
    pub(crate) fn of_cluster(what: &str, error: kube::Error) -> Self {
        let kube::Error::Api(status) = &error else { return Self::unavailable("the cluster", error) };
        let cause = status.details.iter().flat_map(|details| &details.causes).next();
        let field = cause.map(|cause| cause.field.clone()).filter(|field| !field.is_empty());
        let message = status.message.clone();
        match status.code {
            404 => Self::not_found(what),
            409 if status.reason == "AlreadyExists" => Self {
                field: Some("name".to_owned()),
                ..Self::new(Code::Conflict, format!("{what} exists already"))
            },
            409 => Self::new(Code::Conflict, format!("{what} was changed meanwhile: try again")),
            403 if message.contains("exceeded quota") => Self::new(Code::QuotaExceeded, message),
            403 if is_uncounted(status) => {
                let source = Some(error.into());
                Self {
                    source,
                    ..Self::not_yet("the cluster does not yet count what your namespace holds", 10)
                }
            }
            // It repeats values that it does not like.
            400 | 413 | 422 => Self { field, quotes: true, ..Self::new(Code::Invalid, message) },
            // What the portal itself may not do is no word about the asker.
            _ => Self::unavailable("the cluster", error),
        }
    }

    /// The answer; the cause is logged here, once.
    pub(crate) fn into_response(self, request_id: &str) -> Response {
        if let Some(source) = &self.source {
            tracing::warn!(request.id = request_id, error = chain(source.as_ref()), "a request failed");
        }
        let status = self.code.status();
        let body = ErrorBody {
            code: self.code,
            message: self.message,
            field: self.field,
            request_id: request_id.to_owned(),
        };
        let mut response = (status, Json(body)).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
