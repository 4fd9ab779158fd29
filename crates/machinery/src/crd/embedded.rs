//! Whole objects inside of a custom resource (`x-kubernetes-embedded-resource`).

use serde_json::{Map, Value};

use super::text;
use crate::{
    error::{FieldError, Path},
    names::{dns_1035_label, metadata},
    schema::{Additional, Schema},
};

/// Complaints about every embedded object below the root, which is judged elsewhere.
pub(super) fn check(value: &Value, schema: &Schema) -> Vec<FieldError> {
    let mut errors = Vec::new();
    below(value, schema, &Path::Root, &mut errors);
    errors
}

fn below(value: &Value, schema: &Schema, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                if let Some(property) = schema.properties.get(name) {
                    node(value, property, &path.field(name), errors);
                } else if let Additional::Schema(entry) = &schema.additional {
                    node(value, entry, &path.key(name), errors);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.items.as_deref() {
                for (index, item) in items.iter().enumerate() {
                    node(item, schema, &path.index(index), errors);
                }
            }
        }
        _ => {}
    }
}

fn node(value: &Value, schema: &Schema, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if let Some(object) = value.as_object()
        && schema.embedded_resource
    {
        check_object(object, path, errors);
    }
    below(value, schema, path, errors);
}

fn check_object(object: &Map<String, Value>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let version = text(object, "apiVersion");
    if version.is_empty() {
        errors.push(FieldError::required(path.field("apiVersion"), "must not be empty"));
    } else if version.split('/').count() > 2 {
        let detail = "must be <group>/<version> or <version>";
        errors.push(FieldError::invalid(path.field("apiVersion"), version, detail));
    }
    let kind = text(object, "kind");
    if kind.is_empty() {
        errors.push(FieldError::required(path.field("kind"), "must not be empty"));
    } else {
        let complaints = dns_1035_label(&kind.to_lowercase());
        if !complaints.is_empty() {
            let detail = format!("may have mixed case, but should otherwise match: {}", complaints.join(","));
            errors.push(FieldError::invalid(path.field("kind"), kind, detail));
        }
    }
    for (name, check) in [
        ("labels", metadata::validate_labels as fn(&Map<String, Value>, &Path<'_>, &mut Vec<FieldError>)),
        ("annotations", metadata::validate_annotations),
    ] {
        if let Some(entries) =
            object.get("metadata").and_then(|meta| meta.get(name)).and_then(Value::as_object)
        {
            check(entries, &path.field("metadata").field(name), errors);
        }
    }
}
