//! From a version's document to the version.

use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use super::{FieldPath, Identity, Scale, SelectableField, Version};
use crate::{
    crd::{PrinterColumn, column, defaults, flag, keywords, structural, text},
    error::{FieldError, Path},
    schema::{Compiler, Schema, check_costs},
};

/// Where the parts of a version stand in messages: what all versions have alike is said to stand above them, since that is
/// how the definition is read.
pub(in crate::crd) struct Place {
    version: String,
    schema: String,
    subresources: String,
    columns: String,
    selectable_fields: String,
}

impl Place {
    pub(in crate::crd) fn new(versions: &[Value], spec: &Path<'_>, version: &Path<'_>) -> Self {
        let place = |name: &str, above: &str| {
            let first =
                versions.first().and_then(|version| version.get(name)).filter(|value| !value.is_null());
            let alike = first.is_some() && versions.iter().all(|version| version.get(name) == first);
            if alike { spec.field(above).to_string() } else { version.field(name).to_string() }
        };
        Self {
            version: version.to_string(),
            schema: place("schema", "validation"),
            subresources: place("subresources", "subresources"),
            columns: place("additionalPrinterColumns", "additionalPrinterColumns"),
            selectable_fields: place("selectableFields", "selectableFields"),
        }
    }
}

pub(in crate::crd) fn compile(
    document: &Map<String, Value>,
    group: &str,
    kind: &str,
    place: &Place,
    errors: &mut Vec<FieldError>,
) -> Option<Version> {
    let empty = Map::new();
    let subresources = document.get("subresources").and_then(Value::as_object).unwrap_or(&empty);
    let status = subresources.get("status").is_some_and(|status| !status.is_null());
    check_deprecation(document, &Path::Text(&place.version), errors);
    let schema_document = document.get("schema").and_then(|schema| schema.get("openAPIV3Schema"));
    let schema = compile_schema(schema_document, status, &Path::Text(&place.schema), errors);
    let scale = subresources.get("scale").and_then(Value::as_object);
    let scale = scale.map(|scale| compile_scale(scale, &Path::Text(&place.subresources), errors));
    let columns = compile_columns(document, &Path::Text(&place.columns), errors);
    let selectable_fields =
        compile_selectable_fields(document, &Path::Text(&place.selectable_fields), errors);
    if !errors.is_empty() {
        return None;
    }
    let name = text(document, "name").to_owned();
    let schema = schema?;
    let costs = check_costs(&schema, &Path::Text(&place.schema).field("openAPIV3Schema"));
    Some(Version {
        costs,
        served: flag(document, "served"),
        storage: flag(document, "storage"),
        deprecation: deprecation(document, group, kind),
        schema: Arc::new(schema),
        document: schema_document.cloned().unwrap_or_default(),
        status,
        scale,
        columns,
        selectable_fields,
        identity: Identity { api_version: format!("{group}/{name}"), kind: kind.to_owned() },
        merge_type: OnceLock::new(),
        name,
    })
}

fn compile_schema(
    document: Option<&Value>,
    status: bool,
    path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) -> Option<Schema> {
    let path = path.field("openAPIV3Schema");
    let Some(document) = document.filter(|document| document.is_object()) else {
        errors.push(FieldError::required(path, ""));
        return None;
    };
    let before = errors.len();
    if status {
        keywords::check_root(document, &path, errors);
    }
    if document.get("nullable") == Some(&Value::Bool(true)) {
        errors.push(FieldError::forbidden(path.field("nullable"), "nullable cannot be true at the root"));
    }
    errors.extend(structural::check(document, &path));
    errors.extend(keywords::check(document, &path));
    if errors.len() > before {
        return None;
    }
    let mut compiler = Compiler::new(|_| None);
    let schema = compiler.resource(document, &path);
    errors.extend(compiler.finish().err().unwrap_or_default());
    errors.extend(defaults::check(&schema, &path));
    (errors.len() == before).then_some(schema)
}

fn check_deprecation(document: &Map<String, Value>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let Some(warning) = document.get("deprecationWarning").and_then(Value::as_str) else { return };
    let path = path.field("deprecationWarning");
    let mut complain = |detail: &str| errors.push(FieldError::invalid(path, warning, detail));
    if !flag(document, "deprecated") {
        complain("can only be set for deprecated versions");
    } else if warning.is_empty() {
        complain("must not be an empty string");
    } else if warning.len() > 256 {
        complain("must be <= 256 characters long");
    } else if warning.contains(char::is_control) {
        complain("must only contain printable UTF-8 characters");
    }
}

