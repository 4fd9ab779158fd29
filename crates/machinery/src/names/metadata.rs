//! The `metadata` of an object: name, namespace, labels, annotations, owners, finalizers.

use serde_json::{Map, Value};

use super::{ANNOTATIONS_SIZE, dns_label, label_value, qualified_name};
use crate::error::{FieldError, Path};

/// The rule for names of a kind; told whether it looks at a `generateName`, which may end where a name may not.
pub type NameRule = fn(name: &str, is_prefix: bool) -> Vec<String>;

/// Whether objects of a kind live in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In a namespace.
    Namespaced,
    /// Once per cluster.
    Cluster,
}

/// Names made of DNS labels and dots, what most kinds have.
pub fn subdomain_names(name: &str, is_prefix: bool) -> Vec<String> {
    super::dns_subdomain(masked(name, is_prefix).as_ref())
}

/// Names that are one DNS label: namespaces.
pub fn label_names(name: &str, is_prefix: bool) -> Vec<String> {
    super::dns_label(masked(name, is_prefix).as_ref())
}

/// Names that are one DNS label and start with a letter: services.
pub fn label_1035_names(name: &str, is_prefix: bool) -> Vec<String> {
    super::dns_1035_label(masked(name, is_prefix).as_ref())
}

/// Names that may hold anything a path may: roles and bindings.
pub fn path_segment_names(name: &str, is_prefix: bool) -> Vec<String> {
    if is_prefix { super::path_segment_prefix(name) } else { super::path_segment(name) }
}

/// A prefix may end in a dash, since more follows.
fn masked(name: &str, is_prefix: bool) -> std::borrow::Cow<'_, str> {
    match name.strip_suffix('-') {
        Some(rest) if is_prefix && !rest.is_empty() => format!("{rest}a").into(),
        _ => name.into(),
    }
}

/// What is wrong with the metadata of a new object, whose name has been generated where that was asked for.
pub fn validate(metadata: &Value, scope: Scope, names: NameRule) -> Vec<FieldError> {
    let path = Path::Text("metadata");
    let mut errors = Vec::new();
    let generate_name = text(metadata, "generateName");
    if !generate_name.is_empty() {
        for complaint in names(generate_name, true) {
            errors.push(FieldError::invalid(path.field("generateName"), generate_name, complaint));
        }
    }
    match text(metadata, "name") {
        "" => errors.push(FieldError::required(path.field("name"), "name or generateName is required")),
        name => errors.extend(
            names(name, false)
                .into_iter()
                .map(|complaint| FieldError::invalid(path.field("name"), name, complaint)),
        ),
    }
    validate_namespace(text(metadata, "namespace"), scope, &path, &mut errors);
    validate_common(metadata, &path, &mut errors);
    errors
}

/// What is wrong with the metadata of a changed object.
///
/// Whether the resource version is the current one is the store's question, not this function's.
pub fn validate_update(metadata: &Value, old: &Value) -> Vec<FieldError> {
    const IMMUTABLE: [&str; 6] =
        ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"];
    let path = Path::Text("metadata");
    let mut errors = Vec::new();
    if old.get("deletionTimestamp").is_some_and(|timestamp| !timestamp.is_null()) {
        let added: Vec<&str> = texts(metadata, "finalizers")
            .filter(|name| !texts(old, "finalizers").any(|had| had == *name))
            .collect();
        if !added.is_empty() {
            let detail = format!(
                "an object that is being deleted takes no new finalizers, found {}",
                added.join(", ")
            );
            errors.push(FieldError::forbidden(path.field("finalizers"), detail));
        }
    }
    for name in IMMUTABLE {
        let value = metadata.get(name).unwrap_or(&Value::Null);
        if value != old.get(name).unwrap_or(&Value::Null) {
            errors.push(FieldError::invalid(path.field(name), value.clone(), "field is immutable"));
        }
    }
    validate_common(metadata, &path, &mut errors);
    errors
}

fn validate_namespace(namespace: &str, scope: Scope, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let path = path.field("namespace");
    match (scope, namespace) {
        (Scope::Namespaced, "") => errors.push(FieldError::required(path, "")),
        (Scope::Namespaced, namespace) => errors.extend(
            dns_label(namespace).into_iter().map(|complaint| FieldError::invalid(path, namespace, complaint)),
        ),
        (Scope::Cluster, "") => {}
        (Scope::Cluster, _) => errors.push(FieldError::forbidden(path, "not allowed on this type")),
    }
}

fn validate_common(metadata: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if metadata.get("generation").and_then(Value::as_i64).is_some_and(|generation| generation < 0) {
        let detail = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(path.field("generation"), metadata["generation"].clone(), detail));
    }
    if let Some(labels) = metadata.get("labels").and_then(Value::as_object) {
        validate_labels(labels, &path.field("labels"), errors);
    }
    if let Some(annotations) = metadata.get("annotations").and_then(Value::as_object) {
        validate_annotations(annotations, &path.field("annotations"), errors);
    }
    if let Some(owners) = metadata.get("ownerReferences").and_then(Value::as_array) {
        validate_owners(owners, &path.field("ownerReferences"), errors);
    }
    if let Some(finalizers) = metadata.get("finalizers") {
        validate_finalizers(finalizers, path, errors);
    }
}

/// What is wrong with a set of labels, also those of a pod template or a selector.
pub fn validate_labels(labels: &Map<String, Value>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    for (key, value) in labels {
        for complaint in qualified_name(key) {
            errors.push(FieldError::invalid(path, key.as_str(), complaint));
        }
        let value = value.as_str().unwrap_or_default();
        for complaint in label_value(value) {
            errors.push(FieldError::invalid(path, value, complaint));
        }
    }
}

