//! PriorityClasses.

use maar_machinery::error::{FieldError, Path};
use serde_json::Value;

use super::value::{fill, flag, integer, text};
use super::{Strategy, check};

/// The highest priority that is not the system's own.
const HIGHEST: i64 = 1_000_000_000;

/// The classes that the system brings along.
const SYSTEM: [(&str, i64); 2] =
    [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

/// The strategy of PriorityClasses.
#[derive(Debug)]
pub(crate) struct PriorityClass;

impl Strategy for PriorityClass {
    fn default(&self, object: &mut Value) {
        let Some(object) = object.as_object_mut() else { return };
        fill(object, "preemptionPolicy", "PreemptLowerPriority");
        fill(object, "value", 0);
    }

    /// Nothing that counts can change.
    fn changes_generation(&self, _new: &Value, _old: &Value) -> bool {
        false
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let name = text(&object["metadata"]["name"]);
        let value = integer(&object["value"]).unwrap_or_default();
        if name.starts_with("system-") {
            if !SYSTEM.contains(&(name, value)) || flag(&object["globalDefault"]) {
                let detail = "priority class names with 'system-' prefix are reserved for system use only";
                errors.push(FieldError::forbidden("metadata.name", detail));
            }
        } else if value > HIGHEST {
            let detail = format!("maximum allowed value of a user defined priority is {HIGHEST}");
            errors.push(FieldError::forbidden("value", detail));
        }
        let policies = ["PreemptLowerPriority", "Never"];
        check::one_of(&mut errors, &Path::Text("preemptionPolicy"), &object["preemptionPolicy"], &policies);
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if integer(&new["value"]) != integer(&old["value"]) {
            errors.push(FieldError::forbidden("value", "may not be changed in an update."));
        }
        let field = "preemptionPolicy";
        check::immutable(&mut errors, &Path::Text(field), &new[field], &old[field]);
        errors
    }
}
