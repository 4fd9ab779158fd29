//! The fields that every Kubernetes object has and that schemas of custom resources leave unsaid.

use super::{Child, Kind, Properties, Schema};
use crate::builtin;

/// Gives an object's schema the fields `apiVersion`, `kind` and `metadata`.
///
/// What the schema says itself about `metadata` (limits on `name` and `generateName`, no more) stays in force.
pub(super) fn add_object_fields(schema: &mut Schema) {
    for name in ["apiVersion", "kind"] {
        if schema.properties.get(name).is_none() {
            schema.properties.insert(name, Schema { kind: Kind::String, ..Schema::default() }.into());
        }
    }
    let standard = builtin::object_meta();
    let metadata = match schema.properties.child("metadata") {
        Some(Child::Own(limits)) => Child::from(restricted(&standard, limits)),
        Some(Child::Shared(_)) | None => Child::Own(standard),
    };
    schema.properties.insert("metadata", metadata);
}

fn restricted(standard: &Schema, limits: &Schema) -> Schema {
    let fields = standard.properties.children().map(|(name, child)| {
        let child = limits.properties.child(name).unwrap_or(child);
        (name.into(), child.clone())
    });
    Schema {
        kind: Kind::Object,
        name: standard.name.clone(),
        properties: fields.collect::<Properties>(),
        required: limits.required.clone(),
        ..Schema::default()
    }
}
