//! Documents of the built-in kinds for publishing: descriptions, references and what merging needs to know.

use serde_json::{Map, Value, json};

use super::{
    BuiltinKind, definitions,
    definitions::{INT_OR_STRING, PREFIX, QUANTITY},
};
use crate::{
    fields::{ListKind, PatchStrategy},
    merge_keys,
};

/// Which OpenAPI the documents are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenApi {
    /// Swagger 2: definitions under `#/definitions/`.
    V2,
    /// OpenAPI 3: definitions under `#/components/schemas/`.
    V3,
}

impl OpenApi {
    /// A reference to a definition, described where there is something to say.
    pub(crate) fn reference(self, name: &str, description: &str) -> Value {
        let mut reference = json!({"$ref": format!("{PREFIX}{name}")});
        if !description.is_empty() {
            reference["description"] = description.into();
        }
        rewrite(&mut reference, self);
        reference
    }
}

/// The definitions of these kinds, of their lists and of everything below them, by name.
pub fn openapi_definitions<'a>(
    kinds: impl IntoIterator<Item = &'a BuiltinKind>,
    version: OpenApi,
) -> Map<String, Value> {
    let kinds: Vec<&BuiltinKind> = kinds.into_iter().collect();
    let (references, mut documents) = definitions::documents(|generator| {
        kinds.iter().map(|kind| (kind.generate)(generator)).collect::<Vec<_>>()
    });
    if kinds.iter().any(|kind| kind.is_listed()) {
        documents.extend(definitions::metadata());
    }
    for (name, document) in &mut documents {
        annotate(name, document);
    }
    for (kind, reference) in kinds.iter().zip(&references) {
        let name = reference
            .as_value()
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|path| path.strip_prefix(PREFIX));
        let Some(name) = name else { continue };
        mark_kind(&mut documents, name, kind, kind.kind);
        if kind.is_listed() {
            documents.insert(format!("{name}List"), list_of(name, kind));
            mark_kind(&mut documents, &format!("{name}List"), kind, &format!("{}List", kind.kind));
        }
    }
    publish(documents, version)
}

/// The definitions of the metadata of objects and lists, which those of custom resources refer to.
pub fn metadata_definitions(version: OpenApi) -> Map<String, Value> {
    let mut documents = definitions::metadata();
    for (name, document) in &mut documents {
        annotate(name, document);
    }
    publish(documents, version)
}

fn publish(mut documents: Map<String, Value>, version: OpenApi) -> Map<String, Value> {
    for document in documents.values_mut() {
        rewrite(document, version);
        // Swagger 2 knows no alternatives: what may be of several types has none there.
        if version == OpenApi::V2
            && let Some(document) = document.as_object_mut()
        {
            document.remove("oneOf");
        }
    }
    special(&mut documents, version);
    documents
}

/// The name under which a kind's definition is published, such as `io.k8s.api.core.v1.Pod`.
pub fn definition_name(kind: &BuiltinKind) -> Option<std::sync::Arc<str>> {
    kind.schema().name.clone()
}

fn list_of(name: &str, kind: &BuiltinKind) -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    json!({
        "description": format!("{}List is a list of {} objects.", kind.kind, kind.kind),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": text("The version of the schema that this object has."),
            "kind": text("The kind of this object."),
            "items": {
                "description": "The objects of the list.",
                "type": "array",
                "items": {"$ref": format!("{PREFIX}{name}")},
            },
            "metadata": {
                "description": "Standard metadata of lists.",
                "$ref": format!("{PREFIX}{}", definitions::LIST_META),
            },
        },
    })
}

fn mark_kind(documents: &mut Map<String, Value>, name: &str, kind: &BuiltinKind, kind_name: &str) {
    if let Some(Value::Object(document)) = documents.get_mut(name) {
        let mark = json!([{"group": kind.group, "version": kind.version, "kind": kind_name}]);
        document.insert("x-kubernetes-group-version-kind".to_owned(), mark);
    }
}

fn annotate(name: &str, document: &mut Value) {
    if merge_keys::is_atomic(name)
        && let Some(document) = document.as_object_mut()
    {
        document.insert("x-kubernetes-map-type".to_owned(), "atomic".into());
    }
    let Some(properties) = document.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for (field, property) in properties {
        if let (Some(fact), Some(property)) = (merge_keys::of(name, field), property.as_object_mut()) {
            annotate_list(property, fact.list.as_ref());
            annotate_patch(property, &fact.patch);
            if let Some(atomic) = fact.atomic {
                let kind = if atomic { "atomic" } else { "granular" };
                property.insert("x-kubernetes-map-type".to_owned(), kind.into());
            }
        }
    }
}

