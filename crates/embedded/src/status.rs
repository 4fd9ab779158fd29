//! Answers that say no: the `Status` object of every refused or failed request.

use std::borrow::Cow;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use maar_machinery::error::{FieldError, invalid_message};
use serde_json::{Value, json};

use crate::resource::Resource;

/// A refusal: HTTP code, machine-readable reason, message and details, as Kubernetes words them.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiError {
    /// The HTTP status code.
    pub code: u16,
    /// `Status.reason`.
    pub reason: Cow<'static, str>,
    /// `Status.message`.
    pub message: String,
    /// `Status.details`.
    pub details: Option<Value>,
    /// What the client should know besides, sent as `Warning` headers.
    pub warnings: Vec<String>,
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for ApiError {}

impl ApiError {
    /// An error without details.
    pub fn new(code: u16, reason: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { code, reason: reason.into(), message: message.into(), details: None, warnings: Vec::new() }
    }

    /// The same with warnings that come before those it has.
    pub(crate) fn warned(mut self, warnings: Vec<String>) -> Self {
        self.warnings.splice(0..0, warnings);
        self
    }

    fn about(mut self, resource: &Resource, name: &str) -> Self {
        self.details = Some(subject(name, &resource.group, &resource.plural));
        self
    }

    /// Names the subject of the error by its kind, where Kubernetes does.
    pub(crate) fn of_kind(mut self, kind: &str) -> Self {
        if let Some(details) = &mut self.details {
            details["kind"] = kind.into();
        }
        self
    }

    /// Details that say nothing, where Kubernetes sends such.
    fn with_empty_details(mut self) -> Self {
        self.details = Some(json!({}));
        self
    }

    /// 400: the request itself is malformed.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 401: who is asking is not known.
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// 403: known, and not allowed.
    pub fn forbidden(resource: &Resource, name: &str, why: impl std::fmt::Display) -> Self {
        let subject =
            if name.is_empty() { resource.qualified() } else { format!("{} {name:?}", resource.qualified()) };
        Self::new(403, "Forbidden", format!("{subject} is forbidden: {why}")).about(resource, name)
    }

    /// 404: no such object.
    pub fn not_found(resource: &Resource, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{} {name:?} not found", resource.qualified()))
            .about(resource, name)
    }

