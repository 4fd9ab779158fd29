//! The documents on their own: complete, and in the shape that kubectl looks for.

use std::collections::BTreeSet;

use maar_machinery::builtin::OpenApi;
use serde_json::Value;

use super::assemble::{Served, version_three, version_two};
use super::protobuf;
use crate::resource::{Registry, TRANSIENTS};

/// Every built-in group version.
fn everything() -> Vec<Served> {
    let registry = Registry::builtin();
    let stored = registry.iter().map(|it| (it.group.as_str(), it.version.as_str()));
    let names: BTreeSet<(&str, &str)> = stored.chain(TRANSIENTS.iter().map(|it| (it.group, "v1"))).collect();
    let of = |group: &str, version: &str| {
        registry.iter().filter(|it| it.group == group && it.version == version).cloned().collect()
    };
    names.iter().map(|(group, version)| Served::new(of(group, version), group, version)).collect()
}

fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(reference)) = map.get("$ref") {
                found.push(reference);
            }
            map.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

fn assert_whole(document: &Value, definitions: &Value, prefix: &str) {
    let mut found = Vec::new();
    references(document, &mut found);
    assert!(!found.is_empty());
    for reference in found {
        let name = reference.strip_prefix(prefix).unwrap_or_else(|| panic!("{reference}"));
        assert!(definitions.get(name).is_some(), "{name} is referred to and not defined");
    }
}

#[test]
fn no_reference_leads_nowhere() {
    let served = everything();
    for part in &served {
        let document = version_three(part);
        assert_whole(&document, &document["components"]["schemas"], "#/components/schemas/");
    }
    let document = version_two(&served);
    assert_whole(&document, &document["definitions"], "#/definitions/");
}

#[test]
fn every_stored_kind_can_be_patched_with_field_validation_and_is_defined() {
    for served in everything() {
        let paths = served.paths(OpenApi::V3);
        let definitions = served.definitions(OpenApi::V3);
        for resource in &served.resources {
            let kind = serde_json::json!({
                "group": resource.group, "version": resource.version, "kind": resource.kind,
            });
            let patch = paths.values().map(|item| &item["patch"]).find(|call| {
                call["x-kubernetes-group-version-kind"] == kind && call["x-kubernetes-action"] == "patch"
            });
            let parameters = patch.unwrap_or_else(|| panic!("{kind}"))["parameters"].as_array().cloned();
            assert!(
                parameters.into_iter().flatten().any(|it| it["name"] == "fieldValidation"),
                "{kind} has no field validation"
            );
            let marked = definitions.values().any(|definition| {
                definition["x-kubernetes-group-version-kind"]
                    .as_array()
                    .is_some_and(|kinds| kinds.contains(&kind))
            });
            assert!(marked, "{kind} is not defined");
        }
    }
}

#[test]
fn calls_are_named_as_generated_clients_know_them() {
    let paths: Vec<(String, Value)> =
        everything().iter().flat_map(|served| served.paths(OpenApi::V2)).collect();
    let ids: BTreeSet<&str> = paths
        .iter()
        .flat_map(|(_, item)| item.as_object().into_iter().flat_map(|calls| calls.values()))
        .filter_map(|call| call["operationId"].as_str())
        .collect();
    for id in [
        "listCoreV1NamespacedPod",
        "listCoreV1PodForAllNamespaces",
        "createAppsV1NamespacedDeployment",
        "patchAppsV1NamespacedDeploymentScale",
        "replaceCoreV1NamespaceFinalize",
        "readRbacAuthorizationV1ClusterRole",
        "deleteBatchV1CollectionNamespacedJob",
        "createAuthorizationV1NamespacedLocalSubjectAccessReview",
    ] {
        assert!(ids.contains(id), "{id}");
    }
}

/// The keywords that `protobuf` writes.
const WRITTEN: [&str; 24] = [
    "$ref",
    "additionalProperties",
    "allOf",
    "default",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "properties",
    "required",
    "title",
    "type",
];

#[test]
fn nothing_of_a_schema_is_lost_in_protobuf() {
    fn keywords(schema: &Value, found: &mut BTreeSet<String>) {
        let Some(map) = schema.as_object() else { return };
        for (keyword, value) in map {
            found.insert(keyword.clone());
            match keyword.as_str() {
                "properties" => {
                    value.as_object().into_iter().flatten().for_each(|(_, it)| keywords(it, found));
                }
                "items" | "additionalProperties" => keywords(value, found),
                _ => {}
            }
        }
    }
    let document = version_two(&everything());
    let mut found = BTreeSet::new();
    for (_, schema) in document["definitions"].as_object().into_iter().flatten() {
        keywords(schema, &mut found);
    }
    found.retain(|keyword| !keyword.starts_with("x-") && !WRITTEN.contains(&keyword.as_str()));
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn protobuf_has_gnostics_numbers() {
    let document = serde_json::json!({
        "swagger": "2.0",
        "info": {"title": "K", "version": "v"},
        "definitions": {"a": {"type": "object", "required": ["b"], "x-c": true}},
    });
    let schema =
        b"\x9a\x01\x01b\xb2\x01\x08\x0a\x06object\xfa\x01\x0e\x0a\x03x-c\x12\x07\x12\x05true\n".to_vec();
    let mut want = b"\x0a\x032.0\x12\x06\x0a\x01K\x12\x01v\x42\x00".to_vec();
    let length = |bytes: &[u8]| u8::try_from(bytes.len()).expect("short");
    let named = [b"\x0a\x01a\x12", &[length(&schema)][..], &schema].concat();
    let definitions = [b"\x0a", &[length(&named)][..], &named].concat();
    want.extend([b"\x4a", &[length(&definitions)][..], &definitions, b"\x6a\x00"].concat());
    assert_eq!(protobuf::encode(&document), want);
}