fn annotate_list(property: &mut Map<String, Value>, kind: Option<&ListKind>) {
    let name = match kind {
        None => return,
        Some(ListKind::Atomic) => "atomic",
        Some(ListKind::Set) => "set",
        Some(ListKind::Map(keys)) => {
            let keys: Vec<&str> = keys.iter().map(|key| &*key.name).collect();
            property.insert("x-kubernetes-list-map-keys".to_owned(), json!(keys));
            "map"
        }
    };
    property.insert("x-kubernetes-list-type".to_owned(), name.into());
}

fn annotate_patch(property: &mut Map<String, Value>, patch: &PatchStrategy) {
    let strategies = [(patch.merge, "merge"), (patch.replace, "replace"), (patch.retain_keys, "retainKeys")];
    let names: Vec<&str> = strategies.iter().filter(|(set, _)| *set).map(|(_, name)| *name).collect();
    if !names.is_empty() {
        property.insert("x-kubernetes-patch-strategy".to_owned(), names.join(",").into());
    }
    if let Some(key) = &patch.merge_key {
        property.insert("x-kubernetes-patch-merge-key".to_owned(), (**key).into());
    }
}

/// References in OpenAPI 3 stand elsewhere and tolerate no neighbours, so they move into an `allOf`.
fn rewrite(document: &mut Value, version: OpenApi) {
    match document {
        Value::Object(map) => {
            map.values_mut().for_each(|value| rewrite(value, version));
            if version == OpenApi::V3
                && let Some(Value::String(reference)) = map.get("$ref")
            {
                let reference = reference.replace(PREFIX, "#/components/schemas/");
                if map.len() == 1 {
                    map.insert("$ref".to_owned(), reference.into());
                } else {
                    map.remove("$ref");
                    map.insert("allOf".to_owned(), json!([{"$ref": reference}]));
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rewrite(item, version)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The two definitions that are text or number, which the versions of OpenAPI say differently.
fn special(documents: &mut Map<String, Value>, version: OpenApi) {
    for (name, number, format) in
        [(QUANTITY, "number", None), (INT_OR_STRING, "integer", Some("int-or-string"))]
    {
        let Some(Value::Object(document)) = documents.get_mut(name) else { continue };
        document.remove("x-kubernetes-int-or-string");
        match version {
            OpenApi::V2 => document.insert("type".to_owned(), "string".into()),
            OpenApi::V3 => document.insert("oneOf".to_owned(), json!([{"type": "string"}, {"type": number}])),
        };
        if let Some(format) = format {
            document.insert("format".to_owned(), format.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;

    fn documents(kind: &str, version: OpenApi) -> Map<String, Value> {
        openapi_definitions(builtin::kinds().iter().filter(|entry| entry.kind == kind), version)
    }

    #[test]
    fn kinds_carry_their_name_their_list_and_what_merging_needs() {
        let documents = documents("Pod", OpenApi::V2);
        let pod = &documents["io.k8s.api.core.v1.Pod"];
        assert_eq!(
            pod["x-kubernetes-group-version-kind"],
            json!([{"group": "", "version": "v1", "kind": "Pod"}])
        );
        let items = &documents["io.k8s.api.core.v1.PodList"]["properties"]["items"]["items"];
        assert_eq!(items["$ref"], "#/definitions/io.k8s.api.core.v1.Pod");
        assert!(documents.contains_key("io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"));
        let containers = &documents["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"];
        assert_eq!(containers["x-kubernetes-list-map-keys"], json!(["name"]));
        assert_eq!(containers["x-kubernetes-patch-strategy"], "merge");
        assert_eq!(containers["x-kubernetes-patch-merge-key"], "name");
        assert!(containers["description"].as_str().is_some_and(|text| !text.is_empty()));
        assert_eq!(documents[QUANTITY]["type"], "string");
    }

    #[test]
    fn references_of_version_three_stand_in_an_all_of() {
        let documents = documents("Pod", OpenApi::V3);
        let spec = &documents["io.k8s.api.core.v1.Pod"]["properties"]["spec"];
        assert_eq!(spec["allOf"], json!([{"$ref": "#/components/schemas/io.k8s.api.core.v1.PodSpec"}]));
        assert_eq!(documents[INT_OR_STRING]["oneOf"], json!([{"type": "string"}, {"type": "integer"}]));
        let text = Value::Object(documents).to_string();
        assert!(!text.contains("#/definitions/"));
    }

    #[test]
    fn every_reference_leads_somewhere() {
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
        let documents = openapi_definitions(builtin::kinds(), OpenApi::V2);
        for document in documents.values() {
            let mut found = Vec::new();
            references(document, &mut found);
            for reference in found {
                let name = reference.strip_prefix(PREFIX).expect(reference);
                assert!(documents.contains_key(name), "{name}");
            }
        }
    }
}