    /// 404: no such path.
    pub fn no_such_path() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource").with_empty_details()
    }

    /// 405: the resource exists, the method does not apply to it.
    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message).with_empty_details()
    }

    /// 405: the same, as it is said of custom kinds.
    pub(crate) fn verb_not_supported(resource: &Resource, verb: &str) -> Self {
        let message = format!("{verb} is not supported on resources of kind {:?}", resource.qualified());
        Self::new(405, "MethodNotAllowed", message).about(resource, "")
    }

    /// 409: create found the name taken.
    pub fn already_exists(resource: &Resource, name: &str) -> Self {
        Self::new(409, "AlreadyExists", format!("{} {name:?} already exists", resource.qualified()))
            .about(resource, name)
    }

    /// The same of a name that was generated, or might have been: try again.
    pub(crate) fn of_generated_name(mut self) -> Self {
        self.message.push_str(", the server was not able to generate a unique name for the object");
        if let Some(details) = &mut self.details {
            details["retryAfterSeconds"] = 1.into();
        }
        self
    }

    /// 409: the object is not as the request expects it.
    pub fn conflict(resource: &Resource, name: &str, why: impl std::fmt::Display) -> Self {
        Self::new(
            409,
            "Conflict",
            format!("Operation cannot be fulfilled on {} {name:?}: {why}", resource.qualified()),
        )
        .about(resource, name)
    }

    /// 409: a part of the object does not fit what the request expects.
    pub(crate) fn conflict_of_part(
        resource: &Resource,
        part: &str,
        name: &str,
        why: impl std::fmt::Display,
    ) -> Self {
        let whole = format!("{}/{part}", resource.plural);
        let message = format!("Operation cannot be fulfilled on {whole} {name:?}: {why}");
        Self { message, ..Self::conflict(resource, name, "") }.of_kind(&whole)
    }

    /// 409: the same where the real server names the kind instead of the resource.
    pub(crate) fn conflict_of_kind(resource: &Resource, name: &str, why: impl std::fmt::Display) -> Self {
        let message = format!("Operation cannot be fulfilled on {} {name:?}: {why}", resource.kind);
        Self { message, ..Self::conflict(resource, name, "") }.of_kind(&resource.kind)
    }

    /// 409: somebody else changed the object since it was read.
    pub fn modified(resource: &Resource, name: &str) -> Self {
        Self::conflict(
            resource,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    /// 410: the revision asked for is no longer kept.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 415: a body of an unsupported kind.
    pub fn unsupported_media_type(message: impl Into<String>) -> Self {
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// 415: a patch of a type that nobody knows.
    pub(crate) fn unknown_patch_type(message: impl Into<String>) -> Self {
        Self::unsupported_media_type(message).with_empty_details()
    }

    /// 422: the object was understood and is not valid.
    pub fn invalid(resource: &Resource, name: &str, errors: &[FieldError]) -> Self {
        let message = invalid_message(&resource.kind, &resource.group, name, errors);
        Self::invalid_subject(message, subject(name, &resource.group, &resource.kind), errors)
    }

    /// 422: an update of a kind that must say which revision it is of.
    pub(crate) fn unconditional_update(resource: &Resource, name: &str) -> Self {
        let error = FieldError::invalid("metadata.resourceVersion", 0, "must be specified for an update");
        Self::invalid_question(&resource.group, &resource.plural, name, &error)
    }

    /// 422: the options of a request contradict each other.
    pub(crate) fn invalid_options(kind: &str, errors: &[FieldError]) -> Self {
        let message = invalid_message(kind, OPTIONS_GROUP, "", errors);
        Self::invalid_subject(message, subject("", OPTIONS_GROUP, kind), errors)
    }

    /// 422: a question that cannot be answered as it is asked.
    pub(crate) fn invalid_question(group: &str, kind: &str, name: &str, error: &FieldError) -> Self {
        let errors = std::slice::from_ref(error);
        Self::invalid_subject(invalid_message(kind, group, name, errors), subject(name, group, kind), errors)
    }

    /// 422: what a patch makes of the object cannot be read.
    pub(crate) fn invalid_patch(message: impl Into<String>) -> Self {
        let error = FieldError::invalid("patch", Value::Null, message.into());
        let message = format!(" {:?} is invalid: {error}", "");
        Self::invalid_subject(message, json!({}), std::slice::from_ref(&error))
    }

    fn invalid_subject(message: String, mut details: Value, errors: &[FieldError]) -> Self {
        details["causes"] = errors.iter().map(cause).collect();
        let mut status = Self::new(422, "Invalid", message);
        status.details = Some(details);
        status
    }

    /// 500 without a reason: what the real server answers where it did not foresee the fault to be the client's.
    pub(crate) fn unclassified(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// 422: a well-formed request that does not go with the object.
    pub(crate) fn unprocessable(message: impl Into<String>) -> Self {
        Self::new(422, "Invalid", message).with_empty_details()
    }

    /// 406: no form the client accepts can be made.
    pub(crate) fn not_acceptable() -> Self {
        let message = "only the following media types are accepted: application/json";
        Self::new(406, "NotAcceptable", message).with_empty_details()
    }

    /// 406: the media type is known, what should be shown in it is not.
    pub(crate) fn no_such_form(form: &str) -> Self {
        Self::new(406, "NotAcceptable", format!("answers cannot be shown as {form:?} here"))
    }

    /// 429: slow down.
    pub fn too_many_requests(message: impl Into<String>, retry_seconds: u32) -> Self {
        let mut error = Self::new(429, "TooManyRequests", message);
        error.details = Some(json!({"retryAfterSeconds": retry_seconds}));
        error
    }

    /// 500: something broke here.
    pub fn internal(message: impl std::fmt::Display) -> Self {
        Self::new(500, "InternalError", format!("Internal error occurred: {message}"))
    }

    /// 501: understood, and not something the embedded cluster does.
    pub fn not_implemented(what: impl std::fmt::Display) -> Self {
        Self::new(501, "NotImplemented", format!("the embedded cluster does not support {what}"))
    }

    /// 503: try again later.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(503, "ServiceUnavailable", message)
    }

    /// Whether this is a lost race that a retry can win.
    pub fn is_conflict(&self) -> bool {
        self.reason == "Conflict"
    }

    /// Whether the object is simply not there.
    pub fn is_not_found(&self) -> bool {
        self.reason == "NotFound"
    }

    /// Whether the object is there already.
    pub fn is_already_exists(&self) -> bool {
        self.reason == "AlreadyExists"
    }

    /// The `Status` object.
    pub fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = json!(self.reason);
        }
        if let Some(details) = &self.details {
            status["details"] = details.clone();
        }
        status
    }
}

/// The group that the options of requests belong to.
const OPTIONS_GROUP: &str = "meta.k8s.io";

fn cause(error: &FieldError) -> Value {
    // A fault of the object as a whole has no path, which Kubernetes writes so.
    let field = if error.path.is_empty() { "<nil>" } else { error.path.as_str() };
    json!({"reason": error.kind.reason(), "message": error.body(), "field": field})
}

/// What an error is about; parts that are empty are left out.
pub(crate) fn subject(name: &str, group: &str, kind: &str) -> Value {
    let parts = [("name", name), ("group", group), ("kind", kind)];
    parts
        .into_iter()
        .filter(|(_, text)| !text.is_empty())
        .map(|(key, text)| (key.to_owned(), Value::from(text)))
        .collect()
}

/// Puts warnings into the headers of an answer.
pub(crate) fn add_warnings(response: &mut Response, warnings: &[String]) {
    for warning in warnings {
        let text = format!("299 - {warning:?}");
        if let Ok(value) = HeaderValue::from_str(&text) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.status().to_string()));
        *response.status_mut() = StatusCode::from_u16(self.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let retry = self.details.as_ref().and_then(|details| details["retryAfterSeconds"].as_u64());
        if let Some(seconds) = retry {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        add_warnings(&mut response, &self.warnings);
        response
    }
}
