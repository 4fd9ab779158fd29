//! Schemas of the kinds that every Kubernetes has, taken from the types of `k8s-openapi`.
//!
//! Nothing is compiled before it is asked for, and then once per process. Definitions such as `ObjectMeta` or `PodSpec` are
//! shared between the kinds that contain them. [`decode`] does to a JSON document what decoding it into Go's types and
//! encoding it again does; start there for how requests are read.

mod decode;
mod definitions;
mod kinds;

use std::sync::{Arc, OnceLock};

use crate::schema::Schema;

pub use decode::{DecodeError, decode, decode_check};
pub use kinds::{BuiltinKind, kinds};

/// The schema of a built-in kind; `group` is empty for core.
pub fn schema(group: &str, version: &str, kind: &str) -> Option<Arc<Schema>> {
    kinds::find(group, version, kind).map(BuiltinKind::schema)
}

/// The schema of `metadata`, which custom resources share with built-in kinds.
pub fn object_meta() -> Arc<Schema> {
    static SCHEMA: OnceLock<Arc<Schema>> = OnceLock::new();
    let schema = SCHEMA.get_or_init(|| {
        use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
        definitions::compile(|generator| generator.subschema_for::<ObjectMeta>())
    });
    Arc::clone(schema)
}
