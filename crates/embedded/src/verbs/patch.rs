//! Patch: JSON, merge, strategic merge, and server-side apply.

use maar_machinery::error::FieldError;
use maar_machinery::patch::{self as machinery, PatchError};
use serde_json::{Value, json};

use super::Written;
use super::modify::Changed;
use super::prepare::{decode_body, decode_fields, decode_object, metadata};
use crate::request::WriteOptions;
use crate::resource::{Resource, Subresource};
use crate::server::{Caller, Server};
use crate::status::ApiError;
use crate::store::Key;

/// The body of a patch request, decoded as its content type says.
#[derive(Clone, Debug)]
pub(crate) enum PatchBody {
    Json(Value),
    Merge(Value),
    Strategic(Value),
    Apply(Value),
}

impl PatchBody {
    pub(crate) fn decode(content_type: &str, body: &[u8]) -> Result<Self, ApiError> {
        let media = content_type.split(';').next().unwrap_or_default().trim();
        match media {
            "application/json-patch+json" => Ok(Self::Json(decode_body(body)?)),
            "application/merge-patch+json" => Ok(Self::Merge(decode_body(body)?)),
            "application/strategic-merge-patch+json" => Ok(Self::Strategic(decode_body(body)?)),
            "application/apply-patch+yaml" => Ok(Self::Apply(decode_yaml(body)?)),
            other => Err(ApiError::unsupported_media_type(format!(
                "the body of the request was in an unknown format ({other:?}): use one of \
                 application/json-patch+json, application/merge-patch+json, \
                 application/strategic-merge-patch+json, application/apply-patch+yaml"
            ))),
        }
    }
}

pub(crate) fn decode_yaml(body: &[u8]) -> Result<Value, ApiError> {
    // JSON is YAML, and is what Rust clients and kubectl send.
    if let Ok(value) = serde_json::from_slice(body) {
        return Ok(value);
    }
    let text = std::str::from_utf8(body)
        .map_err(|_| ApiError::bad_request("error decoding YAML: the body is not UTF-8"))?;
    serde_saphyr::from_str(text)
        .map_err(|error| ApiError::bad_request(format!("error decoding YAML: {error}")))
}

impl Server {
    pub(crate) async fn patch(
        &self,
        caller: &Caller,
        resource: &Resource,
        key: &Key,
        subresource: Option<Subresource>,
        body: &PatchBody,
        options: &WriteOptions,
    ) -> Result<Written, ApiError> {
        if let PatchBody::Apply(applied) = body {
            return self.apply(caller, resource, key, subresource, applied, options).await;
        }
        if options.force {
            let error = FieldError::forbidden("force", "may not be specified for non-apply patch");
            return Err(ApiError::invalid_options("PatchOptions", &error));
        }
        let change = |old: &Value| {
            let mut object = patched(resource, old, body)?;
            let warnings = decode_object(resource, &mut object, options.field_validation)?;
            Ok(Changed { object, warnings, fields_settled: false })
        };
        self.modify(caller, resource, key, subresource, &change, options).await
    }

    async fn apply(
        &self,
        caller: &Caller,
        resource: &Resource,
        key: &Key,
        subresource: Option<Subresource>,
        applied: &Value,
        options: &WriteOptions,
    ) -> Result<Written, ApiError> {
        if options.field_manager.is_none() {
            let error = FieldError::required("fieldManager", "is required for apply patch");
            return Err(ApiError::invalid_options("PatchOptions", &error));
        }
        let mut applied = applied.clone();
        check_applied(resource, key, &mut applied)?;
        let warnings = decode_fields(resource, &mut applied, options.field_validation)?;
        loop {
            if self.store.get(key).is_none() {
                if subresource.is_some() {
                    return Err(ApiError::not_found(resource, key.name()));
                }
                match self.apply_new(caller, resource, key, &applied, options).await {
                    // Somebody created it meanwhile: apply to that.
                    Err(error) if error.is_already_exists() => continue,
                    Ok(mut written) => {
                        written.warnings.extend(warnings);
                        return Ok(written);
                    }
                    Err(error) => return Err(error),
                }
            }
            let change = |old: &Value| {
                let object = self.merge_applied(resource, Some(old), &applied, subresource, options)?;
                Ok(Changed { object, warnings: warnings.clone(), fields_settled: true })
            };
            match self.modify(caller, resource, key, subresource, &change, options).await {
                // It was deleted meanwhile: create it.
                Err(error) if error.is_not_found() && subresource.is_none() => {}
                result => return result,
            }
        }
    }

    async fn apply_new(
        &self,
        caller: &Caller,
        resource: &Resource,
        key: &Key,
        applied: &Value,
        options: &WriteOptions,
    ) -> Result<Written, ApiError> {
        let mut object = self.merge_applied(resource, None, applied, None, options)?;
        metadata(&mut object).insert("name".into(), key.name().into());
        self.create_new(caller, resource, key.namespace(), object, options, true).await
    }
}

fn check_applied(resource: &Resource, key: &Key, applied: &mut Value) -> Result<(), ApiError> {
    let expected = resource.api_version();
    let given = applied.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    let kind = applied.get("kind").and_then(Value::as_str).unwrap_or_default();
    if given != expected || kind != resource.kind {
        return Err(ApiError::bad_request(format!(
            "the applied object is a {kind:?} of {given:?}; a {:?} of {expected:?} is needed here",
            resource.kind
        )));
    }
    let metadata = applied.get_mut("metadata").filter(|metadata| metadata.is_object());
    let Some(metadata) = metadata else {
        applied["metadata"] = json!({"name": key.name()});
        return Ok(());
    };
    if metadata.get("managedFields").is_some_and(|fields| !fields.is_null() && fields != &json!([])) {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    match metadata.get("name").and_then(Value::as_str) {
        Some(name) if name != key.name() => Err(ApiError::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            key.name()
        ))),
        _ => Ok(()),
    }
}

fn patched(resource: &Resource, old: &Value, body: &PatchBody) -> Result<Value, ApiError> {
    let result = match body {
        PatchBody::Json(patch) => machinery::json::apply(old.clone(), patch),
        PatchBody::Merge(patch) => machinery::merge::apply(old.clone(), patch),
        PatchBody::Strategic(_) if resource.is_custom() => {
            return Err(ApiError::unsupported_media_type(
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
            ));
        }
        PatchBody::Strategic(patch) => {
            machinery::strategic::apply(old.clone(), patch, &resource.merge_type())
        }
        PatchBody::Apply(_) => unreachable!("apply does not come this way"),
    };
    result.map_err(|error| match error {
        PatchError::BadRequest(message) => ApiError::bad_request(message),
        PatchError::TooLarge(message) => ApiError::new(413, "RequestEntityTooLarge", message),
        PatchError::UnsupportedMediaType(message) => ApiError::unsupported_media_type(message),
        PatchError::Unprocessable { detail } => ApiError::unprocessable(detail),
        PatchError::Internal(message) => ApiError::internal(message),
    })
}
