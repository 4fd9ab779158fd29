//! What a handler answers.

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde::Serialize;
use serde_json::Value;

use crate::error::{ApiError, Code};

/// What a handler answers, with what the audit log shall know of it.
#[derive(Debug)]
pub(crate) struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Body,
    /// The object, where the path does not name it.
    pub(super) object: Option<String>,
    pub(super) before: Option<Value>,
    pub(super) after: Option<Value>,
}

impl Answer {
    fn with(status: StatusCode, body: Body) -> Self {
        Self { status, headers: HeaderMap::new(), body, object: None, before: None, after: None }
    }

    /// Nothing more to say.
    pub(crate) fn done() -> Self {
        Self::with(StatusCode::NO_CONTENT, Body::empty())
    }

    pub(crate) fn json(value: &impl Serialize) -> Result<Self, ApiError> {
        Ok(Self::json_bytes(Self::text(value)?))
    }

    /// The JSON of a value.
    pub(crate) fn text(value: &impl Serialize) -> Result<Bytes, ApiError> {
        serde_json::to_vec(value).map(Bytes::from).map_err(|error| {
            tracing::error!(%error, "an answer cannot be written");
            ApiError::new(Code::Internal, "a fault of the portal")
        })
    }

    /// JSON that was written before.
    pub(crate) fn json_bytes(text: Bytes) -> Self {
        let json = HeaderValue::from_static("application/json");
        Self::with(StatusCode::OK, Body::from(text)).header(header::CONTENT_TYPE, json)
    }

    /// The same, for what was just made.
    pub(crate) fn created(value: &impl Serialize) -> Result<Self, ApiError> {
        Ok(Self { status: StatusCode::CREATED, ..Self::json(value)? })
    }

    /// Leads a browser elsewhere.
    pub(crate) fn see_other(place: &str) -> Result<Self, ApiError> {
        let place = HeaderValue::from_str(place)
            .map_err(|_| ApiError::new(Code::Internal, "a fault of the portal"))?;
        Ok(Self::with(StatusCode::SEE_OTHER, Body::empty()).header(header::LOCATION, place))
    }

    pub(crate) fn stream(kind: &'static str, body: Body) -> Self {
        Self::with(StatusCode::OK, body).header(header::CONTENT_TYPE, HeaderValue::from_static(kind))
    }

    /// A response that something else has made.
    pub(crate) fn whole(response: Response) -> Self {
        let (parts, body) = response.into_parts();
        Self { headers: parts.headers, ..Self::with(parts.status, body) }
    }

    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.append(name, value);
        self
    }

    /// What it is about, where the path does not name it.
    pub(crate) fn about(self, object: impl Into<String>) -> Self {
        Self { object: Some(object.into()), ..self }
    }

    /// What the audit log keeps of the change.
    pub(crate) fn change(self, before: Option<Value>, after: Option<Value>) -> Self {
        Self { before, after, ..self }
    }

    pub(super) fn into_response(self) -> Response {
        let mut response = (self.status, self.body).into_response();
        response.headers_mut().extend(self.headers);
        response
    }
}
