//! Takes out of an answer what differs from run to run, so that two clusters can be compared.

use serde_json::Value;

/// Metadata that no two runs share.
const IDENTITY: &[&str] = &["uid", "resourceVersion", "creationTimestamp", "selfLink"];

/// An answer without what differs from run to run.
pub(super) fn normalize(value: &mut Value, namespace: &str) {
    match value {
        Value::Object(map) => {
            if map.get("kind").is_some_and(|kind| kind == "Status") {
                // Messages are worded for people; codes, reasons and causes are what programs go by.
                map.remove("message");
                if let Some(details) = map.get_mut("details") {
                    drop_messages(details);
                }
            }
            if let Some(metadata) = map.get_mut("metadata") {
                normalize_metadata(metadata);
            }
            map.values_mut().for_each(|member| normalize(member, namespace));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| normalize(item, namespace)),
        Value::String(text) if text.contains(namespace) => *text = text.replace(namespace, "{ns}"),
        _ => {}
    }
}

fn normalize_metadata(metadata: &mut Value) {
    let Some(metadata) = metadata.as_object_mut() else { return };
    for field in IDENTITY {
        metadata.remove(*field);
    }
    for entry in metadata.get_mut("managedFields").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(entry) = entry.as_object_mut() {
            entry.remove("time");
        }
    }
    for field in ["deletionTimestamp", "continue"] {
        if metadata.contains_key(field) {
            metadata.insert(field.to_owned(), "…".into());
        }
    }
}

fn drop_messages(details: &mut Value) {
    let Some(details) = details.as_object_mut() else { return };
    details.remove("uid");
    details.remove("retryAfterSeconds");
    for cause in details.get_mut("causes").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(cause) = cause.as_object_mut() {
            cause.remove("message");
        }
    }
}
