//! Keywords of a schema that are not supported, or only together with others.

mod lists;
mod rules;

use serde_json::{Map, Value};

use super::{flag, text};
use crate::{
    error::{FieldError, Path, quote},
    schema::{Format, Kind},
};

/// Where in the schema a walk stands, as far as keywords care.
#[derive(Clone, Copy, Default)]
struct Place {
    root: bool,
    /// Inside of `metadata`, `apiVersion` or `kind` of an object.
    in_metadata: bool,
    /// Why defaults are not allowed here.
    no_defaults: Option<&'static str>,
}

/// Complaints about the keywords of a whole schema.
pub(super) fn check(schema: &Value, path: &Path<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    node(schema, Place { root: true, ..Place::default() }, path, &mut errors);
    errors
}

fn node(schema: &Value, place: Place, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let Some(schema) = schema.as_object() else { return };
    unsupported(schema, place, path, errors);
    if flag(schema, "uniqueItems") {
        let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(FieldError::forbidden(path.field("uniqueItems"), detail));
    }
    additional(schema, place, path, errors);
    properties(schema, place, path, errors);
    let below = Place { root: false, ..place };
    if let Some(not) = schema.get("not") {
        node(not, below, &path.field("not"), errors);
    }
    for keyword in ["allOf", "oneOf", "anyOf"] {
        let path = path.field(keyword);
        for (index, branch) in schema.get(keyword).and_then(Value::as_array).into_iter().flatten().enumerate()
        {
            node(branch, below, &path.index(index), errors);
        }
    }
    if let Some(items) = schema.get("items") {
        node(items, below, &path.field("items"), errors);
    }
    if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        let path = path.field("x-kubernetes-preserve-unknown-fields");
        errors.push(FieldError::invalid(path, false, "must be true or undefined"));
    }
    lists::check(schema, path, errors);
    rules::check(schema, path, errors);
}

fn unsupported(schema: &Map<String, Value>, place: Place, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
    const KEYWORDS: [&str; 6] =
        ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"];
    match text(schema, "type") {
        "" => {}
        "null" => {
            let detail = "type cannot be set to null, use nullable as an alternative";
            errors.push(FieldError::forbidden(path.field("type"), detail));
            errors.push(FieldError::not_supported(path.field("type"), "null", TYPES));
        }
        kind if !TYPES.contains(&kind) => {
            errors.push(FieldError::not_supported(path.field("type"), kind, TYPES));
        }
        _ => {}
    }
    if let Some(reason) = place.no_defaults
        && schema.get("default").is_some_and(|default| !default.is_null())
    {
        let detail = format!("must not be set {reason}");
        errors.push(FieldError::forbidden(path.field("default"), detail));
    }
    for keyword in KEYWORDS {
        let empty =
            |value: &Value| value.as_object().is_some_and(Map::is_empty) || value.as_str() == Some("");
        if schema.get(keyword).is_some_and(|value| !value.is_null() && !empty(value)) {
            errors.push(FieldError::forbidden(path.field(keyword), format!("{keyword} is not supported")));
        }
    }
    if schema.get("items").is_some_and(Value::is_array) {
        let detail = "items must be a schema object and not an array";
        errors.push(FieldError::forbidden(path.field("items"), detail));
    }
    if place.in_metadata && flag(schema, "x-kubernetes-embedded-resource") {
        let path = path.field("x-kubernetes-embedded-resource");
        errors.push(FieldError::forbidden(path, "must not be used inside of resource meta"));
    }
}

fn additional(schema: &Map<String, Value>, place: Place, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let Some(additional) = schema.get("additionalProperties") else { return };
    let path = path.field("additionalProperties");
    let has_properties =
        schema.get("properties").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
    if has_properties && *additional != Value::Bool(true) {
        let detail = "additionalProperties and properties are mutual exclusive";
        errors.push(FieldError::forbidden(path, detail));
    }
    let reason = "inside additionalProperties applying to object metadata";
    let no_defaults = if place.in_metadata { Some(reason) } else { place.no_defaults };
    node(additional, Place { root: false, no_defaults, ..place }, &path, errors);
}

fn properties(schema: &Map<String, Value>, place: Place, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let path = path.field("properties");
    let is_object = place.root || flag(schema, "x-kubernetes-embedded-resource");
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let mut below = Place { root: false, ..place };
        let top_level = match name.as_str() {
            "metadata" => "in top-level metadata",
            "kind" => "in top-level kind",
            "apiVersion" => "in top-level apiVersion",
            _ => "",
        };
        if is_object && !top_level.is_empty() {
            below.in_metadata = true;
            if place.root {
                below.no_defaults = Some(top_level);
            }
        }
        node(property, below, &path.key(name), errors);
    }
}

/// The keywords that may stand at the root of a schema whose `status` is a subresource of its own.
pub(super) fn check_root(schema: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    const ALLOWED: [&str; 22] = [
        "description",
        "type",
        "format",
        "title",
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
        "maxLength",
        "minLength",
        "pattern",
        "maxItems",
        "minItems",
        "uniqueItems",
        "multipleOf",
        "required",
        "items",
        "properties",
        "externalDocs",
        "example",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-validations",
    ];
    let Some(document) = schema.as_object() else { return };
    if !matches!(text(document, "type"), "" | "object") {
        let detail = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        errors.push(FieldError::invalid(path.field("type"), text(document, "type"), detail));
    } else if document.keys().any(|key| !ALLOWED.contains(&key.as_str())) {
        let detail = format!(
            "only these keywords are allowed at the root of the schema if the status subresource is enabled: {}",
            ALLOWED.join(", ")
        );
        errors.push(FieldError::invalid(path, schema.clone(), detail));
    }
}

/// A warning for each format that means nothing, and so restricts nothing.
pub(super) fn unknown_formats(schema: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut places = vec![schema];
    while let Some(place) = places.pop() {
        match place {
            Value::Object(map) => {
                let kind = match text(map, "type") {
                    "string" => Some(Kind::String),
                    "integer" => Some(Kind::Integer),
                    "number" => Some(Kind::Number),
                    "" => Some(Kind::Any),
                    _ => None,
                };
                let format = text(map, "format");
                let known = kind.is_some_and(|kind| Format::parse(format, kind).is_some());
                if !format.is_empty() && !known {
                    warnings.push(format!("unrecognized format {}", quote(format)));
                }
                places.extend(
                    map.iter()
                        .filter(|(name, _)| *name != "default" && *name != "enum")
                        .map(|(_, value)| value),
                );
            }
            Value::Array(items) => places.extend(items),
            _ => {}
        }
    }
    warnings
}
