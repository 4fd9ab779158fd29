//! Who owns which field: keeps `metadata.managedFields` as server-side apply needs it.

use std::sync::OnceLock;

use maar_machinery::apply;
use maar_machinery::fields::Set;
use serde_json::{Value, json};

use crate::request::WriteOptions;
use crate::resource::{Resource, Subresource};
use crate::server::{Caller, Server};
use crate::status::ApiError;

impl Server {
    /// Records that the caller owns what this write changed.
    pub(crate) fn own_fields(
        &self,
        caller: &Caller,
        resource: &Resource,
        old: Option<&Value>,
        new: &mut Value,
        subresource: Option<Subresource>,
        options: &WriteOptions,
    ) {
        let manager = options.field_manager.as_deref().unwrap_or(&caller.manager);
        apply::update(
            old,
            new,
            &resource.merge_type(),
            &apply::Request {
                manager,
                api_version: &resource.api_version(),
                subresource: subresource.map_or("", Subresource::name),
                now: self.world.clock.now(),
                ignored: reset_fields(resource, subresource),
            },
        );
    }

    /// The stored object with an applied configuration merged in, its managed fields settled.
    pub(crate) fn merge_applied(
        &self,
        resource: &Resource,
        old: Option<&Value>,
        applied: &Value,
        subresource: Option<Subresource>,
        options: &WriteOptions,
    ) -> Result<Value, ApiError> {
        let request = apply::Request {
            manager: options.field_manager.as_deref().unwrap_or_default(),
            api_version: &resource.api_version(),
            subresource: subresource.map_or("", Subresource::name),
            now: self.world.clock.now(),
            ignored: reset_fields(resource, subresource),
        };
        apply::apply(old, applied, &resource.merge_type(), &request, options.force)
            .map_err(|error| apply_error(&error))
    }
}

/// What an endpoint puts back as it was, so that nobody comes to own it by writing there.
fn reset_fields(resource: &Resource, subresource: Option<Subresource>) -> Option<&'static Set> {
    static STATUS: OnceLock<Set> = OnceLock::new();
    static SPECIFICATION: OnceLock<Set> = OnceLock::new();
    static CUSTOM: OnceLock<Set> = OnceLock::new();
    static POD: OnceLock<Set> = OnceLock::new();
    static REQUEST: OnceLock<Set> = OnceLock::new();
    match subresource {
        Some(Subresource::Status) if resource.is_custom() => {
            Some(CUSTOM.get_or_init(|| Set::of_fields(&[&["spec"], &["metadata"]])))
        }
        Some(Subresource::Status) if resource.is("pods") => Some(POD.get_or_init(|| {
            Set::of_fields(&[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]])
        })),
        Some(Subresource::Status) => Some(SPECIFICATION.get_or_init(|| Set::of_fields(&[&["spec"]]))),
        // A request for a certificate is its requestor's, whoever sent it.
        None if resource.is("certificatesigningrequests.certificates.k8s.io") => {
            Some(REQUEST.get_or_init(|| Set::of_fields(&[&["spec"], &["status"]])))
        }
        None if resource.has(Subresource::Status) => {
            Some(STATUS.get_or_init(|| Set::of_fields(&[&["status"]])))
        }
        _ => None,
    }
}

fn apply_error(error: &apply::ApplyError) -> ApiError {
    let reason = match error.code() {
        409 => "Conflict",
        400 => "BadRequest",
        // Not foreseen to be the client's fault.
        _ => "",
    };
    let mut status = ApiError::new(error.code(), reason, error.to_string());
    let cause = |conflict: &apply::Conflict| json!({"reason": "FieldManagerConflict", "message": conflict.message(), "field": conflict.field()});
    let causes: Vec<Value> = error.conflicts().iter().map(cause).collect();
    if !causes.is_empty() {
        status.details = Some(json!({"causes": causes}));
    }
    status
}
