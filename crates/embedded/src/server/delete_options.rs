//! The options of a delete request, from its body or its query.

use axum::body::Body;
use maar_machinery::error::FieldError;
use serde_json::Value;

use super::encoding::YAML;
use super::handler::{Call, content_type, read_body};
use crate::request::Query;
use crate::status::ApiError;
use crate::verbs::{DeleteOptions, Propagation, decode_yaml};

/// Options come in the body or in the query; where there is a body, the query is not looked at.
pub(super) async fn read(call: &Call<'_>, body: Body) -> Result<DeleteOptions, ApiError> {
    let body = read_body(body).await?;
    if body.is_empty() {
        return from_query(call.query);
    }
    match content_type(call.parts).split(';').next().unwrap_or_default().trim() {
        "" | "application/json" => {
            from_value(serde_json::from_slice(&body).map_err(|error| unreadable(&error))?)
        }
        YAML => from_value(decode_yaml(&body)?),
        other => Err(ApiError::unsupported_media_type(format!(
            "the delete options were in an unknown format ({other:?}) - accepted media types include: \
             application/json, application/yaml"
        ))),
    }
}

fn from_value(given: Value) -> Result<DeleteOptions, ApiError> {
    if given.get("kind").and_then(Value::as_str).is_some_and(|kind| kind != "DeleteOptions") {
        return Err(ApiError::bad_request(format!("{} is no DeleteOptions", given["kind"])));
    }
    if let Some(text) = given.get("propagationPolicy").and_then(Value::as_str) {
        propagation(text)?;
    }
    serde_json::from_value(given).map_err(|error| unreadable(&error))
}

fn from_query(query: &Query) -> Result<DeleteOptions, ApiError> {
    Ok(DeleteOptions {
        grace_period_seconds: query.number("gracePeriodSeconds")?,
        propagation_policy: query.text("propagationPolicy").map(propagation).transpose()?,
        orphan_dependents: query.flag("orphanDependents"),
        dry_run: query.all("dryRun").to_vec(),
        ..DeleteOptions::default()
    })
}

fn unreadable(error: &serde_json::Error) -> ApiError {
    ApiError::bad_request(format!("the delete options cannot be read: {error}"))
}

fn propagation(text: &str) -> Result<Propagation, ApiError> {
    serde_json::from_value(text.into()).map_err(|_| {
        let choices = ["Foreground", "Background", "Orphan"];
        let error = FieldError::not_supported("propagationPolicy", text, choices);
        ApiError::invalid_options("DeleteOptions", &[error])
    })
}
