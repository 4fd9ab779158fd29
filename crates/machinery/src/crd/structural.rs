//! Whether a schema is structural: every part of a value has one place in the schema that gives its type, and conditions
//! (`allOf`, `anyOf`, `oneOf`, `not`) only add limits to it. Pruning and defaulting rest on that.

use serde_json::{Map, Value, json};

use super::{flag, text};
use crate::{
    error::{FieldError, Path},
    schema::Pattern,
};

/// Complaints about a schema, sorted.
pub(super) fn check(schema: &Value, path: &Path<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(schema) = schema.as_object() {
        node(schema, Level::Root, path, &mut errors);
        complete(schema, schema, path, path, &mut errors);
    }
    errors.sort_by_cached_key(ToString::to_string);
    errors
}

#[derive(Clone, Copy, PartialEq)]
enum Level {
    Root,
    Item,
    Field,
}

fn node(schema: &Map<String, Value>, level: Level, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    match schema.get("items") {
        Some(Value::Object(items)) => node(items, Level::Item, &path.field("items"), errors),
        None if text(schema, "type") == "array" => {
            errors.push(FieldError::required(path.field("items"), "must be specified"));
        }
        _ => {}
    }
    let properties = path.field("properties");
    for (name, property) in objects(schema, "properties") {
        node(property, Level::Field, &properties.key(name), errors);
    }
    if let Some(additional) = schema.get("additionalProperties") {
        let path = path.field("additionalProperties");
        if level == Level::Root {
            errors.push(FieldError::forbidden(path, "must not be used at the root"));
        }
        if let Value::Object(additional) = additional {
            node(additional, Level::Field, &path, errors);
        }
    }
    extensions(schema, path, errors);
    let skip_any_of = is_int_or_string(schema.get("anyOf"));
    let first = schema.get("allOf").and_then(|all| all.get(0)).and_then(|first| first.get("anyOf"));
    conditions(schema, skip_any_of, is_int_or_string(first), path, errors);
    kind(schema, level, path, errors);
    if level == Level::Root || flag(schema, "x-kubernetes-embedded-resource") {
        object_fields(schema, level, path, errors);
    }
}

fn extensions(schema: &Map<String, Value>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if flag(schema, "x-kubernetes-int-or-string") {
        for name in ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"] {
            if flag(schema, name) {
                let detail = "must be false if x-kubernetes-int-or-string is true";
                errors.push(FieldError::invalid(path.field(name), true, detail));
            }
        }
    }
}

fn kind(schema: &Map<String, Value>, level: Level, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let kind = text(schema, "type");
    let embedded = flag(schema, "x-kubernetes-embedded-resource");
    let preserving = flag(schema, "x-kubernetes-preserve-unknown-fields");
    let open = preserving || flag(schema, "x-kubernetes-int-or-string");
    let type_path = path.field("type");
    match kind {
        "object" => {}
        "" if embedded => {
            let detail = "must be object if x-kubernetes-embedded-resource is true";
            errors.push(FieldError::required(type_path, detail));
        }
        other if embedded => {
            let detail = "must be object if x-kubernetes-embedded-resource is true";
            errors.push(FieldError::invalid(type_path, other, detail));
        }
        // A reference is refused as such.
        "" if !open && !schema.contains_key("$ref") => {
            let place = match level {
                Level::Root => "at the root",
                Level::Item => "for specified array items",
                Level::Field => "for specified object fields",
            };
            errors.push(FieldError::required(type_path, format!("must not be empty {place}")));
        }
        _ => {}
    }
    if level == Level::Root && !matches!(kind, "" | "object") {
        errors.push(FieldError::invalid(type_path, kind, "must be object at the root"));
    }
    if embedded && schema.contains_key("additionalProperties") {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(FieldError::forbidden(path.field("additionalProperties"), detail));
    }
    if embedded && !preserving && objects(schema, "properties").next().is_none() {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                      x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(path.field("properties"), detail));
    }
}

/// `apiVersion`, `kind` and `metadata` have fixed types; at the root, metadata may only limit names.
fn object_fields(schema: &Map<String, Value>, level: Level, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let properties = path.field("properties");
    for (name, want) in [("kind", "string"), ("apiVersion", "string"), ("metadata", "object")] {
        let Some(property) =
            schema.get("properties").and_then(|all| all.get(name)).and_then(Value::as_object)
        else {
            continue;
        };
        let path = properties.key(name);
        if text(property, "type") != want {
            let detail = format!("must be {want}");
            errors.push(FieldError::invalid(path.field("type"), text(property, "type"), detail));
        }
        if name == "metadata" && level == Level::Root {
            let limits_only =
                objects(property, "properties").all(|(name, _)| matches!(name, "name" | "generateName"));
            let quiet = property.keys().all(|key| matches!(key.as_str(), "type" | "properties" | "default"));
            if !limits_only || !quiet {
                let detail = "must not specify anything other than name and generateName, but metadata is \
                              implicitly specified";
                errors.push(FieldError::forbidden(path, detail));
            }
        }
    }
}

