//! Takes out of an answer what differs from run to run, so that two clusters can be compared.

use serde_json::{Map, Value, json};

/// Metadata that no two runs share.
const IDENTITY: &[&str] = &["uid", "resourceVersion", "creationTimestamp", "selfLink"];

/// Members that hold a moment or an identifier, wherever they are: that they are there is compared, not their value.
const MOMENTS: &[&str] = &[
    "deletionTimestamp",
    "lastTransitionTime",
    "lastUpdateTime",
    "lastProbeTime",
    "lastHeartbeatTime",
    "lastPhaseTransitionTime",
    "startTime",
    "completionTime",
    "expirationTimestamp",
    "continue",
    "uid",
];

/// The reasons whose messages clients read: these are compared word by word. The others are worded for people;
/// there codes, reasons and the fields and reasons of causes are what programs go by.
const WORDED: &[&str] =
    &["AlreadyExists", "NotFound", "Conflict", "Forbidden", "Expired", "MethodNotAllowed", "Unauthorized"];

/// An answer without what differs from run to run.
pub(super) fn normalize(value: &mut Value, namespace: &str) {
    match value {
        Value::Object(map) => {
            if map.get("kind").is_some_and(|kind| kind == "Status") {
                normalize_status(map);
            }
            if let Some(metadata) = map.get_mut("metadata") {
                normalize_metadata(metadata);
            }
            for (key, member) in map.iter_mut() {
                if MOMENTS.contains(&key.as_str()) && member.as_str().is_some_and(|text| !text.is_empty()) {
                    *member = "…".into();
                }
                normalize(member, namespace);
            }
            // Managed fields name items of lists by their keys, which may be identifiers.
            if map.keys().any(|key| masked(key, false) != *key) {
                *map = std::mem::take(map)
                    .into_iter()
                    .map(|(key, value)| (masked(&key, false), value))
                    .collect();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| normalize(item, namespace)),
        Value::String(text) => {
            if text.contains(namespace) {
                *text = text.replace(namespace, "{ns}");
            }
            *text = masked(text, false);
        }
        _ => {}
    }
}

fn normalize_metadata(metadata: &mut Value) {
    let Some(metadata) = metadata.as_object_mut() else { return };
    for field in IDENTITY {
        metadata.remove(*field);
    }
    let Some(managed) = metadata.get_mut("managedFields").and_then(Value::as_array_mut) else { return };
    for entry in managed.iter_mut().filter_map(Value::as_object_mut) {
        entry.remove("time");
    }
    // They stand in the order of their times, of which two runs have different ones.
    managed.sort_by_key(|entry| {
        let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
        (text("operation"), text("manager"), text("apiVersion"), text("subresource"))
    });
}

fn normalize_status(status: &mut Map<String, Value>) {
    let worded = status.get("reason").and_then(Value::as_str).is_some_and(|reason| WORDED.contains(&reason));
    match status.get_mut("message") {
        Some(Value::String(message)) if worded => *message = masked(message, true),
        _ => {
            status.remove("message");
        }
    }
    let Some(details) = status.get_mut("details").and_then(Value::as_object_mut) else { return };
    details.remove("uid");
    details.remove("retryAfterSeconds");
    let Some(causes) = details.get_mut("causes").and_then(Value::as_array_mut) else { return };
    for cause in causes.iter_mut().filter_map(Value::as_object_mut) {
        cause.remove("message");
    }
    // Schemas are walked in no particular order, and some rules are checked more than once.
    causes.sort_by_key(Value::to_string);
    causes.dedup();
}

/// A text with its identifiers masked, and its numbers too where they are revisions.
fn masked(text: &str, revisions: bool) -> String {
    let is_part = |character: char| character.is_ascii_hexdigit() || character == '-';
    let mut words = Vec::new();
    for word in text.split_inclusive(|character: char| !is_part(character)) {
        let (core, rest) =
            word.split_at(word.find(|character: char| !is_part(character)).unwrap_or(word.len()));
        let identifier = core.len() == 36 && core.matches('-').count() == 4;
        let revision = revisions && core.len() > 1 && core.bytes().all(|byte| byte.is_ascii_digit());
        words.push(if identifier || revision { format!("#{rest}") } else { word.to_owned() });
    }
    words.concat()
}

/// Removes what a pointer leads to; `*` stands for every member.
pub(super) fn forget(value: &mut Value, pointer: &str) {
    let Some((head, rest)) = pointer.trim_start_matches('/').split_once('/') else {
        return forget_member(value, pointer.trim_start_matches('/'));
    };
    match value {
        Value::Object(map) if head == "*" => map.values_mut().for_each(|member| forget(member, rest)),
        Value::Array(items) if head == "*" => items.iter_mut().for_each(|item| forget(item, rest)),
        other => {
            if let Some(member) = other.pointer_mut(&format!("/{head}")) {
                forget(member, rest);
            }
        }
    }
}

fn forget_member(value: &mut Value, member: &str) {
    match value {
        Value::Object(map) => {
            map.remove(&member.replace("~1", "/"));
        }
        Value::Array(items) => {
            if let Some(item) = member.parse::<usize>().ok().and_then(|index| items.get_mut(index)) {
                *item = Value::Null;
            }
        }
        _ => {}
    }
}

/// Only what the pointers lead to, by pointer; what is not there is null.
pub(super) fn select(value: &Value, pointers: &[String]) -> Value {
    pointers
        .iter()
        .map(|pointer| (pointer.clone(), value.pointer(pointer).cloned().unwrap_or(json!(null))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_and_revisions_are_masked_in_messages() {
        let message = "UID in precondition: other, UID in object meta: 0b5d2b4e-1f6c-4a54-9d0e-3f6e8a1f2c3d";
        assert_eq!(masked(message, true), "UID in precondition: other, UID in object meta: #");
        assert_eq!(masked("too old resource version: 17 (2345)", true), "too old resource version: # (#)");
    }

    #[test]
    fn what_is_forgotten_may_be_anywhere() {
        let mut value = json!({"items": [{"a": 1, "b": 2}, {"a": 3}]});
        forget(&mut value, "/items/*/a");
        assert_eq!(value, json!({"items": [{"b": 2}, {}]}));
    }

    #[test]
    fn only_what_is_selected_is_kept() {
        assert_eq!(
            select(&json!({"a": {"b": 1}, "c": 2}), &["/a/b".into(), "/x".into()]),
            json!({"/a/b": 1, "/x": null})
        );
    }
}