/// What is wrong with a set of annotations: keys count in lower case, and all of them together have a limit.
pub fn validate_annotations(annotations: &Map<String, Value>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let mut size = 0;
    for (key, value) in annotations {
        size += key.len() + value.as_str().map_or(0, str::len);
        for complaint in qualified_name(&key.to_lowercase()) {
            errors.push(FieldError::invalid(path, key.as_str(), complaint));
        }
    }
    if size > ANNOTATIONS_SIZE {
        errors.push(FieldError::too_long(path, ANNOTATIONS_SIZE as u64));
    }
}

fn validate_owners(owners: &[Value], path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let mut controller: Option<String> = None;
    for (index, owner) in owners.iter().enumerate() {
        // The real server names the list, not the owner in it.
        for name in ["apiVersion", "kind", "name", "uid"] {
            if text(owner, name).is_empty() {
                errors.push(FieldError::invalid(path.field(name), "", "must not be empty"));
            }
        }
        let path = path.index(index);
        let version = text(owner, "apiVersion");
        if version.split('/').count() > 2 || version.ends_with('/') {
            let detail = "must be <group>/<version> or <version>";
            errors.push(FieldError::invalid(path.field("apiVersion"), version, detail));
        }
        if (version, text(owner, "kind")) == ("v1", "Event") {
            errors.push(FieldError::invalid(path, owner.clone(), "an Event cannot be an owner"));
        }
        if owner.get("controller") == Some(&Value::Bool(true)) {
            let name = format!("{}/{}", text(owner, "kind"), text(owner, "name"));
            if let Some(first) = &controller {
                let detail = format!("only one owner can be the controller, found {first} and {name}");
                errors.push(FieldError::invalid(
                    Path::Text("metadata.ownerReferences"),
                    Value::from(owners),
                    detail,
                ));
            } else {
                controller = Some(name);
            }
        }
    }
}

fn validate_finalizers(finalizers: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let path = path.field("finalizers");
    let names: Vec<&str> = finalizers.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for name in &names {
        for complaint in qualified_name(name) {
            errors.push(FieldError::invalid(path, *name, complaint));
        }
    }
    if names.contains(&"orphan") && names.contains(&"foregroundDeletion") {
        let detail = "orphan and foregroundDeletion exclude each other";
        errors.push(FieldError::invalid(path, finalizers.clone(), detail));
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn texts<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a str> {
    value.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paths(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(|error| format!("{} {}", error.path, error.kind.reason())).collect()
    }

    #[test]
    fn new_objects_are_checked_field_by_field() {
        let table = [
            (json!({"name": "a", "namespace": "b"}), Scope::Namespaced, vec![]),
            (json!({"namespace": "b"}), Scope::Namespaced, vec!["metadata.name FieldValueRequired"]),
            (json!({"name": "a"}), Scope::Namespaced, vec!["metadata.namespace FieldValueRequired"]),
            (
                json!({"name": "a", "namespace": "b"}),
                Scope::Cluster,
                vec!["metadata.namespace FieldValueForbidden"],
            ),
            (json!({"name": "a-b", "generateName": "a-"}), Scope::Cluster, vec![]),
            (
                json!({"name": "a", "generateName": "-"}),
                Scope::Cluster,
                vec!["metadata.generateName FieldValueInvalid"],
            ),
            (
                json!({"name": "a", "labels": {"-": "x y"}}),
                Scope::Cluster,
                vec!["metadata.labels FieldValueInvalid"; 2],
            ),
            (json!({"name": "a", "annotations": {"A/b": ""}}), Scope::Cluster, vec![]),
            (
                json!({"name": "a", "annotations": {"a": "x".repeat(300_000)}}),
                Scope::Cluster,
                vec!["metadata.annotations FieldValueTooLong"],
            ),
            (
                json!({"name": "a", "finalizers": ["orphan", "foregroundDeletion"]}),
                Scope::Cluster,
                vec!["metadata.finalizers FieldValueInvalid"],
            ),
            (
                json!({"name": "a", "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p"}]}),
                Scope::Cluster,
                vec!["metadata.ownerReferences.uid FieldValueInvalid"],
            ),
        ];
        for (metadata, scope, want) in table {
            assert_eq!(paths(&validate(&metadata, scope, subdomain_names)), want, "{metadata}");
        }
    }

    #[test]
    fn two_controllers_are_one_too_many() {
        let owner = |name: &str| json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": "u", "controller": true});
        let metadata = json!({"name": "a", "ownerReferences": [owner("x"), owner("y")]});
        let errors = validate(&metadata, Scope::Cluster, subdomain_names);
        assert!(errors[0].detail.ends_with("found Pod/x and Pod/y"), "{errors:?}");
    }

    #[test]
    fn finalizers_of_a_changed_object_are_looked_at_too() {
        let old = json!({"name": "a"});
        for finalizers in [json!(["a b c"]), json!(["orphan", "foregroundDeletion"])] {
            let new = json!({"name": "a", "finalizers": finalizers});
            assert_eq!(
                paths(&validate_update(&new, &old)),
                ["metadata.finalizers FieldValueInvalid"],
                "{new}"
            );
        }
        assert!(validate_update(&json!({"name": "a", "finalizers": ["a.b/c", "d"]}), &old).is_empty());
    }

    #[test]
    fn identity_does_not_change() {
        let old = json!({"name": "a", "uid": "1", "deletionTimestamp": "t", "finalizers": ["a/b"]});
        let new = json!({"name": "a", "uid": "2", "deletionTimestamp": "t", "finalizers": ["a/b", "c/d"]});
        assert_eq!(
            paths(&validate_update(&new, &old)),
            ["metadata.finalizers FieldValueForbidden", "metadata.uid FieldValueInvalid"]
        );
        assert!(validate_update(&old, &old).is_empty());
    }
}