/// The conditions of a node, and the pattern that goes with them.
fn conditions(
    schema: &Map<String, Value>,
    skip_any_of: bool,
    skip_first_all_of: bool,
    path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    if !skip_any_of {
        for (index, branch) in branches(schema, "anyOf") {
            nested(branch, false, &path.field("anyOf").index(index), errors);
        }
    }
    for (index, branch) in branches(schema, "allOf") {
        nested(branch, skip_first_all_of && index == 0, &path.field("allOf").index(index), errors);
    }
    for (index, branch) in branches(schema, "oneOf") {
        nested(branch, false, &path.field("oneOf").index(index), errors);
    }
    if let Some(not) = schema.get("not").and_then(Value::as_object) {
        nested(not, false, &path.field("not"), errors);
    }
    let pattern = text(schema, "pattern");
    if !pattern.is_empty()
        && let Err(error) = Pattern::new(pattern)
    {
        let detail = format!("must be a valid regular expression, but isn't: {error}");
        errors.push(FieldError::invalid(path.field("pattern"), pattern, detail));
    }
}

/// A schema inside of a condition, which may limit values and nothing else.
fn nested(schema: &Map<String, Value>, skip_any_of: bool, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    const FORBIDDEN: [(&str, &str); 12] = [
        ("type", "must be empty to be structural"),
        ("additionalProperties", "must be undefined to be structural"),
        ("default", "must be undefined to be structural"),
        ("title", "must be empty to be structural"),
        ("description", "must be empty to be structural"),
        ("nullable", "must be false to be structural"),
        ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
        ("x-kubernetes-embedded-resource", "must be false to be structural"),
        ("x-kubernetes-int-or-string", "must be false to be structural"),
        ("x-kubernetes-list-map-keys", "must be empty to be structural"),
        ("x-kubernetes-list-type", "must be undefined to be structural"),
        ("x-kubernetes-map-type", "must be undefined to be structural"),
    ];
    conditions(schema, skip_any_of, false, path, errors);
    if let Some(items) = schema.get("items").and_then(Value::as_object) {
        nested(items, false, &path.field("items"), errors);
    }
    let properties = path.field("properties");
    for (name, property) in objects(schema, "properties") {
        let path = properties.key(name);
        nested(property, false, &path, errors);
        if name == "metadata" {
            errors.push(FieldError::forbidden(path, "must not be specified in a nested context"));
        }
    }
    for (name, detail) in FORBIDDEN {
        let empty = |value: &Value| *value == json!("") || *value == json!(false) || *value == json!([]);
        if schema.get(name).is_some_and(|value| !value.is_null() && !empty(value)) {
            errors.push(FieldError::forbidden(path.field(name), detail));
        }
    }
    if schema.get("x-kubernetes-validations").and_then(Value::as_array).is_some_and(|rules| !rules.is_empty())
    {
        errors.push(FieldError::forbidden(
            path.field("x-kubernetes-validations"),
            "must be empty to be structural",
        ));
    }
}

/// Every field that a condition speaks of must stand in the schema itself.
fn complete(
    condition: &Map<String, Value>,
    schema: &Map<String, Value>,
    path: &Path<'_>,
    condition_path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let keyword_path = condition_path.field(keyword);
        for (index, branch) in branches(condition, keyword) {
            complete_nested(branch, schema, path, &keyword_path.index(index), errors);
        }
    }
    if let Some(not) = condition.get("not").and_then(Value::as_object) {
        complete_nested(not, schema, path, &condition_path.field("not"), errors);
    }
}

fn complete_nested(
    condition: &Map<String, Value>,
    schema: &Map<String, Value>,
    path: &Path<'_>,
    condition_path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    complete(condition, schema, path, condition_path, errors);
    if let Some(items) = condition.get("items").and_then(Value::as_object) {
        let (path, condition_path) = (path.field("items"), condition_path.field("items"));
        match schema.get("items").and_then(Value::as_object) {
            Some(schema) => complete_nested(items, schema, &path, &condition_path, errors),
            None => errors.push(missing(&path, &condition_path)),
        }
    }
    let (path, condition_path) = (path.field("properties"), condition_path.field("properties"));
    for (name, property) in objects(condition, "properties") {
        let (path, condition_path) = (path.key(name), condition_path.key(name));
        match schema.get("properties").and_then(|all| all.get(name)).and_then(Value::as_object) {
            Some(schema) => complete_nested(property, schema, &path, &condition_path, errors),
            None => errors.push(missing(&path, &condition_path)),
        }
    }
}

fn missing(path: &Path<'_>, condition_path: &Path<'_>) -> FieldError {
    FieldError::required(path, format!("because it is defined in {condition_path}"))
}

/// The one condition that may name types: a number or a text.
fn is_int_or_string(any_of: Option<&Value>) -> bool {
    any_of.is_some_and(|any_of| *any_of == json!([{"type": "integer"}, {"type": "string"}]))
}

fn objects<'a>(
    schema: &'a Map<String, Value>,
    name: &str,
) -> impl Iterator<Item = (&'a str, &'a Map<String, Value>)> {
    let entries = schema.get(name).and_then(Value::as_object);
    entries.into_iter().flatten().filter_map(|(name, value)| Some((name.as_str(), value.as_object()?)))
}

fn branches<'a>(
    schema: &'a Map<String, Value>,
    name: &str,
) -> impl Iterator<Item = (usize, &'a Map<String, Value>)> {
    let entries = schema.get(name).and_then(Value::as_array);
    entries.into_iter().flatten().enumerate().filter_map(|(index, value)| Some((index, value.as_object()?)))
}
