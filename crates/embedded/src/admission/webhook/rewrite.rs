//! The object as a webhook sees it, and what becomes of it by a patch.

use maar_machinery::patch::{self, PatchError};
use serde_json::Value;

use crate::admission::Attributes;
use crate::hooks::{from_storage, to_storage};
use crate::resource::{Resource, Subresource};
use crate::server::Server;
use crate::status::ApiError;

/// What a webhook cannot change about an object.
const KEPT: [&str; 9] = [
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "resourceVersion",
    "managedFields",
];

/// The object in the version that the webhook wants.
pub(super) fn shown(attributes: &Attributes<'_>, place: &Resource, object: &Value) -> Value {
    if has_own_kind(attributes.subresource) {
        return object.clone();
    }
    let mut shown = from_storage(place, to_storage(attributes.resource, object.clone()));
    if attributes.generated
        && let Some(metadata) = shown.get_mut("metadata").and_then(Value::as_object_mut)
    {
        metadata.remove("name");
    }
    shown
}

/// The object with a patch applied, read as if a client had sent it.
pub(super) fn apply(
    attributes: &Attributes<'_>,
    place: &Resource,
    patch: &Value,
    object: &Value,
) -> Result<Value, ApiError> {
    let seen = shown(attributes, place, object);
    let patched = patch::json::apply(seen, patch).map_err(|error| match error {
        PatchError::Unprocessable { detail } => ApiError::internal(detail),
        other => ApiError::internal(other),
    })?;
    if has_own_kind(attributes.subresource) {
        return Ok(patched);
    }
    let resource = attributes.resource;
    let mut new = from_storage(resource, to_storage(place, patched));
    resource.decode(&mut new).map_err(ApiError::internal)?;
    keep_identity(&mut new, object);
    Server::default(resource, &mut new);
    Ok(new)
}

fn keep_identity(new: &mut Value, object: &Value) {
    let Some(metadata) = new.get_mut("metadata").and_then(Value::as_object_mut) else {
        new["metadata"] = object["metadata"].clone();
        return;
    };
    for field in KEPT {
        match object["metadata"].get(field) {
            Some(value) => metadata.insert(field.to_owned(), value.clone()),
            None => metadata.remove(field),
        };
    }
}

/// Whether what is sent to this part of an object is of another kind than the object.
fn has_own_kind(subresource: Option<Subresource>) -> bool {
    use Subresource::{Attach, Binding, Eviction, Exec, PortForward, Proxy, Scale, Token};
    matches!(subresource, Some(Attach | Binding | Eviction | Exec | PortForward | Proxy | Scale | Token))
}
