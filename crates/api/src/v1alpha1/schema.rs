//! Schemas that are not derived.

use schemars::{Schema, SchemaGenerator, json_schema};

/// A Pod template. The whole schema of a Pod would be half a megabyte in each definition; the controller checks the
/// template when it makes Pods of it, and says in a condition what is wrong.
pub(super) fn pod_template(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

/// A list of things the API server checks with the Pod, such as environment variables.
pub(super) fn objects(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
    })
}

/// Conditions, one of each type, so that several writers can keep theirs.
pub(super) fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status", "lastTransitionTime", "reason", "message"],
            "properties": {
                "type": { "type": "string" },
                "status": { "type": "string", "enum": ["True", "False", "Unknown"] },
                "observedGeneration": { "type": "integer", "format": "int64" },
                "lastTransitionTime": { "type": "string", "format": "date-time" },
                "reason": { "type": "string" },
                "message": { "type": "string", "maxLength": 32768 },
            },
        },
    })
}

/// One.
pub(super) const fn one() -> i32 {
    1
}
