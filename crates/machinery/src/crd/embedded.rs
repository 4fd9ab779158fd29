//! Whole objects inside of a custom resource (`x-kubernetes-embedded-resource`).

use serde_json::{Map, Value};

use super::text;
use crate::{
    builtin::{self, DecodeError},
    error::{FieldError, Path},
    names::{dns_1035_label, metadata},
    schema::{Additional, Schema},
};

/// Reads the metadata of every embedded object below the root, and adds the unknown fields that were dropped.
pub(super) fn decode(
    value: &mut Value,
    schema: &Schema,
    unknown: &mut Vec<String>,
) -> Result<(), DecodeError> {
    decode_below(value, schema, &Path::Root, unknown)
}

fn decode_below(
    value: &mut Value,
    schema: &Schema,
    path: &Path<'_>,
    unknown: &mut Vec<String>,
) -> Result<(), DecodeError> {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                if let Some(field) = schema.field(name).filter(|field| field.has_embedded) {
                    decode_node(value, field, &path.field(name), unknown)?;
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.items.as_deref().filter(|items| items.has_embedded) {
                for (index, item) in items.iter_mut().enumerate() {
                    decode_node(item, schema, &path.index(index), unknown)?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

fn decode_node(
    value: &mut Value,
    schema: &Schema,
    path: &Path<'_>,
    unknown: &mut Vec<String>,
) -> Result<(), DecodeError> {
    if schema.embedded_resource
        && let Some(metadata) = value.get_mut("metadata").filter(|metadata| !metadata.is_null())
    {
        let path = path.field("metadata").to_string();
        let given = metadata.clone();
        let found = builtin::decode_at(metadata, &builtin::object_meta(), &path)
            .map_err(|error| error.prefixed(&format!("{path}: Invalid value: {given}")))?;
        unknown.extend(found);
    }
    decode_below(value, schema, path, unknown)
}

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
    for name in ["apiVersion", "kind"] {
        match object.get(name).and_then(Value::as_str) {
            None => errors.push(FieldError::required(path.field(name), "")),
            Some("") => errors.push(FieldError::required(path.field(name), "must not be empty")),
            Some(_) => {}
        }
    }
    let version = text(object, "apiVersion");
    if version.split('/').count() > 2 {
        let detail = format!("unexpected GroupVersion string: {version}");
        errors.push(FieldError::invalid(path.field("apiVersion"), version, detail));
    }
    let kind = text(object, "kind");
    if !kind.is_empty() {
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
