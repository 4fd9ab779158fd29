//! The parts of a running Pod that may change: containers to look into it, and what it asks for.

use maar_machinery::error::FieldError;
use serde_json::Value;

use super::super::check::Errors;
use super::super::value::{items, text};
use super::quality;

/// Only the ephemeral containers come from the new Pod.
pub(super) fn keep_ephemeral_containers(new: &mut Value, old: &Value) {
    let wanted = new["spec"].get("ephemeralContainers").cloned();
    restore_all(new, old);
    if let Some(spec) = new.get_mut("spec").and_then(Value::as_object_mut) {
        match wanted {
            Some(list) => spec.insert("ephemeralContainers".to_owned(), list),
            None => spec.remove("ephemeralContainers"),
        };
    }
}

/// Only the resources of containers come from the new Pod.
pub(super) fn keep_resources(new: &mut Value, old: &Value) {
    let wanted = new["spec"].clone();
    restore_all(new, old);
    for list in ["containers", "initContainers"] {
        let containers = new["spec"].get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        for container in containers.filter_map(Value::as_object_mut) {
            let name = container.get("name").cloned().unwrap_or_default();
            let Some(given) = items(&wanted[list]).iter().find(|one| one["name"] == name) else { continue };
            for field in ["resources", "resizePolicy"] {
                match given.get(field) {
                    Some(value) => container.insert(field.to_owned(), value.clone()),
                    None => container.remove(field),
                };
            }
        }
    }
}

/// The old Pod again, but for who wrote it and which revision was meant.
fn restore_all(new: &mut Value, old: &Value) {
    let given = new["metadata"].clone();
    *new = old.clone();
    if let Some(metadata) = new.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in ["managedFields", "resourceVersion"] {
            match given.get(field) {
                Some(value) => metadata.insert(field.to_owned(), value.clone()),
                None => metadata.remove(field),
            };
        }
    }
}

/// Ephemeral containers are added, never changed or taken away.
pub(super) fn validate_ephemeral_containers(errors: &mut Errors, new: &Value, old: &Value) {
    let now = items(&new["spec"]["ephemeralContainers"]);
    for before in items(&old["spec"]["ephemeralContainers"]) {
        if !now.contains(before) {
            let detail = format!(
                "existing ephemeral container {:?} may not be changed or removed",
                text(&before["name"])
            );
            errors.push(FieldError::forbidden("spec.ephemeralContainers", detail));
        }
    }
}

/// A Pod stays in its class of quality.
pub(super) fn validate_resize(errors: &mut Errors, new: &Value, old: &Value) {
    if quality::class(&new["spec"]) != quality::class(&old["spec"]) {
        let detail = "the class of quality of a Pod may not change when it is resized";
        errors.push(FieldError::invalid("spec", text(&old["status"]["qosClass"]), detail));
    }
}
