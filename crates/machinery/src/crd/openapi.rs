//! A custom resource's schema for publishing: what its authors wrote, with the fields that they may leave unsaid.

use serde_json::{Map, Value, json};

use super::Version;
use crate::builtin::OpenApi;

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// The name of a kind's definition: the group reversed, the version and the kind.
pub fn definition_name(group: &str, version: &str, kind: &str) -> String {
    let group: Vec<&str> = group.rsplit('.').collect();
    format!("{}.{version}.{kind}", group.join("."))
}

/// The definitions of a version's objects and of lists of them, by name. They refer to definitions of built-in metadata.
pub fn openapi_definitions(
    version: &Version,
    group: &str,
    kind: &str,
    list_kind: &str,
    openapi: OpenApi,
) -> Map<String, Value> {
    let name = definition_name(group, &version.name, kind);
    let mut object = version.document.clone();
    complete(&mut object, openapi);
    if openapi == OpenApi::V2 {
        simplify(&mut object);
    }
    let list = list(&name, list_kind, openapi);
    let mark = |mut document: Value, kind: &str| {
        if let Some(document) = document.as_object_mut() {
            let kind = json!([{"group": group, "version": version.name, "kind": kind}]);
            document.insert("x-kubernetes-group-version-kind".to_owned(), kind);
        }
        document
    };
    Map::from_iter([
        (definition_name(group, &version.name, list_kind), mark(list, list_kind)),
        (name, mark(object, kind)),
    ])
}

fn complete(object: &mut Value, openapi: OpenApi) {
    let Some(object) = object.as_object_mut() else { return };
    let properties = object.entry("properties").or_insert_with(|| json!({}));
    let Some(properties) = properties.as_object_mut() else { return };
    let text = |description: &str| json!({"type": "string", "description": description});
    properties.insert("apiVersion".to_owned(), text("The version of the schema that this object has."));
    properties.insert("kind".to_owned(), text("The kind of this object."));
    properties.insert("metadata".to_owned(), openapi.reference(OBJECT_META, "Standard object's metadata."));
}

/// Swagger 2 knows neither conditions nor nulls, and where anything may stand it has no type.
fn simplify(schema: &mut Value) {
    const UNKNOWN: [&str; 6] = ["allOf", "anyOf", "oneOf", "not", "nullable", "default"];
    let Some(schema) = schema.as_object_mut() else { return };
    for keyword in UNKNOWN {
        schema.remove(keyword);
    }
    if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true)) {
        for keyword in ["type", "items", "properties"] {
            schema.remove(keyword);
        }
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(below) = schema.get_mut(keyword) {
            simplify(below);
        }
    }
    for (_, property) in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        simplify(property);
    }
}

fn list(name: &str, kind: &str, openapi: OpenApi) -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    json!({
        "description": format!("{kind} is a list of objects."),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": text("The version of the schema that this object has."),
            "kind": text("The kind of this object."),
            "items": {
                "description": "The objects of the list.",
                "type": "array",
                "items": openapi.reference(name, ""),
            },
            "metadata": openapi.reference("io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta", "Standard metadata of lists."),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crd;

    #[test]
    fn definitions_say_what_schemas_leave_unsaid() {
        let mut definition = json!({
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "type": "object", "description": "A widget.",
                    "properties": {"spec": {"type": "object", "properties": {
                        "size": {"type": "integer", "nullable": true, "description": "How big it is."},
                        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    }}},
                }}}],
            },
        });
        crd::default(&mut definition);
        let crd = crd::compile(&definition).unwrap();
        let published =
            |openapi| openapi_definitions(crd.storage(), &crd.group, "Widget", "WidgetList", openapi);
        let three = published(OpenApi::V3);
        let widget = &three["com.example.v1.Widget"];
        assert_eq!(widget["x-kubernetes-group-version-kind"][0]["kind"], "Widget");
        assert_eq!(
            widget["properties"]["metadata"]["allOf"][0]["$ref"],
            "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
        );
        assert_eq!(widget["properties"]["spec"]["properties"]["size"]["nullable"], true);
        assert_eq!(
            three["com.example.v1.WidgetList"]["properties"]["items"]["items"],
            json!({"$ref": "#/components/schemas/com.example.v1.Widget"})
        );
        let two = published(OpenApi::V2);
        let spec = &two["com.example.v1.Widget"]["properties"]["spec"]["properties"];
        assert_eq!(spec["size"], json!({"type": "integer", "description": "How big it is."}));
        assert_eq!(spec["free"], json!({"x-kubernetes-preserve-unknown-fields": true}));
    }
}
