//! Schemas of the kinds that every Kubernetes has, taken from the types of `k8s-openapi`.
//!
//! Nothing is compiled before it is asked for, and then once per process. Definitions such as `ObjectMeta` or `PodSpec` are
//! shared between the kinds that contain them. [`decode`] does to a JSON document what decoding it into Go's types and
//! encoding it again does; start there for how requests are read.

mod decode;
mod definitions;
mod kinds;
mod openapi;

use std::sync::{Arc, OnceLock};

use crate::{fields::Type, schema::Schema};

pub use decode::{DecodeError, decode, decode_at, decode_check};
pub use kinds::{BuiltinKind, find, kinds};
pub use openapi::{OpenApi, definition_name, metadata_definitions, openapi_definitions};

/// The schema of a built-in kind; `group` is empty for core.
pub fn schema(group: &str, version: &str, kind: &str) -> Option<Arc<Schema>> {
    kinds::find(group, version, kind).map(BuiltinKind::schema)
}

/// The shape of a built-in kind for merging and server-side apply.
pub fn merge_type(group: &str, version: &str, kind: &str) -> Option<Arc<Type>> {
    kinds::find(group, version, kind).map(BuiltinKind::merge_type)
}

/// The schema of `metadata`, which custom resources share with built-in kinds.
pub fn object_meta() -> Arc<Schema> {
    static SCHEMA: OnceLock<Arc<Schema>> = OnceLock::new();
    let schema = SCHEMA.get_or_init(|| {
        use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
        definitions::compile(schemars::SchemaGenerator::subschema_for::<ObjectMeta>)
    });
    Arc::clone(schema)
}
