//! Patch: JSON, merge, strategic merge, and server-side apply.

use maar_machinery::error::FieldError;
use maar_machinery::patch::{self as machinery, PatchError};
use serde_json::{Value, json};

use super::modify::Changed;
use super::prepare::{decode_body, decode_fields, decode_object, meta_text, metadata};
use super::yaml::decode_yaml;
use super::{ATTEMPTS, Written};
use crate::identity::Ask;
use crate::request::{FieldValidation, WriteOptions};
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
            other => Err(ApiError::unknown_patch_type(format!(
                "the body of the request was in an unknown format ({other:?}): use one of \
                 application/json-patch+json, application/merge-patch+json, \
                 application/strategic-merge-patch+json, application/apply-patch+yaml"
            ))),
        }
    }
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
            return Err(ApiError::invalid_options("PatchOptions", &[error]));
        }
        let change = |old: &Value| {
            let mut object = patched(resource, old, body)?;
            // Whatever is wrong with the result, the patch is to blame.
            let warnings = decode_object(resource, &mut object, options.field_validation)
                .map_err(|error| ApiError::invalid_patch(error.message))?;
            // What is patched names its version, so only a patch that takes it away leaves none.
            if meta_text(&object, "resourceVersion").unwrap_or_default().is_empty() {
                check_unconditional(resource, key)?;
            }
            check_identity(resource, old, &object)?;
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
            return Err(ApiError::invalid_options("PatchOptions", &[error]));
        }
        let mut applied = applied.clone();
        check_applied_type(resource, &applied)?;
        decode_applied(resource, &mut applied)?;
        check_applied(key, &applied)?;
        // Whether to go round is asked of the store: a refusal may say of something else that it is there or is not.
        for _ in 0..ATTEMPTS {
            if self.store.get(key).is_none() {
                if subresource.is_some() {
                    return Err(ApiError::not_found(resource, key.name()));
                }
                if let Some(uid) = meta_text(&applied, "uid").filter(|uid| !uid.is_empty()) {
                    let why = format!(
                        "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                    );
                    return Err(ApiError::conflict(resource, key.name(), why));
                }
                match self.apply_new(caller, resource, key, &applied, options).await {
                    // Somebody created it meanwhile: apply to that.
                    Err(error) if error.is_already_exists() && self.store.get(key).is_some() => continue,
                    result => return result,
                }
            }
            let change = |old: &Value| {
                if meta_text(&applied, "resourceVersion") == Some("") {
                    check_unconditional(resource, key)?;
                }
                let object = self.merge_applied(resource, Some(old), &applied, subresource, options)?;
                Ok(Changed { object, warnings: Vec::new(), fields_settled: true })
            };
            match self.modify(caller, resource, key, subresource, &change, options).await {
                // It was deleted meanwhile: create it.
                Err(error)
                    if error.is_not_found() && subresource.is_none() && self.store.get(key).is_none() => {}
                result => return result,
            }
        }
        Err(ApiError::modified(resource, key.name()))
    }

    pub(super) fn may_create(&self, caller: &Caller, resource: &Resource, key: &Key) -> Result<(), ApiError> {
        let ask = Ask::Resource {
            verb: "create",
            group: &resource.group,
            resource: &resource.plural,
            subresource: "",
            namespace: key.namespace(),
            name: key.name(),
        };
        self.may(&caller.user, &ask)
    }

    async fn apply_new(
        &self,
        caller: &Caller,
        resource: &Resource,
        key: &Key,
        applied: &Value,
        options: &WriteOptions,
    ) -> Result<Written, ApiError> {
        // Whoever may only change objects makes none by changing one that is not there.
        self.may_create(caller, resource, key)?;
        let mut object = self.merge_applied(resource, None, applied, None, options)?;
        metadata(&mut object).insert("name".into(), key.name().into());
        self.create_new(caller, resource, key.namespace(), object, options, true).await
    }
}

fn check_applied_type(resource: &Resource, applied: &Value) -> Result<(), ApiError> {
    let expected = resource.api_version();
    let given = applied.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    let kind = applied.get("kind").and_then(Value::as_str).unwrap_or_default();
    if given != expected || kind != resource.kind {
        return Err(ApiError::bad_request(format!(
            "the applied object is a {kind:?} of {given:?}; a {:?} of {expected:?} is needed here",
            resource.kind
        )));
    }
    Ok(())
}

fn check_applied(key: &Key, applied: &Value) -> Result<(), ApiError> {
    let Some(metadata) = applied.get("metadata").filter(|metadata| metadata.is_object()) else {
        return Err(ApiError::bad_request("what is applied needs metadata with a name"));
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

/// Reads what is applied. The real server takes a type that does not fit, or a field that nobody knows, for a fault of
/// its own, however fields are to be validated.
fn decode_applied(resource: &Resource, applied: &mut Value) -> Result<(), ApiError> {
    decode_fields(resource, applied, FieldValidation::Strict)
        .map(|_| ())
        .map_err(|error| ApiError::unclassified(error.message))
}

/// Refuses a change of whatever is there, where the kind wants a version named.
fn check_unconditional(resource: &Resource, key: &Key) -> Result<(), ApiError> {
    if resource.allows_unconditional_update() {
        return Ok(());
    }
    Err(ApiError::unconditional_update(resource, key.name()))
}

/// A patch does not make another object of it.
fn check_identity(resource: &Resource, old: &Value, new: &Value) -> Result<(), ApiError> {
    let name = meta_text(old, "name").unwrap_or_default();
    let given = meta_text(new, "name").unwrap_or_default();
    if given != name {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({name})"
        )));
    }
    let uid = meta_text(new, "uid").unwrap_or_default();
    if !uid.is_empty() && Some(uid) != meta_text(old, "uid") {
        let error = FieldError::invalid("metadata.uid", uid, "field is immutable");
        return Err(ApiError::invalid(resource, name, &[error]));
    }
    Ok(())
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
        PatchError::Internal(message) => ApiError::unclassified(message),
    })
}