fn deprecation(document: &Map<String, Value>, group: &str, kind: &str) -> Option<String> {
    if !flag(document, "deprecated") {
        return None;
    }
    let warning = document.get("deprecationWarning").and_then(Value::as_str);
    Some(
        warning.map_or_else(
            || format!("{group}/{} {kind} is deprecated", text(document, "name")),
            str::to_owned,
        ),
    )
}

fn compile_scale(scale: &Map<String, Value>, path: &Path<'_>, errors: &mut Vec<FieldError>) -> Scale {
    let mut read = |name: &str, roots: &[&str], place: &str| {
        let value = text(scale, name);
        let path = path.field("scale");
        let path = path.field(name);
        if value.is_empty() {
            errors.push(FieldError::required(path, ""));
        } else if !value.starts_with('.') {
            errors.push(FieldError::invalid(path, value, "must be a simple json path starting with ."));
        } else if !roots.iter().any(|root| value.starts_with(root)) {
            errors.push(FieldError::invalid(path, value, format!("should be a json path under {place}")));
        }
        FieldPath::new(value)
    };
    Scale {
        spec_replicas: read("specReplicasPath", &[".spec."], ".spec"),
        status_replicas: read("statusReplicasPath", &[".status."], ".status"),
        label_selector: (!text(scale, "labelSelectorPath").is_empty())
            .then(|| read("labelSelectorPath", &[".spec.", ".status."], "either .spec or .status")),
    }
}

fn compile_columns(
    document: &Map<String, Value>,
    path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) -> Vec<PrinterColumn> {
    let columns = document.get("additionalPrinterColumns").and_then(Value::as_array);
    let columns: Vec<PrinterColumn> = columns
        .into_iter()
        .flatten()
        .enumerate()
        .filter_map(|(index, column)| Some(column::compile(column.as_object()?, &path.index(index), errors)))
        .collect();
    if columns.is_empty() { vec![PrinterColumn::age()] } else { columns }
}

fn compile_selectable_fields(
    document: &Map<String, Value>,
    path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) -> Vec<SelectableField> {
    let mut fields: Vec<SelectableField> = Vec::new();
    let documents = document.get("selectableFields").and_then(Value::as_array);
    for (index, field) in documents.into_iter().flatten().enumerate() {
        let path = path.index(index);
        let path = path.field("jsonPath");
        let value = field.get("jsonPath").and_then(Value::as_str).unwrap_or_default();
        if value.is_empty() {
            errors.push(FieldError::required(path, ""));
            continue;
        }
        let field =
            SelectableField { name: value.trim_start_matches('.').to_owned(), path: FieldPath::new(value) };
        if let Some(detail) = unselectable(value, &field, document) {
            errors.push(FieldError::invalid(path, value, detail));
        } else if fields.contains(&field) {
            errors.push(FieldError::duplicate(path, value));
        } else {
            fields.push(field);
        }
    }
    if fields.len() > 8 {
        errors.push(FieldError::too_many(path, fields.len() as u64, 8));
    }
    fields
}

/// Why lists cannot be filtered by a field. The schema is read as it was written, without the fields that go unsaid.
fn unselectable(path: &str, field: &SelectableField, document: &Map<String, Value>) -> Option<String> {
    let first = field.path.0.first().map(String::as_str).unwrap_or_default();
    if !path.starts_with('.') {
        return Some(format!("is an invalid path: expected [ or . but got: {first}"));
    }
    if path.contains('[') {
        return Some("is an invalid path: array notation is not allowed".to_owned());
    }
    let schema = document.get("schema").and_then(|schema| schema.get("openAPIV3Schema"))?;
    let found = field.path.0.iter().try_fold(schema, |schema, name| match schema.get("properties") {
        Some(properties) => properties.get(name),
        None => schema.get("additionalProperties"),
    });
    let Some(found) = found else {
        return Some("is an invalid path: does not refer to a valid field".to_owned());
    };
    if first == "metadata" {
        return Some("must not point to fields in metadata".to_owned());
    }
    let kind = found.get("type").and_then(Value::as_str);
    (!matches!(kind, Some("string" | "boolean" | "integer")))
        .then(|| "must point to a field of type string, boolean or integer".to_owned())
}
