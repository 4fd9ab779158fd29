//! The OpenAPI document, made of the table of routes, and a page to read it.
//!
//! Schemas come from schemars, as those of the custom resources do: JSON Schema 2020-12 is the dialect of OpenAPI 3.1.
//! See docs/decisions/0007-one-table-of-routes.md.

mod document;
mod page;

use std::sync::LazyLock;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderValue, header};

pub use document::openapi;

use crate::{
    access::Verb,
    error::ApiError,
    route::{Answer, Call, Method::Get, Route, Target},
};

pub(crate) fn routes() -> Vec<Route> {
    let anyone = (Verb::See, Target::Public);
    vec![
        Route::at_once(Get, "/openapi.json", "getOpenApi", anyone, json)
            .says("This document")
            .answers::<serde_json::Map<String, serde_json::Value>>(),
        Route::at_once(Get, "/api/docs", "readDocs", anyone, html)
            .says("This document, to read")
            .answers_text("text/html"),
    ]
}

/// Both are made once: it is work of many milliseconds, and strangers may ask for it.
static JSON: LazyLock<Bytes> = LazyLock::new(|| openapi().to_string().into());
static HTML: LazyLock<Bytes> = LazyLock::new(|| page::page(&openapi()).into());

#[expect(clippy::unnecessary_wraps, reason = "a handler may fail, even if this one does not")]
fn json(_: &Call) -> Result<Answer, ApiError> {
    Ok(Answer::json_bytes(JSON.clone()))
}

#[expect(clippy::unnecessary_wraps, reason = "a handler may fail, even if this one does not")]
fn html(_: &Call) -> Result<Answer, ApiError> {
    let answer = Answer::stream("text/html; charset=utf-8", Body::from(HTML.clone()));
    let policy =
        HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'");
    Ok(answer.header(header::CONTENT_SECURITY_POLICY, policy))
}
